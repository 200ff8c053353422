package sandbox

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// ParsePythonCommand reads a command line that runs packages of a Python index: uvx, uv tool run,
// uv run --with, pipx run, each also by path and behind "cmd /c". ok and err are as
// ParsePackageCommand's. The name comes out in its one normal form (PEP 503); Range is a version, a
// tag, or specifiers such as ">=1,<2".
func ParsePythonCommand(argv []string) (ref PackageRef, args []string, ok bool, err error) {
	argv = unwrapCmd(argv)
	d, rest, ok := pythonRunner(argv)
	if !ok {
		return PackageRef{}, nil, false, nil
	}
	line, err := d.options(rest)
	if err == nil {
		ref, args, err = d.target(line)
	}
	if err != nil {
		return PackageRef{}, nil, true, fmt.Errorf("read the %s command: %w", programName(argv[0]), err)
	}
	return ref, args, true, nil
}

// pythonDialect is one program's way of writing such a command.
type pythonDialect struct {
	project bool // uv run: packages are what --with says, and a file may be run
}

// pythonRunner recognizes the program, and returns what follows it. "uv run" without --with runs a
// project that is there, and is left alone.
func pythonRunner(argv []string) (pythonDialect, []string, bool) {
	if len(argv) == 0 {
		return pythonDialect{}, nil, false
	}
	name := programName(argv[0])
	switch {
	case name == "uvx":
		return pythonDialect{}, argv[1:], true
	case name == "pipx" && len(argv) > 1 && argv[1] == "run":
		return pythonDialect{}, argv[2:], true
	case name == "uv" && len(argv) > 2 && argv[1] == "tool" && argv[2] == "run":
		return pythonDialect{}, argv[3:], true
	case name == "uv" && len(argv) > 2 && argv[1] == "run" && adds(argv[2:]):
		return pythonDialect{project: true}, argv[2:], true
	}
	return pythonDialect{}, nil, false
}

// adds says whether a "uv run" names packages of its own.
func adds(line []string) bool {
	return slices.ContainsFunc(line, func(a string) bool { return a == "--with" || a == "-w" || strings.HasPrefix(a, "--with=") })
}

// Options that only change what is shown or kept.
var harmlessPython = []string{
	"-q", "--quiet", "-v", "--verbose", "--refresh", "-n", "--no-cache", "--isolated", "--no-progress", "--native-tls", "--no-config",
	"--no-project", "--no-env-file", "--no-python-downloads", "--offline",
}

// Options that would have packages come from elsewhere, and projects: refused with a reason of their own.
var (
	otherIndexes = []string{
		"-i", "--index", "--index-url", "--default-index", "--extra-index-url", "--find-links", "-f", "--index-strategy", "--pip-args",
	}
	ofProjects = []string{
		"--project", "--directory", "--with-editable", "--with-requirements", "--package", "--all-packages", "--extra", "--all-extras",
		"--group", "--script", "--env-file", "--path", "--active", "--frozen", "--locked",
	}
)

// pythonLine is a command line as far as it has been understood.
type pythonLine struct {
	from   string // --from, --spec
	python string
	with   []string
	module bool     // -m
	words  []string // the first word that is no option, and what follows it
}

func (d pythonDialect) options(line []string) (pythonLine, error) {
	var l pythonLine
	for i := 0; i < len(line); i++ {
		name, value, inline := strings.Cut(line[i], "=")
		takes := func() error {
			if !inline {
				if i++; i == len(line) {
					return invalid("%s is followed by nothing", name)
				}
				value = line[i]
			}
			return nil
		}
		switch {
		case line[i] == "--":
			l.words = line[i+1:]
			return l, nil
		case !strings.HasPrefix(line[i], "-"):
			l.words = line[i:]
			return l, nil
		case d.project && (name == "-m" || name == "--module") && !inline:
			l.module, l.words = true, line[i+1:]
			return l, nil
		case !inline && slices.Contains(harmlessPython, name):
		default:
			if err := l.option(name, &value, takes); err != nil {
				return l, err
			}
		}
	}
	return l, nil
}

// option reads one that has a value, or says why it is refused.
func (l *pythonLine) option(name string, value *string, takes func() error) (err error) {
	switch {
	case name == "-p" || name == "--python":
		if err = takes(); err == nil {
			l.python, err = interpreter(*value)
		}
	case name == "--from" || name == "--spec":
		if err = takes(); err == nil {
			l.from = *value
		}
	case name == "--with" || name == "-w":
		if err = takes(); err == nil {
			l.with = append(l.with, splitWith(*value)...)
		}
	case slices.Contains(otherIndexes, name):
		return invalid("%s names a place of its own for packages: where a name can come from two places, the wrong one can win; packages come from the one index of your pip.conf or uv.toml", name)
	case slices.Contains(ofProjects, name):
		return invalid("%s is about a project or a file of requirements, which cannot be resolved here; run the interpreter of the project's own environment instead (.venv/bin/python), with its folder mounted", name)
	default:
		return invalid("the option %s is not known here; packages of the configured index can be run", name)
	}
	return err
}

// splitWith cuts at the commas between packages; the ones in "x>=1,<2" and "x[a,b]" are their own.
func splitWith(value string) []string {
	var out []string
	for _, part := range strings.Split(value, ",") {
		if n := len(out) - 1; n >= 0 && (!startsName(part) || strings.Count(out[n], "[") > strings.Count(out[n], "]")) {
			out[n] += "," + part
			continue
		}
		out = append(out, part)
	}
	return out
}

func startsName(part string) bool {
	part = strings.TrimSpace(part)
	return part != "" && (part[0] >= 'a' && part[0] <= 'z' || part[0] >= 'A' && part[0] <= 'Z')
}

// interpreter reads the Python that is asked for: "3.12", "3.12.1", "python3.12", "cpython@3.12".
func interpreter(value string) (string, error) {
	m := pythonAsked.FindStringSubmatch(value)
	if m == nil {
		return "", invalid("%q is not a version of Python: 3.12, for example", value)
	}
	return m[1], nil
}

// target tells packages, program and arguments apart.
func (d pythonDialect) target(l pythonLine) (ref PackageRef, args []string, err error) {
	switch {
	case d.project && l.from != "":
		return ref, nil, invalid("uv run knows no --from")
	case d.project && len(l.with) == 0:
		return ref, nil, invalid("it names no package")
	case len(l.words) == 0:
		return ref, nil, invalid("it names no package")
	}
	spec, rest := l.words[0], l.with
	switch {
	case d.project:
		spec, rest = l.with[0], l.with[1:]
	case l.from != "":
		spec = l.from
	}
	if ref, err = parsePythonSpec(spec); err != nil {
		return ref, nil, err
	}
	if ref.With, err = parseWith(rest); err != nil {
		return ref, nil, err
	}
	ref.Python = l.python
	switch args = l.words[1:]; {
	case d.project:
		ref.Bin, args = projectProgram(l)
	case l.from != "":
		ref.Bin = l.words[0]
	}
	if ref.Bin != "" && !binName.MatchString(ref.Bin) {
		err = invalid("%q is not the name of a program of a package", ref.Bin)
	}
	return ref, args, err
}

// projectProgram is what "uv run" starts: the interpreter for a file or a module, else a program.
func projectProgram(l pythonLine) (bin string, args []string) {
	first := l.words[0]
	switch {
	case l.module:
		return PythonBin, append([]string{"-m"}, l.words...)
	case strings.HasSuffix(first, ".py"):
		return PythonBin, l.words
	case first == "python" || first == "python3":
		return PythonBin, l.words[1:]
	}
	return first, l.words[1:]
}

func parseWith(specs []string) (string, error) {
	var out []string
	for _, spec := range specs {
		r, err := parsePythonSpec(spec)
		if err != nil {
			return "", err
		}
		out = append(out, r.Requirements()[0])
	}
	slices.Sort(out)
	return strings.Join(slices.Compact(out), " "), nil
}

var (
	pythonSpec    = regexp.MustCompile(`^([A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?)\s*(?:\[([A-Za-z0-9._, -]*)\])?\s*(@\s*[0-9A-Za-z.+_!-]+|(?:(?:===|[=~<>!]=|[<>])\s*[0-9A-Za-z.*+!_-]+\s*,?\s*)*)$`)
	pythonRunes   = regexp.MustCompile(`[-_.]+`)
	pythonVersion = regexp.MustCompile(`^v?[0-9][0-9A-Za-z.+!_-]*$`)
	pythonAsked   = regexp.MustCompile(`^(?:c?python[@-]?)?(3\.[0-9]{1,2})(?:\.[0-9]+)?$`)
	pythonSpecial = regexp.MustCompile(`^(git|hg|svn|bzr)\+`)
)

// PythonName is a project's name in its one normal form (PEP 503).
func PythonName(name string) string {
	return strings.ToLower(pythonRunes.ReplaceAllString(name, "-"))
}

var (
	pythonFile    = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._+!-]*$`)
	pythonRelease = regexp.MustCompile(`^[0-9][0-9A-Za-z.+!_]*$`)
	pythonTag     = regexp.MustCompile(`^[0-9A-Za-z_.]+$`)
)

// maxPythonFile bounds a file's name, in bytes.
const maxPythonFile = 255

// ParsePythonFile reads the name of a file of an index: a wheel, or a source distribution. project comes
// out in normal form; ok is false for what is neither.
func ParsePythonFile(name string) (project, version string, wheel, ok bool) {
	if len(name) > maxPythonFile || !pythonFile.MatchString(name) || strings.Contains(name, "..") {
		return "", "", false, false
	}
	if stem, is := strings.CutSuffix(name, ".whl"); is {
		parts := strings.Split(stem, "-")
		if len(parts) != 5 && len(parts) != 6 || !pythonRelease.MatchString(parts[1]) {
			return "", "", false, false
		}
		broken := slices.ContainsFunc(parts[2:], func(p string) bool { return !pythonTag.MatchString(p) })
		return PythonName(parts[0]), parts[1], true, !broken
	}
	stem, is := strings.CutSuffix(name, ".tar.gz")
	at := strings.LastIndex(stem, "-")
	if !is || at < 1 || !pythonRelease.MatchString(stem[at+1:]) {
		return "", "", false, false
	}
	return PythonName(stem[:at]), stem[at+1:], false, true
}

func parsePythonSpec(spec string) (PackageRef, error) {
	switch {
	case pythonSpecial.MatchString(spec) || strings.Contains(spec, "@ git+"):
		return PackageRef{}, invalid("it would come from a repository, which cannot be installed yet; install it into a virtual environment of your own (python3 -m venv), or take a release from the index")
	case strings.Contains(spec, "://") || strings.ContainsAny(spec, `/\`) || strings.HasPrefix(spec, "."):
		return PackageRef{}, invalid("it would come from a URL, a repository or a folder; only packages of an index can be installed") // it may hold a password
	}
	m := pythonSpec.FindStringSubmatch(strings.TrimSpace(spec))
	if m == nil || len(spec) > maxPackageName {
		return PackageRef{}, invalid("%q is not the name of a Python package, with or without a version", spec)
	}
	versions := strings.TrimSuffix(strings.ReplaceAll(strings.TrimPrefix(m[3], "@"), " ", ""), ",")
	if exact, ok := strings.CutPrefix(versions, "=="); ok && !strings.ContainsAny(exact, ",*=") {
		versions = exact
	}
	if versions != "" && versions != "latest" && strings.HasPrefix(m[3], "@") && !pythonVersion.MatchString(versions) {
		return PackageRef{}, invalid("%q is not a version", versions)
	}
	return PackageRef{Ecosystem: PyPI, Name: PythonName(m[1]), Extras: extras(m[2]), Range: versions}, nil
}

func extras(list string) string {
	var out []string
	for _, one := range strings.Split(list, ",") {
		if one = strings.TrimSpace(one); one != "" {
			out = append(out, PythonName(one))
		}
	}
	slices.Sort(out)
	return strings.Join(slices.Compact(out), ",")
}

// Requirements are r and what goes with it, as Python writes them: "mcp[cli]==1.2", "httpx>=0.27".
func (r PackageRef) Requirements() []string {
	first := r.Name
	if r.Extras != "" {
		first += "[" + r.Extras + "]"
	}
	switch {
	case r.Range == "" || r.Range == "latest":
	case r.Exact():
		first += "==" + r.Range
	default:
		first += r.Range
	}
	return append([]string{first}, strings.Fields(r.With)...)
}

// Besides is what r asks for besides its name and range: "[cli] pandas". "" for npm.
func (r PackageRef) Besides() string {
	out := ""
	if r.Extras != "" {
		out = "[" + r.Extras + "]"
	}
	if r.Python != "" {
		out += " python" + r.Python
	}
	return strings.TrimSpace(out + " " + r.With)
}

// Valid refuses (InvalidArgument) a reference that no command line could have made.
func (r PackageRef) Valid() error {
	if r.Ecosystem != PyPI {
		_, err := ParsePackageSpec(r.String())
		return err
	}
	for i, requirement := range r.Requirements() {
		got, err := parsePythonSpec(requirement)
		if err != nil {
			return err
		}
		if i == 0 && (got.Name != r.Name || got.Extras != r.Extras) {
			return invalid("%q is not the name of a Python package", r.Name)
		}
	}
	if r.Bin != "" && !binName.MatchString(r.Bin) || r.Python != "" && !pythonAsked.MatchString(r.Python) {
		return invalid("%q cannot be run", r.Name)
	}
	return nil
}

// release is a version without what makes no difference: "v", and zeros at its end.
func release(version string) string {
	version = strings.ToLower(strings.TrimPrefix(version, "v"))
	for strings.HasSuffix(version, ".0") {
		version = strings.TrimSuffix(version, ".0")
	}
	return version
}
