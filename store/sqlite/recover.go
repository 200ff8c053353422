package sqlite

import (
	"context"
	"fmt"
	"time"

	"github.com/garita-dev/garita/store"
)

// recover settles what was under way when the record was last closed, or not closed: questions that
// waited expire and can never be approved, and calls that were let through have the outcome unknown.
func (s *Store) recover(ctx context.Context) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.expireAll(ctx); err != nil {
		return fmt.Errorf("expire questions: %w", err)
	}
	if err := s.closeCalls(ctx); err != nil {
		return fmt.Errorf("close calls: %w", err)
	}
	return s.w.setNumber(ctx, "settled", s.head.seq)
}

func (s *Store) expireAll(ctx context.Context) error {
	waiting, err := collect(ctx, s.w, scanRequest, selectRequest+"WHERE r.outcome = 'pending' ORDER BY r.seq")
	if err != nil {
		return err
	}
	for _, r := range waiting {
		r, err := r.Expire(time.Now())
		if err != nil {
			return err
		}
		d := r.Decision()
		d.Reason = "Garita stopped before anyone answered."
		if err := s.answered(ctx, r, d, nil); err != nil {
			return err
		}
	}
	return nil
}

// closeCalls records an end for every call that has a decision and none.
func (s *Store) closeCalls(ctx context.Context) error {
	settled, err := s.w.number(ctx, "settled")
	if err != nil {
		return err
	}
	if err := s.catchUp(); err != nil {
		return err
	}
	open, err := collect(ctx, s.w, scanDecided,
		`SELECT e.body FROM events e WHERE e.seq > ? AND e.kind = 'call.decided'
		 AND NOT EXISTS (SELECT 1 FROM mentions m JOIN events f ON f.seq = m.seq WHERE m.id = e.call AND f.kind = 'call.finished') ORDER BY e.seq`, settled)
	if err != nil {
		return err
	}
	for _, w := range open {
		r := w.unfinished()
		e, err := s.finished(r, nil)
		if err != nil {
			return err
		}
		if err := s.finish(ctx, r, e); err != nil {
			return err
		}
	}
	return nil
}

// unfinished is the record of a call of which only the decision is known.
func (w wireDecided) unfinished() store.CallRecord {
	r := store.CallRecord{Call: w.Call.call(), Decision: w.Decision.decision(), Outcome: store.CallRefused}
	if r.Decision.Allowed() {
		r.Outcome = store.CallUnknown
		r.Error = "Garita stopped while the call was under way; what it did is not known."
	}
	return r
}

func scanDecided(row scanner) (wireDecided, error) {
	var body []byte
	if err := row.Scan(&body); err != nil {
		return wireDecided{}, err
	}
	var w wireDecided
	err := decode(body, &w)
	return w, err
}

// collect reads all rows of a query on the writer's connection, which then is free again.
func collect[T any](ctx context.Context, w *writer, scan func(scanner) (T, error), query string, args ...any) ([]T, error) {
	rows, err := w.conn.QueryContext(ctx, query, args...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var all []T
	for rows.Next() {
		v, err := scan(rows)
		if err != nil {
			return nil, err
		}
		all = append(all, v)
	}
	return all, rows.Err()
}
