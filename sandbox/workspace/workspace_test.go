package workspace

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/containerd/errdefs"
	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"github.com/garita-dev/garita/sandbox"
)

const id = sandbox.WorkspaceID("w0123456789abcdef")

// desk is a store, a host folder and, while mounted, the merged view of it.
type desk struct {
	t       testing.TB
	store   *Store
	data    string
	run     string
	host    string
	merged  string
	release func() error
}

func newDesk(t testing.TB, files ...string) *desk {
	t.Helper()
	d := newDeskIn(t, t.TempDir(), files...)
	t.Cleanup(d.unmount)
	return d
}

// newDeskIn is newDesk in a directory; its caller unmounts.
func newDeskIn(t testing.TB, dir string, files ...string) *desk {
	t.Helper()
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	base, err := filepath.EvalSymlinks(dir)
	if err != nil {
		t.Fatal(err)
	}
	d := &desk{t: t, data: base + "/data", run: base + "/run", host: base + "/host"}
	for _, f := range files {
		d.put(d.host, f)
	}
	d.must(os.MkdirAll(d.host, 0o755))
	d.reopen()
	return d
}

func (d *desk) must(err error) {
	d.t.Helper()
	if err != nil {
		d.t.Fatal(err)
	}
}

// put makes a file from "path=content", a directory from "path/", a link from "path->target".
func (d *desk) put(root, spec string) {
	d.t.Helper()
	if dir, isDir := strings.CutSuffix(spec, "/"); isDir {
		d.must(os.MkdirAll(filepath.Join(root, dir), 0o755))
		return
	}
	path, target, isLink := strings.Cut(spec, "->")
	content := ""
	if !isLink {
		path, content, _ = strings.Cut(spec, "=")
	}
	d.must(os.MkdirAll(filepath.Dir(filepath.Join(root, path)), 0o755))
	if isLink {
		d.must(os.Symlink(target, filepath.Join(root, path)))
		return
	}
	d.must(os.WriteFile(filepath.Join(root, path), []byte(content), 0o644))
}

// reopen is what an engine that starts again does.
func (d *desk) reopen() {
	d.t.Helper()
	s, err := OpenAt(d.data, d.run)
	d.must(err)
	d.store = s
}

func (d *desk) mount() *desk {
	d.t.Helper()
	merged, release, err := d.store.Mount(id, []string{d.host})
	d.must(err)
	d.merged, d.release = merged[0], release
	return d
}

func (d *desk) unmount() {
	d.t.Helper()
	if d.release != nil {
		d.must(d.release())
		d.release = nil
	}
}

func (d *desk) changes() []sandbox.Change {
	d.t.Helper()
	c, err := d.store.Changes(context.Background(), id)
	d.must(err)
	return c
}

func (d *desk) mark() sandbox.Mark {
	d.t.Helper()
	m, err := d.store.Mark(context.Background(), id)
	d.must(err)
	return m
}

func (d *desk) since(m sandbox.Mark) []string {
	d.t.Helper()
	c, err := d.store.Since(context.Background(), id, m)
	d.must(err)
	return words(c)
}

func (d *desk) apply(paths ...string) (done, left []sandbox.Change) {
	d.t.Helper()
	done, left, err := d.store.Apply(context.Background(), id, paths)
	d.must(err)
	return done, left
}

func (d *desk) discard(paths ...string) {
	d.t.Helper()
	_, left, err := d.store.Discard(context.Background(), id, paths)
	d.must(err)
	if len(left) > 0 {
		d.t.Errorf("discard left %v", left)
	}
}

// words shows changes as short lines.
func words(changes []sandbox.Change) []string {
	lines := []string{}
	for _, c := range changes {
		line := fmt.Sprintf("%s %s %s", c.Kind, c.Type, c.Path)
		if c.Held != "" {
			line += " held"
		}
		if c.Stale {
			line += " stale"
		}
		lines = append(lines, line)
	}
	return lines
}

// wholeTree is all of a directory: path → type, mode and content.
func wholeTree(t testing.TB, root string) map[string]string {
	t.Helper()
	all := map[string]string{}
	err := filepath.WalkDir(root, func(path string, e fs.DirEntry, err error) error {
		if err != nil || path == root {
			return err
		}
		info, err := e.Info()
		if errors.Is(err, fs.ErrNotExist) {
			return nil // overlayfs may list for a while what has gone from the host
		}
		if err != nil {
			return err
		}
		rel, _ := filepath.Rel(root, path)
		switch {
		case e.IsDir():
			all[rel] = fmt.Sprintf("dir %v", info.Mode().Perm())
		case info.Mode()&fs.ModeSymlink != 0:
			target, _ := os.Readlink(path)
			all[rel] = "link " + target
		case info.Mode().IsRegular():
			data, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			all[rel] = fmt.Sprintf("file %v %q", info.Mode().Perm(), data)
		default:
			all[rel] = info.Mode().String()
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func TestChangesAreByContent(t *testing.T) {
	for name, c := range map[string]struct {
		host []string
		edit func(d *desk)
		want []string
	}{
		"nothing": {[]string{"a=1"}, func(*desk) {}, nil},
		"added":   {[]string{"a=1"}, func(d *desk) { d.put(d.merged, "b=2") }, []string{"added file b"}},
		"added directory": {
			nil, func(d *desk) { d.put(d.merged, "d/e/f=2") },
			[]string{"added dir d", "added dir d/e", "added file d/e/f"},
		},
		"modified, parents not shown": {
			[]string{"d/e/f=1"},
			func(d *desk) { d.put(d.merged, "d/e/f=2") },
			[]string{"modified file d/e/f"},
		},
		"written with the same bytes": {[]string{"a=1"}, func(d *desk) { d.put(d.merged, "a=1") }, nil},
		"opened for writing only": {[]string{"d/a=1"}, func(d *desk) {
			f, err := os.OpenFile(d.merged+"/d/a", os.O_RDWR, 0)
			d.must(err)
			d.must(f.Close())
		}, nil},
		"mode": {[]string{"a=1"}, func(d *desk) { d.must(os.Chmod(d.merged+"/a", 0o755)) }, []string{"modified file a"}},
		"world-writable alone does not count": {
			[]string{"a=1"},
			func(d *desk) { d.must(os.Chmod(d.merged+"/a", 0o646)) },
			nil,
		},
		"deleted": {[]string{"a=1", "d/b=2"}, func(d *desk) { d.must(os.Remove(d.merged + "/a")) }, []string{"deleted file a"}},
		"deleted tree is expanded": {
			[]string{"d/b=2", "d/e/c=3"},
			func(d *desk) { d.must(os.RemoveAll(d.merged + "/d")) },
			[]string{"deleted dir d", "deleted file d/b", "deleted dir d/e", "deleted file d/e/c"},
		},
		"opaque directory is expanded": {[]string{"d/b=2", "d/e/c=3", "d/k=4"}, func(d *desk) {
			d.must(os.RemoveAll(d.merged + "/d"))
			d.put(d.merged, "d/k=4")
			d.put(d.merged, "d/n=5")
		}, []string{"deleted file d/b", "deleted dir d/e", "deleted file d/e/c", "added file d/n"}},
		"below an opaque directory": {[]string{"d/e/c=3"}, func(d *desk) {
			d.must(os.RemoveAll(d.merged + "/d"))
			d.put(d.merged, "d/e/f=5")
		}, []string{"deleted file d/e/c", "added file d/e/f"}},
		"file becomes directory": {[]string{"a=1"}, func(d *desk) {
			d.must(os.Remove(d.merged + "/a"))
			d.put(d.merged, "a/b=2")
		}, []string{"modified dir a", "added file a/b"}},
		"directory becomes file": {[]string{"a/b=1", "a.b=2"}, func(d *desk) {
			d.must(os.RemoveAll(d.merged + "/a"))
			d.put(d.merged, "a=2")
		}, []string{"modified file a", "deleted file a/b"}},
		"symbolic links": {[]string{"a=1", "l->a"}, func(d *desk) {
			d.must(os.Remove(d.merged + "/l"))
			d.put(d.merged, "l->b")
			d.put(d.merged, "out->/etc/passwd")
			d.put(d.merged, "up->../x")
			d.put(d.merged, "d/ok->../a")
		}, []string{"added dir d", "added symlink d/ok", "modified symlink l", "added symlink out held", "added symlink up held"}},
		"special files": {nil, func(d *desk) { d.must(unix.Mkfifo(d.merged+"/p", 0o644)) }, []string{"added other p held"}},
		"git hooks": {[]string{".git/config=x", ".git/HEAD=h"}, func(d *desk) {
			d.put(d.merged, ".git/hooks/pre-commit=x")
			d.put(d.merged, ".git/config=y")
			d.put(d.merged, ".git/HEAD=i")
		}, []string{"modified file .git/HEAD", "modified file .git/config held", "added dir .git/hooks held", "added file .git/hooks/pre-commit held"}},
		"hostile names": {nil, func(d *desk) {
			for _, n := range []string{"a\nb", "\xff\xfe", `back\slash`, "\u202egnp.exe", "é"} {
				d.put(d.merged, n+"=1")
			}
		}, []string{`added file a\x0ab`, `added file back\\slash`, "added file é", `added file \xe2\x80\xaegnp.exe`, `added file \xff\xfe`}},
	} {
		t.Run(name, func(t *testing.T) {
			d := newDesk(t, c.host...).mount()
			before := wholeTree(t, d.host)
			c.edit(d)
			if c.want == nil {
				c.want = []string{}
			}
			if diff := cmp.Diff(words(d.changes()), c.want); diff != "" {
				t.Errorf("mounted (-got +want):\n%s", diff)
			}
			d.unmount()
			if diff := cmp.Diff(words(d.changes()), c.want); diff != "" {
				t.Errorf("unmounted (-got +want):\n%s", diff)
			}
			d.reopen()
			if diff := cmp.Diff(words(d.changes()), c.want); diff != "" {
				t.Errorf("reopened (-got +want):\n%s", diff)
			}
			if diff := cmp.Diff(wholeTree(t, d.host), before); diff != "" {
				t.Errorf("the host changed (-got +want):\n%s", diff)
			}
		})
	}
}

func TestSinceListsEffects(t *testing.T) {
	d := newDesk(t, "a=1", "d/b=2", "d/c=3", "e/f=4").mount()
	d.put(d.merged, "old=1")
	d.put(d.merged, "a=9")
	step := func(name string, want []string, edit func()) {
		t.Helper()
		m := d.mark()
		edit()
		if diff := cmp.Diff(d.since(m), want); diff != "" {
			t.Errorf("%s (-got +want):\n%s", name, diff)
		}
	}
	step("nothing", []string{}, func() {})
	step("reading", []string{}, func() {
		_, err := os.ReadFile(d.merged + "/d/b")
		d.must(err)
		_ = wholeTree(t, d.merged)
	})
	step("opened for writing, unchanged", []string{}, func() {
		f, err := os.OpenFile(d.merged+"/d/b", os.O_RDWR, 0)
		d.must(err)
		d.must(f.Close())
	})
	step("added", []string{"added file n"}, func() { d.put(d.merged, "n=1") })
	step("again", []string{"modified file n"}, func() { d.put(d.merged, "n=2") })
	step("twice in one", []string{"modified file n", "added file o"}, func() {
		d.put(d.merged, "n=3")
		d.put(d.merged, "o=1")
		d.put(d.merged, "o=2")
	})
	step("came and went", []string{}, func() {
		d.put(d.merged, "tmp=1")
		d.must(os.Remove(d.merged + "/tmp"))
	})
	step("removed what an earlier call made", []string{"deleted file o"}, func() { d.must(os.Remove(d.merged + "/o")) })
	step("removed the host's", []string{"deleted file d/c"}, func() { d.must(os.Remove(d.merged + "/d/c")) })
	step("put it back", []string{"added file d/c"}, func() { d.put(d.merged, "d/c=3") })
	step("removed a tree", []string{"deleted dir d", "deleted file d/b", "deleted file d/c"}, func() { d.must(os.RemoveAll(d.merged + "/d")) })
	step("same size and time", []string{"modified file a"}, func() {
		info, err := os.Stat(d.merged + "/a")
		d.must(err)
		d.must(os.WriteFile(d.merged+"/a", []byte("8"), 0o644))
		d.must(os.Chtimes(d.merged+"/a", info.ModTime(), info.ModTime()))
	})
	step("through a mapping", []string{"modified file a"}, func() {
		f, err := os.OpenFile(d.merged+"/a", os.O_RDWR, 0)
		d.must(err)
		defer f.Close()
		m, err := unix.Mmap(int(f.Fd()), 0, 1, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
		d.must(err)
		m[0] = '7'
		d.must(unix.Munmap(m))
	})
	f, err := os.OpenFile(d.merged+"/a", os.O_RDWR, 0)
	d.must(err)
	defer f.Close()
	page, err := unix.Mmap(int(f.Fd()), 0, 1, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	d.must(err)
	page[0] = '6'
	for _, c := range "abcde" {
		step("through a page that is dirty already", []string{"modified file a"}, func() { page[0] = byte(c) })
	}
	d.must(unix.Munmap(page))
	d.must(f.Close())
	step("the host's edits are not the call's", []string{}, func() { d.put(d.host, "e/g=1") })
	step("apply and discard are not the call's", []string{}, func() {
		d.apply("n")
		d.discard("old", "a")
	})
}

// What was written between two calls belongs to neither, and is told all the same.
func TestAdvance(t *testing.T) {
	d := newDesk(t, "a=1").mount()
	ctx := context.Background()
	end := d.mark()
	d.put(d.merged, "late=1")
	changes, next, err := d.store.Advance(ctx, id, end)
	d.must(err)
	if diff := cmp.Diff(words(changes), []string{"added file late"}); diff != "" {
		t.Error(diff)
	}
	d.put(d.merged, "a=2")
	if diff := cmp.Diff(d.since(next), []string{"modified file a"}); diff != "" {
		t.Error(diff)
	}
	if _, _, err := d.store.Advance(ctx, id, "x.1"); !errdefs.IsNotFound(err) {
		t.Errorf("an unknown mark: %v", err)
	}
}

// Marks overlap: each sees what came after it.
func TestMarksOverlap(t *testing.T) {
	d := newDesk(t).mount()
	first := d.mark()
	d.put(d.merged, "a=1")
	second := d.mark()
	d.put(d.merged, "b=1")
	if diff := cmp.Diff(d.since(first), []string{"added file a", "added file b"}); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(d.since(second), []string{"added file b"}); diff != "" {
		t.Error(diff)
	}
	d.unmount()
	d.reopen()
	if _, err := d.store.Since(context.Background(), id, second); !errdefs.IsNotFound(err) {
		t.Errorf("a mark of another process: %v", err)
	}
}

func TestApplyThenNothingIsLeft(t *testing.T) {
	d := newDesk(t, "a=1", "gone=2", "tree/x=3", "tree/y/z=4", "f2d=5", "d2f/x=6", "l->a").mount()
	d.put(d.merged, "a=11")
	d.must(os.Chmod(d.merged+"/a", 0o6777))
	d.must(os.Remove(d.merged + "/gone"))
	d.must(os.RemoveAll(d.merged + "/tree"))
	d.must(os.Remove(d.merged + "/f2d"))
	d.put(d.merged, "f2d/new=7")
	d.must(os.RemoveAll(d.merged + "/d2f"))
	d.put(d.merged, "d2f=8")
	d.must(os.Remove(d.merged + "/l"))
	d.put(d.merged, "l->f2d/new")
	d.put(d.merged, "n/m/o=9")
	done, left := d.apply()
	if len(left) > 0 {
		t.Errorf("left %v", left)
	}
	want := map[string]string{
		"a": `file -rwxrwxr-x "11"`, "f2d": "dir drwxr-xr-x", "f2d/new": `file -rw-r--r-- "7"`,
		"d2f": `file -rw-r--r-- "8"`, "l": "link f2d/new", "n": "dir drwxr-xr-x", "n/m": "dir drwxr-xr-x", "n/m/o": `file -rw-r--r-- "9"`,
	}
	got := wholeTree(t, d.host)
	for p, s := range got {
		got[p] = strings.Replace(s, "dir -", "dir d", 1)
	}
	if diff := cmp.Diff(got, want); diff != "" {
		t.Errorf("host (-got +want):\n%s\ndone %v", diff, words(done))
	}
	if got := words(d.changes()); len(got) > 0 {
		t.Errorf("still changed: %v", got)
	}
	info, err := os.Stat(d.host + "/a")
	d.must(err)
	if info.Mode()&(fs.ModeSetuid|fs.ModeSetgid) != 0 {
		t.Errorf("set-id bits reached the host: %v", info.Mode())
	}
	// The host goes on; what was applied is no change even so.
	d.put(d.host, "a=by hand")
	d.put(d.host, "gone=again")
	if got := words(d.changes()); len(got) > 0 {
		t.Errorf("changed after the host's own edit: %v", got)
	}
	d.unmount()
	if entries, _ := os.ReadDir(filepath.Join(d.data, string(id), "0", "upper")); len(entries) > 0 {
		t.Errorf("the upper still holds %v", entries)
	}
	d.mount()
	if data, _ := os.ReadFile(d.merged + "/a"); string(data) != "by hand" {
		t.Errorf("the next mount shows %q", data)
	}
}

// What changed between the look and the word is not applied.
func TestApplySeen(t *testing.T) {
	d := newDesk(t, "a=1", "b=1").mount()
	d.put(d.merged, "a=2")
	d.put(d.merged, "b=2")
	m := d.mark()
	d.changes()
	d.put(d.merged, "b=evil")
	d.put(d.merged, "c=evil")
	ctx := context.Background()
	done, left, err := d.store.ApplySeen(ctx, id, nil, m)
	d.must(err)
	if diff := cmp.Diff(words(done), []string{"modified file a"}); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(words(left), []string{"modified file b held", "added file c held"}); diff != "" {
		t.Error(diff)
	}
	if _, _, err := d.store.ApplySeen(ctx, id, nil, "another.1"); !errdefs.IsNotFound(err) {
		t.Errorf("an unknown mark: %v", err)
	}
}

func TestApplyRefusesStale(t *testing.T) {
	for name, c := range map[string]struct {
		agent, person func(d *desk)
		want          []string
	}{
		"edited on both sides": {
			func(d *desk) { d.put(d.merged, "a=agent") },
			func(d *desk) { d.put(d.host, "a=person") },
			[]string{"modified file a stale"},
		},
		"deleted by the person": {
			func(d *desk) { d.put(d.merged, "a=agent") },
			func(d *desk) { d.must(os.Remove(d.host + "/a")) },
			[]string{"added file a stale"},
		},
		"deleted by the agent, edited by the person": {
			func(d *desk) { d.must(os.Remove(d.merged + "/a")) },
			func(d *desk) { d.put(d.host, "a=person") },
			[]string{"deleted file a stale"},
		},
		"made by both": {
			func(d *desk) { d.put(d.merged, "n=agent") },
			func(d *desk) { d.put(d.host, "n=person") },
			[]string{"modified file n stale"},
		},
		"made alike by both": {
			func(d *desk) { d.put(d.merged, "n=same") },
			func(d *desk) { d.put(d.host, "n=same") },
			[]string{},
		},
		"touched only": {
			func(d *desk) { d.put(d.merged, "a=agent") },
			func(d *desk) { d.must(os.Chtimes(d.host+"/a", time.Now(), time.Now())) },
			[]string{"modified file a"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			d := newDesk(t, "a=1").mount()
			m := d.mark()
			c.agent(d)
			d.since(m)
			c.person(d)
			if diff := cmp.Diff(words(d.changes()), c.want); diff != "" {
				t.Fatalf("(-got +want):\n%s", diff)
			}
			before := wholeTree(t, d.host)
			_, left := d.apply()
			if len(c.want) > 0 && strings.HasSuffix(c.want[0], "stale") {
				if len(left) != 1 || !left[0].Stale {
					t.Errorf("left %v", left)
				}
				if diff := cmp.Diff(wholeTree(t, d.host), before); diff != "" {
					t.Errorf("the host changed:\n%s", diff)
				}
			}
		})
	}
}

// An editor's atomic save under a running sandbox: the agent may still see the old file, so its
// edit is not based on the new one.
func TestReplacedUnderTheMountIsStale(t *testing.T) {
	d := newDesk(t, "a=old").mount()
	if _, err := os.ReadFile(d.merged + "/a"); err != nil {
		t.Fatal(err)
	}
	d.put(d.host, "a.new=saved by an editor")
	d.must(os.Rename(d.host+"/a.new", d.host+"/a"))
	d.put(d.merged, "a=agent")
	if diff := cmp.Diff(words(d.changes()), []string{"modified file a stale"}); diff != "" {
		t.Error(diff)
	}
}

func TestHoldIsLeftOut(t *testing.T) {
	d := newDesk(t, "a=1").mount()
	d.put(d.merged, "a=2")
	d.put(d.merged, "d/b=3")
	d.put(d.merged, "c=4")
	d.must(d.store.Hold(context.Background(), id, []string{"a", "d"}, "made by get_report, allowed as a read"))
	want := []string{"modified file a held", "added file c", "added dir d held", "added file d/b held"}
	if diff := cmp.Diff(words(d.changes()), want); diff != "" {
		t.Error(diff)
	}
	d.unmount()
	d.reopen()
	_, left := d.apply()
	if len(left) != 3 || left[0].Held == "" {
		t.Errorf("left %v", left)
	}
	if diff := cmp.Diff(wholeTree(t, d.host), map[string]string{"a": `file -rw-r--r-- "1"`, "c": `file -rw-r--r-- "4"`}); diff != "" {
		t.Error(diff)
	}
	if done, left := d.apply("a"); len(done) != 1 || len(left) != 0 {
		t.Errorf("named exactly: done %v, left %v", done, left)
	}
	d.discard()
	if got := words(d.changes()); len(got) > 0 {
		t.Errorf("still changed: %v", got)
	}
	w, err := d.store.workspace(id, false)
	d.must(err)
	if len(w.holds) > 0 {
		t.Errorf("holds left: %v", w.holds)
	}
}

// Whatever the agent or somebody else has put on the host, nothing is written through a link.
func TestApplyDoesNotFollowLinks(t *testing.T) {
	d := newDesk(t, "d/a=1", "e/x=1").mount()
	outside := filepath.Dir(d.host) + "/outside"
	d.put(outside, "a=precious")
	d.put(d.merged, "d/a=2")
	d.put(d.merged, "d/new=3")
	d.must(os.Remove(d.merged + "/e/x"))
	d.changes()
	d.must(os.Rename(d.host+"/d", d.host+"/real"))
	d.must(os.Symlink(outside, d.host+"/d"))
	_, left := d.apply()
	if diff := cmp.Diff(wholeTree(t, outside), map[string]string{"a": `file -rw-r--r-- "precious"`}); diff != "" {
		t.Errorf("outside (-got +want):\n%s\nleft %v", diff, left)
	}
	if target, _ := os.Readlink(d.host + "/d"); target != outside {
		t.Errorf("the host's link became %q", target)
	}
}

// A link that leads out by way of the person's own link is held too.
func TestLinkThroughTheHostsLinkIsHeld(t *testing.T) {
	d := newDesk(t, "a=1").mount()
	d.must(os.Symlink("/etc", d.host+"/etc"))
	d.put(d.merged, "inno->etc/passwd")
	d.put(d.merged, "fine->not-yet")
	if diff := cmp.Diff(words(d.changes()), []string{"added symlink fine", "added symlink inno held"}); diff != "" {
		t.Error(diff)
	}
	d.apply()
	if _, err := os.Lstat(d.host + "/inno"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("it was applied: %v", err)
	}
	if done, _ := d.apply("inno"); len(done) != 1 {
		t.Errorf("named, it was not applied")
	}
}

func TestMountRefuses(t *testing.T) {
	d := newDesk(t, "in/a=1")
	d.must(os.Symlink(d.host, filepath.Dir(d.host)+"/link"))
	for name, c := range map[string]struct {
		folder string
		kind   func(error) bool
	}{
		"a link":           {filepath.Dir(d.host) + "/link", errdefs.IsInvalidArgument},
		"through a link":   {filepath.Dir(d.host) + "/link/in", errdefs.IsInvalidArgument},
		"a file":           {d.host + "/in/a", errdefs.IsInvalidArgument},
		"what is not":      {d.host + "/none", errdefs.IsNotFound},
		"relative":         {"host", errdefs.IsInvalidArgument},
		"unclean":          {d.host + "/../host", errdefs.IsInvalidArgument},
		"the root":         {"/", errdefs.IsInvalidArgument},
		"around the store": {filepath.Dir(d.host), errdefs.IsInvalidArgument},
		"in the store":     {d.data + "/x", errdefs.IsInvalidArgument},
	} {
		if _, _, err := d.store.Mount(id, []string{c.folder}); !c.kind(err) {
			t.Errorf("%s: got %v", name, err)
		}
	}
	if _, _, err := d.store.Mount("../../etc", []string{d.host}); !errdefs.IsInvalidArgument(err) {
		t.Errorf("a hostile id: %v", err)
	}
}

func TestNestedFoldersAreServedByTheOuter(t *testing.T) {
	d := newDesk(t, "in/a=1", "b=2")
	merged, release, err := d.store.Mount(id, []string{d.host + "/in", d.host, d.host})
	d.must(err)
	d.release = release
	if merged[0] != "" || merged[1] == "" || merged[2] != "" {
		t.Fatalf("merged %q", merged)
	}
	d.put(merged[1], "in/a=2")
	if diff := cmp.Diff(words(d.changes()), []string{"modified file in/a"}); diff != "" {
		t.Error(diff)
	}
}

func TestMountIsShared(t *testing.T) {
	d := newDesk(t, "a=1").mount()
	merged, release, err := d.store.Mount(id, []string{d.host})
	d.must(err)
	if merged[0] != d.merged {
		t.Errorf("two mounts, %s and %s", merged[0], d.merged)
	}
	d.put(merged[0], "b=1")
	d.must(release())
	d.must(release())
	if _, err := os.Stat(d.merged + "/b"); err != nil {
		t.Errorf("the other user lost it: %v", err)
	}
	if err := d.store.Remove(id); !errdefs.IsFailedPrecondition(err) {
		t.Errorf("removed while mounted: %v", err)
	}
	d.unmount()
	if _, err := os.Stat(d.merged); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("still mounted: %v", err)
	}
	d.must(d.store.Remove(id))
	if _, err := os.Stat(d.data + "/" + string(id)); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("still there: %v", err)
	}
}

func TestBusyMountStays(t *testing.T) {
	d := newDesk(t, "a=1").mount()
	f, err := os.Open(d.merged + "/a")
	d.must(err)
	if err := d.release(); !errdefs.IsUnavailable(err) {
		t.Errorf("released a busy mount: %v", err)
	}
	d.must(f.Close())
	d.mount()
	d.unmount()
	if _, err := os.Stat(d.merged); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("still mounted: %v", err)
	}
}

func TestDiffIsUnified(t *testing.T) {
	d := newDesk(t, "a=one\ntwo\n", "gone=x\n").mount()
	d.put(d.merged, "a=one\nTWO\n")
	d.put(d.merged, "bin=\x00\x01")
	d.put(d.merged, "new=hello\n")
	d.put(d.merged, "big="+strings.Repeat("x", maxDiffFile+1))
	d.must(os.Remove(d.merged + "/gone"))
	files, err := d.store.Diff(context.Background(), id)
	d.must(err)
	got := map[string]string{}
	for _, f := range files {
		got[f.Path] = f.Unified + "|" + f.Note
	}
	want := map[string]string{
		"a":    "--- a/a\n+++ b/a\n@@ -1,2 +1,2 @@\n one\n-two\n+TWO\n|",
		"bin":  "|binary",
		"big":  "|larger than 1 MiB",
		"new":  "--- /dev/null\n+++ b/new\n@@ -0,0 +1 @@\n+hello\n|",
		"gone": "--- a/gone\n+++ /dev/null\n@@ -1 +0,0 @@\n-x\n|",
	}
	if diff := cmp.Diff(got, want); diff != "" {
		t.Errorf("(-got +want):\n%s", diff)
	}
}
