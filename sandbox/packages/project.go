package packages

import (
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"slices"
	"strings"

	"github.com/garita-dev/garita/sandbox"
	"github.com/garita-dev/garita/sandbox/packages/pyproject"
)

// finish makes what was not built of a project usable, and removes the source of what was.
func (o Of) finish(dir string, built []sandbox.InstallScript, py Python) error {
	if o.Source != nil && slices.ContainsFunc(built, o.Source.Built) {
		if err := os.RemoveAll(path.Join(dir, sourceDir)); err != nil {
			return fmt.Errorf("clear a source that was built: %w", err)
		}
	}
	if o.Needs == nil || len(o.Needs.Paths)+len(o.Needs.Entries) == 0 {
		return nil
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer root.Close()
	if err := linkProject(root, *o.Needs, py); err != nil {
		return fmt.Errorf("make the project %s importable: %w", o.Needs.Name, err)
	}
	return nil
}

// linkProject writes what an editable installation would: where its modules are imported from, what is
// known of it, and its programs. What packages may have put there is replaced; no link is followed out.
func linkProject(root *os.Root, n pyproject.Needs, py Python) error {
	site := venvDir + "/lib/python" + py.Version + "/site-packages"
	info := site + "/" + strings.ReplaceAll(n.Name, "-", "_") + "-" + n.Version + ".dist-info"
	if err := root.MkdirAll(info, 0o755); err != nil {
		return err
	}
	files := map[string]string{
		site + "/garita-project.pth": strings.Join(n.Paths, "\n") + "\n",
		info + "/METADATA":           "Metadata-Version: 2.1\nName: " + n.Name + "\nVersion: " + n.Version + "\n",
		info + "/INSTALLER":          "garita\n",
		info + "/RECORD":             "",
		info + "/entry_points.txt":   entryPoints(n.Entries),
	}
	for name, target := range n.Entries[pyproject.ConsoleScripts] {
		files[venvDir+"/bin/"+name] = program(target)
	}
	for _, name := range slices.Sorted(maps.Keys(files)) {
		if err := replace(root, name, files[name]); err != nil {
			return err
		}
	}
	return nil
}

func replace(root *os.Root, name, text string) error {
	if _, err := root.Lstat(name); err == nil {
		if err := root.RemoveAll(name); err != nil {
			return err
		}
	}
	mode := fs.FileMode(0o644)
	if path.Dir(name) == venvDir+"/bin" {
		mode = 0o755
	}
	return root.WriteFile(name, []byte(text), mode)
}

// entryPoints is the file that importlib.metadata reads them from.
func entryPoints(all map[string]map[string]string) string {
	var b strings.Builder
	for _, group := range slices.Sorted(maps.Keys(all)) {
		fmt.Fprintf(&b, "[%s]\n", group)
		for _, name := range slices.Sorted(maps.Keys(all[group])) {
			fmt.Fprintf(&b, "%s = %s\n", name, all[group][name])
		}
	}
	return b.String()
}

// program is what pip would write for a console script.
func program(target string) string {
	module, function, _ := strings.Cut(target, ":")
	top, _, _ := strings.Cut(function, ".")
	return "#!" + packageRoot + "/" + venvDir + "/bin/python\nimport sys\nfrom " + module + " import " + top +
		"\nif __name__ == '__main__':\n    sys.exit(" + function + "())\n"
}
