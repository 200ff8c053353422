package workspace

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/containerd/errdefs"
	"golang.org/x/sys/unix"

	"github.com/garita-dev/garita/sandbox"
)

// Apply brings changes to the host's folders: those that paths name, exactly or by a directory
// above them, with the new directories they need; without paths everything that is not held.
// done are the changes that are now the host's, left those that were not applied, with the reason
// in Held or Stale set. A change that is held is applied when it is named exactly; a stale one
// never is. Applying again what was left over is safe, also after a crash.
//
// Each file is written beside its place, flushed and exchanged with the old one, which must still
// be what the comparison saw, or it is put back. Mode bits are kept but for set-id, sticky and
// world-writable; times are not. No symbolic link is ever followed, and new ones that lead out of
// the folder are held. Of several hard-linked files each becomes a file of its own.
//
// NotFound (workspace, folder, or a path that is no change), InvalidArgument; with an error, done
// still lists what was applied.
func (s *Store) Apply(ctx context.Context, id sandbox.WorkspaceID, paths []string) (done, left []sandbox.Change, err error) {
	return s.ApplySeen(ctx, id, paths, "")
}

// ApplySeen is Apply of what a person has looked at: seen is a mark made before Changes or Diff,
// and what has changed in the workspace since then is left out. The empty mark asks for nothing.
// NotFound also means that the mark is too old, or of another process: look again.
func (s *Store) ApplySeen(ctx context.Context, id sandbox.WorkspaceID, paths []string, seen sandbox.Mark) (done, left []sandbox.Change, err error) {
	w, err := s.workspace(id, false)
	if err != nil {
		return nil, nil, err
	}
	w.writing.Lock()
	defer w.writing.Unlock()
	todo, err := w.plan(ctx, paths, seen)
	if err != nil {
		return nil, nil, fmt.Errorf("apply workspace %s: %w", id, err)
	}
	done, refused, err := w.apply(ctx, todo.chosen)
	left = append(todo.left, refused...)
	if err = errors.Join(err, w.tidy(ctx)); err != nil {
		err = fmt.Errorf("apply workspace %s: %w", id, err)
	}
	return done, left, err
}

func (w *workspace) plan(ctx context.Context, paths []string, seen sandbox.Mark) (selection, error) {
	if err := w.lock(); err != nil {
		return selection{}, err
	}
	defer w.mu.Unlock()
	diffs, err := w.differences(ctx)
	if err != nil {
		return selection{}, err
	}
	chosen, exact, err := w.choose(diffs, paths)
	if err != nil {
		return selection{}, err
	}
	todo := applicable(complete(diffs, chosen), exact)
	if seen == "" {
		return todo, nil
	}
	gen, err := w.log.parse(seen)
	if err != nil {
		return selection{}, err
	}
	return unchangedSince(todo, w.log.since(gen)), nil
}

// unchangedSince takes out what was changed by one of the events.
func unchangedSince(todo selection, events []event) selection {
	fresh := map[place]bool{}
	for _, e := range events {
		fresh[e.place] = true
	}
	kept := selection{left: todo.left}
	for _, d := range todo.chosen {
		if fresh[place{d.folder.n, d.raw}] {
			d.Held = "changed after it was shown; look again"
			kept.left = append(kept.left, d.Change)
			continue
		}
		kept.chosen = append(kept.chosen, d)
	}
	return kept
}

// apply works through the changes folder by folder; w.writing is held.
func (w *workspace) apply(ctx context.Context, diffs []difference) (done, left []sandbox.Change, err error) {
	for _, f := range w.snapshotFolders() {
		var mine []difference
		for _, d := range diffs {
			if d.folder == f {
				mine = append(mine, d)
			}
		}
		if len(mine) == 0 {
			continue
		}
		d, l, err := w.applyFolder(ctx, f, mine)
		done, left = append(done, d...), append(left, l...)
		if err != nil {
			return done, left, err
		}
	}
	return done, left, nil
}

func (w *workspace) snapshotFolders() []*folder {
	w.mu.Lock()
	defer w.mu.Unlock()
	return append([]*folder(nil), w.folders...)
}

func (w *workspace) applyFolder(ctx context.Context, f *folder, diffs []difference) (done, left []sandbox.Change, err error) {
	p, err := w.newPlacer(f)
	if err != nil {
		return nil, nil, err
	}
	defer func() { err = errors.Join(err, p.close()) }()
	for _, d := range inOrder(diffs) {
		if err := ctx.Err(); err != nil {
			return done, left, err
		}
		err := p.place(ctx, d)
		if reason, stale := refusal(err); err != nil {
			d.Held, d.Stale = reason, stale
			left = append(left, d.Change)
			continue
		}
		if err := w.applied(p, d); err != nil {
			return done, left, err
		}
		done = append(done, d.Change)
	}
	return done, left, nil
}

// applied makes the host's new file the one the workspace is based on.
func (w *workspace) applied(p *placer, d difference) error {
	fp, err := p.now(d)
	if err != nil {
		return err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	d.folder.base.set(d.raw, fp)
	delete(w.holds, place{d.folder.n, d.raw})
	return nil
}

// tidy drops what has become equal where nothing is mounted, and keeps the fingerprints.
func (w *workspace) tidy(ctx context.Context) error {
	if err := w.lock(); err != nil {
		return err
	}
	defer w.mu.Unlock()
	ctx = context.WithoutCancel(ctx)
	var errs []error
	for _, f := range w.folders {
		if f.live {
			errs = append(errs, f.base.flush())
			continue
		}
		errs = append(errs, w.prune(ctx, f))
	}
	return errors.Join(append(errs, w.save())...)
}

// Reasons for which a change is left out while applying.
var (
	errChangedHere  = errors.New("the host's file changed just now")
	errChangedThere = errors.New("the workspace's file changed just now; apply again")
	errNotEmpty     = errors.New("the host's directory holds files the workspace has never seen, or that were left out")
)

// refusal words an error of one path for a person.
func refusal(err error) (reason string, stale bool) {
	switch {
	case err == nil:
		return "", false
	case errors.Is(err, errChangedHere):
		return "", true
	case errors.Is(err, unix.ELOOP):
		return "a symbolic link is on the way on the host; it is not followed", false
	case errors.Is(err, unix.EXDEV):
		return "it lies on another file system than its folder", false
	case errors.Is(err, unix.ENOTDIR), errors.Is(err, unix.ENOENT):
		return "the directory it belongs in is not there on the host", false
	case errors.Is(err, unix.ENOTEMPTY), errors.Is(err, errNotEmpty):
		return errNotEmpty.Error(), false
	case errdefs.IsNotFound(err):
		return "the folder is gone", false
	}
	return err.Error(), false
}

// openUpper opens the folder's upper directory for walking.
func (f *folder) openUpper() (*os.File, error) {
	return os.OpenFile(f.upper(), unix.O_PATH|unix.O_DIRECTORY|unix.O_NOFOLLOW, 0)
}
