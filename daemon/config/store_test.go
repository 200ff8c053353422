package config

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/containerd/errdefs"
	"github.com/google/go-cmp/cmp"

	"github.com/garita-dev/garita/sandbox"
)

func testPaths(t *testing.T) Paths {
	t.Helper()
	dir := t.TempDir()
	return Paths{
		Config: filepath.Join(dir, "config"), State: filepath.Join(dir, "state"), Data: filepath.Join(dir, "data"),
		Run: filepath.Join(dir, "run"), Home: filepath.Join(dir, "home"), Isolated: true,
	}
}

func open(t *testing.T, p Paths) *Store {
	t.Helper()
	s, err := Open(p)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func write(t *testing.T, file, text string) {
	t.Helper()
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

var one = sandbox.Server{Name: "one", Source: sandbox.Source{Command: []string{"npx", "one"}}, Spec: sandbox.Spec{Workspace: sandbox.Snapshot}}

func TestStoreOutlivesItself(t *testing.T) {
	p := testPaths(t)
	s := open(t, p)
	if err := s.Put(one); err != nil {
		t.Fatal(err)
	}
	pkg := sandbox.Package{Ecosystem: sandbox.NPM, Name: "one", Version: "1.0.0", Integrity: "sha512-x", Entry: []string{"/usr/bin/node", "/opt/x.js"}}
	if err := s.SetPackage("one", pkg); err != nil {
		t.Fatal(err)
	}
	again := open(t, p)
	if d := cmp.Diff(again.Servers(), []sandbox.Server{one}); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff(again.Package("one"), &pkg); d != "" {
		t.Error(d)
	}
	if err := again.Remove("one"); err != nil {
		t.Fatal(err)
	}
	if again.Package("one") != nil || len(open(t, p).Servers()) != 0 {
		t.Error("removed and still there")
	}
	if err := again.Remove("one"); !errdefs.IsNotFound(err) {
		t.Errorf("removed twice: %v, want NotFound", err)
	}
}

func TestFilesAreTheUsersAlone(t *testing.T) {
	p := testPaths(t)
	s := open(t, p)
	if err := s.Put(one); err != nil {
		t.Fatal(err)
	}
	for file, want := range map[string]os.FileMode{p.ServersFile(): 0o600, p.Config: 0o700, p.State: 0o700, p.Data: 0o700, p.Run: 0o700, p.BackupDir(): 0o700} {
		info, err := os.Stat(file)
		if err != nil {
			t.Fatal(err)
		}
		if info.Mode().Perm() != want {
			t.Errorf("%s has mode %v, want %v", file, info.Mode().Perm(), want)
		}
	}
	left, err := filepath.Glob(filepath.Join(p.Config, ".garita-*"))
	if err != nil || len(left) > 0 {
		t.Errorf("left behind: %v %v", left, err)
	}
}

func TestRunDirectoryIsNoSymlink(t *testing.T) {
	p := testPaths(t)
	elsewhere := t.TempDir()
	if err := os.Symlink(elsewhere, p.Run); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(p); !errdefs.IsPermissionDenied(err) {
		t.Errorf("got %v, want PermissionDenied", err)
	}
}

func TestDotfilesStaySymlinks(t *testing.T) {
	p := testPaths(t)
	s := open(t, p)
	target := filepath.Join(t.TempDir(), "servers.yaml")
	write(t, target, "version: 1\n")
	if err := os.Symlink(target, p.ServersFile()); err != nil {
		t.Fatal(err)
	}
	if err := s.Put(one); err != nil {
		t.Fatal(err)
	}
	if info, err := os.Lstat(p.ServersFile()); err != nil || info.Mode()&os.ModeSymlink == 0 {
		t.Errorf("the symlink was replaced: %v %v", info, err)
	}
	if data, err := os.ReadFile(target); err != nil || !strings.Contains(string(data), "one:") {
		t.Errorf("target: %s %v", data, err)
	}
}

func TestBrokenFileKeepsTheOldAndIsNotOverwritten(t *testing.T) {
	p := testPaths(t)
	s := open(t, p)
	if err := s.Put(one); err != nil {
		t.Fatal(err)
	}
	const broken = "version: 1\nservers:\n  one: {bogus: 1}\n"
	write(t, p.ServersFile(), broken)
	if _, err := s.Reload(); err == nil {
		t.Error("a broken file is no problem?")
	}
	if len(s.Servers()) != 1 {
		t.Error("what was in force is gone")
	}
	if err := s.Put(one); !errdefs.IsFailedPrecondition(err) {
		t.Errorf("put into a broken file: %v, want FailedPrecondition", err)
	}
	if data, err := os.ReadFile(p.ServersFile()); err != nil || string(data) != broken {
		t.Errorf("the person's file was touched: %s %v", data, err)
	}
}

func TestSettings(t *testing.T) {
	got, err := ParseSettings("f", nil, false)
	if err != nil || got.Approvals.Script || got.Approvals.Wait != 10*time.Minute || got.Page.Port != pagePort || !got.Page.Enabled ||
		!got.Doors.HTTP || got.Doors.Port != doorPort || got.Message != 64<<20 {
		t.Errorf("defaults: %+v %v", got, err)
	}
	got, err = ParseSettings("f", nil, true)
	if err != nil || !got.Approvals.Script || got.Page.Port != 0 || got.Doors.Port != 0 {
		t.Errorf("defaults under GARITA_HOME: %+v %v", got, err)
	}
	got, err = ParseSettings("f", []byte("version: 1\napprovals: {script: false, wait: 30s}\npage: {port: 8080, enabled: false}\ndoors: {http: false, port: 8081}\nmessage: 128MiB\npackages: {age: 12h}\nnetwork: {proxy: \"http://u:p@proxy.corp.example:3128\", no_proxy: .corp.example}\n"), true)
	want := Settings{Approvals{false, 30 * time.Second}, Page{false, 8080}, Doors{HTTP: false, Port: 8081}, 128 << 20, Record{Size: recordSize, Free: recordFree, Logs: recordLogs}, Results{Limit: resultsLimit, Kept: resultsKept}, Packages{Age: 12 * time.Hour}, Outside{Proxy: "http://u:p@proxy.corp.example:3128", NoProxy: ".corp.example"}}
	if err != nil || got != want {
		t.Errorf("all set: %+v %v", got, err)
	}
	for _, bad := range []string{"approvals: {scripts: true}", "approvals: {wait: 10}", "page: {port: 70000}", "version: 9", "approvals: {script: maybe}", "door: {}", "doors: {https: true}", "doors: {port: -1}", "message: 64", "message: 1KiB", "message: 2GiB", "packages: {age: 3}"} {
		if got, err := ParseSettings("f", []byte(bad), false); err == nil {
			t.Errorf("%q gives %+v, want an error", bad, got)
		}
	}
}

func TestLockRefusesWhatItWouldLose(t *testing.T) {
	for _, bad := range []string{`{"version":1,"packages":{},"profiles":{}}`, `{"version":2}`, `{"version":1,"version":1}`, `{`} {
		if l, err := ParseLock("f", []byte(bad)); err == nil {
			t.Errorf("%s gives %+v, want an error", bad, l)
		}
	}
}

func TestFindPaths(t *testing.T) {
	t.Setenv("GARITA_HOME", "/g")
	t.Setenv("HOME", "/home/ana")
	got, err := FindPaths()
	want := Paths{Config: "/g/config", State: "/g/state", Data: "/g/data", Run: "/g/run", Home: "/home/ana", Isolated: true}
	if err != nil || got != want {
		t.Errorf("got %+v %v, want %+v", got, err, want)
	}
	t.Setenv("GARITA_HOME", "/g/"+strings.Repeat("x", 200))
	if _, err := FindPaths(); !errdefs.IsFailedPrecondition(err) {
		t.Errorf("a path too long for a socket: %v, want FailedPrecondition", err)
	}
}

func TestWatch(t *testing.T) {
	p := testPaths(t)
	s := open(t, p)
	ctx, stop := context.WithCancel(t.Context())
	told, done := make(chan error, 10), make(chan error)
	go func() { done <- s.Watch(ctx, func(problem error) { told <- problem }) }()
	await := func(what string, broken bool, names int) {
		t.Helper()
		select {
		case problem := <-told:
			if (problem != nil) != broken || len(s.Servers()) != names {
				t.Errorf("%s: problem %v, %d servers; want problem %v, %d servers", what, problem, len(s.Servers()), broken, names)
			}
		case <-time.After(20 * time.Second):
			t.Fatalf("%s: nobody was told", what)
		}
	}
	const good = "version: 1\nservers:\n  one:\n    run: npx one\n"
	write(t, p.ServersFile(), good)
	await("a server added by hand", false, 1)
	write(t, p.ServersFile(), good[:len(good)-12]+"\"")
	await("half a file", true, 1)
	if err := writeFile(p.ServersFile(), []byte(good+"  two:\n    run: npx two\n")); err != nil {
		t.Fatal(err)
	}
	await("mended by a rename", false, 2)
	stop()
	if err := <-done; err != nil {
		t.Error(err)
	}
}

func TestPinsAreKept(t *testing.T) {
	s := open(t, testPaths(t))
	want := Pins{
		Accepted: map[string]map[string]Pin{
			"tool":   {"a\nb": {Digest: "sha256:1", At: time.Date(2026, 11, 29, 20, 0, 0, 0, time.UTC), By: "first use", Definition: []byte(`{"name":"a\nb"}`)}},
			"prompt": {}, // was listed, and is empty
		},
		Refused: map[string]map[string]sandbox.Digest{"tool": {"c": "sha256:2"}},
	}
	if err := s.SetPins("files", want); err != nil {
		t.Fatal(err)
	}
	if changed, err := s.Reload(); changed || err != nil {
		t.Errorf("our own writing is a change (%t, %v)", changed, err)
	}
	got, known := s.Pins("files")
	got.Accepted["tool"]["a\nb"] = Pin{got.Accepted["tool"]["a\nb"].Digest, got.Accepted["tool"]["a\nb"].At, "first use", []byte(`{"name":"a\nb"}`)}
	if diff := cmp.Diff(want, got); diff != "" || !known {
		t.Errorf("known %t: %s", known, diff)
	}
	if err := os.WriteFile(s.Paths().LockFile(), []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	_, _ = s.Reload()
	if _, known := s.Pins("files"); known {
		t.Error("a broken lock is taken for one that says nothing")
	}
}

// TestUpdatesOfOneServerAreNotLost: each begins with what the last one has left, in the file, too.
func TestUpdatesOfOneServerAreNotLost(t *testing.T) {
	p := testPaths(t)
	s := open(t, p)
	if err := s.Put(one); err != nil {
		t.Fatal(err)
	}
	const many = 10
	done := make(chan error, many)
	for range many {
		go func() {
			done <- s.Update("one", func(now *sandbox.Server) error {
				now.Source.Command = append(now.Source.Command, "word")
				return nil
			})
		}()
	}
	for range many {
		if err := <-done; err != nil {
			t.Fatal(err)
		}
	}
	srv, _ := s.Server("one")
	if got := len(srv.Source.Command) + len(srv.Source.Args); got != 2+many {
		t.Errorf("of %d changes %d are left", many, got-2)
	}
	refuse := func(now *sandbox.Server) error {
		now.Source.Command = nil
		return errdefs.ErrInvalidArgument
	}
	if err := s.Update("one", refuse); !errdefs.IsInvalidArgument(err) || !cmp.Equal(open(t, p).Servers(), []sandbox.Server{srv}) {
		t.Errorf("a change that was refused is made: %v", err)
	}
	if err := s.Update("two", refuse); !errdefs.IsNotFound(err) {
		t.Errorf("got %v", err)
	}
}
