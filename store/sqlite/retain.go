package sqlite

import (
	"context"
	"fmt"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"

	"github.com/garita-dev/garita/store"
)

const (
	// headroom is how much of its bound the record is left with once it was over it, so that it is not
	// over it again at once: nine tenths.
	headroomNumerator, headroomDenominator = 9, 10
	// dropAtOnce is about how many events are deleted in one transaction; appends wait for it.
	dropAtOnce = 2048
	// youngest is how many of the newest events are never dropped, whatever the bounds.
	youngest = 2 * anchorEvery
)

// Retain sets the bounds and brings the record within them. It may be called again at any time.
func (s *Store) Retain(ctx context.Context, r store.Retention) error {
	s.mu.Lock()
	s.retention = r
	s.mu.Unlock()
	return s.Trim(ctx)
}

// Trim drops the record's oldest segments while it is over its bounds, and looks at the room on its
// disk. The record does so itself as it grows; a caller does it now and then, for what grows old.
//
// What is dropped is first told of by a signed record.dropped event, at an anchor: Verify begins
// behind the newest such anchor, and takes nothing less for a reason.
func (s *Store) Trim(ctx context.Context) error {
	s.trimming.Lock()
	defer s.trimming.Unlock()
	if err := s.watchDisk(ctx); err != nil {
		return err
	}
	bound, err := s.over(ctx)
	if err != nil || bound.seq == 0 {
		return err
	}
	if err := s.tellDropped(ctx, bound); err != nil {
		return err
	}
	for {
		done, err := s.dropSome(ctx, bound.seq)
		if err != nil || done {
			return err
		}
	}
}

// excess is the anchor up to which the record is to go, and why.
type excess struct {
	anchor
	why string
}

// over finds what is over the bounds; the zero excess when nothing is. What a death kept from being
// dropped, though it was told of, is over them still.
func (s *Store) over(ctx context.Context) (excess, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.ready(ctx); err != nil {
		return excess{}, err
	}
	upto, why, err := s.w.excess(ctx, s.retention, time.Now())
	if err != nil || upto == 0 {
		return excess{}, unavailable("measure the record", err)
	}
	upto = min(upto, s.head.seq-youngest)
	row := s.w.conn.QueryRowContext(ctx, "SELECT seq, at, prev, hash, sig FROM anchors WHERE seq <= ? AND seq >= (SELECT min(seq) FROM events) ORDER BY seq DESC LIMIT 1", upto)
	a, err := scanAnchor(row)
	if err != nil {
		return excess{}, nil //nolint:nilerr // nothing to drop at: not one whole segment is over
	}
	return excess{a, why}, nil
}

// excess is the event up to which the bounds want the record to go.
func (w *writer) excess(ctx context.Context, r store.Retention, now time.Time) (upto int64, why string, err error) {
	size, first, last, err := w.size(ctx)
	if err != nil || last == 0 {
		return 0, "", err
	}
	if r.Size > 0 && size > r.Size {
		share := float64(size-r.Size*headroomNumerator/headroomDenominator) / float64(size)
		upto, why = first+int64(share*float64(last-first+1)), fmt.Sprintf("The record was %d MiB long, over its bound of %d MiB.", size>>20, r.Size>>20)
	}
	if r.Keep > 0 {
		old, err := w.link(ctx, "SELECT seq, hash FROM events WHERE seq > ?1 AND at < ?2 ORDER BY seq DESC LIMIT 1", max(upto, 0), now.Add(-r.Keep).UnixMicro())
		if err != nil {
			return 0, "", err
		}
		if old.seq > upto {
			upto, why = old.seq, fmt.Sprintf("Records are kept for %s.", r.Keep)
		}
	}
	return upto, why, nil
}

// size is the bytes in use, which deleting frees though the file stays as long as it was, and the
// first and last event.
func (w *writer) size(ctx context.Context) (bytes, first, last int64, err error) {
	err = w.conn.QueryRowContext(ctx, `SELECT (p.page_count - f.freelist_count) * s.page_size,
		coalesce((SELECT min(seq) FROM events), 0), coalesce((SELECT max(seq) FROM events), 0)
		FROM pragma_page_count p, pragma_freelist_count f, pragma_page_size s`).Scan(&bytes, &first, &last)
	return bytes, first, last, err
}

// wireDropped is the body of record.dropped.
type wireDropped struct {
	Upto int64      `json:"upto"` // everything up to this event is gone
	Hash string     `json:"hash"` // of that event, as its anchor has it
	Why  string     `json:"why"`
	Made []string   `json:"made,omitempty"`    // the permissions and tokens there are: likewise
	Held []wireHeld `json:"demoted,omitempty"` // the tools that could not pass as reads then: their events may be among what goes
}

type wireHeld struct {
	Server string `json:"server"`
	Tool   string `json:"tool"`
}

// tellDropped writes down what is about to be dropped, durably, unless that has been done.
func (s *Store) tellDropped(ctx context.Context, x excess) error {
	w := wireDropped{Upto: x.seq, Hash: string(x.hash.digest()), Why: x.why}
	for _, d := range s.Demotions("") {
		w.Held = append(w.Held, wireHeld{string(d.Server), d.Tool})
	}
	var err error
	if w.Made, err = texts(ctx, s.readers, "SELECT id FROM grants UNION ALL SELECT id FROM tokens"); err != nil {
		return unavailable("drop old records", err)
	}
	body, err := encode(w)
	if err != nil {
		return err
	}
	_, err = s.AppendDurable(ctx, store.Event{Kind: store.RecordDropped, Body: body})
	return err
}

// dropSome deletes the oldest events, up to an anchor, with what points at them. done says that none
// up to that seq is left.
func (s *Store) dropSome(ctx context.Context, upto int64) (done bool, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.ready(ctx); err != nil {
		return false, err
	}
	if err := s.catchUp(); err != nil {
		return false, err
	}
	var at int64
	err = s.w.conn.QueryRowContext(ctx, `SELECT coalesce(min(seq), ?1) FROM anchors
		WHERE seq >= (SELECT min(seq) FROM events) + ?2 AND seq <= ?1`, upto, dropAtOnce).Scan(&at)
	if err != nil {
		return false, unavailable("drop old records", err)
	}
	err = s.w.transact(false, func(ctx context.Context) error { return s.w.drop(ctx, at) })
	return at >= upto, unavailable("drop old records", err)
}

// drop deletes the events up to the anchor at seq. The anchor stays: it is what the rest follows from.
func (w *writer) drop(ctx context.Context, seq int64) error {
	for _, q := range [...]string{
		"DELETE FROM mentions WHERE (id, seq) IN (SELECT call, seq FROM events WHERE seq <= ?1 UNION ALL SELECT session, seq FROM events WHERE seq <= ?1)",
		"DELETE FROM calls WHERE seq <= ?1",
		"DELETE FROM secret_uses WHERE seq <= ?1",
		"DELETE FROM requests WHERE seq <= ?1 AND outcome <> 'pending'",
		"DELETE FROM events WHERE seq <= ?1",
		"DELETE FROM anchors WHERE seq < ?1",
	} {
		if _, err := w.conn.ExecContext(ctx, q, seq); err != nil {
			return err
		}
	}
	return nil
}

// Space is how long the record is and whether its disk has room.
func (s *Store) Space(ctx context.Context) (store.Space, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return store.Space{}, s.ready(ctx)
	}
	size, _, _, err := s.w.size(ctx)
	if err != nil {
		return store.Space{}, unavailable("measure the record", err)
	}
	free, err := s.diskFree(filepath.Dir(s.path))
	return store.Space{Size: size, Free: free, Low: s.low.Load()}, unavailable("measure the disk", err)
}

// watchDisk notes when the disk has less room than it should, and when it has again.
func (s *Store) watchDisk(ctx context.Context) error {
	free, err := s.diskFree(filepath.Dir(s.path))
	if err != nil {
		return unavailable("measure the disk", err)
	}
	s.mu.Lock()
	wanted := s.retention.Free
	s.mu.Unlock()
	now := free < wanted
	was := s.low.Swap(now)
	if was == now {
		return nil
	}
	kind := store.DiskRecovered
	if now {
		kind = store.DiskLow
	}
	_, err = s.AppendDurable(ctx, store.Event{Kind: kind, Body: fmt.Appendf(nil, `{"free":%d,"wanted":%d}`, free, wanted)})
	return err
}

// diskFree is how many bytes an ordinary user may still write below a folder.
func diskFree(folder string) (int64, error) {
	var st unix.Statfs_t
	if err := unix.Statfs(folder, &st); err != nil {
		return 0, err
	}
	return int64(min(st.Bavail, 1<<40)) * st.Bsize, nil
}
