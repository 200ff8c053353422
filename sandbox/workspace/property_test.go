package workspace

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"
	"pgregory.net/rapid"

	"github.com/garita-dev/garita/sandbox"
)

// names are few, so that edits meet each other.
var names = []string{"a", "b", "c", "d", "d/a", "d/b", "d/e", "d/e/a", "d/e/f", "g", "g/a", "g/h/i", "a/x"}

// scribble does one random thing to a tree; what does not work out is left.
func scribble(t *rapid.T, root string) {
	path := filepath.Join(root, rapid.SampledFrom(names).Draw(t, "path"))
	content := []byte(rapid.SampledFrom([]string{"", "1", "2", "three", "three\nfour\n"}).Draw(t, "content"))
	switch rapid.SampledFrom([]string{"write", "write", "write", "append", "mkdir", "remove", "removeAll", "removeAll and mkdir", "rename", "chmod", "link", "hardlink", "touch"}).Draw(t, "edit") {
	case "write":
		_ = os.MkdirAll(filepath.Dir(path), 0o755)
		_ = os.WriteFile(path, content, 0o644)
	case "append":
		if f, err := os.OpenFile(path, os.O_WRONLY|os.O_APPEND, 0); err == nil {
			_, _ = f.Write(content)
			_ = f.Close()
		}
	case "mkdir":
		_ = os.MkdirAll(path, 0o755)
	case "remove":
		_ = os.Remove(path)
	case "removeAll":
		_ = os.RemoveAll(path)
	case "removeAll and mkdir":
		_ = os.RemoveAll(path)
		_ = os.MkdirAll(path, 0o755)
	case "rename":
		_ = os.Rename(path, filepath.Join(root, rapid.SampledFrom(names).Draw(t, "to")))
	case "chmod":
		mode := rapid.SampledFrom([]os.FileMode{0o600, 0o644, 0o755, 0o700}).Draw(t, "mode")
		if info, err := os.Lstat(path); err == nil && info.Mode()&os.ModeSymlink == 0 {
			_ = os.Chmod(path, mode)
		}
	case "link":
		_ = os.Symlink(rapid.SampledFrom([]string{"a", "b", "d", "none"}).Draw(t, "target"), path)
	case "hardlink":
		_ = os.Link(path, filepath.Join(root, rapid.SampledFrom(names).Draw(t, "to")))
	case "touch":
		_ = unix.Utimes(path, []unix.Timeval{{Sec: 1e9}, {Sec: 1e9}})
	}
}

// checkSince predicts what Since must list from the trees before and after: exactly the paths that came
// and went, and at least those whose content changed.
func checkSince(t *rapid.T, before, after map[string]string, got []sandbox.Change) {
	kinds := map[string]sandbox.ChangeKind{}
	for _, c := range got {
		kinds[c.Path] = c.Kind
	}
	for path := range before {
		if _, still := after[path]; !still && kinds[path] != sandbox.Deleted {
			t.Errorf("%s was deleted, Since says %q", path, kinds[path])
		}
	}
	for path, now := range after {
		was, there := before[path]
		switch {
		case !there && kinds[path] != sandbox.Added:
			t.Errorf("%s was added, Since says %q", path, kinds[path])
		case there && was != now && kinds[path] != sandbox.Modified:
			t.Errorf("%s was modified, Since says %q", path, kinds[path])
		}
	}
	for path, kind := range kinds {
		_, was := before[path]
		_, is := after[path]
		if (kind == sandbox.Added) != (!was && is) || (kind == sandbox.Deleted) != (was && !is) {
			t.Errorf("Since says %s %s; there before: %t, after: %t", kind, path, was, is)
		}
	}
}

// Whatever an agent does: effects are those of the trees, applied the host equals the merged tree,
// discarded the merged tree equals the host, and nothing is left over.
func TestAnyEdits(t *testing.T) {
	round := 0
	rapid.Check(t, func(r *rapid.T) {
		round++
		d := newDeskIn(t, fmt.Sprintf("%s/%d", t.TempDir(), round))
		defer d.unmount()
		for range rapid.IntRange(0, 8).Draw(r, "host edits") {
			scribble(r, d.host)
		}
		d.mount()
		for range rapid.IntRange(1, 4).Draw(r, "rounds") {
			d.round(r)
			if r.Failed() {
				return
			}
		}
	})
}

func (d *desk) round(r *rapid.T) {
	mark := d.mark()
	before := wholeTree(d.t, d.merged)
	for range rapid.IntRange(0, 6).Draw(r, "edits") {
		scribble(r, d.merged)
	}
	after := wholeTree(d.t, d.merged)
	got, err := d.store.Since(context.Background(), id, mark)
	d.must(err)
	checkSince(r, before, after, got)
	switch rapid.SampledFrom([]string{"go on", "apply", "discard", "discard one", "remount", "reopen"}).Draw(r, "then") {
	case "apply":
		d.applyAll(r)
	case "discard":
		d.discard()
		d.mustEqual(r, "after discard")
	case "discard one":
		d.discardOne(r)
	case "remount":
		d.unmount()
		d.mount()
		if diff := cmp.Diff(wholeTree(d.t, d.merged), after); diff != "" {
			r.Errorf("after a remount (-got +want):\n%s", diff)
		}
	case "reopen":
		d.unmount()
		d.reopen()
		if rapid.Bool().Draw(r, "apply unmounted") {
			d.applyAll(r)
		}
		d.mount()
	}
}

func (d *desk) applyAll(r *rapid.T) {
	wasMounted := d.release != nil
	if !wasMounted {
		defer d.unmount()
		d.mount()
	}
	want := wholeTree(d.t, d.merged)
	if !wasMounted {
		d.unmount()
	}
	var all []string
	for _, c := range d.changes() {
		all = append(all, c.Path)
	}
	if len(all) > 0 {
		done, left := d.apply(all...)
		if len(left) > 0 {
			r.Errorf("apply did %v, left %+v", words(done), left)
		}
	}
	if diff := cmp.Diff(wholeTree(d.t, d.host), want); diff != "" {
		r.Errorf("after apply the host (-got +want):\n%s", diff)
	}
	if got := words(d.changes()); len(got) > 0 {
		r.Errorf("after apply: %v", got)
	}
}

func (d *desk) discardOne(r *rapid.T) {
	changes := d.changes()
	if len(changes) == 0 {
		return
	}
	c := rapid.SampledFrom(changes).Draw(r, "change")
	d.discard(c.Path)
	for _, now := range d.changes() {
		if now.Path == c.Path {
			r.Errorf("discarded %s, still %v", c.Path, now)
		}
	}
}

func (d *desk) mustEqual(r *rapid.T, when string) {
	if diff := cmp.Diff(wholeTree(d.t, d.merged), wholeTree(d.t, d.host)); diff != "" {
		r.Errorf("%s the merged tree (-got) and the host (+want):\n%s", when, diff)
	}
	if got := words(d.changes()); len(got) > 0 {
		r.Errorf("%s: %v", when, got)
	}
}
