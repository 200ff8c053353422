package pyproject

import (
	"path"
	"regexp"
	"strconv"
	"strings"

	"github.com/garita-dev/garita/sandbox"
)

var (
	nameForm    = regexp.MustCompile(`^[A-Za-z0-9](?:[A-Za-z0-9._-]{0,200}[A-Za-z0-9])?$`)
	versionForm = regexp.MustCompile(`^[0-9][0-9A-Za-z.+!_-]{0,100}$`)
	pinForm     = regexp.MustCompile(`^(?:c?python[@-]?)?(3\.[0-9]{1,2})(?:\.[0-9]+)?$`)
	plainForm   = regexp.MustCompile(`^([A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?)\s*(\[[A-Za-z0-9._, -]*\])?\s*\(?\s*((?:(?:===|[=~<>!]=|[<>])\s*[0-9A-Za-z.*+!_-]+\s*,?\s*)*)\)?\s*(?:;(.*))?$`)
	markerForm  = regexp.MustCompile(`^[A-Za-z0-9_ .,'"()<>=!~+*-]*$`)
)

// maxRequirement bounds one, in bytes.
const maxRequirement = 2000

// Requirement is one requirement of an index: its project in normal form, and the whole as it is given on.
// What comes from a URL or a folder is refused.
func Requirement(text string) (name, clean string, err error) {
	text = strings.TrimSpace(text)
	m := plainForm.FindStringSubmatch(text)
	if m == nil || len(text) > maxRequirement || !markerForm.MatchString(m[4]) {
		if strings.Contains(text, "://") || strings.ContainsAny(text, `/\@`) {
			shown, _, _ := strings.Cut(text, "@")
			return "", "", refused("%q comes from a URL, a repository or a folder; only packages of an index can be installed for it", strings.TrimSpace(shown))
		}
		return "", "", refused("%q is no requirement", shorten(text))
	}
	name = sandbox.PythonName(m[1])
	clean = name + strings.ReplaceAll(m[2], " ", "") + strings.TrimSuffix(strings.ReplaceAll(m[3], " ", ""), ",")
	if marker := strings.TrimSpace(m[4]); marker != "" {
		clean += " ; " + marker
	}
	return name, clean, nil
}

func shorten(s string) string {
	if len(s) > 80 {
		return s[:80] + "…"
	}
	return s
}

// ReadList reads a file of requirements, as pip has them: a requirement a line. What names other files or
// places is refused; digests of files are kept as what alone may be used.
func ReadList(text []byte) (requirements []string, pinned map[string][]string, err error) {
	joined := strings.ReplaceAll(strings.ReplaceAll(string(text), "\\\r\n", " "), "\\\n", " ")
	for line := range strings.Lines(joined) {
		if at := strings.Index(" "+line, " #"); at >= 0 {
			line = line[:at]
		}
		words := strings.TrimSpace(line)
		if words == "" {
			continue
		}
		if strings.HasPrefix(words, "-") {
			return nil, nil, refused("its line %q names another file or place; only requirements of an index can be installed", shorten(words))
		}
		words, digests, err := digestsOf(words)
		if err != nil {
			return nil, nil, err
		}
		name, clean, err := Requirement(words)
		if err != nil {
			return nil, nil, err
		}
		requirements = append(requirements, clean)
		if len(digests) > 0 {
			if pinned == nil {
				pinned = map[string][]string{}
			}
			pinned[name] = append(pinned[name], digests...)
		}
	}
	return sorted(requirements), pinned, nil
}

var digestForm = regexp.MustCompile(`^sha256:([0-9a-f]{64})$`)

// digestsOf takes the digests off a line.
func digestsOf(line string) (rest string, digests []string, err error) {
	rest, options, _ := strings.Cut(line, " --")
	if options == "" {
		return rest, nil, nil
	}
	for _, word := range strings.Fields("--" + options) {
		value, is := strings.CutPrefix(word, "--hash=")
		m := digestForm.FindStringSubmatch(value)
		if !is || m == nil {
			return rest, nil, refused("%q behind a requirement is not known here", shorten(word))
		}
		digests = append(digests, m[1])
	}
	return strings.TrimSpace(rest), digests, nil
}

// Fits says whether what is said of the interpreter (">=3.10,<4") lets one of that version ("3.12") be it.
// What cannot be read lets any.
func Fits(said, python string) bool {
	have := numbers(python)
	for _, one := range strings.Split(said, ",") {
		one = strings.TrimSpace(one)
		operator := strings.TrimRight(one[:len(one)-len(strings.TrimLeft(one, "<>=!~"))], " ")
		want := numbers(strings.TrimSpace(strings.TrimLeft(one, "<>=!~")))
		if len(want) == 0 || len(have) == 0 {
			continue
		}
		if !fits(operator, have, want) {
			return false
		}
	}
	return true
}

// fits compares as far as the interpreter's version is known: its first two numbers.
func fits(operator string, have, want []int) bool {
	exact := len(want) <= len(have)
	order := compare(have, want)
	switch operator {
	case ">=":
		return order >= 0
	case ">":
		return order > 0 || order == 0 && !exact
	case "<=":
		return order <= 0
	case "<":
		return order < 0 || order == 0 && !exact
	case "==", "===":
		return order == 0
	case "~=":
		return order >= 0 && have[0] == want[0] && (len(want) < 3 || order == 0)
	case "!=":
		return order != 0 || !exact
	}
	return true
}

func compare(a, b []int) int {
	for i := range min(len(a), len(b)) {
		if a[i] != b[i] {
			return a[i] - b[i]
		}
	}
	return 0
}

// numbers are the leading numbers of "3.10.*".
func numbers(text string) []int {
	var out []int
	for _, part := range strings.Split(text, ".") {
		n, err := strconv.Atoi(part)
		if err != nil {
			break
		}
		out = append(out, n)
	}
	return out
}

// inside is where a folder of the project is seen; ok is false for what leads out of it.
func inside(at, folder string) (string, bool) {
	if path.IsAbs(folder) || folder == ".." || strings.HasPrefix(path.Clean(folder), "../") || path.Clean(folder) == ".." || strings.ContainsAny(folder, "\x00\n\r") {
		return "", false
	}
	return path.Join(at, folder), true
}
