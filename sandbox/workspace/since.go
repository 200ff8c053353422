package workspace

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"sort"
	"strconv"
	"strings"
	"time"

	"github.com/containerd/errdefs"

	"github.com/garita-dev/garita/sandbox"
)

// maxLog bounds the changes remembered for marks; the older half is forgotten beyond it.
const maxLog = 500_000

// changeLog is what scans have seen change, oldest first. A mark is a generation of it, so marks
// cost nothing to keep and may overlap at will.
type changeLog struct {
	epoch  string // of this process: a mark does not outlive it
	gen    int64
	floor  int64 // marks before it are too old
	events []event
}

// event is one path that a scan saw changed.
type event struct {
	gen    int64
	place  place
	before bool // the merged tree showed something there before
	kind   kind // of what is there afterwards, or was there before it was deleted
}

func newChangeLog() changeLog {
	var b [8]byte
	_, _ = rand.Read(b[:])
	return changeLog{epoch: hex.EncodeToString(b[:])}
}

func (l *changeLog) mark() sandbox.Mark {
	return sandbox.Mark(l.epoch + "." + strconv.FormatInt(l.gen, 10))
}

// parse returns the generation of a mark. NotFound when it is another process's or too old.
func (l *changeLog) parse(m sandbox.Mark) (int64, error) {
	epoch, number, _ := strings.Cut(string(m), ".")
	gen, err := strconv.ParseInt(number, 10, 64)
	if err != nil || epoch != l.epoch || gen < l.floor || gen > l.gen {
		return 0, fmt.Errorf("mark %q is unknown or too old: %w", m, errdefs.ErrNotFound)
	}
	return gen, nil
}

func (l *changeLog) since(gen int64) []event { return l.between(gen, l.gen) }

// between is what changed after generation from, up to and with generation to.
func (l *changeLog) between(from, to int64) []event {
	after := func(gen int64) int {
		return sort.Search(len(l.events), func(i int) bool { return l.events[i].gen > gen })
	}
	return l.events[after(from):after(to)]
}

func (l *changeLog) trim() {
	if len(l.events) <= maxLog {
		return
	}
	half := len(l.events) / 2
	l.floor = l.events[half-1].gen
	l.events = append([]event(nil), l.events[half:]...)
}

// Mark makes a point that Since can be asked against, as long as this process lives. Where the
// kernel's file clock is coarse it waits, up to one timer tick, until a change after it cannot
// carry the stamp of one before it. NotFound.
func (s *Store) Mark(ctx context.Context, id sandbox.WorkspaceID) (sandbox.Mark, error) {
	w, err := s.workspace(id, false)
	if err != nil {
		return "", err
	}
	mark, wait, err := w.markOnce()
	for tries := 0; err == nil && wait > 0 && tries < 3; tries++ {
		select {
		case <-ctx.Done():
			return "", fmt.Errorf("mark workspace %s: %w", id, ctx.Err())
		case <-time.After(wait):
		}
		mark, wait, err = w.markOnce()
	}
	return mark, err
}

// Advance is Mark that also lists what was changed since an earlier mark: made at the end of one
// call and advanced at the start of the next, nothing escapes that was written between calls, by a
// server that answered first and wrote later. NotFound as for Since.
func (s *Store) Advance(ctx context.Context, id sandbox.WorkspaceID, from sandbox.Mark) ([]sandbox.Change, sandbox.Mark, error) {
	mark, err := s.Mark(ctx, id)
	if err != nil {
		return nil, "", err
	}
	w, err := s.workspace(id, false)
	if err != nil {
		return nil, "", err
	}
	if err := w.lock(); err != nil {
		return nil, "", err
	}
	defer w.mu.Unlock()
	gen, err := w.log.parse(from)
	if err != nil {
		return nil, "", err
	}
	to, err := w.log.parse(mark)
	if err != nil {
		return nil, "", err
	}
	return w.effects(w.log.between(gen, to)), mark, nil
}

func (w *workspace) markOnce() (sandbox.Mark, time.Duration, error) {
	if err := w.lock(); err != nil {
		return "", 0, err
	}
	defer w.mu.Unlock()
	if err := w.scan(logged); err != nil {
		return "", 0, fmt.Errorf("mark workspace %s: %w", w.id, err)
	}
	var newest int64
	for _, f := range w.folders {
		newest = max(newest, f.tree.newest)
		if err := f.flushMapped(); err != nil {
			return "", 0, fmt.Errorf("mark workspace %s: %w", w.id, err)
		}
	}
	return w.log.mark(), w.clock.unsettled(newest, now()), nil
}

func (f *folder) flushMapped() error {
	if len(f.tree.fresh) == 0 {
		return nil
	}
	upper, err := f.openUpper()
	if err != nil {
		return err
	}
	defer upper.Close()
	f.tree.flushMapped(upper)
	return nil
}

// Since lists what was changed in the workspace after a mark, relative to what the merged tree
// showed then: a file written twice is listed once, one that came and went is not. A copy that
// overlayfs made of an unchanged file is no change. What Apply and Discard do is not listed.
//
// It looks at status only (size, times, inode), so that a write of the same bytes counts, and so
// does one that puts the old modification time back. Held is filled in, Stale is not.
// NotFound: the workspace, or the mark is of another process or too old.
func (s *Store) Since(_ context.Context, id sandbox.WorkspaceID, m sandbox.Mark) ([]sandbox.Change, error) {
	w, err := s.workspace(id, false)
	if err != nil {
		return nil, err
	}
	if err := w.lock(); err != nil {
		return nil, err
	}
	defer w.mu.Unlock()
	gen, err := w.log.parse(m)
	if err != nil {
		return nil, err
	}
	if err := w.scan(logged); err != nil {
		return nil, fmt.Errorf("see what changed in workspace %s: %w", id, err)
	}
	return w.effects(w.log.since(gen)), nil
}

// effects folds the events into one change a path.
func (w *workspace) effects(events []event) []sandbox.Change {
	type span struct {
		first, last event
	}
	spans := map[place]span{}
	var order []place
	for _, e := range events {
		s, known := spans[e.place]
		if !known {
			s.first = e
			order = append(order, e.place)
		}
		s.last = e
		spans[e.place] = s
	}
	changes := []sandbox.Change{}
	for _, p := range order {
		if c, ok := w.effect(p, spans[p].first.before, spans[p].last.kind); ok {
			changes = append(changes, c)
		}
	}
	sort.Slice(changes, func(i, j int) bool { return lessChange(changes[i], changes[j]) })
	return changes
}

func (w *workspace) effect(p place, before bool, last kind) (sandbox.Change, bool) {
	f := w.folders[p.folder]
	n := f.tree.find(p.path)
	c := sandbox.Change{Folder: f.host, Path: EncodePath(p.path), Type: last.String(), Held: w.heldBy(p)}
	after := n.visible()
	switch {
	case after && before:
		c.Kind = sandbox.Modified
	case after:
		c.Kind = sandbox.Added
	case before:
		c.Kind = sandbox.Deleted
	default:
		return c, false
	}
	if after {
		c.Type = n.kind().String()
		c.Size = sizeOf(n.stat)
	}
	return c, true
}

func sizeOf(st stat) int64 {
	if st.kind() == kindDir {
		return 0
	}
	return st.Size
}

func lessChange(a, b sandbox.Change) bool {
	if a.Folder != b.Folder {
		return a.Folder < b.Folder
	}
	return lessPath(a.Path, b.Path)
}

// lessPath orders a directory right before what lies in it.
func lessPath(a, b string) bool {
	return strings.ReplaceAll(a, "/", "\x00") < strings.ReplaceAll(b, "/", "\x00")
}
