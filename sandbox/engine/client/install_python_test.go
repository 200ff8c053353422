package client_test

import (
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/containerd/errdefs"

	"github.com/garita-dev/garita/sandbox"
	"github.com/garita-dev/garita/sandbox/engine/client"
	"github.com/garita-dev/garita/sandbox/sandboxtest"
)

// pyServer answers each line with what it can see and what it was given.
const pyServer = `
import os, sys
def main():
    import pydep
    try:
        open(os.path.join(os.path.dirname(__file__), "x"), "w")
        wrote = "writable"
    except OSError as e:
        wrote = e.errno
    for line in sys.stdin:
        print(pydep.SAYS, wrote, "%d.%d" % sys.version_info[:2] in sys.prefix or sys.prefix, sys.argv[1:], sep="|", flush=True)
`

// publishPython is a server of two wheels.
func publishPython(t *testing.T, x *sandboxtest.Index) {
	t.Helper()
	x.Publish(t, sandboxtest.Wheel{Name: "py-dep", Version: "1.0", Files: map[string]string{"pydep.py": "SAYS = 'from dep'\n"}})
	x.Publish(t, sandboxtest.Wheel{
		Name: "py-server", Version: "1.2.3", Requires: []string{"py-dep>=1"},
		Scripts: map[string]string{"py-server": "pyserver:main", "other-tool": "pyserver:main"}, Files: map[string]string{"pyserver.py": pyServer},
	})
}

// newPythonInstall is newInstall, with the index x and the system's Python.
func newPythonInstall(t *testing.T, e *client.Engine, c client.RegistryConfig) *install {
	t.Helper()
	in := newInstall(t, e, client.RegistryConfig{})
	c.Ecosystem = sandbox.PyPI
	in.Index = func() (client.RegistryConfig, error) { return c, nil }
	in.Python = func(version string) (string, error) {
		return client.FindPythonToolchain("/nonexistent", "/usr/bin", version)
	}
	if _, err := in.Python(""); err != nil {
		t.Fatalf("%v: ./task setup test installs what is missing", err)
	}
	return in
}

func pyRef(t *testing.T, line string) sandbox.PackageRef {
	t.Helper()
	ref, _, _, err := sandbox.ParsePythonCommand(strings.Fields(line))
	if err != nil {
		t.Fatal(err)
	}
	return ref
}

// asked starts p and returns its answer to one line.
func asked(t *testing.T, e *client.Engine, p sandbox.Package, args ...string) string {
	t.Helper()
	l := sandboxtest.Shell("")
	l.Argv, l.Package = append(p.Entry, args...), &p
	i, pipes := sandboxtest.Start(t, e, l)
	answer := pipes.Line(t, "?")
	if err := i.Stop(t.Context(), 0); err != nil {
		t.Error(err)
	}
	return answer
}

func TestPythonInstallRunAndInstallAgain(t *testing.T) {
	sandboxtest.Need(t, sandboxtest.RootlessContainerd)
	data := t.TempDir()
	e := engineIn(t, data)
	x := sandboxtest.NewIndex(t)
	publishPython(t, x)
	in := newPythonInstall(t, e, client.RegistryConfig{Default: x.Simple()})
	ref := pyRef(t, "uvx py-server")
	var steps []string
	p, err := in.Install(t.Context(), ref, nil, func(p sandbox.Progress) { steps = append(steps, p.Step) })
	if err != nil {
		t.Fatal(err)
	}
	if p.Version != "1.2.3" || len(p.Files) != 2 || !strings.HasPrefix(p.Integrity, "sha256:") || !strings.HasPrefix(p.Runtime, "python 3.") || !strings.HasPrefix(p.Interpreter, "/usr/bin/python3.") {
		t.Errorf("installed %+v", p)
	}
	for _, want := range []string{"resolve", "download", "unpack", "commit"} {
		if !strings.Contains(strings.Join(steps, " "), want) {
			t.Errorf("no step %q in %q", want, steps)
		}
	}
	if s, err := e.Sweep(t.Context()); err != nil || !s.Zero() {
		t.Errorf("left behind: %+v, %v", s, err)
	}
	if got, want := asked(t, e, p, "a b"), "from dep|30|/opt/garita/package/venv|['a b']"; got != want {
		t.Errorf("the server says %q, want %q", got, want)
	}
	contents, err := e.PackageContents(t.Context(), p)
	if want := "py-dep@1.0 py-server@1.2.3 python@3."; err != nil || !strings.HasPrefix(strings.Join(contents, " "), want) {
		t.Errorf("it consists of %q, %v", contents, err)
	}
	n := len(x.Paths())
	x.Close() // from here on nothing can be fetched
	for name, ref := range map[string]sandbox.PackageRef{"again": ref, "by another program": pyRef(t, "uvx --from py-server other-tool")} {
		again, err := in.Install(t.Context(), ref, nil, nil)
		if err != nil || again.Tree != p.Tree || again.Runtime != p.Runtime {
			t.Errorf("%s: got %+v, %v", name, again, err)
		}
	}
	if err := e.Close(); err != nil {
		t.Fatal(err)
	}
	e = engineIn(t, data)
	in = newPythonInstall(t, e, client.RegistryConfig{Default: x.Simple()})
	again, err := in.Install(t.Context(), ref, &p, nil)
	if err != nil || again.Tree != p.Tree {
		t.Fatalf("by the lock after a restart: got %+v, %v", again, err)
	}
	if got := asked(t, e, again); !strings.HasPrefix(got, "from dep|") {
		t.Errorf("the server says %q", got)
	}
	if len(x.Paths()) != n {
		t.Error("the index was asked again")
	}
}

func TestPythonInstallByTheLockElsewhere(t *testing.T) {
	e, other := startEngine(t), startEngine(t)
	x := sandboxtest.NewIndex(t)
	publishPython(t, x)
	c := client.RegistryConfig{Default: x.Simple(), Before: time.Now()}
	p, err := newPythonInstall(t, e, c).Install(t.Context(), pyRef(t, "uvx py-server"), nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	x.Publish(t, sandboxtest.Wheel{Name: "py-dep", Version: "1.1"})
	again, err := newPythonInstall(t, other, c).Install(t.Context(), pyRef(t, "uvx py-server"), &p, nil)
	if err != nil || again.Tree != p.Tree {
		t.Errorf("what was published since: got %+v, %v", again, err)
	}
}

func TestPythonInstallRefuses(t *testing.T) {
	e := startEngine(t)
	x := sandboxtest.NewIndex(t)
	publishPython(t, x)
	x.Publish(t, sandboxtest.Wheel{Name: "no-program", Version: "1.0"})
	x.Publish(t, sandboxtest.Wheel{Name: "changed", Version: "1.0", Scripts: map[string]string{"changed": "c:m"}}).Body = []byte("other bytes")
	x.Publish(t, sandboxtest.Wheel{Name: "conflict", Version: "1.0", Requires: []string{"py-dep>=9"}})
	x.Publish(t, sandboxtest.Wheel{Name: "from-url", Version: "1.0", Requires: []string{"d @ https://elsewhere.example/d-1.0-py3-none-any.whl"}})
	x.Publish(t, sandboxtest.Wheel{Name: "slips", Version: "1.0", Scripts: map[string]string{"slips": "s:m"}, Files: map[string]string{"../../../../../../tmp/slipped.py": "", "../../../../../../../home/user/slipped": ""}})
	x.Publish(t, sandboxtest.Wheel{Name: "needs-new", Version: "1.0", Extra: "Requires-Python: >=3.99\n"})
	x.Publish(t, sandboxtest.Wheel{Name: "gone", Version: "1.0"}).Yanked = true
	in := newPythonInstall(t, e, client.RegistryConfig{Default: x.Simple()})
	for name, tt := range map[string]struct {
		line string
		want *sandbox.Package
		is   func(error) bool
	}{
		"an unknown package":           {"uvx nothing-here", nil, errdefs.IsNotFound},
		"an unknown version":           {"uvx py-server==9", nil, errdefs.IsNotFound},
		"one that was taken back":      {"uvx gone", nil, errdefs.IsNotFound},
		"no program":                   {"uvx no-program", nil, errdefs.IsNotFound},
		"a dependency that is nowhere": {"uvx conflict", nil, errdefs.IsNotFound},
		"bytes that changed":           {"uvx changed", nil, func(err error) bool { return err != nil }},
		"a dependency from elsewhere":  {"uvx from-url", nil, func(err error) bool { return err != nil }},
		"files beside the environment": {"uvx slips", nil, func(err error) bool { return err != nil }},
		"a newer Python":               {"uvx needs-new", nil, func(err error) bool { return err != nil }},
		"a Python that is not here":    {"uvx --python 3.99 py-server", nil, errdefs.IsFailedPrecondition},
		"not what the lock says": {"uvx py-server", &sandbox.Package{
			Ecosystem: sandbox.PyPI, Name: "py-server", Version: "1.2.3",
			Files: []sandbox.PackageFile{{Name: "py-server", Version: "1.2.3", File: "py_server-1.2.3-py3-none-any.whl", Digest: sandbox.Digest("sha256:" + strings.Repeat("0", 64))}},
		}, func(err error) bool { return err != nil }},
	} {
		t.Run(name, func(t *testing.T) {
			var ref sandbox.PackageRef
			if ref = pyRef(t, tt.line); ref.Python == "3.99" {
				in.Python = func(string) (string, error) { return "", nil }
			}
			got, err := in.Install(t.Context(), ref, tt.want, nil)
			if !tt.is(err) {
				t.Errorf("got %+v, %v", got, err)
			}
			t.Logf("it says: %v", err)
		})
	}
	if s, err := e.Sweep(t.Context()); err != nil || !s.Zero() {
		t.Errorf("left behind: %+v, %v", s, err)
	}
}

func TestPythonVersionsThatAreTooNew(t *testing.T) {
	e := startEngine(t)
	x := sandboxtest.NewIndex(t)
	publishPython(t, x)
	x.Publish(t, sandboxtest.Wheel{Name: "py-dep", Version: "1.1"}).At = time.Now()
	x.Publish(t, sandboxtest.Wheel{Name: "fresh", Version: "2.0"}).At = time.Now()
	in := newPythonInstall(t, e, client.RegistryConfig{Default: x.Simple(), Before: time.Now().Add(-72 * time.Hour)})
	p, err := in.Install(t.Context(), pyRef(t, "uvx py-server"), nil, nil)
	if err != nil || p.Files[0].Version != "1.0" {
		t.Errorf("got %+v, %v", p, err)
	}
	var young *sandbox.TooYoung
	if _, err = in.Install(t.Context(), pyRef(t, "uvx fresh"), nil, nil); !errors.As(err, &young) || young.Name != "fresh" || young.Version != "2.0" || young.Ecosystem != sandbox.PyPI {
		t.Errorf("got %v", err)
	}
}

// pyBuild is a setup.py that tries what an attacker would, and builds a wheel by hand.
const pyBuild = `
import json, os, socket, sys, zipfile
seen = {"env": dict(os.environ), "home": os.listdir(os.path.expanduser("~")), "reached": [], "files": []}
for host, port in %s:
    try:
        socket.create_connection((host, port), 3).close()
        seen["reached"].append("%%s:%%d" %% (host, port))
    except OSError:
        pass
for wheels in ("/opt/garita/package/.wheels", "/opt/garita/package/.pip"):
    try:
        for name in os.listdir(wheels):
            open(os.path.join(wheels, name), "ab").write(b"changed")
    except OSError:
        pass
`

// pyBackend is a build backend that needs nothing but Python.
const pyBackend = pyBuild + `
def _metadata(d):
    info = os.path.join(d, "native-1.0.dist-info"); os.makedirs(info, exist_ok=True)
    open(os.path.join(info, "METADATA"), "w").write("Metadata-Version: 2.1\nName: native\nVersion: 1.0\n")
    open(os.path.join(info, "WHEEL"), "w").write("Wheel-Version: 1.0\nGenerator: t\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
    return "native-1.0.dist-info"
def prepare_metadata_for_build_wheel(d, s=None): return _metadata(d)
def build_wheel(d, s=None, m=None):
    name = "native-1.0-py3-none-any.whl"
    with zipfile.ZipFile(os.path.join(d, name), "w") as z:
        z.writestr("native.py", "SEEN = " + repr(json.dumps(seen)) + "\n")
        z.writestr("native-1.0.dist-info/METADATA", "Metadata-Version: 2.1\nName: native\nVersion: 1.0\n")
        z.writestr("native-1.0.dist-info/WHEEL", "Wheel-Version: 1.0\nGenerator: t\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        z.writestr("native-1.0.dist-info/RECORD", "")
    return name
`

func TestPythonSourcesAreBuiltOnceTheyWereAllowed(t *testing.T) {
	t.Setenv("GITHUB_TOKEN", "ghp_not_for_builds")
	e := startEngine(t)
	x := sandboxtest.NewIndex(t)
	elsewhere := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("it was reached") }))
	t.Cleanup(elsewhere.Close)
	_, port, _ := strings.Cut(strings.TrimPrefix(elsewhere.URL, "http://"), ":")
	tries := fmt.Sprintf(`[("127.0.0.1", %s), ("127.0.0.1", 4873), ("1.1.1.1", 443)]`, port)
	x.Source(t, "native", "1.0", map[string]string{
		"pyproject.toml": "[build-system]\nrequires = []\nbuild-backend = \"backend\"\nbackend-path = [\".\"]\n",
		"backend.py":     fmt.Sprintf(pyBackend, tries), "PKG-INFO": "Metadata-Version: 2.1\nName: native\nVersion: 1.0\n",
	})
	x.Publish(t, sandboxtest.Wheel{
		Name: "uses-native", Version: "1.0", Requires: []string{"native"}, Scripts: map[string]string{"uses-native": "un:main"},
		Files: map[string]string{"un.py": "import sys\ndef main():\n    import native\n    for _ in sys.stdin: print(native.SEEN, flush=True)\n"},
	})
	in := newPythonInstall(t, e, client.RegistryConfig{Default: x.Simple()})
	ref := pyRef(t, "uvx uses-native")
	_, err := in.Install(t.Context(), ref, nil, nil)
	var needs *sandbox.NeedsBuild
	if !errors.As(err, &needs) || needs.Script.Name != "native" || !strings.Contains(needs.Script.Text, "build-backend") {
		t.Fatalf("without approval: %v", err)
	}
	allowed := needs.Script
	allowed.Ran = true
	p, err := in.Install(t.Context(), ref, &sandbox.Package{Ecosystem: sandbox.PyPI, Name: ref.Name, Scripts: []sandbox.InstallScript{allowed}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if len(p.Ran()) != 1 || len(p.Files) != 2 || p.Files[0].File != "native-1.0.tar.gz" {
		t.Errorf("built %+v", p)
	}
	seen := asked(t, e, p)
	if !strings.Contains(seen, `"reached": ["127.0.0.1:4873"]`) || !strings.Contains(seen, `"home": []`) || strings.Contains(seen, "ghp_not") {
		t.Errorf("the build has seen %s", seen)
	}
	again, err := in.Install(t.Context(), ref, &p, nil)
	if err != nil || len(again.Ran()) != 1 {
		t.Errorf("by the lock: %+v, %v", again, err)
	}
	without := p.With(func(sandbox.InstallScript) bool { return false })
	if _, err := in.Install(t.Context(), ref, &without, nil); !errdefs.IsFailedPrecondition(err) || !strings.Contains(err.Error(), "scripts: [native]") {
		t.Errorf("when it is not allowed any more: %v", err)
	}
	if s, err := e.Sweep(t.Context()); err != nil || !s.Zero() {
		t.Errorf("left behind: %+v, %v", s, err)
	}
}
