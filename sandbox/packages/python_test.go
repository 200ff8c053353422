package packages

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/containerd/errdefs"
	"github.com/google/go-cmp/cmp"

	"github.com/garita-dev/garita/sandbox"
)

var python = Python{Path: "/usr/bin/python3.11", Version: "3.11", Pip: "/usr/share/python-wheels/pip-23.0.1-py3-none-any.whl"}

// tree makes files below a new folder; "-> x" is a link.
func tree(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, body := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		var err error
		if target, ok := strings.CutPrefix(body, "-> "); ok {
			err = os.Symlink(target, path)
		} else {
			err = os.WriteFile(path, []byte(body), 0o644)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func TestWhatWasFetchedIsLookedAt(t *testing.T) {
	dir := tree(t, map[string]string{".wheels/Demo-1.0-py3-none-any.whl": "wheel", ".wheels/native-2.0.tar.gz": "source"})
	build := sandbox.InstallScript{Name: "native", Version: "2.0", Integrity: "sha256:41cf6794ba4200b839c53531555f0f3998df4cbb01a4d5cb0b94e3ca5e23947d"}
	to := t.TempDir()
	got, err := TakeFetched(dir, to, []sandbox.InstallScript{build}, python)
	want := []sandbox.PackageFile{
		{Name: "demo", Version: "1.0", File: "Demo-1.0-py3-none-any.whl", Digest: "sha256:f7bee4a5e8fcd3be4a5c6d1d6a7d0d4b3d8b2f3c0b0e5d0d0a0b0c0d0e0f1011"},
		{Name: "native", Version: "2.0", File: "native-2.0.tar.gz", Digest: sandbox.Digest(build.Integrity)},
	}
	if err == nil {
		want[0].Digest = got[0].Digest // the other one is compared
	}
	if diff := cmp.Diff(got, want); diff != "" || err != nil {
		t.Errorf("%v (-got +want):\n%s", err, diff)
	}
	for name, files := range map[string]map[string]string{
		"a link":                  {".wheels/demo-1.0-py3-none-any.whl": "-> /etc/passwd"},
		"another name":            {".wheels/evil.pth": "import os"},
		"a source":                {".wheels/native-2.0.tar.gz": "other bytes"},
		"nothing at all":          {"x": ""},
		"a folder that is a link": {".wheels": "-> /etc"},
	} {
		if got, err := TakeFetched(tree(t, files), t.TempDir(), []sandbox.InstallScript{build}, python); !errdefs.IsFailedPrecondition(err) {
			t.Errorf("%s: %v, %v", name, got, err)
		}
	}
	without := python
	without.Pip = ""
	if _, err := TakeFetched(tree(t, map[string]string{".wheels/demo-1.0-py3-none-any.whl": "", ".pip/" + fetchedPip.file: "changed"}), t.TempDir(), nil, without); !errdefs.IsFailedPrecondition(err) {
		t.Errorf("a pip that was changed: %v", err)
	}
}

func installedPython(t *testing.T, more map[string]string) string {
	t.Helper()
	files := map[string]string{
		"venv/pyvenv.cfg":   "home = /usr/bin\nversion = 3.11.2\n",
		"venv/bin/python":   "-> /usr/bin/python3.11",
		"venv/bin/a_server": "#!/opt/garita/package/venv/bin/python\nimport x",
		"venv/bin/rusty":    "\x7fELF",
		"venv/bin/shelly":   "#!/bin/sh\n",
		"venv/bin/perly":    "#!/usr/bin/perl\n",
		"garita-files.json": `{"python":"3.11","files":[{"name":"a-server","version":"1.0","file":"a_server-1.0-py3-none-any.whl","digest":"sha256:aa"},{"name":"dep","version":"2","file":"dep-2-py3-none-any.whl","digest":"sha256:bb"}]}`,
		"venv/lib/python3.11/site-packages/dep-2.dist-info/entry_points.txt": "[console_scripts]\nshelly = dep:main\n[gui_scripts]\nx = y:z\n",
	}
	for name, body := range more {
		files[name] = body
	}
	return tree(t, files)
}

func TestReadAnInstalledPythonPackage(t *testing.T) {
	dir := installedPython(t, nil)
	ref := sandbox.PackageRef{Ecosystem: sandbox.PyPI, Name: "a-server"}
	got, err := ReadPython(dir, ref, python)
	if err != nil {
		t.Fatal(err)
	}
	const bin = "/opt/garita/package/venv/bin/"
	if got.Version != "1.0" || got.Integrity != "sha256:aa" || got.Runtime != "python 3.11.2" || PythonOf(got) != "3.11" || got.Program() != python.Path || !slices.Equal(got.Entry, []string{bin + "python", bin + "a_server"}) {
		t.Errorf("got %+v", got)
	}
	for name, tt := range map[string]struct {
		name, bin string
		want      []string
		is        func(error) bool
	}{
		"by its program":    {"a-server", "rusty", []string{bin + "rusty"}, nil},
		"a shell script":    {"a-server", "shelly", []string{"/bin/sh", bin + "shelly"}, nil},
		"its only one":      {"dep", "", []string{"/bin/sh", bin + "shelly"}, nil},
		"the interpreter":   {"a-server", "python", []string{bin + "python"}, nil},
		"something else's":  {"a-server", "perly", nil, errdefs.IsFailedPrecondition},
		"none of that name": {"a-server", "nope", nil, errdefs.IsNotFound},
		"a link out of it":  {"a-server", "python3", nil, errdefs.IsNotFound},
		"not what is in it": {"other", "", nil, errdefs.IsFailedPrecondition},
	} {
		p, err := ReadPython(dir, sandbox.PackageRef{Ecosystem: sandbox.PyPI, Name: tt.name, Bin: tt.bin}, python)
		if tt.is != nil && !tt.is(err) || tt.is == nil && (err != nil || !slices.Equal(p.Entry, tt.want)) {
			t.Errorf("%s: got %q, %v", name, p.Entry, err)
		}
	}
	changed := installedPython(t, map[string]string{"garita-files.json": `{"python":"3.12","files":[{"name":"a-server","version":"1.0","file":"a_server-1.0-py3-none-any.whl","digest":"sha256:aa"}]}`})
	if other, err := ReadPython(changed, ref, python); err != nil || other.Tree == got.Tree {
		t.Errorf("another interpreter gives the same tree: %v", err)
	}
	for name, text := range map[string]string{"no list": "x", "a link": "-> /etc/passwd"} {
		if _, err := ReadPython(installedPython(t, map[string]string{"garita-files.json": text}), ref, python); !errdefs.IsFailedPrecondition(err) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestPipIsToldTheOneIndex(t *testing.T) {
	ref := sandbox.PackageRef{Ecosystem: sandbox.PyPI, Name: "mcp", Range: "1.2", Extras: "cli", With: "httpx>=0.27"}
	free := NewFetchPlan(ref.Requirements(), nil, nil, python, "127.0.0.1:4873")
	if line := strings.Join(free.Argv, " "); !strings.HasSuffix(line, "--index-url=http://127.0.0.1:4873/simple/ --only-binary=:all: -- mcp[cli]==1.2 httpx>=0.27") || !strings.Contains(line, "--isolated") {
		t.Errorf("%s", line)
	}
	files := []sandbox.PackageFile{{Name: "mcp", Version: "1.2", File: "mcp-1.2-py3-none-any.whl", Digest: "sha256:aa"}}
	locked := NewFetchPlan(ref.Requirements(), files, nil, python, "127.0.0.1:4873")
	if line := strings.Join(locked.Argv, " "); !strings.HasSuffix(line, "--no-deps -- http://127.0.0.1:4873/files/mcp/mcp-1.2-py3-none-any.whl#sha256=aa") {
		t.Errorf("%s", line)
	}
	install := NewInstallPlan(files, nil, "", python, "127.0.0.1:4873")
	if line := strings.Join(install.Argv, " "); !strings.Contains(line, "--no-index --no-deps") || strings.Contains(line, "http://") {
		t.Errorf("%s", line)
	}
	if build := NewInstallPlan(files, []sandbox.InstallScript{{Name: "n"}}, "", python, "127.0.0.1:4873"); !slices.Contains(build.Argv, "--only-binary=:all:") || slices.Contains(build.Argv, "--no-index") {
		t.Errorf("%q", build.Argv)
	}
	without := python
	without.Pip = ""
	if fetch := NewFetchPlan(ref.Requirements(), nil, nil, without, "127.0.0.1:4873"); !slices.Contains(fetch.Argv, fetchedPip.digest) {
		t.Errorf("%q", fetch.Argv)
	}
}

func TestWhatPipSays(t *testing.T) {
	for line, is := range map[string]func(error) bool{
		"ERROR: No matching distribution found for x==9":                         errdefs.IsNotFound,
		"ERROR: THESE PACKAGES DO NOT MATCH THE HASHES FROM THE REQUIREMENTS":    errdefs.IsFailedPrecondition,
		"ERROR: Package 'x' requires a different Python: 3.11.2 not in '>=3.99'": errdefs.IsFailedPrecondition,
		"something else": errdefs.IsUnavailable,
	} {
		var o Output
		o.Line(line)
		if err := o.Err("install x", sandbox.Exit{Code: 1}); !is(err) || !strings.Contains(err.Error(), strings.TrimPrefix(line, "ERROR: ")) {
			t.Errorf("%s: %v", line, err)
		}
	}
}

func FuzzEntryPoints(f *testing.F) {
	f.Add([]byte("[console_scripts]\na = b:c\n"))
	f.Fuzz(func(t *testing.T, raw []byte) {
		for _, name := range parseEntryPoints(raw) {
			if !scriptName(name) {
				t.Errorf("%q", name)
			}
		}
	})
}
