package workspace

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/containerd/errdefs"
	"golang.org/x/sys/unix"

	"github.com/garita-dev/garita/sandbox"
)

// Mount makes the workspace's view of the folders and returns the directory of each, which shows
// the host's files with the workspace's changes over them. The workspace is made when it does not
// exist. Overlapping users share the mounts; the last release unmounts them, so that the next
// Mount shows the host's newest files.
//
// A folder given twice, or lying inside another given one, has "" in merged: the outer folder's
// mount already shows it, and nothing may be mounted for it on its own, or the two would disagree.
//
// release may be called more than once. It fails with Unavailable while a process still uses a
// mount; the mount then stays and is taken over by the next Mount.
//
// Kinds: NotFound (no such folder), InvalidArgument (not clean, reached through a symbolic link,
// or overlapping the store itself), FailedPrecondition (the kernel refuses the overlay).
func (s *Store) Mount(id sandbox.WorkspaceID, folders []string) (merged []string, release func() error, err error) {
	outer, err := s.outermost(folders)
	if err != nil {
		return nil, nil, fmt.Errorf("mount workspace %s: %w", id, err)
	}
	w, err := s.workspace(id, true)
	if err != nil {
		return nil, nil, err
	}
	w.writing.Lock()
	defer w.writing.Unlock()
	var held []*folder
	merged = make([]string, len(folders))
	for i, host := range folders {
		if !outer[i] {
			continue
		}
		f, err := w.acquire(host)
		if err != nil {
			return nil, nil, errors.Join(fmt.Errorf("mount workspace %s: %w", id, err), w.releaseAll(held))
		}
		held = append(held, f)
		merged[i] = f.merged
	}
	return merged, w.releaser(held), nil
}

// outermost checks the folders and says which are not inside another.
func (s *Store) outermost(folders []string) ([]bool, error) {
	outer := make([]bool, len(folders))
	for i, f := range folders {
		if err := cleanFolder(f); err != nil {
			return nil, err
		}
		if inside(f, s.dir) || inside(s.dir, f) {
			return nil, fmt.Errorf("folder %q holds the workspaces themselves: %w", f, errdefs.ErrInvalidArgument)
		}
		outer[i] = true
		for j, g := range folders {
			if j != i && inside(g, f) && (g != f || j < i) {
				outer[i] = false
			}
		}
	}
	return outer, nil
}

func (w *workspace) releaser(held []*folder) func() error {
	var once sync.Once
	var err error
	return func() error {
		once.Do(func() {
			w.writing.Lock()
			defer w.writing.Unlock()
			err = w.releaseAll(held)
		})
		return err
	}
}

func (w *workspace) releaseAll(held []*folder) error {
	var errs []error
	for _, f := range held {
		errs = append(errs, w.release(f))
	}
	return errors.Join(errs...)
}

// acquire mounts a folder unless it is mounted, and counts the user; w.writing is held.
func (w *workspace) acquire(host string) (*folder, error) {
	if err := w.lock(); err != nil {
		return nil, err
	}
	defer w.mu.Unlock()
	f, err := w.folder(host)
	if err != nil {
		return nil, err
	}
	if !f.live {
		if err := w.mount(f); err != nil {
			return nil, err
		}
	}
	f.refs++
	return f, nil
}

func (w *workspace) folder(host string) (*folder, error) {
	for _, f := range w.folders {
		if f.host == host {
			return f, nil
		}
	}
	dir, err := openFolder(host) // before anything of it is kept
	if err != nil {
		return nil, err
	}
	_ = dir.Close()
	return w.addFolder(host)
}

func (w *workspace) mount(f *folder) error {
	lower, err := openFolder(f.host)
	if err != nil {
		return err
	}
	defer lower.Close()
	// An engine that died has left what is equal by now, and changes nobody has looked at yet.
	if err := w.prune(context.Background(), f); err != nil {
		return err
	}
	if err := sameMode(lower, f.upper()); err != nil {
		return err
	}
	f.mountedAt = now()
	if err := w.save(); err != nil {
		return err
	}
	if err := overlay(lower, f); err != nil {
		return err
	}
	f.live = true
	return nil
}

// sameMode gives the upper directory, whose mode the mount shows, the host's.
func sameMode(lower *os.File, upper string) error {
	st, err := statFile(lower)
	if err != nil {
		return err
	}
	return os.Chmod(upper, os.FileMode(st.Mode&0o777))
}

// overlay mounts by descriptors, so that neither a name with a comma or colon nor a folder swapped
// meanwhile can change what is mounted.
func overlay(lower *os.File, f *folder) error {
	if err := os.MkdirAll(f.merged, 0o700); err != nil {
		return err
	}
	upper, err := os.OpenFile(f.upper(), unix.O_PATH|unix.O_DIRECTORY|unix.O_NOFOLLOW, 0)
	if err != nil {
		return err
	}
	defer upper.Close()
	work, err := os.OpenFile(f.work(), unix.O_PATH|unix.O_DIRECTORY|unix.O_NOFOLLOW, 0)
	if err != nil {
		return err
	}
	defer work.Close()
	options := fmt.Sprintf("lowerdir=/proc/self/fd/%d,upperdir=/proc/self/fd/%d,workdir=/proc/self/fd/%d,userxattr,index=off,metacopy=off",
		lower.Fd(), upper.Fd(), work.Fd())
	err = unix.Mount("garita", f.merged, "overlay", unix.MS_NOSUID|unix.MS_NODEV, options)
	if err != nil {
		return fmt.Errorf("overlay over %q (is another file system mounted below it?): %w: %w", f.host, err, errdefs.ErrFailedPrecondition)
	}
	return nil
}

// release counts a user off and unmounts after the last one; w.writing is held.
func (w *workspace) release(f *folder) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if f.refs--; f.refs > 0 {
		return nil
	}
	// Whatever the server has left there, the mount has to go; what cannot be looked at now is
	// reported by whoever looks next.
	_ = w.scan(logged)
	if err := unmount(f.merged); err != nil {
		return fmt.Errorf("release workspace %s: %w", w.id, err)
	}
	f.live = false
	_ = w.prune(context.Background(), f)
	return nil
}

// unmount waits a second for processes that are just ending. It never detaches a busy mount: a
// second overlay on the same upper would damage it.
func unmount(merged string) error {
	deadline := time.Now().Add(time.Second)
	for {
		err := unix.Unmount(merged, unix.UMOUNT_NOFOLLOW)
		switch {
		case err == nil:
			return os.Remove(merged)
		case !errors.Is(err, unix.EBUSY):
			return fmt.Errorf("unmount %s: %w", merged, err)
		case time.Now().After(deadline):
			return fmt.Errorf("unmount %s: still in use: %w", merged, errdefs.ErrUnavailable)
		}
		time.Sleep(10 * time.Millisecond)
	}
}

// prune drops the upper entries of an unmounted folder that are no change; w.mu is held. What an
// opaque directory holds is kept as long as one change is in it.
func (w *workspace) prune(ctx context.Context, f *folder) error {
	if err := w.scan(logged); err != nil {
		return err
	}
	c := &comparison{ctx: ctx, workspace: w, folder: f}
	if err := c.run(); err != nil {
		return err
	}
	dirty := map[string]bool{"": true}
	for _, d := range c.found {
		for p := d.raw; !dirty[p]; p, _ = split(p) {
			dirty[p] = true
		}
	}
	removed, err := pruneDir(f, f.tree.root, dirty)
	marked, err2 := f.markRemoved(dirty)
	removed, err = removed || marked, errors.Join(err, err2)
	for p := range f.base.prints {
		if !dirty[p] {
			f.base.drop(p)
		}
	}
	if removed {
		f.forgetTree()
		err = errors.Join(err, w.scan(absorbed))
	}
	return errors.Join(err, f.base.flush())
}

// markRemoved makes the whiteouts that overlayfs has not made.
func (f *folder) markRemoved(dirty map[string]bool) (marked bool, err error) {
	for _, raw := range f.unmarked() {
		if !dirty[raw] {
			continue
		}
		path := filepath.Join(f.upper(), raw)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return marked, err
		}
		if err := unix.Mknod(path, unix.S_IFCHR, 0); err != nil {
			return marked, fmt.Errorf("mark %q as deleted: %w", raw, err)
		}
		marked = true
	}
	return marked, nil
}

func pruneDir(f *folder, n *node, dirty map[string]bool) (removed bool, err error) {
	for _, c := range n.children {
		switch {
		case !dirty[c.path]:
			err = os.RemoveAll(filepath.Join(f.upper(), c.path))
			removed = true
		case c.kind() == kindDir && !c.opaque:
			var below bool
			below, err = pruneDir(f, c, dirty)
			removed = removed || below
		}
		if err != nil {
			return removed, err
		}
	}
	return removed, nil
}
