package sqlite

import (
	"context"
	"database/sql"
	"fmt"

	"github.com/garita-dev/garita/approvals"
	"github.com/garita-dev/garita/store"
)

const selectEvent = "SELECT seq, at, kind, uid, client, session, server, call, body, prev, hash, token FROM events "

// Events lists the log after the event of that Seq, oldest first, at most limit events; those of
// one call only when callID is not "".
func (s *Store) Events(ctx context.Context, after int64, limit int, callID approvals.CallID) ([]store.Event, error) {
	return s.Find(ctx, store.Query{After: after, Limit: limit, Call: callID})
}

// Find lists the events that q wants after the one of its Seq, oldest first.
func (s *Store) Find(ctx context.Context, q store.Query) ([]store.Event, error) {
	query, args := selectEvent+"WHERE seq > ?1 AND at >= ?3", []any{q.After, max(q.Limit, 1), unixMicro(q.Since)}
	for _, by := range []struct{ column, id string }{{"call", string(q.Call)}, {"session", string(q.Session)}} {
		if by.id == "" {
			continue
		}
		if err := s.index(ctx); err != nil {
			return nil, err
		}
		args = append(args, by.id)
		query += fmt.Sprintf(" AND %s = ?%d AND seq IN (SELECT seq FROM mentions WHERE id = ?%[2]d AND seq > ?1)", by.column, len(args))
	}
	rows, err := s.readers.QueryContext(ctx, query+" ORDER BY seq LIMIT ?2", args...)
	if err != nil {
		return nil, unavailable("read events", err)
	}
	defer rows.Close()
	var events []store.Event
	for rows.Next() {
		p, err := scanEvent(rows)
		if err != nil {
			return nil, unavailable("read events", err)
		}
		events = append(events, p.event())
	}
	return events, unavailable("read events", rows.Err())
}

// LastSeq is the Seq of the newest event, 0 for none.
func (s *Store) LastSeq() int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.head.seq
}

// scanEvent reads one event with the links its row holds, true or not.
func scanEvent(rows *sql.Rows) (placed, error) {
	var p placed
	var at int64
	var prev, own sql.RawBytes
	err := rows.Scan(&p.Seq, &at, &p.Kind, &p.Principal.UID, &p.Principal.Client, &p.Session, &p.Server, &p.Call, &p.Body, &prev, &own, &p.Principal.Token)
	if err != nil {
		return p, err
	}
	p.At = micros(at)
	if p.prev, err = toHash(prev); err != nil {
		return p, fmt.Errorf("event %d: %w", p.Seq, err)
	}
	if p.own, err = toHash(own); err != nil {
		return p, fmt.Errorf("event %d: %w", p.Seq, err)
	}
	return p, nil
}
