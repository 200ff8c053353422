package workspace

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"unicode/utf8"

	"github.com/containerd/errdefs"

	"github.com/garita-dev/garita/sandbox"
)

// maxDiffFile bounds a file whose text is compared, in bytes; maxDiffTotal the diffs of one Diff.
const (
	maxDiffFile  = 1 << 20
	maxDiffTotal = 16 << 20
)

// Diff is Changes with a unified diff of every regular file that is text on both sides and at most
// 1 MiB; Note says why there is none. A line of text may hold anything but NUL: whoever shows it
// makes it harmless. The diffs of one answer end at 16 MiB.
func (s *Store) Diff(ctx context.Context, id sandbox.WorkspaceID) ([]sandbox.FileDiff, error) {
	w, err := s.workspace(id, false)
	if err != nil {
		return nil, err
	}
	if err := w.lock(); err != nil {
		return nil, err
	}
	diffs, err := w.differences(ctx)
	w.mu.Unlock()
	if err != nil {
		return nil, fmt.Errorf("compare workspace %s with the host: %w", id, err)
	}
	r := &diffReader{roots: map[*folder]roots{}, left: maxDiffTotal}
	defer r.close()
	files := make([]sandbox.FileDiff, 0, len(diffs))
	for _, d := range diffs {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		files = append(files, r.diff(d))
	}
	return files, nil
}

// diffReader reads both sides of changes.
type diffReader struct {
	roots map[*folder]roots
	left  int
}

type roots struct{ upper, host *os.File }

func (r *diffReader) close() {
	for _, x := range r.roots {
		_ = x.upper.Close()
		if x.host != nil {
			_ = x.host.Close()
		}
	}
}

func (r *diffReader) open(f *folder) (roots, error) {
	if x, ok := r.roots[f]; ok {
		return x, nil
	}
	upper, err := f.openUpper()
	if err != nil {
		return roots{}, err
	}
	host, err := openFolder(f.host)
	if err != nil && !errdefs.IsNotFound(err) {
		_ = upper.Close()
		return roots{}, err
	}
	r.roots[f] = roots{upper, host}
	return r.roots[f], nil
}

func (r *diffReader) diff(d difference) sandbox.FileDiff {
	out := sandbox.FileDiff{Change: d.Change}
	if note := unlike(d); note != "" {
		out.Note = note
		return out
	}
	if r.left <= 0 {
		out.Note = "not shown: there is too much to show at once"
		return out
	}
	old, fresh, err := r.sides(d)
	switch {
	case errors.Is(err, errTooLarge):
		out.Note = err.Error()
	case err != nil:
		out.Note = "it cannot be read just now"
	case !text(old) || !text(fresh):
		out.Note = "binary"
	case bytes.Equal(old, fresh):
		out.Note = modeNote(d)
	default:
		out.Unified = Unified(name(d, "a/", d.host), name(d, "b/", d.upper), string(old), string(fresh))
		r.left -= len(out.Unified)
	}
	return out
}

func name(d difference, prefix string, st stat) string {
	if st.kind() != kindFile {
		return "/dev/null"
	}
	return prefix + d.Path
}

// unlike is a note about changes that are not of a regular file on every side there is.
func unlike(d difference) string {
	h, u := d.host.kind(), d.upper.kind()
	switch {
	case d.Kind == sandbox.Deleted && h == kindFile, d.Kind == sandbox.Added && u == kindFile, h == kindFile && u == kindFile:
		return ""
	case h == kindDir && u == kindDir:
		return modeNote(d)
	case d.Kind == sandbox.Modified && h != u:
		return "a " + h.String() + " became a " + u.String()
	case u == kindSymlink || h == kindSymlink:
		return "a symbolic link"
	case u == kindDir || h == kindDir:
		return "a directory"
	}
	return refusedSpecial
}

func modeNote(d difference) string {
	return fmt.Sprintf("only the mode changed, from %04o to %04o", d.host.Mode&0o7777, d.upper.perm())
}

var errTooLarge = errors.New("larger than 1 MiB")

func (r *diffReader) sides(d difference) (old, fresh []byte, err error) {
	x, err := r.open(d.folder)
	if err != nil {
		return nil, nil, err
	}
	if d.host.kind() == kindFile {
		if old, err = readBounded(x.host, d.raw); err != nil {
			return nil, nil, err
		}
	}
	if d.upper.kind() == kindFile {
		fresh, err = readBounded(x.upper, d.raw)
	}
	return old, fresh, err
}

func readBounded(dir *os.File, path string) ([]byte, error) {
	if dir == nil {
		return nil, os.ErrNotExist
	}
	f, st, err := openRegular(dir, path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if st.Size > maxDiffFile {
		return nil, errTooLarge
	}
	data, err := io.ReadAll(io.LimitReader(f, maxDiffFile+1))
	if len(data) > maxDiffFile {
		return nil, errTooLarge
	}
	return data, err
}

func text(data []byte) bool { return bytes.IndexByte(data, 0) < 0 && utf8.Valid(data) }
