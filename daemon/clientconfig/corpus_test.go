package clientconfig

import (
	"bytes"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/garita-dev/garita/daemon/config"
)

// fakeHost is a machine on which only the paths of m exist.
func fakeHost(home string, m map[string]Kind) Host {
	return Host{
		Home:  home,
		Guard: config.Guard{Home: home, Own: []string{home + "/.config/garita"}},
		Look: func(p string) Seen {
			p = filepath.Clean(p)
			if k, ok := m[p]; ok {
				return Seen{k, p}
			}
			for known := range m {
				if strings.HasPrefix(known, p+"/") {
					return Seen{Dir, p}
				}
			}
			return Seen{}
		},
	}
}

// corpus is every settings file we have samples of.
func corpus(t testing.TB) []string {
	t.Helper()
	var files []string
	err := filepath.WalkDir("testdata", func(p string, e fs.DirEntry, err error) error {
		if err == nil && e.Type().IsRegular() && filepath.Ext(p) != ".tsv" && !strings.Contains(p, "fuzz") {
			files = append(files, p)
		}
		return err
	})
	if err != nil || len(files) < 50 {
		t.Fatalf("%d samples, %v; want 50 and more", len(files), err)
	}
	return files
}

func sample(t testing.TB, name string) []byte {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// refusedWhole are the samples that are not read, and what the person is told.
var refusedWhole = map[string]string{
	"claude-code/settings-approvals.json":     "which servers are trusted",
	"continue/experimental-config.json":       "Continue",
	"continue/mcpservers.yaml":                "later version",
	"codex/mcp-remote-env-subtable.toml":      "later version",
	"codex/no-mcp-projects.toml":              "later version",
	"codex/relative-minimal.toml":             "later version",
	"codex/url-and-stdio.toml":                "later version",
	"cursor/invalid-trailing-comma-args.json": "at the top",
	"goose/stdio-builtin-envkeys.yaml":        "later version",
	"mcpb/manifest-uv-user-config.json":       "bundle",
	"misc/empty-file.json":                    "empty",
	"opencode/v1-local-remote.json":           "opencode",
	"opencode/wrong-key-mcp_config.json":      "mistake",
	"toolhive/runconfig-export.json":          "ToolHive",
	"C08.partial.json":                        "ends in the middle",
}

func TestEverySample(t *testing.T) {
	for _, file := range corpus(t) {
		t.Run(file, func(t *testing.T) {
			data, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			_, name, _ := strings.Cut(file, "client-configs/")
			if name == "" {
				name = filepath.Base(file)
			}
			says, refused := refusedWhole[name]
			p, err := NewPlan(data, "/home/ana/"+name, "c", Known{}, fakeHost("/home/ana", nil))
			if readErr := readable(file); readErr != nil {
				err = readErr
			}
			if refused {
				if err == nil || !strings.Contains(err.Error(), says) {
					t.Errorf("got %v, want an error that says %q", err, says)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			checkPlan(t, p)
			checkRewire(t, data)
		})
	}
}

// checkPlan holds what is true of every plan.
func checkPlan(t *testing.T, p Plan) {
	t.Helper()
	names := map[string]bool{}
	for _, e := range p.Entries {
		all := fmt.Sprintf("%+v", e)
		for _, secret := range []string{"PLACEHOLDER", "hunter2"} {
			if strings.Contains(all, secret) {
				t.Errorf("entry %q shows a secret: %s", e.Name, all)
			}
		}
		if !e.Imported() {
			if e.Server.Name != "" {
				t.Errorf("entry %q is skipped (%s) and has a server", e.Name, e.Skipped)
			}
			continue
		}
		if low := strings.ToLower(string(e.Server.Name)); names[low] {
			t.Errorf("two servers are called %s", low)
		} else {
			names[low] = true
		}
		if len(e.Grants) == 0 {
			t.Errorf("entry %q says nothing of what it gets", e.Name)
		}
		for name := range e.Server.Spec.Env {
			if steers(name) {
				t.Errorf("entry %q keeps %s", e.Name, name)
			}
		}
		if slices.ContainsFunc(e.Server.Source.Command, reference.MatchString) {
			t.Errorf("entry %q passes a reference on as text: %q", e.Name, e.Server.Source.Command)
		}
	}
}

// checkRewire rewires and puts back every entry: the file must be byte for byte as before.
func checkRewire(t *testing.T, data []byte) {
	t.Helper()
	d, err := parse(data)
	if err != nil {
		t.Fatal(err)
	}
	now := data
	var entries []rewired
	for _, m := range d.servers.Members {
		name := text(m.Name)
		before := now
		if now, err = Rewire(now, name, "/usr/bin/garita", connectArgs("x", "c")); err != nil {
			t.Fatal(err)
		}
		entries = append(entries, rewired{name, "x"})
		changedOnly(t, before, now, name)
	}
	back, done, left, err := putBack(now, data, "c", entries)
	if err != nil || done != len(entries) || len(left) > 0 {
		t.Errorf("put back %d of %d, left %v, %v", done, len(entries), left, err)
	}
	if !bytes.Equal(back, data) {
		t.Errorf("not as before:\n%q\n%q", back, data)
	}
}

// changedOnly checks that nothing but one entry's value differs, and that it reads as ours.
func changedOnly(t *testing.T, before, after []byte, name string) {
	t.Helper()
	was, err := parse(before)
	if err != nil {
		t.Fatal(err)
	}
	is, err := parse(after)
	if err != nil {
		t.Fatalf("no longer parses: %v\n%s", err, after)
	}
	old, v := was.entry(name), is.entry(name)
	if !bytes.Equal(was.text[:old.StartOffset], is.text[:v.StartOffset]) || !bytes.Equal(was.text[old.EndOffset:], is.text[v.EndOffset:]) || was.enc != is.enc {
		t.Errorf("more than entry %q was changed", name)
	}
	if !is.isRewired(v, rewired{name, "x"}, "c") {
		t.Errorf("entry %q is %s", name, is.raw(v))
	}
}
