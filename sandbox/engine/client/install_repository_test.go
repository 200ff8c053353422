package client_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/containerd/errdefs"

	"github.com/garita-dev/garita/sandbox"
	"github.com/garita-dev/garita/sandbox/engine/client"
	"github.com/garita-dev/garita/sandbox/sandboxtest"
)

// hatched is the end of a pyproject.toml of the usual kind.
const hatched = "\n[build-system]\nrequires = [\"hatchling\"]\nbuild-backend = \"hatchling.build\"\n"

func newRepositoryInstall(t *testing.T, e *client.Engine, x *sandboxtest.Index, home string) *install {
	t.Helper()
	in := newPythonInstall(t, e, client.RegistryConfig{Default: x.Simple()})
	in.Repository = func(address string) (client.RegistryConfig, error) {
		return client.HostRepository(home, func(string) (string, bool) { return "", false }, address)
	}
	return in
}

func TestPythonFromARepository(t *testing.T) {
	e, other := startEngine(t), startEngine(t)
	x, r := sandboxtest.NewIndex(t), sandboxtest.NewRepository(t)
	publishPython(t, x)
	in := newRepositoryInstall(t, e, x, "/nonexistent")
	first := r.Commit(t, map[string]string{"pyproject.toml": weatherProject + hatched, "weather_mcp/__init__.py": "", "weather_mcp/server.py": projectServer, "link": "weather_mcp/server.py"}, "link")
	r.Tag(t, "v1")
	line := "uvx --from git+" + r.Address() + " weather"
	p, err := in.Install(t.Context(), pyRef(t, line), nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	if p.Name != "weather-mcp" || p.Version != first || !strings.HasPrefix(p.Integrity, "sha256:") || len(p.Files) != 1 || len(p.Scripts) != 0 {
		t.Errorf("installed %+v", p)
	}
	if got, want := runIn(t, e, p, line), "from dep|30|0.3.0|/home/user|[]"; got != want {
		t.Errorf("it says %q, want %q", got, want)
	}
	second := r.Commit(t, map[string]string{"pyproject.toml": weatherProject + hatched, "weather_mcp/server.py": "def main(): print('second', flush=True); input()\n"})
	for name, tt := range map[string]struct{ ref, commit string }{
		"a branch": {"@main", second}, "a tag": {"@v1", first}, "a commit": {"@" + first, first},
	} {
		got, err := in.Install(t.Context(), pyRef(t, "uvx --from git+"+r.Address()+tt.ref+" weather"), nil, nil)
		if err != nil || got.Version != tt.commit {
			t.Errorf("%s: %+v, %v", name, got, err)
		}
	}
	again, err := newRepositoryInstall(t, other, x, "/nonexistent").Install(t.Context(), pyRef(t, line), &p, nil)
	if err != nil || again.Version != first || again.Tree != p.Tree || again.Integrity != p.Integrity {
		t.Errorf("by the lock, elsewhere: %+v, %v", again, err)
	}
	lie := p
	lie.Integrity = "sha256:" + strings.Repeat("0", 64)
	if got, err := newRepositoryInstall(t, other, x, "/nonexistent").Install(t.Context(), pyRef(t, line), &lie, nil); err == nil {
		t.Errorf("other files by the same commit: %+v", got)
	}
	in.Renew = true
	next, err := in.Install(t.Context(), pyRef(t, line), nil, nil)
	if err != nil || next.Version != second {
		t.Errorf("an update: %+v, %v", next, err)
	}
	in.Renew = false
	r.Close()
	x.Close()
	if got, err := in.Install(t.Context(), pyRef(t, line), &p, nil); err != nil || !strings.HasPrefix(runIn(t, e, got, line), "from dep|") {
		t.Errorf("offline: %+v, %v", got, err)
	}
	if s, err := e.Sweep(t.Context()); err != nil || !s.Zero() {
		t.Errorf("left behind: %+v, %v", s, err)
	}
}

func TestARepositoryIsBuiltOnceItWasAllowed(t *testing.T) {
	t.Setenv("GITHUB_TOKEN", "ghp_not_for_builds")
	e := startEngine(t)
	x, r := sandboxtest.NewIndex(t), sandboxtest.NewRepository(t)
	in := newRepositoryInstall(t, e, x, "/nonexistent")
	commit := r.Commit(t, map[string]string{
		"sub/pyproject.toml": "[project]\nname = \"native\"\nversion = \"1.0\"\n[build-system]\nrequires = []\nbuild-backend = \"backend\"\nbackend-path = [\".\"]\n",
		"sub/backend.py":     fmt.Sprintf(pyBackend, `[("127.0.0.1", 4873), ("1.1.1.1", 443)]`),
	})
	ref := pyRef(t, "uvx --from git+"+r.Address()+"#subdirectory=sub python")
	ref.Bin = sandbox.PythonBin
	_, err := in.Install(t.Context(), ref, nil, nil)
	var needs *sandbox.NeedsBuild
	if !errors.As(err, &needs) || needs.Script.Name != "native" || needs.Script.Version != commit || !strings.Contains(needs.Script.Text, `build-backend = "backend"`) {
		t.Fatalf("without leave: %v", err)
	}
	allowed := needs.Script
	allowed.Ran = true
	p, err := in.Install(t.Context(), ref, &sandbox.Package{Ecosystem: sandbox.PyPI, Name: ref.Name, Scripts: []sandbox.InstallScript{allowed}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if len(p.Ran()) != 1 || p.Name != "native" || p.Version != commit {
		t.Errorf("built %+v", p)
	}
	p.Entry = append(p.Entry, "-c", "import native\nfor _ in __import__('sys').stdin: print(native.SEEN, flush=True)")
	seen := asked(t, e, p)
	if !strings.Contains(seen, `"reached": ["127.0.0.1:4873"]`) || !strings.Contains(seen, `"home": []`) || strings.Contains(seen, "ghp_not") {
		t.Errorf("the build has seen %s", seen)
	}
	without := p.With(func(sandbox.InstallScript) bool { return false })
	if _, err := in.Install(t.Context(), ref, &without, nil); !errdefs.IsFailedPrecondition(err) || !strings.Contains(err.Error(), "scripts: [native]") {
		t.Errorf("when it is not allowed any more: %v", err)
	}
}

func TestRepositoriesRefused(t *testing.T) {
	e := startEngine(t)
	x := sandboxtest.NewIndex(t)
	publishPython(t, x)
	usual := map[string]string{"pyproject.toml": weatherProject + hatched, "weather_mcp/server.py": projectServer}
	with := func(name, text string) map[string]string {
		return map[string]string{"pyproject.toml": weatherProject + hatched, "weather_mcp/server.py": projectServer, name: text}
	}
	elsewhere := sandboxtest.NewRepository(t)
	elsewhere.Commit(t, usual)
	home := t.TempDir()
	if err := os.WriteFile(filepath.Join(home, ".netrc"), []byte("machine 127.0.0.1\n  login me\n  password secret-word\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, tt := range map[string]struct {
		files map[string]string
		spec  string // behind the address
		set   func(*sandboxtest.Repository)
		home  string
		says  string // "" is installed
	}{
		"submodules":                  {with(".gitmodules", "[submodule \"x\"]\n"), "", nil, "", "submodules"},
		"files of LFS":                {with("model.bin", "version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 1\n"), "", nil, "", "Git LFS"},
		"no such branch":              {usual, "@nowhere", nil, "", "nowhere"},
		"no package":                  {map[string]string{"README": ""}, "", nil, "", "no Python package"},
		"no such folder":              {usual, "#subdirectory=x", nil, "", "folder"},
		"another host":                {usual, "", func(r *sandboxtest.Repository) { r.Moved = elsewhere.Address() + ".git" }, "", "another host"},
		"moved on the same host":      {usual, "", func(r *sandboxtest.Repository) { r.Moved = "/org/tools.git" }, "", ""},
		"a private one":               {usual, "", func(r *sandboxtest.Repository) { r.User, r.Password = "me", "secret-word" }, "", "~/.netrc"},
		"a private one, with a token": {usual, "", func(r *sandboxtest.Repository) { r.User, r.Password = "me", "secret-word" }, home, ""},
	} {
		t.Run(name, func(t *testing.T) {
			r := sandboxtest.NewRepository(t)
			r.Commit(t, tt.files)
			if tt.set != nil {
				tt.set(r)
			}
			in := newRepositoryInstall(t, e, x, tt.home+"/")
			p, err := in.Install(t.Context(), pyRef(t, "uvx --from git+"+r.Address()+tt.spec+" weather"), nil, nil)
			if tt.says == "" && err != nil || tt.says != "" && (err == nil || !strings.Contains(err.Error(), tt.says)) {
				t.Errorf("got %+v, %v", p, err)
			}
			if err != nil && strings.Contains(err.Error(), "secret-word") {
				t.Error("the token is in the error")
			}
			t.Logf("it says: %v", err)
		})
	}
	if len(elsewhere.Paths()) > 0 {
		t.Errorf("another host was asked: %q", elsewhere.Paths())
	}
}
