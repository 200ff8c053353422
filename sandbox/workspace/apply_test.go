package workspace

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/containerd/errdefs"
	"github.com/google/go-cmp/cmp"
)

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
