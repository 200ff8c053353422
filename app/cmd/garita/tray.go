package main

import (
	"context"
	"time"

	"github.com/spf13/cobra"

	"github.com/garita-dev/garita/app/tray"
)

func (c *cli) trayCommand() *cobra.Command {
	var wait time.Duration
	cmd := &cobra.Command{
		Use: "tray", Short: "Show what waits in the desktop's tray",
		Args: usage(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			open := func(ctx context.Context, path string) error { return c.openPage(ctx, path) }
			return tray.Run(cmd.Context(), tray.FromClient(c.client, open), tray.Options{HostWait: wait})
		},
	}
	cmd.Flags().DurationVar(&wait, "wait", 5*time.Second, "how long to wait for a panel that shows icons; below 0 for ever")
	return cmd
}
