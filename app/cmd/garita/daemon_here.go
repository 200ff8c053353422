//go:build !thin

package main

import (
	"context"
	"log/slog"

	"github.com/garita-dev/garita/daemon"
)

func (c *cli) runDaemon(ctx context.Context, verbose bool) error {
	level := slog.LevelInfo
	if verbose {
		level = slog.LevelDebug
	}
	return daemon.Run(ctx, daemon.NewLog(c.err, c.livelyErr, level))
}
