package sqlite

import (
	"context"
	"fmt"
	"time"

	"github.com/garita-dev/garita/store"
)

// CallsSince tells each every call that started at since or later and has ended, oldest first, with
// its arguments redacted and bounded. It holds one call at a time. each must not use the Store's writer.
func (s *Store) CallsSince(ctx context.Context, since time.Time, each func(store.CallRecord)) error {
	if err := s.index(ctx); err != nil {
		return err
	}
	rows, err := s.readers.QueryContext(ctx,
		"SELECT e.body FROM calls c JOIN events e ON e.seq = c.seq WHERE c.pos >= ? ORDER BY c.pos", since.UnixMicro())
	if err != nil {
		return unavailable("read calls", err)
	}
	defer rows.Close()
	for rows.Next() {
		r, err := scanCall(rows)
		if err != nil {
			return fmt.Errorf("read calls: %w", err)
		}
		each(r)
	}
	return unavailable("read calls", rows.Err())
}
