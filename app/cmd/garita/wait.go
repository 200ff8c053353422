package main

import (
	"context"
	"errors"
	"time"

	"github.com/garita-dev/garita/daemon/api"
)

// How long commands wait: for a daemon that holds its lock and is not listening yet, and for one
// that may just have been started and has not got to its lock.
const (
	waitStarting = 10 * time.Second
	waitUnseen   = time.Second
	waitStep     = 25 * time.Millisecond
	// waitOther is how long a command that would start a daemon leaves to one that has just been
	// started by hand, as in "garita daemon & garita import": two would race for the lock.
	waitOther = 250 * time.Millisecond
)

// reachable waits for a starting daemon. It starts none.
func (c *cli) reachable(ctx context.Context) error { return c.wait(ctx, waitUnseen) }

// wait waits for a daemon: unseen long for one that holds no lock yet.
func (c *cli) wait(ctx context.Context, unseen time.Duration) error {
	begun := time.Now()
	tick := time.NewTicker(waitStep)
	defer tick.Stop()
	for {
		err := c.knock(ctx)
		if err == nil || ctx.Err() != nil {
			return err
		}
		waited := time.Since(begun)
		if waited > waitStarting || waited > unseen && !lockHeld(api.LockPath()) {
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

// running makes sure that a daemon runs: it waits for one that starts, and starts one if there is none.
func (c *cli) running(ctx context.Context) error {
	err := c.wait(ctx, waitOther)
	var away *api.Unreachable
	if err == nil || !errors.As(err, &away) {
		return err
	}
	if err := ensureDaemon(ctx); err != nil {
		return err
	}
	return c.reachable(ctx)
}
