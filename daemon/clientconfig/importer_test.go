package clientconfig

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/containerd/errdefs"
	"github.com/google/go-cmp/cmp"

	"github.com/garita-dev/garita/daemon/config"
)

// bench is an Importer over a home of its own with one settings file in it.
type bench struct {
	*Importer
	t    *testing.T
	home string
	file string
}

const twoServers = "{\r\n\t// mine\r\n\t\"mcpServers\": {\r\n\t\t\"files\": {\r\n\t\t\t\"command\": \"npx\", \"args\": [\"-y\", \"@scope/fs\"],\r\n\t\t\t\"env\": {\"LOG\": \"debug\"}\r\n\t\t},\r\n\t\t\"far\": {\"command\": \"docker\", \"args\": [\"run\", \"x\"]},\r\n\t\t\"mem\": {\"command\":\"npx\",\"args\":[\"mem\"]},\r\n\t},\r\n}"

func newBench(t *testing.T, text string) *bench {
	t.Helper()
	dir := t.TempDir()
	home := filepath.Join(dir, "home")
	b := &bench{t: t, home: home, file: filepath.Join(home, "claude.json")}
	b.Importer = NewImporter(config.Paths{Home: home, State: filepath.Join(dir, "state"), Config: filepath.Join(dir, "config")})
	b.env = func(string) string { return "" }
	if err := os.MkdirAll(home, 0o755); err != nil {
		t.Fatal(err)
	}
	b.write(text)
	return b
}

func (b *bench) write(text string) {
	b.t.Helper()
	if err := os.WriteFile(b.file, []byte(text), 0o640); err != nil {
		b.t.Fatal(err)
	}
}

func (b *bench) read() string {
	b.t.Helper()
	data, err := os.ReadFile(b.file)
	if err != nil {
		b.t.Fatal(err)
	}
	return string(data)
}

func (b *bench) plan(from string) Plan {
	b.t.Helper()
	p, err := b.Plan(b.t.Context(), from, Known{})
	if err != nil {
		b.t.Fatal(err)
	}
	return p
}

func (b *bench) rewire() Rewired {
	b.t.Helper()
	r, err := b.Rewire(b.t.Context(), b.plan(b.file), "/opt/garita")
	if err != nil {
		b.t.Fatal(err)
	}
	return r
}

func (b *bench) restore() []Restored {
	b.t.Helper()
	r, err := b.Restore(b.t.Context(), "")
	if err != nil {
		b.t.Fatal(err)
	}
	return r
}

func (b *bench) backupsLeft() []string {
	b.t.Helper()
	left, err := filepath.Glob(filepath.Join(b.backups, "*.bak"))
	if err != nil {
		b.t.Fatal(err)
	}
	return left
}

func TestRewireAndRestore(t *testing.T) {
	b := newBench(t, twoServers)
	r := b.rewire()
	if r.Count != 2 || r.File != b.file {
		t.Errorf("rewired %+v, want 2 entries of %s", r, b.file)
	}
	now := b.read()
	want := strings.Replace(twoServers, "\"command\": \"npx\", \"args\": [\"-y\", \"@scope/fs\"],\r\n\t\t\t\"env\": {\"LOG\": \"debug\"}",
		"\"command\": \"/opt/garita\",\r\n\t\t\t\"args\": [\"connect\", \"files\", \"--client\", \"home-claude\"]", 1)
	want = strings.Replace(want, `{"command":"npx","args":["mem"]}`, `{"command": "/opt/garita", "args": ["connect", "mem", "--client", "home-claude"]}`, 1)
	if d := cmp.Diff(now, want); d != "" {
		t.Error(d)
	}
	if info, err := os.Stat(b.file); err != nil || info.Mode().Perm() != 0o640 {
		t.Errorf("mode %v %v, want 0640 as before", info.Mode(), err)
	}
	if kept, err := os.ReadFile(r.Backup); err != nil || string(kept) != twoServers {
		t.Errorf("the backup is %q, %v", kept, err)
	}
	if info, err := os.Stat(r.Backup); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the backup's mode is %v %v, want 0600", info.Mode(), err)
	}
	clients, err := b.Clients()
	if err != nil || len(clients["files"]) != 1 || clients["files"][0] != b.file {
		t.Errorf("clients %v %v", clients, err)
	}
	if d := cmp.Diff(b.restore(), []Restored{{File: b.file, Client: "home-claude", Done: true}}); d != "" {
		t.Error(d)
	}
	if b.read() != twoServers {
		t.Errorf("not as before: %q", b.read())
	}
	if left := b.backupsLeft(); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
	if r := b.restore(); len(r) != 0 {
		t.Errorf("restored again: %+v", r)
	}
}

func TestImportAgainChangesNothing(t *testing.T) {
	b := newBench(t, twoServers)
	b.rewire()
	now := b.read()
	p := b.plan(b.file)
	if len(p.Servers()) != 0 || p.Entries[0].Ours != "files" {
		t.Errorf("the second plan is %+v, want all ours", p.Entries)
	}
	if r := b.rewire(); r.Count != 0 || b.read() != now {
		t.Errorf("rewired again: %+v", r)
	}
}

func TestRestoreOfTwoRounds(t *testing.T) {
	b := newBench(t, twoServers)
	b.rewire()
	between := strings.Replace(b.read(), "// mine", "// mine\r\n\t\"extra\": 1,", 1)
	between = strings.Replace(between, "\"far\"", "\"new\": {\"command\":\"npx\",\"args\":[\"new\"]},\r\n\t\t\"far\"", 1)
	b.write(between)
	b.rewire()
	for _, r := range b.restore() {
		if !r.Done {
			t.Errorf("%+v", r)
		}
	}
	want := strings.Replace(twoServers, "// mine", "// mine\r\n\t\"extra\": 1,", 1)
	want = strings.Replace(want, "\"far\"", "\"new\": {\"command\":\"npx\",\"args\":[\"new\"]},\r\n\t\t\"far\"", 1)
	if d := cmp.Diff(b.read(), want); d != "" {
		t.Error(d)
	}
}

func TestRestoreAfterAnEdit(t *testing.T) {
	b := newBench(t, twoServers)
	r := b.rewire()
	edited := strings.Replace(b.read(), "// mine", "// mine, edited since", 1)
	edited = strings.Replace(edited, `"args": ["connect", "mem"`, `"args": ["connect", "other"`, 1)
	b.write(edited)
	got := b.restore()
	if len(got) != 1 || !got[0].Done || !strings.Contains(got[0].Note, "1 of our entries") || !strings.Contains(got[0].Note, "mem has been changed") {
		t.Errorf("got %+v", got)
	}
	now := b.read()
	for _, keep := range []string{"edited since", `"connect", "other"`, `["-y", "@scope/fs"]`, `"env": {"LOG": "debug"}`} {
		if !strings.Contains(now, keep) {
			t.Errorf("%q is not in %s", keep, now)
		}
	}
	if kept, err := os.ReadFile(r.Backup); err != nil || string(kept) != twoServers {
		t.Errorf("the backup was lost: %v", err)
	}
}

func TestRestoreSaysWhatWasAdded(t *testing.T) {
	b := newBench(t, twoServers)
	b.rewire()
	b.write(strings.Replace(b.read(), `{"command": "/opt/garita", "args": ["connect", "mem"`, `{"disabled": true, "command": "/elsewhere/garita", "args": ["connect", "mem"`, 1))
	got := b.restore()
	if len(got) != 1 || !got[0].Done || !strings.Contains(got[0].Note, "mem had disabled added") {
		t.Errorf("got %+v", got)
	}
	if b.read() != twoServers {
		t.Errorf("not as before: %q", b.read())
	}
}

func TestHardLinkedSettings(t *testing.T) {
	b := newBench(t, twoServers)
	if err := os.Link(b.file, b.file+".other"); err != nil {
		t.Fatal(err)
	}
	if p := b.plan(b.file); !strings.Contains(strings.Join(p.Notices, ""), "hard links") {
		t.Errorf("notices %v", p.Notices)
	}
}

// TestImportedIsDeclared takes every sample through servers.yaml: what is imported must read back
// as the same server.
func TestImportedIsDeclared(t *testing.T) {
	dir := t.TempDir()
	paths := config.Paths{
		Config: filepath.Join(dir, "c"), State: filepath.Join(dir, "s"), Data: filepath.Join(dir, "d"), Run: filepath.Join(dir, "r"), Home: "/home/ana",
	}
	store, err := config.Open(paths)
	if err != nil {
		t.Fatal(err)
	}
	samples := [][]byte{[]byte(`{"mcpServers":{"odd one":{"command":"npx","args":["x","","a b","it's","${D:-# no}","\n","true","\u2028","- y","é","/srv/w"],"env":{"A":"","B":"no","C":"\t1e3"}}}}`)}
	for _, file := range corpus(t) {
		samples = append(samples, sample(t, file[len("testdata/"):]))
	}
	var n int
	for _, data := range samples {
		p, err := NewPlan(data, "/srv/claude.json", "c", Known{Servers: store.Servers()}, fakeHost("/home/ana", map[string]Kind{"/srv/w": Dir}))
		if err != nil {
			continue
		}
		if err := store.Put(p.Servers()...); err != nil {
			t.Fatalf("%v\n%s", err, data)
		}
		for _, want := range p.Servers() {
			n++
			got, _ := store.Server(want.Name)
			if d := cmp.Diff(got, want); d != "" {
				t.Error(d)
			}
		}
	}
	if n < 10 {
		t.Errorf("only %d servers were imported: the test proves little", n)
	}
}

func TestRestoreLosesNothing(t *testing.T) {
	t.Run("the file is gone", func(t *testing.T) {
		b := newBench(t, twoServers)
		r := b.rewire()
		if err := os.Remove(b.file); err != nil {
			t.Fatal(err)
		}
		if got := b.restore(); len(got) != 1 || got[0].Done || !strings.Contains(got[0].Note, r.Backup) {
			t.Errorf("got %+v", got)
		}
		if len(b.backupsLeft()) != 1 {
			t.Error("the backup was lost")
		}
	})
	t.Run("the file no longer parses", func(t *testing.T) {
		b := newBench(t, twoServers)
		b.rewire()
		b.write("{")
		if got := b.restore(); len(got) != 1 || got[0].Done || b.read() != "{" || len(b.backupsLeft()) != 1 {
			t.Errorf("got %+v, file %q", got, b.read())
		}
	})
	t.Run("the backup is damaged", func(t *testing.T) {
		b := newBench(t, twoServers)
		r := b.rewire()
		now := b.read()
		if err := os.WriteFile(r.Backup, []byte("{}"), 0o600); err != nil {
			t.Fatal(err)
		}
		if got := b.restore(); len(got) != 1 || got[0].Done || b.read() != now {
			t.Errorf("got %+v", got)
		}
	})
	t.Run("a crash before the file was changed", func(t *testing.T) {
		b := newBench(t, twoServers)
		p := b.plan(b.file)
		if err := b.remember(record{File: b.file, Client: "c", At: time.Now(), Before: p.Sum, After: "x", Entries: []rewired{{"files", "files"}}}, []byte(twoServers)); err != nil {
			t.Fatal(err)
		}
		if got := b.restore(); len(got) != 1 || !got[0].Done || b.read() != twoServers {
			t.Errorf("got %+v", got)
		}
	})
	t.Run("of somebody unknown", func(t *testing.T) {
		b := newBench(t, twoServers)
		if _, err := b.Restore(t.Context(), "cursor"); !errdefs.IsNotFound(err) {
			t.Errorf("got %v, want NotFound", err)
		}
	})
}

func TestRewireRefusesAChangedFile(t *testing.T) {
	b := newBench(t, twoServers)
	p := b.plan(b.file)
	b.write(twoServers + "\n")
	if _, err := b.Rewire(t.Context(), p, "/opt/garita"); !errdefs.IsConflict(err) {
		t.Errorf("got %v, want Conflict", err)
	}
	if b.read() != twoServers+"\n" || len(b.backupsLeft()) != 0 {
		t.Error("something was changed")
	}
	for _, bad := range []string{"garita", "", "/usr/bin/env"} {
		if _, err := b.Rewire(t.Context(), b.plan(b.file), bad); !errdefs.IsInvalidArgument(err) {
			t.Errorf("garita at %q: %v, want InvalidArgument", bad, err)
		}
	}
}

func TestSymlinkedSettings(t *testing.T) {
	b := newBench(t, twoServers)
	link := filepath.Join(t.TempDir(), "claude.json")
	if err := os.Symlink(b.file, link); err != nil {
		t.Fatal(err)
	}
	p := b.plan(link)
	if p.File != b.file || p.Named != link || !strings.Contains(strings.Join(p.Notices, ""), b.file) {
		t.Errorf("plan of %s by %s, notices %v; want the target shown", p.File, p.Named, p.Notices)
	}
	if _, err := b.Rewire(t.Context(), p, "/opt/garita"); err != nil {
		t.Fatal(err)
	}
	if info, err := os.Lstat(link); err != nil || info.Mode()&os.ModeSymlink == 0 {
		t.Errorf("the symlink was replaced: %v %v", info, err)
	}
	p.File, p.Sum = link, digest([]byte(b.read()))
	if _, err := b.Rewire(t.Context(), p, "/opt/garita"); err == nil {
		t.Error("wrote through a symlink")
	}
}

func TestFilesThatAreNone(t *testing.T) {
	b := newBench(t, twoServers)
	dir := t.TempDir()
	for name, want := range map[string]func(error) bool{
		filepath.Join(dir, "gone.json"): errdefs.IsNotFound,
		dir:                             func(err error) bool { return err != nil },
		"relative.json":                 errdefs.IsInvalidArgument,
		"cursor":                        errdefs.IsInvalidArgument,
		ClaudeDesktop:                   errdefs.IsNotFound,
		"/x/config.toml":                errdefs.IsNotImplemented,
		"/dev/zero":                     func(err error) bool { return err != nil },
	} {
		if _, err := b.Plan(t.Context(), name, Known{}); !want(err) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestClaudeDesktopIsFound(t *testing.T) {
	b := newBench(t, "{}")
	b.file = filepath.Join(b.home, ".config", "Claude", "claude_desktop_config.json")
	if err := os.MkdirAll(filepath.Dir(b.file), 0o700); err != nil {
		t.Fatal(err)
	}
	b.write(twoServers)
	if p := b.plan(ClaudeDesktop); p.File != b.file || p.Client != ClaudeDesktop {
		t.Errorf("got %s of %s", p.File, p.Client)
	}
	if p := b.plan(b.file); p.Client != ClaudeDesktop {
		t.Errorf("by its path it is %s", p.Client)
	}
	if got := claudeDesktopFiles("darwin", "/Users/ana", nil)[0]; got != "/Users/ana/Library/Application Support/Claude/claude_desktop_config.json" {
		t.Errorf("on macOS: %s", got)
	}
}

func TestHalfWrittenFileIsReadAgain(t *testing.T) {
	full, part := sample(t, "reports/C08.full.json"), sample(t, "reports/C08.partial.json")
	b := newBench(t, string(part))
	done := make(chan error)
	go func() {
		<-time.After(300 * time.Millisecond)
		done <- os.WriteFile(b.file, full, 0o640)
	}()
	p, err := b.Plan(t.Context(), b.file, Known{})
	if err != nil || len(p.Entries) != 2 {
		t.Errorf("%d entries, %v; want the whole file's 2", len(p.Entries), err)
	}
	if err := <-done; err != nil {
		t.Error(err)
	}
	b.write(string(part))
	if _, err := b.Plan(t.Context(), b.file, Known{}); !errdefs.IsInvalidArgument(err) || !strings.Contains(err.Error(), "line ") {
		t.Errorf("a file that stays half: %v", err)
	}
	if !bytes.Equal([]byte(b.read()), part) {
		t.Error("the file was touched")
	}
}

func TestLookFollowsSymlinks(t *testing.T) {
	dir := t.TempDir()
	real := filepath.Join(dir, "real")
	if err := os.Mkdir(real, 0o700); err != nil {
		t.Fatal(err)
	}
	link := filepath.Join(dir, "link")
	if err := os.Symlink(real, link); err != nil {
		t.Fatal(err)
	}
	b := newBench(t, `{"mcpServers":{"s":{"command":"npx","args":["x","`+link+`"]},"etc":{"command":"npx","args":["x","`+filepath.Join(dir, "etc")+`"]}}}`)
	if err := os.Symlink("/etc", filepath.Join(dir, "etc")); err != nil {
		t.Fatal(err)
	}
	p := b.plan(b.file)
	if got := p.Entries[0].Server; len(got.Spec.Folders) != 1 || got.Spec.Folders[0] != real || got.Source.Command[2] != real {
		t.Errorf("got %+v, want the real folder", got)
	}
	if got := p.Entries[1]; !strings.Contains(got.Skipped, "system") {
		t.Errorf("a symlink to /etc: %+v", got)
	}
}
