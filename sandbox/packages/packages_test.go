package packages

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/containerd/errdefs"
	"github.com/google/go-cmp/cmp"

	"github.com/garita-dev/garita/sandbox"
)

var tools = Tools{Node: "/usr/bin/node", NPM: "/usr/bin/npm"}

const goodLock = `{"name":"package","lockfileVersion":3,"packages":{
	"node_modules/@s/server":{"version":"1.2.3","resolved":"http://127.0.0.1:4873/@s/server/-/server-1.2.3.tgz","integrity":"sha512-AAA"},
	"node_modules/b":{"version":"2.0.0","integrity":"sha512-BBB"},
	"node_modules/b/node_modules/c":{"version":"3.0.0","inBundle":true}}}`

// installed makes a folder as npm leaves it.
func installed(t *testing.T, lock, description string, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	all := map[string]string{"node_modules/.package-lock.json": lock, "node_modules/@s/server/package.json": description}
	for name, body := range files {
		all["node_modules/@s/server/"+name] = body
	}
	for name, body := range all {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if target, ok := strings.CutPrefix(body, "-> "); ok {
			if err := os.Symlink(target, path); err != nil {
				t.Fatal(err)
			}
			continue
		}
		if err := os.WriteFile(path, []byte(body), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

var ref = sandbox.PackageRef{Ecosystem: sandbox.NPM, Name: "@s/server"}

func TestReadAnInstalledPackage(t *testing.T) {
	dir := installed(t, goodLock, `{"bin":"dist/index.js"}`, map[string]string{"dist/index.js": "#!/usr/bin/env node\n"})
	got, err := Read(dir, ref, tools)
	if err != nil {
		t.Fatal(err)
	}
	want := sandbox.Package{
		Ecosystem: sandbox.NPM, Name: "@s/server", Version: "1.2.3", Integrity: "sha512-AAA",
		Tree:  got.Tree, // its value is checked by what changes it, below
		Entry: []string{"/usr/bin/node", "/opt/garita/package/node_modules/@s/server/dist/index.js"},
	}
	if diff := cmp.Diff(got, want); diff != "" {
		t.Errorf("(-got +want):\n%s", diff)
	}
	changed := installed(t, strings.Replace(goodLock, "BBB", "CCC", 1), `{"bin":"dist/index.js"}`, map[string]string{"dist/index.js": ""})
	other, err := Read(changed, ref, tools)
	if err != nil || other.Tree == got.Tree {
		t.Errorf("a dependency's other bytes give the same tree (%v)", err)
	}
	if err := Check(other, &got); !errdefs.IsFailedPrecondition(err) {
		t.Errorf("the lock does not notice: %v", err)
	}
	if err := Check(got, &got); err != nil {
		t.Errorf("the lock refuses its own: %v", err)
	}
}

func TestHowProgramsAreStarted(t *testing.T) {
	const at = "/opt/garita/package/node_modules/@s/server/"
	for name, tt := range map[string]struct {
		bin, asked string
		files      map[string]string
		want       []string
	}{
		"the only one":          {`{"x":"./x.js"}`, "", map[string]string{"x.js": ""}, []string{"/usr/bin/node", at + "x.js"}},
		"the eponymous one":     {`{"x":"x.js","server":"s.js"}`, "", map[string]string{"x.js": "", "s.js": ""}, []string{"/usr/bin/node", at + "s.js"}},
		"the one asked for":     {`{"x":"x.js","server":"s.js"}`, "x", map[string]string{"x.js": "", "s.js": ""}, []string{"/usr/bin/node", at + "x.js"}},
		"node by env":           {`"x"`, "", map[string]string{"x": "#!/usr/bin/env node\r\n"}, []string{"/usr/bin/node", at + "x"}},
		"node with options":     {`"x"`, "", map[string]string{"x": "#!/usr/bin/env -S node --no-warnings\n"}, []string{"/usr/bin/node", "--no-warnings", at + "x"}},
		"node by path":          {`"x"`, "", map[string]string{"x": "#!/opt/node/bin/node\n"}, []string{"/usr/bin/node", at + "x"}},
		"a shell script":        {`"x"`, "", map[string]string{"x": "#!/bin/sh\n"}, []string{"/bin/sh", at + "x"}},
		"a binary":              {`"x"`, "", map[string]string{"x": "\x7fELF\x02"}, []string{at + "x"}},
		"a link inside":         {`"x"`, "", map[string]string{"x": "-> real.js", "real.js": ""}, []string{"/usr/bin/node", at + "x"}},
		"names that come twice": {`"x","bin":"y"`, "", map[string]string{"x": "", "y": ""}, []string{"/usr/bin/node", at + "y"}},
	} {
		t.Run(name, func(t *testing.T) {
			r := ref
			r.Bin = tt.asked
			got, err := Read(installed(t, goodLock, `{"bin":`+tt.bin+`}`, tt.files), r, tools)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(got.Entry, tt.want); diff != "" {
				t.Errorf("(-got +want):\n%s", diff)
			}
		})
	}
}

func TestPackagesRefused(t *testing.T) {
	script := map[string]string{"x": ""}
	for name, tt := range map[string]struct {
		lock, description string
		files             map[string]string
		is                func(error) bool
	}{
		"no lock to read":             {"{", `{"bin":"x"}`, script, errdefs.IsFailedPrecondition},
		"another package":             {`{"packages":{}}`, `{"bin":"x"}`, script, errdefs.IsFailedPrecondition},
		"a dependency from git":       {strings.Replace(goodLock, `"integrity":"sha512-BBB"`, `"resolved":"git+ssh://x"`, 1), `{"bin":"x"}`, script, errdefs.IsFailedPrecondition},
		"a dependency that is a link": {strings.Replace(goodLock, `"integrity":"sha512-BBB"`, `"integrity":"sha512-BBB","link":true`, 1), `{"bin":"x"}`, script, errdefs.IsFailedPrecondition},
		"no program":                  {goodLock, `{}`, nil, errdefs.IsNotFound},
		"several, none eponymous":     {goodLock, `{"bin":{"a":"x","b":"x"}}`, script, errdefs.IsNotFound},
		"a program outside":           {goodLock, `{"bin":"../../../x"}`, script, errdefs.IsFailedPrecondition},
		"an absolute program":         {goodLock, `{"bin":"/bin/sh"}`, script, errdefs.IsFailedPrecondition},
		"a program that is missing":   {goodLock, `{"bin":"y"}`, script, errdefs.IsFailedPrecondition},
		"a link out":                  {goodLock, `{"bin":"x"}`, map[string]string{"x": "-> /etc/passwd"}, errdefs.IsFailedPrecondition},
		"a link to the next package":  {goodLock, `{"bin":"x"}`, map[string]string{"x": "-> ../../b/x"}, errdefs.IsFailedPrecondition},
		"a folder":                    {goodLock, `{"bin":"d"}`, map[string]string{"d/x": ""}, errdefs.IsFailedPrecondition},
		"another interpreter":         {goodLock, `{"bin":"x"}`, map[string]string{"x": "#!/usr/bin/env bun\n"}, errdefs.IsFailedPrecondition},
		"a description that is none":  {goodLock, `[]`, script, errdefs.IsFailedPrecondition},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := Read(installed(t, tt.lock, tt.description, tt.files), ref, tools)
			if !tt.is(err) {
				t.Errorf("got %+v, %v", got, err)
			}
		})
	}
}

func TestWhatNpmSays(t *testing.T) {
	for name, tt := range map[string]struct {
		output string
		is     func(error) bool
		says   string
	}{
		"unknown":      {"npm info using node@v20.1.0\nnpm error code E404\nnpm error 404 Not Found - GET http://127.0.0.1:4873/x - garita: no", errdefs.IsNotFound, "garita: no"},
		"old style":    {"npm ERR! code ETARGET\nnpm ERR! notarget No matching version", errdefs.IsNotFound, "No matching version"},
		"engines":      {"npm error code EBADENGINE\nnpm error engine Unsupported engine", errdefs.IsFailedPrecondition, "Unsupported"},
		"the network":  {"npm error code ECONNRESET\nnpm error network aborted", errdefs.IsUnavailable, "aborted"},
		"not a word":   {"", errdefs.IsUnavailable, "code 1"},
		"foreign text": {"npm error code `rm -rf /`", errdefs.IsUnavailable, "rm"},
	} {
		t.Run(name, func(t *testing.T) {
			var o Output
			for line := range strings.Lines(tt.output) {
				o.Line(strings.TrimSuffix(line, "\n"))
			}
			err := o.Err("install "+ref.String(), sandbox.Exit{Code: 1})
			if !tt.is(err) || !strings.Contains(err.Error(), tt.says) {
				t.Errorf("got %v", err)
			}
		})
	}
	var o Output
	o.Line("npm info using node@v20.20.2")
	if o.Node != "v20.20.2" {
		t.Errorf("node is %q", o.Node)
	}
}

func TestPlanKeepsNpmInside(t *testing.T) {
	p := NewPlan(ref, tools, "127.0.0.1:4873")
	line := " " + strings.Join(p.Argv, " ") + " "
	for _, want := range []string{" --ignore-scripts ", " --registry=http://127.0.0.1:4873/ ", " --git=/bin/false ", " --omit=dev ", " install @s/server "} {
		if !strings.Contains(line, want) {
			t.Errorf("%q is missing in %s", want, line)
		}
	}
}

func TestFindTools(t *testing.T) {
	if _, err := FindTools(""); err != nil {
		t.Skip("node and npm are not installed in /usr: ", err)
	}
	dir := t.TempDir()
	if err := os.MkdirAll(filepath.Join(dir, "bin"), 0o755); err != nil {
		t.Fatal(err)
	}
	for name, body := range map[string]string{"node": "x", "npm": "-> /etc/passwd"} {
		path := filepath.Join(dir, "bin", name)
		if target, ok := strings.CutPrefix(body, "-> "); ok {
			_ = os.Symlink(target, path)
		} else {
			_ = os.WriteFile(path, []byte(body), 0o755)
		}
	}
	got, err := FindTools(dir)
	if err != nil || got.Node != filepath.Join(dir, "bin/node") || !strings.HasPrefix(got.NPM, "/usr/") {
		t.Errorf("got %+v, %v", got, err)
	}
}

func FuzzReadDescriptions(f *testing.F) {
	f.Add(`{"bin":"x"}`, "")
	f.Add(`{"bin":{"a":"./x","b":"../y"}}`, "a")
	f.Fuzz(func(t *testing.T, description, bin string) {
		r := ref
		r.Bin = bin
		script, err := findBin([]byte(description), r)
		if err == nil && (filepath.IsAbs(script) || script == ".." || strings.HasPrefix(script, "../") || filepath.Clean(script) != script) {
			t.Fatalf("%q gives %q", description, script)
		}
	})
}
