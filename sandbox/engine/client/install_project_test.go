package client_test

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/containerd/errdefs"

	"github.com/garita-dev/garita/sandbox"
	"github.com/garita-dev/garita/sandbox/engine/client"
	"github.com/garita-dev/garita/sandbox/sandboxtest"
)

// projectServer answers each line with where its code is, what it needs, and whether it can write there.
const projectServer = `
import importlib.metadata, os, sys
def main():
    import pydep
    try:
        open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "x"), "w")
        wrote = "writable"
    except OSError as e:
        wrote = e.errno
    try:
        version = importlib.metadata.version("weather-mcp")
    except importlib.metadata.PackageNotFoundError:
        version = "none"
    for line in sys.stdin:
        print(pydep.SAYS, wrote, version, os.getcwd(), sys.argv[1:], sep="|", flush=True)
`

// folderOf writes a project below a folder of the test's.
func folderOf(t *testing.T, files map[string]string) string {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	dir = filepath.Join(dir, "weather")
	for _, name := range slices.Sorted(maps.Keys(files)) {
		file := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(files[name]), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// uvLock is a lock of the project with py-dep 1.0, by the digest that x publishes.
func uvLock(x *sandboxtest.IndexFile) string {
	return fmt.Sprintf(`version = 1
requires-python = ">=3.8"

[[package]]
name = "py-dep"
version = "1.0"
source = { registry = "https://pypi.org/simple" }
wheels = [
    { url = "https://files.pythonhosted.org/packages/aa/py_dep-1.0-py3-none-any.whl", hash = "sha256:%s", size = 1 },
]

[[package]]
name = "weather-mcp"
version = "0.3.0"
source = { virtual = "." }
dependencies = [
    { name = "py-dep", marker = "python_full_version >= '3.8'" },
]
`, x.Digest)
}

const weatherProject = `[project]
name = "weather-mcp"
version = "0.3.0"
requires-python = ">=3.8"
dependencies = ["py-dep>=1"]

[project.scripts]
weather = "weather_mcp.server:main"
`

// runIn starts p as its command says and returns its answer to one line.
func runIn(t *testing.T, e *client.Engine, p sandbox.Package, line string) string {
	t.Helper()
	ref, args, _, err := sandbox.ParsePythonCommand(strings.Fields(line))
	if err != nil {
		t.Fatal(err)
	}
	l := sandboxtest.Shell("")
	l.Argv, l.Package, l.Dir = append(slices.Clone(p.Entry), args...), &p, ref.Dir
	for _, one := range p.Shown {
		l.Mounts = append(l.Mounts, sandbox.Mount{Host: one, At: one})
	}
	i, pipes := sandboxtest.Start(t, e, l)
	answer := pipes.Line(t, "?")
	if err := i.Stop(t.Context(), 0); err != nil {
		t.Error(err)
	}
	return answer
}

func TestPythonProjectsRunFromWhereTheyAre(t *testing.T) {
	e := startEngine(t)
	x := sandboxtest.NewIndex(t)
	dep := x.Publish(t, sandboxtest.Wheel{Name: "py-dep", Version: "1.0", Files: map[string]string{"pydep.py": "SAYS = 'from dep 1.0'\n"}})
	x.Publish(t, sandboxtest.Wheel{Name: "py-dep", Version: "1.5", Files: map[string]string{"pydep.py": "SAYS = 'from dep 1.5'\n"}})
	in := newPythonInstall(t, e, client.RegistryConfig{Default: x.Simple()})
	flat := map[string]string{"server.py": projectServer + "main()\n", "pyproject.toml": weatherProject, "weather_mcp/__init__.py": "", "weather_mcp/server.py": projectServer}
	locked := maps.Clone(flat)
	locked["uv.lock"] = uvLock(dep)
	inSrc := map[string]string{"pyproject.toml": weatherProject, "src/weather_mcp/__init__.py": "", "src/weather_mcp/server.py": projectServer}
	script := map[string]string{"one.py": "# /// script\n# requires-python = \">=3.8\"\n# dependencies = [\"py-dep<1.5\"]\n# ///\n" + projectServer + "main()\n"}
	bare := map[string]string{"server.py": projectServer + "main()\n", "requirements.txt": "py-dep==1.0 --hash=sha256:" + dep.Digest + "\n"}
	for name, tt := range map[string]struct {
		files map[string]string
		line  string // DIR is the folder
		says  string
	}{
		"a script of a project":            {flat, "uv --directory DIR run server.py --x", "from dep 1.5|30|0.3.0|DIR|['--x']"},
		"by its uv.lock":                   {locked, "uv --directory DIR run server.py", "from dep 1.0|30|0.3.0|DIR|[]"},
		"its own program, below src":       {inSrc, "uv --directory DIR run weather", "from dep 1.5|30|0.3.0|DIR|[]"},
		"a script by its whole path":       {flat, "uv run DIR/server.py", "from dep 1.5|30|0.3.0|/home/user|[]"},
		"a script that says what it needs": {script, "uv run --script DIR/one.py q", "from dep 1.0|13|none|/home/user|['q']"},
		"with a list":                      {bare, "uv --directory DIR run --with-requirements requirements.txt server.py", "from dep 1.0|30|none|DIR|[]"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := folderOf(t, tt.files)
			line := strings.ReplaceAll(tt.line, "DIR", dir)
			ref := pyRef(t, line)
			p, err := in.Install(t.Context(), ref, nil, nil)
			if err != nil {
				t.Fatal(err)
			}
			if got, want := runIn(t, e, p, line), strings.ReplaceAll(tt.says, "DIR", dir); got != want {
				t.Errorf("it says %q, want %q", got, want)
			}
			again, err := in.Install(t.Context(), ref, &p, nil)
			if err != nil || again.Tree != p.Tree || !slices.Equal(again.Shown, p.Shown) || !ref.Names(again) {
				t.Errorf("by the lock: %+v, %v", again, err)
			}
			if left, _ := filepath.Glob(dir + "/.venv"); len(left) > 0 {
				t.Error("something was written into the project")
			}
		})
	}
	if s, err := e.Sweep(t.Context()); err != nil || !s.Zero() {
		t.Errorf("left behind: %+v, %v", s, err)
	}
}

func TestPythonProjectsChangeOnlyWhenAskedTo(t *testing.T) {
	e := startEngine(t)
	x := sandboxtest.NewIndex(t)
	publishPython(t, x)
	in := newPythonInstall(t, e, client.RegistryConfig{Default: x.Simple()})
	dir := folderOf(t, map[string]string{"pyproject.toml": weatherProject, "server.py": projectServer + "main()\n"})
	line := "uv --directory " + dir + " run server.py"
	p, err := in.Install(t.Context(), pyRef(t, line), nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	x.Close() // offline from here on
	if err := os.WriteFile(filepath.Join(dir, "server.py"), []byte("import pydep\nprint('changed', pydep.SAYS, flush=True)\ninput()\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	again, err := in.Install(t.Context(), pyRef(t, line), &p, nil)
	if err != nil {
		t.Fatal(err)
	}
	if got := runIn(t, e, again, line); got != "changed from dep" {
		t.Errorf("its code is the person's own: %q", got)
	}
	if err := os.WriteFile(filepath.Join(dir, "pyproject.toml"), []byte(strings.Replace(weatherProject, "py-dep>=1", "py-dep>=1\", \"evil", 1)), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := in.Install(t.Context(), pyRef(t, line), &p, nil); !errdefs.IsFailedPrecondition(err) || !strings.Contains(err.Error(), "garita server update") {
		t.Errorf("what it needs has changed: %v", err)
	}
}

func TestPythonProjectsRefused(t *testing.T) {
	e := startEngine(t)
	x := sandboxtest.NewIndex(t)
	dep := x.Publish(t, sandboxtest.Wheel{Name: "py-dep", Version: "1.0", Files: map[string]string{"pydep.py": ""}})
	sum := sha256.Sum256([]byte("other"))
	lie := strings.Replace(uvLock(dep), dep.Digest, hex.EncodeToString(sum[:]), 1)
	in := newPythonInstall(t, e, client.RegistryConfig{Default: x.Simple()})
	with := func(old, text string) map[string]string {
		return map[string]string{"pyproject.toml": strings.Replace(weatherProject, old, text, 1)}
	}
	for name, tt := range map[string]struct {
		files map[string]string
		says  string
	}{
		"no project":                   {map[string]string{"x": ""}, "no pyproject.toml"},
		"a dependency from a URL":      {with(`"py-dep>=1"`, `"d @ https://h/d.whl"`), "only packages of an index"},
		"one that is an option":        {with(`"py-dep>=1"`, `"--index-url=https://evil"`), ""},
		"a place of its own":           {with("[project.scripts]", "[tool.uv.sources]\npy-dep = {git = \"https://h/x\"}\n[project.scripts]"), "uv lock"},
		"another index":                {with("[project.scripts]", "[[tool.uv.index]]\nurl = \"https://evil\"\n[project.scripts]"), "place of its own"},
		"files that the lock has not":  {map[string]string{"pyproject.toml": weatherProject, "uv.lock": lie}, "No matching distribution found for py-dep"},
		"a lock that is older":         {map[string]string{"pyproject.toml": strings.Replace(weatherProject, `"py-dep>=1"`, `"py-dep", "new"`, 1), "uv.lock": uvLock(dep)}, "needs new"},
		"a Python that is not there":   {with(`">=3.8"`, `">=3.99"`), "needs python >=3.99"},
		"dependencies by its build":    {with(`dependencies = ["py-dep>=1"]`, `dynamic = ["dependencies"]`), "does not run here"},
		"a program that it has not":    {with("weather = ", "other = "), "weather"},
		"what is no pyproject":         {map[string]string{"pyproject.toml": "= ["}, "cannot be read"},
		"a pyproject that leads away":  {map[string]string{"x": ""}, ""},
		"a lock from a repository":     {map[string]string{"pyproject.toml": weatherProject, "uv.lock": strings.Replace(uvLock(dep), `registry = "https://pypi.org/simple"`, `git = "https://h/x"`, 1)}, "repository"},
		"a lock that points elsewhere": {map[string]string{"pyproject.toml": weatherProject, "uv.lock": strings.Replace(uvLock(dep), `registry = "https://pypi.org/simple"`, `editable = "../../x"`, 1)}, "outside"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := folderOf(t, tt.files)
			if name == "a pyproject that leads away" {
				_ = os.Symlink("/etc/passwd", filepath.Join(dir, "pyproject.toml"))
			}
			p, err := in.Install(t.Context(), pyRef(t, "uv --directory "+dir+" run weather"), nil, nil)
			if err == nil || !strings.Contains(err.Error(), tt.says) {
				t.Errorf("got %+v, %v", p, err)
			}
			t.Logf("it says: %v", err)
		})
	}
}
