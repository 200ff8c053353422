package sqlite

import (
	"context"
	"database/sql"
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/garita-dev/garita/store"
)

const insertMention = `INSERT INTO mentions (id, seq) VALUES (?, ?) ON CONFLICT DO NOTHING`

// indexing is how far the tables that say where things are stand behind the events. An event is one
// page when it is written; its place in the indexes would be three more, scattered, in the way of
// the call. So they follow, many at a time: before they are read, when the write-ahead log is folded
// in, and when the record is opened, where what a death left out is found again from the events.
type indexing struct {
	waiting []mention // in the order of the events
}

// mention is an event that has yet to be indexed.
type mention struct {
	seq           int64
	call, session string
	finished      *listing // only of call.finished
}

// listing is a finished call's line in the listings.
type listing struct {
	start                              int64 // unix microseconds
	id, server, class, answer, outcome string
}

func listed(r store.CallRecord) *listing {
	return &listing{
		r.Call.At.UnixMicro(), string(r.Call.ID), string(r.Call.Server),
		string(r.Decision.Class), string(r.Decision.Outcome), string(r.Outcome),
	}
}

// add notes events that have been committed. finished goes with the last of them.
func (x *indexing) add(events []placed, finished *listing) {
	for i, e := range events {
		if e.Call == "" && e.Session == "" {
			continue
		}
		m := mention{seq: e.Seq, call: string(e.Call), session: string(e.Session)}
		if i == len(events)-1 {
			m.finished = finished
		}
		x.waiting = append(x.waiting, m)
	}
}

// index brings the indexes up to the newest event.
func (s *Store) index(ctx context.Context) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.ready(ctx); err != nil {
		return err
	}
	return s.catchUp()
}

// catchUp is index with s.mu held and the record ready.
func (s *Store) catchUp() error {
	if len(s.indexing.waiting) == 0 {
		return nil
	}
	err := s.w.transact(false, func(ctx context.Context) error {
		for _, m := range s.indexing.waiting {
			if err := s.w.mention(m); err != nil {
				return err
			}
		}
		return s.w.setNumber(ctx, "indexed", s.head.seq)
	})
	if err != nil {
		return unavailable("index the record", err)
	}
	s.indexing.waiting = s.indexing.waiting[:0]
	return nil
}

func (w *writer) mention(m mention) error {
	for _, id := range [...]string{m.call, m.session} {
		if id == "" {
			continue
		}
		if _, err := w.insertMention.exec(id, m.seq); err != nil {
			return err
		}
	}
	if m.finished == nil {
		return nil
	}
	return w.addCall(*m.finished, m.seq)
}

// crowd is how many calls may start at one moment, each being moved to a free microsecond.
const crowd = 1000

// addCall puts a call into the listings, at its start or the next free microsecond.
func (w *writer) addCall(l listing, seq int64) error {
	for pos := l.start; pos < l.start+crowd; pos++ {
		n, err := w.insertCall.exec(pos, l.id, seq, l.server, l.class, l.answer, l.outcome)
		if err != nil || n == 1 {
			return err
		}
	}
	return fmt.Errorf("more than %d calls started in one millisecond", crowd)
}

// unindexed finds the events that the indexes do not have.
func (w *writer) unindexed(ctx context.Context) ([]mention, error) {
	from, err := w.number(ctx, "indexed")
	if err != nil {
		return nil, err
	}
	return collect(ctx, w, scanMention, "SELECT seq, call, session, kind, body FROM events WHERE seq > ? AND (call <> '' OR session <> '') ORDER BY seq", from)
}

func scanMention(row scanner) (m mention, err error) {
	var kind store.Kind
	var body sql.RawBytes
	if err := row.Scan(&m.seq, &m.call, &m.session, &kind, &body); err != nil || kind != store.CallFinished {
		return m, err
	}
	var w wireFinished
	if err := decode(body, &w); err == nil { // one that cannot be read is Verify's to name
		m.finished = listed(w.record())
	}
	return m, nil
}

// number is what meta holds under key, 0 when nothing.
func (w *writer) number(ctx context.Context, key string) (int64, error) {
	var b []byte
	err := w.conn.QueryRowContext(ctx, "SELECT value FROM meta WHERE key = ?", key).Scan(&b)
	if errors.Is(err, sql.ErrNoRows) {
		return 0, nil
	}
	return toNumber(b), err
}

// toNumber is a number from meta; 0 when it is none.
func toNumber(b []byte) int64 {
	if len(b) != 8 {
		return 0
	}
	return int64(binary.BigEndian.Uint64(b))
}

func (w *writer) setNumber(ctx context.Context, key string, n int64) error {
	b := binary.BigEndian.AppendUint64(nil, uint64(n))
	_, err := w.conn.ExecContext(ctx, "INSERT INTO meta (key, value) VALUES (?, ?) ON CONFLICT (key) DO UPDATE SET value = excluded.value", key, b)
	return err
}
