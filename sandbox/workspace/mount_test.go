package workspace

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/containerd/errdefs"
	"github.com/google/go-cmp/cmp"
)

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
