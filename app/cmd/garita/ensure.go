package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/garita-dev/garita/app/launch"
	"github.com/garita-dev/garita/daemon/api"
)

// running makes sure that a daemon runs: it waits for one that starts, and starts one if there is none.
func (c *cli) running(ctx context.Context) error {
	self, err := os.Executable()
	if err != nil {
		return fmt.Errorf("start the daemon: %w", err)
	}
	log, err := logPath(os.Getenv, os.UserHomeDir)
	if err != nil {
		return fmt.Errorf("start the daemon: %w", err)
	}
	return launch.Ensure(ctx, launch.Options{
		Program: self, Log: log, Knock: c.knock,
		Starting: func() bool { return lockHeld(api.LockPath()) },
	})
}

// logPath is where a daemon that we start writes: beside the record.
func logPath(env func(string) string, home func() (string, error)) (string, error) {
	if own := env("GARITA_HOME"); own != "" {
		return filepath.Abs(filepath.Join(own, "state", "daemon.log"))
	}
	if state := env("XDG_STATE_HOME"); filepath.IsAbs(state) {
		return filepath.Join(state, "garita", "daemon.log"), nil
	}
	dir, err := home()
	return filepath.Join(dir, ".local", "state", "garita", "daemon.log"), err
}
