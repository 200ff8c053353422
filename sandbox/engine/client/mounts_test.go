package client_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/containerd/errdefs"
	"github.com/google/go-cmp/cmp"

	"github.com/garita-dev/garita/sandbox"
	"github.com/garita-dev/garita/sandbox/sandboxtest"
)

// asker is a sandbox that runs what it is sent and answers on one line.
const asker = `while read line; do eval "$line" 2>&1 | tr '\n' ' '; echo; done`

func ask(t *testing.T, p *sandboxtest.Pipes, script string) string {
	t.Helper()
	return strings.TrimSpace(p.Line(t, script))
}

func folderWith(t *testing.T, files map[string]string) string {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func within(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), 40*time.Second)
	t.Cleanup(cancel)
	return ctx
}

func TestASnapshotKeepsTheHostAsItIsUntilApplied(t *testing.T) {
	e := shared(t)
	folder := folderWith(t, map[string]string{"a.txt": "hello\n", "sub/b.txt": "b\n"})
	l := sandboxtest.Shell(asker)
	l.Folders = snapshotOf(folder)
	id := l.Folders[0].Workspace
	_, p := sandboxtest.Start(t, e, l)
	ctx := within(t)
	mark, err := e.MarkWorkspace(ctx, id)
	if err != nil {
		t.Fatal(err)
	}
	if got := ask(t, p, "cat "+folder+"/a.txt; echo new > "+folder+"/c.txt; rm "+folder+"/sub/b.txt; ls /workspace/project"); got != "hello a.txt c.txt sub" {
		t.Errorf("inside: %q", got)
	}
	if _, err := os.Stat(filepath.Join(folder, "c.txt")); err == nil {
		t.Fatal("the host's folder has changed")
	}
	since, err := e.WorkspaceSince(ctx, id, mark)
	if err != nil || len(since) != 2 {
		t.Errorf("since the mark: %+v, %v", since, err)
	}

	// A second sandbox of the same workspace sees the same files.
	again := sandboxtest.Shell(asker)
	again.Folders = l.Folders
	_, q := sandboxtest.Start(t, e, again)
	if got := ask(t, q, "cat "+folder+"/c.txt"); got != "new" {
		t.Errorf("in a second sandbox: %q", got)
	}

	diff, err := e.WorkspaceDiff(ctx, id)
	if err != nil || len(diff) != 2 {
		t.Fatalf("diff: %+v, %v", diff, err)
	}
	if _, left, err := e.ApplyWorkspace(ctx, id, nil); err != nil || len(left) > 0 {
		t.Fatalf("apply: left %+v, %v", left, err)
	}
	info, err := os.Stat(filepath.Join(folder, "c.txt"))
	if err != nil {
		t.Fatal(err)
	}
	if st, ok := info.Sys().(*syscall.Stat_t); !ok || int(st.Uid) != os.Getuid() {
		t.Errorf("applied as uid %d, want %d", st.Uid, os.Getuid())
	}
	if _, err := os.Stat(filepath.Join(folder, "sub/b.txt")); err == nil {
		t.Error("the deletion was not applied")
	}
}

func TestDirectFoldersAndMountsAreTheHostsOwn(t *testing.T) {
	e := shared(t)
	direct, input := folderWith(t, map[string]string{"a": "1"}), folderWith(t, map[string]string{"in": "given"})
	l := sandboxtest.Shell(asker)
	l.Folders = []sandbox.Folder{{Host: direct, Mode: sandbox.Direct}}
	l.Mounts = []sandbox.Mount{
		{Host: input, At: "/workspace/input"},
		{Host: filepath.Join(input, "in"), At: "/workspace/one-file"},
	}
	_, p := sandboxtest.Start(t, e, l)
	if got := ask(t, p, "echo out > "+direct+"/b; cat /workspace/input/in /workspace/one-file; touch /workspace/input/x /workspace/one-file 2>/dev/null || echo refused"); got != "givengivenrefused" {
		t.Errorf("inside: %q", got)
	}
	text, err := os.ReadFile(filepath.Join(direct, "b"))
	if err != nil || string(text) != "out\n" {
		t.Errorf("on the host: %q, %v", text, err)
	}
}

func TestAVolumeLastsAndIsTheServersOwn(t *testing.T) {
	e := shared(t)
	for _, step := range []struct{ volume, script, want string }{
		{"files.claude", "echo kept > ~/f; cat ~/f", "kept"},
		{"files.claude", "cat ~/f", "kept"},
		{"other", "cat ~/f 2>/dev/null || echo none", "none"},
		{"", "cat ~/f 2>/dev/null || echo none", "none"},
	} {
		l := sandboxtest.Shell(step.script)
		l.Volume = step.volume
		i, p := sandboxtest.Start(t, e, l)
		if got := p.Next(t); got != step.want {
			t.Errorf("volume %q: %s: got %q, want %q", step.volume, step.script, got, step.want)
		}
		await(t, i)
	}
	l := sandboxtest.Shell("true")
	l.Volume = "../escape"
	if _, _, err := sandboxtest.TryStart(t, e, l); !errdefs.IsInvalidArgument(err) {
		t.Errorf("got %v, want InvalidArgument", err)
	}
}

func TestWhatLeadsOutIsRefusedOrNamed(t *testing.T) {
	e := shared(t)
	dir := folderWith(t, map[string]string{"secret/key": "s3cret", "folder/plain": "x"})
	folder := filepath.Join(dir, "folder")
	if err := os.Link(filepath.Join(dir, "secret/key"), filepath.Join(folder, "linked")); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(filepath.Join(dir, "secret"), filepath.Join(folder, "way-out")); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(folder, filepath.Join(dir, "alias")); err != nil {
		t.Fatal(err)
	}
	home, _ := os.UserHomeDir()
	for name, host := range map[string]string{
		"a symlink": filepath.Join(dir, "alias"), "the home directory": home, "a symlink on the way": filepath.Join(dir, "alias", "plain"),
	} {
		for _, mode := range []sandbox.WorkspaceMode{sandbox.ReadOnly, sandbox.Direct, sandbox.Snapshot} {
			l := sandboxtest.Shell("true")
			l.Folders = []sandbox.Folder{{Host: host, Mode: mode, Workspace: sandboxtest.WorkspaceID()}}
			if _, _, err := sandboxtest.TryStart(t, e, l); !errdefs.IsInvalidArgument(err) {
				t.Errorf("%s, %s: got %v, want InvalidArgument", name, mode, err)
			}
		}
	}
	l := sandboxtest.Shell(asker)
	l.Folders = snapshotOf(folder)
	i, p := sandboxtest.Start(t, e, l)
	for name, script := range map[string]string{
		"reading through a symlink": "cat " + folder + "/way-out/key",
		"its neighbor":              "cat " + dir + "/secret/key",
		"a new hard link outward":   "ln /usr/bin/env " + folder + "/env",
		"through /proc":             "cat /proc/1/root" + dir + "/secret/key",
		"a device":                  "mknod " + folder + "/sda b 8 0",
	} {
		if got := ask(t, p, "("+script+") >/dev/null 2>&1 && echo done || echo refused"); got != "refused" {
			t.Errorf("%s: %q", name, got)
		}
	}
	eventually(t, 10*time.Second, "the hard link is named", func() bool {
		return strings.Contains(strings.Join(i.Info().Notices, "\n"), "hard links to files elsewhere; the server can read what is shared: linked")
	})
}

func TestNothingIsLeftOfALaunchThatIsRefusedHalfway(t *testing.T) {
	e := shared(t)
	folder := folderWith(t, nil)
	for name, change := range map[string]func(*sandbox.Launch){
		"second folder missing": func(l *sandbox.Launch) {
			l.Folders = append(snapshotOf(folder), sandbox.Folder{Host: folder + "/absent", Mode: sandbox.ReadOnly})
		},
		"no such image":   func(l *sandbox.Launch) { l.Root.Image = sandbox.Digest("sha256:" + strings.Repeat("0", 64)) },
		"no such package": func(l *sandbox.Launch) { l.Package = &sandbox.Package{Ecosystem: sandbox.NPM, Name: "x", Version: "1"} },
		"no such program": func(l *sandbox.Launch) { l.Folders, l.Argv = snapshotOf(folder), []string{"/no/such"} },
	} {
		t.Run(name, func(t *testing.T) {
			l := sandboxtest.Shell("true")
			change(&l)
			if _, _, err := sandboxtest.TryStart(t, e, l); !errdefs.IsNotFound(err) {
				t.Errorf("got %v, want NotFound", err)
			}
			s, err := e.Sweep(within(t))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(s.Details, []string(nil)); diff != "" || !s.Zero() {
				t.Errorf("left behind: %+v", s)
			}
		})
	}
}
