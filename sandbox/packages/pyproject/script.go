package pyproject

import (
	"regexp"
	"strings"

	"github.com/pelletier/go-toml/v2"

	"github.com/garita-dev/garita/sandbox"
)

var (
	blockStart = regexp.MustCompile(`^# /// ([A-Za-z0-9-]+)$`)
	blockLine  = regexp.MustCompile(`^#(?: (.*))?$`)
)

// metadata is the text of a script's one "script" block; ok is false where it has none (PEP 723).
func metadata(text string) (toml string, ok bool, err error) {
	lines := strings.Split(strings.ReplaceAll(text, "\r\n", "\n"), "\n")
	for i := 0; i < len(lines); i++ {
		m := blockStart.FindStringSubmatch(lines[i])
		if m == nil {
			continue
		}
		block, end := blockOf(lines[i+1:])
		if end < 0 {
			continue
		}
		i += 1 + end
		if m[1] != "script" {
			continue
		}
		if ok {
			return "", false, refused("it has two comments that say what it needs")
		}
		toml, ok = block, true
	}
	return toml, ok, nil
}

// blockOf is the content up to the last "# ///" of the comment that lines begin with, and where that is.
func blockOf(lines []string) (text string, end int) {
	end = -1
	var all []string
	for i, line := range lines {
		m := blockLine.FindStringSubmatch(line)
		if m == nil {
			break
		}
		if line == "# ///" {
			end = i
		}
		all = append(all, m[1])
	}
	if end < 0 {
		return "", -1
	}
	return strings.Join(all[:end], "\n"), end
}

// ReadScript reads the comment of the script at the absolute path at; ok is false where it has none. lock is the file that uv keeps
// beside it, nil for none.
func ReadScript(at string, text, lock []byte) (n Needs, ok bool, err error) {
	block, ok, err := metadata(string(text))
	if err != nil || !ok {
		return n, ok, err
	}
	var said struct {
		Python       string   `toml:"requires-python"`
		Dependencies []string `toml:"dependencies"`
		Tool         tools    `toml:"tool"`
	}
	if err := toml.Unmarshal([]byte(block), &said); err != nil {
		return n, true, refused("its comment cannot be read: %v", err)
	}
	f := file{Project: &table{Name: ScriptName(at), Dependencies: said.Dependencies}, Tool: said.Tool}
	n = Needs{Name: f.Project.Name, Version: "0", Python: said.Python, Shown: []string{at}}
	if lock != nil {
		return n, true, n.byScriptLock(lock, f)
	}
	n.Requirements, err = f.requirements(Wish{})
	n.Requirements = sorted(n.Requirements)
	return n, true, err
}

// byScriptLock pins all that a script's lock has.
func (n *Needs) byScriptLock(text []byte, f file) error {
	l, err := parseLock(text)
	if err != nil {
		return err
	}
	w := &walk{lock: l, needs: n, seen: map[*locked]map[string]bool{}}
	n.Pinned = map[string][]string{}
	for _, p := range l.Packages {
		if err := w.indexed(p, nil); err != nil {
			return err
		}
	}
	for _, one := range f.Project.Dependencies {
		name, clean, err := Requirement(one)
		if err != nil {
			return err
		}
		if len(n.Pinned[name]) == 0 {
			return refused("its lock does not have %s; make it anew (uv lock --script)", name)
		}
		n.Requirements = append(n.Requirements, clean)
	}
	n.Requirements = sorted(n.Requirements)
	for name, digests := range n.Pinned {
		n.Pinned[sandbox.PythonName(name)] = sorted(digests)
	}
	return nil
}
