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
//
// While it runs, appends go on at the log's end, and SQLite begins the log anew only when all of it
// has been folded in: under a steady load it would grow without end. So what is left then, which is
// little, is folded in with the appends held up.
type checkpointer struct {
	since   int // transactions since the last one; guarded by Store.mu
	running atomic.Bool
	done    sync.WaitGroup
}

// consider starts a checkpoint when one is due, and says so; rest folds in what has been appended meanwhile. A
// failed one is tried again at the next turn: the log only grows by it. Store.mu is held.
func (c *checkpointer) consider(db *sql.DB, rest func()) (due bool) {
	c.since++
	if c.since < checkpointEvery || !c.running.CompareAndSwap(false, true) {
		return false
	}
	c.since = 0
	c.done.Go(func() {
		defer c.running.Store(false)
		// A passive checkpoint waits for nobody and keeps nobody waiting.
		for range 2 { // the second for what came during the first, which has most to do
			_, _ = db.ExecContext(context.Background(), checkpoint)
		}
		rest()
	})
	return true
}

const checkpoint = "PRAGMA wal_checkpoint(PASSIVE)"

// foldRest folds in all there is while nothing is appended, so that the log begins anew.
func (s *Store) foldRest() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed || s.stale {
		return
	}
	_ = s.catchUp() // if it fails, whoever reads the indexes is told
	s.scrubLog()
	if err := s.w.release(); err != nil {
		return
	}
	_, _ = s.w.conn.ExecContext(context.Background(), checkpoint)
	_ = s.w.hold() // if it fails, writes are merely slower
}

// tidy is done when a checkpoint is due, beside the appends.
func (s *Store) tidy() {
	s.foldRest()
	_ = s.Trim(context.Background()) // if it fails, the next one tries again
}

func (c *checkpointer) wait() { c.done.Wait() }
