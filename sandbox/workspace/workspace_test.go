package workspace

import (
	"context"
	"os"
	"strings"
	"testing"

	"github.com/containerd/errdefs"
	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"github.com/garita-dev/garita/sandbox"
)

const id = sandbox.WorkspaceID("w0123456789abcdef")

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
