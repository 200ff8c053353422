package clientconfig

import (
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/garita-dev/garita/sandbox"
)

// paths finds the files and folders that the arguments name: folders become the workspace, files
// are given read-only.
func (d *draft) paths() string {
	for i := 1; i < len(d.command); i++ {
		if why := d.argument(i); why != "" {
			return why
		}
	}
	d.tidy()
	return ""
}

// argument judges one word: a path, or a flag that carries one.
func (d *draft) argument(i int) string {
	word, prefix := d.command[i], ""
	if name, value, ok := strings.Cut(word, "="); ok && isPath(value) {
		word, prefix = value, name+"="
	}
	if !isPath(word) {
		return ""
	}
	if strings.HasPrefix(word, ".") {
		d.command[i] = word
		if why := d.anchor(i); why != "" {
			return why
		}
		word = d.command[i]
	}
	if word == "~" || strings.HasPrefix(word, "~/") {
		word = filepath.Join(d.j.host.Home, strings.TrimPrefix(word, "~"))
	}
	word, why := d.named(word, i)
	d.command[i] = prefix + word
	return why
}

func isPath(w string) bool {
	return path.IsAbs(w) || w == "~" || strings.HasPrefix(w, "~/") || w == "." || w == ".." || strings.HasPrefix(w, "./") || strings.HasPrefix(w, "../")
}

// named gives what is at a path and returns the path the server is told.
func (d *draft) named(p string, i int) (string, string) {
	if visible(p) || p == "/dev/null" || strings.HasPrefix(p, "/dev/std") {
		return p, ""
	}
	if d.ranFrom(p) {
		return p, ""
	}
	seen := d.j.host.Look(p)
	switch seen.Kind {
	case Missing:
		d.warn("%s does not exist on this machine; nothing is given for it", show(p))
		return p, ""
	case Dir:
		return d.folder(p, seen)
	case File:
		return p, d.file(p, i)
	default:
		return p, "it asks for " + show(p) + ", which is neither a file nor a folder"
	}
}

// ranFrom says whether p is given already, as what a project or a script is run from.
func (d *draft) ranFrom(p string) bool {
	ref, _, ok, err := sandbox.ParsePythonCommand(d.command)
	return ok && err == nil && ref.OnHost() && slices.ContainsFunc(d.mounts, func(m sandbox.Mount) bool {
		clean := filepath.Clean(p)
		return clean == m.At || strings.HasPrefix(clean, m.At+"/") && clean == ref.Script
	})
}

// folder makes a folder part of the workspace. Where symlinks lead to it the server is told the
// real path: only that is mounted.
func (d *draft) folder(p string, seen Seen) (string, string) {
	for _, check := range []string{p, seen.Real} {
		if why := d.refuse(check); why != "" {
			return p, why
		}
	}
	clean := filepath.Clean(p)
	if seen.Real != clean {
		d.warn("%s leads to %s; the server is told that path", show(p), show(seen.Real))
		p = seen.Real
	}
	d.folders = append(d.folders, seen.Real)
	return p, ""
}

// file gives one file, or the package around a program.
func (d *draft) file(p string, i int) string {
	if name := programName(d.command[0]); i == d.script() && (name == "node" || pythonName.MatchString(name)) {
		if dir := d.packageOf(p); dir != "" {
			return d.give(dir)
		}
	}
	return d.give(p)
}

// markers are files that say: a package begins here.
var markers = []string{"package.json", "pyproject.toml", "setup.py", "requirements.txt"}

// packageOf is the nearest folder above a program that is a package and may be given; "" for none.
func (d *draft) packageOf(p string) string {
	for dir := filepath.Dir(filepath.Clean(p)); d.refuse(dir) == ""; dir = filepath.Dir(dir) {
		for _, m := range markers {
			if d.j.host.Look(filepath.Join(dir, m)).Kind == File {
				return dir
			}
		}
	}
	return ""
}

// tidy takes out what is inside something else that is given.
func (d *draft) tidy() {
	slices.Sort(d.folders)
	d.folders = slices.Compact(d.folders)
	inside := func(p string) bool {
		return slices.ContainsFunc(d.folders, func(f string) bool { return strings.HasPrefix(p, f+"/") })
	}
	d.folders = slices.DeleteFunc(d.folders, inside)
	d.mounts = slices.DeleteFunc(d.mounts, func(m sandbox.Mount) bool {
		return inside(m.At) || slices.Contains(d.folders, m.At)
	})
	slices.SortFunc(d.mounts, func(a, b sandbox.Mount) int { return strings.Compare(a.At, b.At) })
}
