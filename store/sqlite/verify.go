package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/garita-dev/garita/store"
)

// keyNotice is said with every verification while the key lies in a file.
const keyNotice = "The signing key lies in a file (%s) that anyone who is you can read: who has it can forge the record."

// Verify reads the whole log and checks every hash, link and signature, and that it ends where the
// head file, outside the database, says it ends. A log that does not verify is no error: the result
// names the first event that is wrong or missing. Appends go on meanwhile.
func (s *Store) Verify(ctx context.Context) (store.Verification, error) {
	tx, h, file, err := s.snapshot(ctx)
	if err != nil {
		return store.Verification{}, unavailable("verify record", err)
	}
	defer tx.Rollback()

	anchors, err := readAnchors(ctx, tx)
	if err != nil {
		return store.Verification{}, unavailable("verify record", err)
	}
	check := verifier{head: h, public: s.key.public(), anchors: anchors}
	if err := check.events(ctx, tx); err != nil {
		return store.Verification{}, unavailable("verify record", err)
	}
	check.end()
	if err := check.tables(ctx, tx); err != nil {
		return store.Verification{}, unavailable("verify record", err)
	}
	check.file(file)
	return store.Verification{
		Records: check.good, OK: check.problem == "", Bad: check.bad, Problem: check.problem,
		Notice: s.notice(), Dropped: check.dropped,
	}, nil
}

// snapshot is the database at one moment, the head at that moment, and whether the head file says the same.
func (s *Store) snapshot(ctx context.Context) (tx *sql.Tx, h head, file bool, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.ready(ctx); err != nil {
		return nil, h, false, err
	}
	tx, err = s.readers.BeginTx(ctx, &sql.TxOptions{ReadOnly: true})
	if err != nil {
		return nil, h, false, err
	}
	var n int64 // a transaction begins with its first read
	if err := tx.QueryRowContext(ctx, "SELECT count(*) FROM meta").Scan(&n); err != nil {
		return nil, h, false, errors.Join(err, tx.Rollback())
	}
	if file, err = s.file.holds(s.head); err != nil {
		return nil, h, false, errors.Join(err, tx.Rollback())
	}
	return tx, s.head, file, nil
}

func readAnchors(ctx context.Context, tx *sql.Tx) (map[int64]anchor, error) {
	rows, err := tx.QueryContext(ctx, "SELECT seq, at, prev, hash, sig FROM anchors ORDER BY seq")
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	anchors := make(map[int64]anchor)
	for rows.Next() {
		a, err := scanAnchor(rows)
		if err != nil {
			return nil, err
		}
		anchors[a.seq] = a
	}
	return anchors, rows.Err()
}

// notice is what a person should know whatever Verify finds.
func (s *Store) notice() string {
	notice := fmt.Sprintf(keyNotice, s.keyFile)
	if s.damage != "" {
		notice = fmt.Sprintf("The record was damaged and could not be read; it was put aside as %s. ", s.damage) + notice
	}
	return notice
}
