package client

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/containerd/errdefs"

	"github.com/garita-dev/garita/sandbox"
	"github.com/garita-dev/garita/sandbox/packages"
	"github.com/garita-dev/garita/sandbox/packages/pyproject"
)

// maxScript bounds a script or a list that is read, in bytes.
const maxScript = 8 << 20

// HostNeeds reads what files of this machine say that ref needs; nil where ref names none. A link is followed
// to what it leads to, as Python would; below a project's folder none leads out of it.
//
// Kinds: NotFound, FailedPrecondition.
func HostNeeds(ref sandbox.PackageRef) (*pyproject.Needs, error) {
	if !ref.OnHost() {
		return nil, nil
	}
	n, err := placeNeeds(ref)
	if err != nil {
		return nil, err
	}
	if ref.List == "" {
		return n, nil
	}
	if n == nil {
		n = &pyproject.Needs{}
	}
	text, err := readText(ref.List)
	if err != nil {
		return nil, err
	}
	more, pinned, err := pyproject.ReadList(text)
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", ref.List, err)
	}
	n.Requirements = append(n.Requirements, more...)
	if n.Pinned == nil {
		n.Pinned = pinned
	}
	return n, nil
}

// placeNeeds is what the script says, else the project.
func placeNeeds(ref sandbox.PackageRef) (*pyproject.Needs, error) {
	if ref.Script != "" {
		n, ok, err := scriptNeeds(ref.Script)
		if ok || err != nil {
			return shown(n, ref), err
		}
	}
	project := ref.Project
	if project == "" && ref.Script != "" {
		project = filepath.Dir(ref.Script) // as people mean it: the project that it lies in
	}
	if project == "" {
		return nil, nil
	}
	n, err := projectNeeds(project, ref)
	switch {
	case err == nil:
		n.Shown = []string{project}
		return shown(n, ref), nil
	case !errors.Is(err, pyproject.ErrNone):
		return nil, fmt.Errorf("read the project %s: %w", project, err)
	case ref.Script == "":
		return nil, fmt.Errorf("there is no pyproject.toml in %s, so it is no project that can be run; name the folder that has one, or a script: %w", project, errdefs.ErrFailedPrecondition)
	}
	return shown(pyproject.Needs{Name: pyproject.ScriptName(ref.Script), Version: "0", Requirements: []string{}}, ref), nil
}

// shown has n show what ref names itself, each part once.
func shown(n pyproject.Needs, ref sandbox.PackageRef) *pyproject.Needs {
	for _, one := range []string{ref.Project, ref.Script} {
		if one != "" && !slices.ContainsFunc(n.Shown, func(s string) bool { return s == one || strings.HasPrefix(one, s+"/") }) {
			n.Shown = append(slices.DeleteFunc(n.Shown, func(s string) bool { return strings.HasPrefix(s, one+"/") }), one)
		}
	}
	return &n
}

func scriptNeeds(script string) (pyproject.Needs, bool, error) {
	text, err := readText(script)
	if err != nil {
		return pyproject.Needs{}, false, err
	}
	lock, err := readText(script + ".lock")
	if err != nil {
		lock = nil
	}
	n, ok, err := pyproject.ReadScript(script, text, lock)
	if err != nil {
		return n, ok, fmt.Errorf("read what %s needs: %w", script, err)
	}
	return n, ok, nil
}

func readText(file string) ([]byte, error) {
	info, err := os.Stat(file)
	if err == nil && (!info.Mode().IsRegular() || info.Size() > maxScript) {
		err = fmt.Errorf("want a plain file of at most %d bytes", maxScript)
	}
	if err != nil {
		return nil, fmt.Errorf("read %s: %w: %w", file, err, errdefs.ErrNotFound)
	}
	f, err := os.Open(file)
	if err != nil {
		return nil, fmt.Errorf("read %s: %w: %w", file, err, errdefs.ErrFailedPrecondition)
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, maxScript))
}

func projectNeeds(folder string, ref sandbox.PackageRef) (pyproject.Needs, error) {
	root, err := os.OpenRoot(folder)
	if err != nil {
		return pyproject.Needs{}, fmt.Errorf("%w: %w", err, errdefs.ErrNotFound)
	}
	defer root.Close()
	list := func(names string) []string {
		return strings.FieldsFunc(names, func(r rune) bool { return r == ',' })
	}
	return pyproject.ReadProject(root.FS(), folder, pyproject.Wish{Extras: list(ref.Extras), Groups: list(ref.Groups)})
}

// minors are the interpreters that are looked for where the first does not fit, newest first.
var minors = []string{"3.14", "3.13", "3.12", "3.11", "3.10", "3.9", "3.8"}

// fitting is the folder and the version of an interpreter that n can be run with: the one it asks for, else
// the first along the PATH, else the newest that fits.
func (in *Installer) fitting(n pyproject.Needs) (toolchain, version string, err error) {
	for _, asked := range append([]string{n.Wanted, ""}, minors...) {
		if asked != "" && !pyproject.Fits(n.Python, asked) {
			continue
		}
		root, err := in.Python(asked)
		if err != nil {
			continue
		}
		py, err := packages.FindPython(root, asked)
		if err == nil && pyproject.Fits(n.Python, py.Version) {
			return root, py.Version, nil
		}
	}
	return "", "", fmt.Errorf("%s needs python %s, and there is none along PATH or in a version manager's folder; install one, for example with uv python install: %w", n.Name, n.Python, errdefs.ErrFailedPrecondition)
}
