package sqlite

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	sqlite3 "github.com/mattn/go-sqlite3"

	"github.com/garita-dev/garita/store"
)

// damaged says whether err means that the file itself is broken, and not the way to it.
func damaged(err error) bool {
	var se sqlite3.Error
	return errors.As(err, &se) && (se.Code == sqlite3.ErrCorrupt || se.Code == sqlite3.ErrNotADB)
}

// putAside renames a database that cannot be read, with its log, and returns where it is now.
// Nothing of it is changed: somebody may want to look.
func putAside(path string, now time.Time) (string, error) {
	aside := fmt.Sprintf("%s.damaged-%s", path, now.UTC().Format("20060102T150405.000000"))
	if err := os.Rename(path, aside); err != nil {
		return "", fmt.Errorf("put the damaged record aside: %w", err)
	}
	for _, suffix := range []string{"-wal", "-shm"} {
		if err := os.Rename(path+suffix, aside+suffix); err != nil && !errors.Is(err, os.ErrNotExist) {
			return "", fmt.Errorf("put the damaged record aside: %w", err)
		}
	}
	return aside, syncDir(filepath.Dir(path))
}

// begin opens the record, or another in its place when its file is broken. The head file remembers
// that there was one: Verify says so from then on.
func (s *Store) begin(ctx context.Context, h head, found bool) error {
	err := s.open(ctx, h, found)
	if !damaged(err) {
		return err
	}
	if closeErr := s.closeDatabase(); closeErr != nil && !damaged(closeErr) {
		return errors.Join(err, closeErr)
	}
	aside, asideErr := putAside(s.path, time.Now())
	if asideErr != nil {
		return errors.Join(err, asideErr)
	}
	if err := s.open(ctx, h, found); err != nil {
		return err
	}
	s.damage = aside
	s.salvage(ctx, aside)
	body, err := encode(map[string]string{"aside": aside})
	if err != nil {
		return err
	}
	_, err = s.AppendDurable(ctx, store.Event{Kind: store.RecordDamaged, Body: body})
	return err
}

// closeDatabase lets go of the database alone.
func (s *Store) closeDatabase() error {
	var errs []error
	if s.readers != nil {
		errs = append(errs, s.readers.Close())
	}
	if s.w != nil {
		errs = append(errs, s.w.close())
	}
	s.readers, s.w = nil, nil
	return errors.Join(errs...)
}

// salvage takes over what can still be read of the tables that say what may be done and whose things
// are: a demoted tool stays demoted, a revoked token revoked. What was recorded stays in the damaged file.
func (s *Store) salvage(ctx context.Context, aside string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.w.release() != nil {
		return
	}
	defer func() { _ = s.w.hold() }()
	if _, err := s.w.conn.ExecContext(ctx, "ATTACH ? AS damaged", aside); err != nil {
		return
	}
	tables, err := collect(ctx, s.w, func(r scanner) (t string, err error) { return t, r.Scan(&t) },
		`SELECT name FROM main.sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%'
		 AND name NOT IN ('meta', 'events', 'anchors', 'calls', 'requests', 'mentions', 'goose_db_version')`)
	if err == nil {
		for _, t := range tables { // each as far as it goes
			_, _ = s.w.conn.ExecContext(ctx, fmt.Sprintf(`INSERT OR IGNORE INTO main.%q SELECT * FROM damaged.%[1]q`, t))
		}
	}
	_, _ = s.w.conn.ExecContext(ctx, "DETACH damaged")
	if m, err := s.loadDemotions(ctx); err == nil {
		s.demoted = m
	}
	_ = s.loadTokens(ctx)
}

// Damage is where a record that could not be read was put aside when this one was opened; "" when it could.
func (s *Store) Damage() string { return s.damage }
