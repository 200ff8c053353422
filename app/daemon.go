//go:build desktop

package app

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"

	"github.com/garita-dev/garita/app/launch"
	"github.com/garita-dev/garita/daemon/api"
)

// ensureDaemon starts the user's daemon when none answers. Where that cannot be done, the page
// itself says that no daemon is there and how to start one.
func ensureDaemon(ctx context.Context, daemon *api.Client) error {
	program, err := besides("garita")
	if err != nil {
		return err
	}
	dirs, err := api.FindDirs()
	if err != nil {
		return err
	}
	return launch.Ensure(ctx, launch.Options{
		Program:  program,
		Log:      dirs.LogFile(),
		Knock:    func(ctx context.Context) error { _, err := daemon.Status(ctx); return err },
		Starting: func() bool { return false }, // of two that start at a time the daemon's lock lets one stay
	})
}

// besides finds a program of ours: in our own folder, else in PATH.
func besides(name string) (string, error) {
	if self, err := os.Executable(); err == nil {
		path := filepath.Join(filepath.Dir(self), name)
		if info, err := os.Stat(path); err == nil && info.Mode().IsRegular() {
			return path, nil
		}
	}
	path, err := exec.LookPath(name)
	if err != nil {
		return "", err
	}
	return filepath.Abs(path)
}
