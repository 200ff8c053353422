package sqlite

import (
	"context"
	"database/sql"
	"sync"
	"sync/atomic"
)

// checkpointEvery is after how many transactions the write-ahead log is folded into the database. At
// two or three pages each that is a log of some 20 MiB; an append that meets a checkpoint's fsyncs
// may wait some milliseconds, and so few do that the 99th of 100 calls does not show it.
const checkpointEvery = 2000

// checkpointer folds the write-ahead log into the database beside the appends, whose way its fsyncs
// would stand in. At most one checkpoint runs at a time; wait waits for it.
type checkpointer struct {
	since   int // transactions since the last one; guarded by Store.mu
	running atomic.Bool
	done    sync.WaitGroup
}

// consider starts a checkpoint when one is due. A failed one is tried again at the next turn: the
// log only grows by it. Store.mu is held.
func (c *checkpointer) consider(db *sql.DB) {
	c.since++
	if c.since < checkpointEvery || !c.running.CompareAndSwap(false, true) {
		return
	}
	c.since = 0
	c.done.Go(func() {
		defer c.running.Store(false)
		// A passive checkpoint waits for nobody and keeps nobody waiting.
		_, _ = db.ExecContext(context.Background(), "PRAGMA wal_checkpoint(PASSIVE)")
	})
}

func (c *checkpointer) wait() { c.done.Wait() }
