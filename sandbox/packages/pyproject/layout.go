package pyproject

import (
	"io/fs"
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/garita-dev/garita/sandbox"
)

// paths are the folders that the modules of the project in folder are imported from, as they are seen
// inside: those that its build would take them from, else src where it is there, and the folder itself.
func (f file) paths(root fs.FS, at, folder string) []string {
	var found []string
	for _, said := range f.layout() {
		if p, ok := inside(at, path.Join(folder, said)); ok && !path.IsAbs(said) && isDir(root, path.Join(folder, said)) && !slices.Contains(found, p) {
			found = append(found, p)
		}
	}
	if len(found) > 0 {
		return found
	}
	if isDir(root, path.Join(folder, "src")) {
		found = append(found, path.Join(at, folder, "src"))
	}
	return append(found, path.Join(at, folder))
}

func isDir(root fs.FS, name string) bool {
	info, err := fs.Stat(root, path.Clean(name))
	return err == nil && info.IsDir()
}

// layout is where the settings of the known builds say that modules lie.
func (f file) layout() []string {
	var out []string
	for _, p := range texts(f.Tool.Hatch, "build", "targets", "wheel", "packages") {
		out = append(out, path.Dir(path.Clean(p)))
	}
	if dir, is := at(f.Tool.UV, "build-backend", "module-root").(string); is {
		out = append(out, path.Clean("./"+dir))
	}
	if dir, is := at(f.Tool.Setuptools, "package-dir", "").(string); is {
		out = append(out, path.Clean("./"+dir))
	}
	for _, p := range texts(f.Tool.Setuptools, "packages", "find", "where") {
		out = append(out, path.Clean(p))
	}
	list, _ := at(f.Tool.Poetry, "packages").([]any)
	for _, one := range list {
		if m, is := one.(map[string]any); is {
			from, _ := m["from"].(string)
			out = append(out, path.Clean("./"+from))
		}
	}
	return out
}

// at is what lies at the end of keys.
func at(m map[string]any, keys ...string) any {
	var now any = m
	for _, key := range keys {
		inner, is := now.(map[string]any)
		if !is {
			return nil
		}
		now = inner[key]
	}
	return now
}

func texts(m map[string]any, keys ...string) []string {
	list, _ := at(m, keys...).([]any)
	var out []string
	for _, one := range list {
		if text, is := one.(string); is {
			out = append(out, text)
		}
	}
	return out
}

var (
	entryForm = regexp.MustCompile(`^[A-Za-z_][\w.]*(?::[A-Za-z_][\w.]*)?$`)
	groupForm = regexp.MustCompile(`^[\w.-]+$`)
	programs  = regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9._-]*$`)
)

// ConsoleScripts is the group of entry points that become programs.
const ConsoleScripts = "console_scripts"

// entries are its entry points; what is none is left out.
func (f file) entries() map[string]map[string]string {
	all := maps.Clone(f.Project.Entries)
	if all == nil {
		all = map[string]map[string]string{}
	}
	all[ConsoleScripts] = f.Project.Scripts
	out := map[string]map[string]string{}
	for group, entries := range all {
		for name, target := range entries {
			target, _, _ = strings.Cut(target, "[")
			target = strings.ReplaceAll(strings.TrimSpace(target), " ", "")
			if !groupForm.MatchString(group) || !programs.MatchString(name) || !entryForm.MatchString(target) || group == ConsoleScripts && !strings.Contains(target, ":") {
				continue
			}
			if out[group] == nil {
				out[group] = map[string]string{}
			}
			out[group][name] = target
		}
	}
	if len(out) == 0 {
		return nil
	}
	return out
}

// plainBackends build nothing: they copy what is there, unless they are told to run hooks.
var plainBackends = []string{
	"hatchling.build", "setuptools.build_meta", "flit_core.buildapi", "uv_build", "poetry.core.masonry.api", "pdm.backend",
}

// Impure says why the project in folder cannot be run from where it is but has to be built, which runs its
// code; "" where it can. n is what was read of it.
func Impure(root fs.FS, n Needs, folder string) string {
	f, err := readFile(root, ".")
	switch {
	case err != nil || f.Project == nil:
		return "it has no pyproject.toml with a [project]"
	case slices.Contains(f.Project.Dynamic, "dependencies") || slices.Contains(f.Project.Dynamic, "scripts") || slices.Contains(f.Project.Dynamic, "entry-points"):
		return "what it needs is worked out by its build"
	case f.Build == nil || !slices.Contains(plainBackends, f.Build.Backend) || len(f.Build.Path) > 0:
		return "its build does more than copying"
	case at(f.Tool.Hatch, "build", "hooks") != nil || at(f.Tool.Hatch, "build", "targets", "wheel", "hooks") != nil ||
		at(f.Tool.Hatch, "build", "targets", "wheel", "force-include") != nil || at(f.Tool.Setuptools, "ext-modules") != nil ||
		at(f.Tool.Setuptools, "cmdclass") != nil || at(f.Tool.Poetry, "build") != nil || at(f.Tool.Pdm, "build", "custom-hook") != nil:
		return "its build runs code of its own"
	}
	for _, name := range []string{"setup.py", "hatch_build.py", "build.py", "pdm_build.py"} {
		if _, err := fs.Stat(root, name); err == nil {
			return "it has a " + name
		}
	}
	for _, target := range n.Entries[ConsoleScripts] {
		if !importable(root, n, folder, target) {
			return "its modules are not where they could be imported from"
		}
	}
	return ""
}

// importable says whether the top module of target is below one of n's paths; folder is where root is inside.
func importable(root fs.FS, n Needs, folder, target string) bool {
	top, _, _ := strings.Cut(target, ":")
	top, _, _ = strings.Cut(top, ".")
	for _, p := range n.Paths {
		rel, ok := strings.CutPrefix(p+"/", strings.TrimSuffix(folder, "/")+"/")
		if !ok {
			continue
		}
		name := path.Join(rel, top)
		if _, err := fs.Stat(root, name+".py"); err == nil || isDir(root, name) {
			return true
		}
	}
	return false
}

// ScriptName is a name for a script.
func ScriptName(file string) string {
	name := sandbox.PythonName(strings.TrimSuffix(path.Base(file), ".py"))
	if !nameForm.MatchString(name) {
		return "script"
	}
	return name
}
