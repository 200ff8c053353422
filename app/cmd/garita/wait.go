package main

import (
	"context"
	"time"

	"github.com/garita-dev/garita/daemon/api"
)

// How long commands wait: for a daemon that holds its lock and is not listening yet, for one that
// may just have been started and has not got to its lock, and for one that ends.
const (
	waitStarting = 10 * time.Second
	waitUnseen   = time.Second
	waitStopping = 30 * time.Second // for a daemon to end its sandboxes
	waitStep     = 25 * time.Millisecond
)

// reachable waits for a starting daemon. It starts none.
func (c *cli) reachable(ctx context.Context) error {
	begun := time.Now()
	tick := time.NewTicker(waitStep)
	defer tick.Stop()
	for {
		err := c.knock(ctx)
		if err == nil || ctx.Err() != nil {
			return err
		}
		waited := time.Since(begun)
		if waited > waitStarting || waited > waitUnseen && !lockHeld(api.LockPath()) {
			return err
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// knock connects and hangs up.
func (c *cli) knock(ctx context.Context) error {
	conn, err := c.client.Dial(ctx)
	if err != nil {
		return err
	}
	return conn.Close()
}
