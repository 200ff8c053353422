package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/containerd/errdefs"
)

// Era is what SaveEra last said of key; "" when it has said nothing.
func (s *Store) Era(ctx context.Context, key string) (string, error) {
	var era string
	err := s.readers.QueryRowContext(ctx, "SELECT era FROM eras WHERE key = ?", key).Scan(&era)
	if errors.Is(err, sql.ErrNoRows) {
		return "", nil
	}
	return era, unavailable("read a server's era", err)
}

// SaveEra remembers which era a server speaks, "legacy" or "modern". key stands for the server as it
// is: its definition's digest and its package's version or digest, so that an update is probed anew.
func (s *Store) SaveEra(ctx context.Context, key, era string) error {
	if era != "legacy" && era != "modern" {
		return fmt.Errorf("remember era %q: %w", era, errdefs.ErrInvalidArgument)
	}
	return s.changeEras(ctx, `INSERT INTO eras (key, era, at) VALUES (?, ?, ?)
		ON CONFLICT (key) DO UPDATE SET era = excluded.era, at = excluded.at`, key, era, time.Now().UnixMicro())
}

// ForgetEra has a server probed anew. One that is not known is no error.
func (s *Store) ForgetEra(ctx context.Context, key string) error {
	return s.changeEras(ctx, "DELETE FROM eras WHERE key = ?", key)
}

func (s *Store) changeEras(ctx context.Context, query string, args ...any) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return fmt.Errorf("remember a server's era: the record is closed: %w", errdefs.ErrUnavailable)
	}
	_, err := s.w.conn.ExecContext(ctx, query, args...)
	return unavailable("remember a server's era", err)
}
