// Package pyproject understands what a project of Python's, a script, or a list of requirements needs: by
// its pyproject.toml, its uv.lock, its comment (PEP 723). Nothing of it is run, built or looked up.
//
// All that it reads may have come with a cloned repository: what is no plain requirement of an index, or
// leads out of the project's folder, is refused in words. Errors are FailedPrecondition.
package pyproject

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/containerd/errdefs"
	"github.com/go-json-experiment/json"
	"github.com/pelletier/go-toml/v2"

	"github.com/garita-dev/garita/sandbox"
)

// Needs is what something needs to be run. It travels to the engine.
type Needs struct {
	Name    string `json:"name"`    // in normal form
	Version string `json:"version"` // "0" where it has none
	// Requirements are what an index is asked for, as Python writes them, markers included; sorted.
	Requirements []string `json:"requirements"`
	// Pinned are the only files that may be used of some projects, their sha256 in hex; of others any.
	Pinned map[string][]string `json:"pinned,omitempty"`
	Python string              `json:"python,omitempty"` // what it says of the interpreter: ">=3.10"
	Wanted string              `json:"wanted,omitempty"` // the one of .python-version: "3.12"
	// Paths are the folders from which its own modules are imported, as they are seen inside.
	Paths []string `json:"paths,omitempty"`
	// Entries are its own entry points, by group ("console_scripts") and name: "demo.cli:main".
	Entries map[string]map[string]string `json:"entries,omitempty"`
	// Shown is what of the host has to be seen inside, read-only, at its own path.
	Shown []string `json:"shown,omitempty"`
}

// Digest is over all of n: another one needs another installation.
func (n Needs) Digest() sandbox.Digest {
	text, err := json.Marshal(n, json.Deterministic(true))
	if err != nil {
		panic(err) // strings, and maps of them
	}
	sum := sha256.Sum256(text)
	return sandbox.Digest("sha256:" + hex.EncodeToString(sum[:]))
}

// Wish is which parts of a project are wanted.
type Wish struct {
	Extras []string // "*" is all of them
	Groups []string // of its dependency-groups; "*" is all
}

// Bounds of the files read, in bytes.
const (
	maxProject = 4 << 20
	maxLock    = 32 << 20
)

// The files of a project.
const (
	projectFile = "pyproject.toml"
	lockFile    = "uv.lock"
	pinFile     = ".python-version"
)

// ErrNone says that there is no pyproject.toml.
var ErrNone = fmt.Errorf("there is no pyproject.toml: %w", errdefs.ErrNotFound)

// file is what is read of a pyproject.toml.
type file struct {
	Build   *buildSystem     `toml:"build-system"`
	Project *table           `toml:"project"`
	Groups  map[string][]any `toml:"dependency-groups"`
	Tool    tools            `toml:"tool"`
}

type buildSystem struct {
	Requires []string `toml:"requires"`
	Backend  string   `toml:"build-backend"`
	Path     []string `toml:"backend-path"`
}

type table struct {
	Name         string                       `toml:"name"`
	Version      string                       `toml:"version"`
	Python       string                       `toml:"requires-python"`
	Dependencies []string                     `toml:"dependencies"`
	Optional     map[string][]string          `toml:"optional-dependencies"`
	Scripts      map[string]string            `toml:"scripts"`
	Entries      map[string]map[string]string `toml:"entry-points"`
	Dynamic      []string                     `toml:"dynamic"`
}

// tools is what is read of the settings of others; their shapes are their own.
type tools struct {
	UV         map[string]any `toml:"uv"`
	Hatch      map[string]any `toml:"hatch"`
	Setuptools map[string]any `toml:"setuptools"`
	Poetry     map[string]any `toml:"poetry"`
	Pdm        map[string]any `toml:"pdm"`
	Flit       map[string]any `toml:"flit"`
}

// ReadProject reads the project in root, which is seen inside at the absolute folder at. ErrNone.
func ReadProject(root fs.FS, at string, w Wish) (Needs, error) {
	f, err := readFile(root, ".")
	if err != nil {
		return Needs{}, err
	}
	if f.Project == nil || !nameForm.MatchString(f.Project.Name) {
		return Needs{}, refused("%s has no [project] with a name", projectFile)
	}
	n := Needs{
		Name: sandbox.PythonName(f.Project.Name), Version: version(f.Project.Version), Python: f.Project.Python,
		Wanted: wanted(root), Paths: f.paths(root, at, "."), Entries: f.entries(),
	}
	text, err := read(root, lockFile, maxLock)
	switch {
	case err == nil:
		err = n.byLock(text, root, at, f, w)
	case errors.Is(err, fs.ErrNotExist):
		n.Requirements, err = f.requirements(w)
	}
	if err != nil {
		return Needs{}, err
	}
	n.Requirements = sorted(n.Requirements)
	n.Paths = slices.Compact(n.Paths)
	return n, nil
}

func readFile(root fs.FS, folder string) (file, error) {
	var f file
	text, err := read(root, path.Join(folder, projectFile), maxProject)
	if errors.Is(err, fs.ErrNotExist) {
		return f, ErrNone
	}
	if err != nil {
		return f, refused("%s cannot be read: %v", projectFile, err)
	}
	if err := toml.Unmarshal(text, &f); err != nil {
		return f, refused("%s cannot be read: %v", projectFile, err)
	}
	return f, nil
}

func read(root fs.FS, name string, most int64) ([]byte, error) {
	f, err := root.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() {
		return nil, errors.New("it is no plain file")
	}
	text, err := io.ReadAll(io.LimitReader(f, most+1))
	if err == nil && int64(len(text)) > most {
		err = fmt.Errorf("it is longer than %d bytes", most)
	}
	return text, err
}

// wanted is the version in .python-version: the first line that is one.
func wanted(root fs.FS) string {
	text, err := read(root, pinFile, maxProject)
	if err != nil {
		return ""
	}
	for line := range strings.Lines(string(text)) {
		if m := pinForm.FindStringSubmatch(strings.TrimSpace(line)); m != nil {
			return m[1]
		}
	}
	return ""
}

func version(v string) string {
	if !versionForm.MatchString(v) {
		return "0"
	}
	return v
}

// requirements are what the project names itself, where no lock does.
func (f file) requirements(w Wish) ([]string, error) {
	all := slices.Clone(f.Project.Dependencies)
	if slices.Contains(f.Project.Dynamic, "dependencies") {
		return nil, refused("what it needs is worked out by its build, which does not run here; a uv.lock would say it (uv lock)")
	}
	for _, name := range []string{"index", "index-url", "extra-index-url", "find-links", "no-index"} {
		if _, is := f.Tool.UV[name]; is {
			return nil, refused("its pyproject.toml names a place of its own for packages (tool.uv.%s), and there is no uv.lock that says which files are meant; make one (uv lock)", name)
		}
	}
	for _, extra := range selected(w.Extras, f.Project.Optional) {
		if _, is := f.Project.Optional[extra]; !is {
			return nil, refused("it has no extra %q", extra)
		}
		all = append(all, f.Project.Optional[extra]...)
	}
	for _, group := range selected(w.Groups, f.Groups) {
		more, err := f.group(group, 0)
		if err != nil {
			return nil, err
		}
		all = append(all, more...)
	}
	return f.plain(all)
}

// plain are requirements of an index alone.
func (f file) plain(all []string) ([]string, error) {
	sources := map[string]bool{}
	if named, is := f.Tool.UV["sources"].(map[string]any); is {
		for name := range named {
			sources[sandbox.PythonName(name)] = true
		}
	}
	var out []string
	for _, one := range all {
		name, clean, err := Requirement(one)
		if err != nil {
			return nil, err
		}
		if name == sandbox.PythonName(f.Project.Name) {
			continue // its own extras, by a group
		}
		if sources[name] {
			return nil, refused("%s comes from elsewhere than the index (tool.uv.sources), and only a uv.lock could say from where exactly; make one (uv lock)", name)
		}
		out = append(out, clean)
	}
	return out, nil
}

// maxNested bounds how deep groups include each other.
const maxNested = 20

func (f file) group(name string, depth int) ([]string, error) {
	for key := range f.Groups {
		if sandbox.PythonName(key) == sandbox.PythonName(name) {
			name = key
		}
	}
	list, is := f.Groups[name]
	if !is || depth > maxNested {
		return nil, refused("it has no group %q", name)
	}
	var out []string
	for _, one := range list {
		switch one := one.(type) {
		case string:
			out = append(out, one)
		case map[string]any:
			inner, _ := one["include-group"].(string)
			more, err := f.group(inner, depth+1)
			if err != nil {
				return nil, err
			}
			out = append(out, more...)
		default:
			return nil, refused("its group %q cannot be read", name)
		}
	}
	return out, nil
}

// selected are the names that are wanted, all of them for "*".
func selected[V any](names []string, of map[string]V) []string {
	if slices.Contains(names, "*") {
		return slices.Sorted(maps.Keys(of))
	}
	var out []string
	for _, name := range names {
		for key := range of {
			if sandbox.PythonName(key) == sandbox.PythonName(name) {
				name = key
			}
		}
		out = append(out, name)
	}
	return out
}

func sorted(all []string) []string {
	all = slices.Clone(all)
	slices.Sort(all)
	return slices.Compact(all)
}

func refused(format string, args ...any) error {
	return fmt.Errorf(format+": %w", append(args, errdefs.ErrFailedPrecondition)...)
}
