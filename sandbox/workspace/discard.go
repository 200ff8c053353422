package workspace

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/containerd/errdefs"
	"golang.org/x/sys/unix"

	"github.com/garita-dev/garita/sandbox"
)

// Discard makes the workspace's paths what the host has: those that paths name, exactly or by a
// directory above them, or everything, held or not. It works through the merged mount, mounting
// for as long as it takes, so that running sandboxes see the result at once by path; what they have
// open or mapped stays what it was. left are the changes that could not be undone, with the reason
// in Held. NotFound (workspace, folder, or a path that is no change).
func (s *Store) Discard(ctx context.Context, id sandbox.WorkspaceID, paths []string) (done, left []sandbox.Change, err error) {
	w, err := s.workspace(id, false)
	if err != nil {
		return nil, nil, err
	}
	w.writing.Lock()
	defer w.writing.Unlock()
	chosen, err := w.planDiscard(ctx, paths)
	if errdefs.IsResourceExhausted(err) && len(paths) == 0 {
		return nil, nil, w.reset()
	}
	if err != nil {
		return nil, nil, fmt.Errorf("discard in workspace %s: %w", id, err)
	}
	for _, f := range w.snapshotFolders() {
		d, l, err := w.discardFolder(ctx, f, chosen[f.n])
		done, left = append(done, d...), append(left, l...)
		if err != nil {
			return done, left, fmt.Errorf("discard in workspace %s: %w", id, err)
		}
	}
	return done, left, nil
}

// reset empties a workspace that holds more than can be looked at. FailedPrecondition while it is
// mounted.
func (w *workspace) reset() error {
	if err := w.lock(); err != nil {
		return err
	}
	defer w.mu.Unlock()
	if w.mounted() {
		return fmt.Errorf("discard all of workspace %s: it holds too much to be undone while a server runs; stop it first: %w",
			w.id, errdefs.ErrFailedPrecondition)
	}
	for _, f := range w.folders {
		if err := errors.Join(os.RemoveAll(f.dir), os.MkdirAll(f.upper(), 0o700), os.MkdirAll(f.work(), 0o700)); err != nil {
			return fmt.Errorf("discard all of workspace %s: %w", w.id, err)
		}
		f.forgetTree()
		f.base = newBaseFile(f.base.path)
	}
	clear(w.holds)
	return w.save()
}

// planDiscard chooses by folder number, completed by the directories that must come back first.
func (w *workspace) planDiscard(ctx context.Context, paths []string) (map[int][]difference, error) {
	if err := w.lock(); err != nil {
		return nil, err
	}
	defer w.mu.Unlock()
	diffs, err := w.differences(ctx)
	if err != nil {
		return nil, err
	}
	chosen, _, err := w.choose(diffs, paths)
	if err != nil {
		return nil, err
	}
	byFolder := map[int][]difference{}
	for _, d := range undoable(diffs, chosen) {
		byFolder[d.folder.n] = append(byFolder[d.folder.n], d)
	}
	return byFolder, nil
}

// undoable adds to the chosen changes the deleted or replaced directories they lie in, and what
// lies in a directory that has to go.
func undoable(diffs, chosen []difference) []difference {
	want, goes := map[place]bool{}, map[place]bool{}
	for _, d := range chosen {
		want[place{d.folder.n, d.raw}] = true
		for p, _ := split(d.raw); p != "" && d.Kind == sandbox.Deleted; p, _ = split(p) {
			want[place{d.folder.n, p}] = true
		}
		if d.upper.kind() == kindDir && d.host.kind() != kindDir {
			goes[place{d.folder.n, d.raw}] = true
		}
	}
	var all []difference
	for _, d := range diffs {
		if want[place{d.folder.n, d.raw}] || belowAny(goes, d) {
			all = append(all, d)
		}
	}
	return all
}

func (w *workspace) discardFolder(ctx context.Context, f *folder, diffs []difference) (done, left []sandbox.Change, err error) {
	if len(diffs) == 0 {
		return nil, nil, nil
	}
	_, err = w.acquire(f.host)
	if errdefs.IsNotFound(err) {
		return w.wipe(f, diffs)
	}
	if err != nil {
		return nil, nil, err
	}
	defer func() { err = errors.Join(err, w.release(f)) }()
	u, err := newUndoer(f)
	if err != nil {
		return nil, nil, err
	}
	defer u.close()
	u.hide = func(raw string) { w.hide(f, raw) }
	for _, d := range diffs {
		u.hide(d.raw)
	}
	undone := map[string]fingerprint{}
	for _, d := range backwards(diffs) {
		if err := ctx.Err(); err != nil {
			return done, left, err
		}
		fp, err := u.undo(ctx, d)
		if err != nil {
			d.Held = err.Error()
			left = append(left, d.Change)
			continue
		}
		done = append(done, d.Change)
		undone[d.raw] = fp
	}
	return done, left, w.absorb(f, undone)
}

// wipe discards in a workspace whose host folder is gone: nothing can be mounted, so what was
// added is removed from the upper directory itself.
func (w *workspace) wipe(f *folder, diffs []difference) (done, left []sandbox.Change, err error) {
	if err := w.lock(); err != nil {
		return nil, nil, err
	}
	defer w.mu.Unlock()
	for _, d := range backwards(diffs) {
		path := filepath.Join(f.upper(), d.raw)
		if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			d.Held = err.Error()
			left = append(left, d.Change)
			continue
		}
		f.base.drop(d.raw)
		delete(w.holds, place{f.n, d.raw})
		done = append(done, d.Change)
	}
	f.forgetTree()
	return done, left, errors.Join(w.scan(absorbed), w.save())
}

// absorb takes in what Discard did as nobody's effect, and ends the holds on it.
func (w *workspace) absorb(f *folder, undone map[string]fingerprint) error {
	if err := w.lock(); err != nil {
		return err
	}
	defer w.mu.Unlock()
	for raw, fp := range undone {
		f.tree.forget(raw)
		delete(w.holds, place{f.n, raw})
		if fp.kind() == kindNone {
			f.base.drop(raw)
		} else {
			f.base.set(raw, fp)
		}
	}
	err := w.scan(absorbed)
	w.undoing = nil
	return errors.Join(err, w.save())
}

// hide keeps a path that is about to be undone out of what calls are said to have changed.
func (w *workspace) hide(f *folder, raw string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.undoing == nil {
		w.undoing = map[place]bool{}
	}
	w.undoing[place{f.n, raw}] = true
}

// backwards is the order of undoing: what was added goes first, contents before directories, then
// everything else with directories before contents.
func backwards(diffs []difference) []difference {
	ordered := make([]difference, 0, len(diffs))
	for i := len(diffs) - 1; i >= 0; i-- {
		if diffs[i].Kind == sandbox.Added {
			ordered = append(ordered, diffs[i])
		}
	}
	for _, d := range diffs {
		if d.Kind != sandbox.Added {
			ordered = append(ordered, d)
		}
	}
	return ordered
}

// undoer puts the host's entries into a merged tree, in which a sandbox may be at work.
type undoer struct {
	host, merged *os.File
	hide         func(raw string) // told of each path before it is made
}

func newUndoer(f *folder) (*undoer, error) {
	host, err := openFolder(f.host)
	if err != nil {
		return nil, err
	}
	merged, err := os.OpenFile(f.merged, unix.O_PATH|unix.O_DIRECTORY|unix.O_NOFOLLOW, 0)
	if err != nil {
		_ = host.Close()
		return nil, err
	}
	return &undoer{host: host, merged: merged, hide: func(string) {}}, nil
}

func (u *undoer) close() {
	_ = u.host.Close()
	_ = u.merged.Close()
}

// undo makes one path of the merged tree what the host has now, and fingerprints that.
func (u *undoer) undo(ctx context.Context, d difference) (fingerprint, error) {
	dir, name := split(d.raw)
	into, err := openDir(u.merged, dir)
	if gone(err) && d.host.kind() == kindNone {
		return fingerprint{}, nil
	}
	if err != nil {
		return fingerprint{}, err
	}
	defer into.Close()
	from, err := openDir(u.host, dir)
	if err != nil && !gone(err) {
		return fingerprint{}, err
	}
	if from != nil {
		defer from.Close()
	}
	hs, err := statAt(from, name)
	if err != nil {
		return fingerprint{}, err
	}
	fp := takePrint(from, name, hs, hashFileLimit)
	tmp := tempName()
	u.hide(join(dir, tmp))
	return fp, restore(ctx, from, into, name, tmp, hs)
}

// restore makes name what it is in from, by way of tmp.
func restore(ctx context.Context, from, into *os.File, name, tmp string, hs stat) error {
	have, err := statAt(into, name)
	if err != nil {
		return err
	}
	if hs.kind() == kindDir && have.kind() == kindDir {
		return chmodDir(into, name, hs.Mode&0o7777)
	}
	if have.kind() == kindDir || hs.kind() == kindNone && have.kind() != kindNone {
		if err := removeAny(into, name, have.kind()); err != nil {
			return err
		}
	}
	switch hs.kind() {
	case kindNone:
		return nil
	case kindDir:
		return makeDir(into, name, have, hs)
	case kindSymlink:
		return copyLink(from, into, name, tmp)
	case kindFile:
		return copyFile(ctx, from, into, name, tmp, hs)
	case kindOther, kindWhiteout:
	}
	return errors.New("the host has a special file there")
}

func makeDir(into *os.File, name string, have, hs stat) error {
	if have.kind() != kindNone && have.kind() != kindDir {
		if err := removeAny(into, name, have.kind()); err != nil {
			return err
		}
	}
	if err := unix.Mkdirat(int(into.Fd()), name, 0o700); err != nil {
		return err
	}
	return chmodDir(into, name, hs.Mode&0o7777)
}

func copyLink(from, into *os.File, name, tmp string) error {
	target, err := readLink(from, name)
	if err != nil {
		return err
	}
	fd := int(into.Fd())
	if err := unix.Symlinkat(target, fd, tmp); err != nil {
		return err
	}
	return renameOver(fd, tmp, name)
}

func copyFile(ctx context.Context, from, into *os.File, name, tmp string, hs stat) error {
	src, _, err := openRegular(from, name)
	if err != nil {
		return err
	}
	defer src.Close()
	dst, err := openBeneath(into, tmp, unix.O_WRONLY|unix.O_CREAT|unix.O_EXCL|unix.O_NOFOLLOW, 0o600)
	if err != nil {
		return err
	}
	defer dst.Close()
	fd := int(into.Fd())
	err = copyData(ctx, dst, src)
	if err == nil {
		err = unix.Fchmod(int(dst.Fd()), hs.Mode&0o7777)
	}
	if err != nil {
		return errors.Join(err, unix.Unlinkat(fd, tmp, 0))
	}
	// Programs that compare times take it for the file they know.
	_ = unix.Futimes(int(dst.Fd()), []unix.Timeval{unix.NsecToTimeval(hs.Mtime), unix.NsecToTimeval(hs.Mtime)})
	return renameOver(fd, tmp, name)
}

func renameOver(dir int, tmp, name string) error {
	if err := unix.Renameat(dir, tmp, dir, name); err != nil {
		return errors.Join(err, unix.Unlinkat(dir, tmp, 0))
	}
	return nil
}
