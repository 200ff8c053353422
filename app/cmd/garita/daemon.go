package main

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/garita-dev/garita/daemon/api"
)

func (c *cli) daemonCommand() *cobra.Command {
	var verbose bool
	cmd := &cobra.Command{
		Use: "daemon", Short: "Run the daemon in the foreground",
		Long: "Run the daemon, which holds all authority, until it is told to stop.\nOther commands start it when they need it.",
		Args: usage(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return c.runDaemon(cmd.Context(), verbose)
		},
	}
	cmd.Flags().BoolVarP(&verbose, "verbose", "v", false, "log more")
	cmd.AddCommand(c.daemonStopCommand())
	return cmd
}

func (c *cli) daemonStopCommand() *cobra.Command {
	return &cobra.Command{
		Use: "stop", Short: "Stop the daemon and every sandbox, and wait for it", Args: usage(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := c.reachable(cmd.Context()); err != nil {
				return err
			}
			if err := c.client.Shutdown(cmd.Context()); err != nil {
				return err
			}
			return awaitRelease(cmd.Context(), api.LockPath())
		},
	}
}

// awaitRelease waits until the daemon has let go of its lock, its last deed.
func awaitRelease(ctx context.Context, lock string) error {
	ctx, cancel := context.WithTimeout(ctx, waitStopping)
	defer cancel()
	tick := time.NewTicker(waitStep)
	defer tick.Stop()
	for lockHeld(lock) {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return fmt.Errorf("wait for the daemon to end: %w", ctx.Err())
		}
	}
	return nil
}
