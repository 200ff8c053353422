package sqlite

import (
	"context"
	"path/filepath"
	"testing"
)

// TestOnlyDurableTransactionsWaitForTheDisk asks SQLite itself, because nothing else tells a flush
// that did not happen from one that did: 1 is NORMAL, 2 is FULL.
func TestOnlyDurableTransactionsWaitForTheDisk(t *testing.T) {
	path := filepath.Join(t.TempDir(), "garita.db")
	w, err := openWriter(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := w.close(); err != nil {
			t.Error(err)
		}
	}()
	for _, durable := range []bool{true, false, true, false} {
		var during int
		err := w.transact(durable, func(ctx context.Context) error {
			return w.conn.QueryRowContext(ctx, "PRAGMA synchronous").Scan(&during)
		})
		if err != nil {
			t.Fatal(err)
		}
		want := 1
		if durable {
			want = 2
		}
		if during != want {
			t.Errorf("durable %v: synchronous is %d, want %d", durable, during, want)
		}
	}
}
