package main

import (
	"log/slog"

	"github.com/spf13/cobra"

	"github.com/garita-dev/garita/daemon"
)

func (c *cli) daemonCommand() *cobra.Command {
	var verbose bool
	cmd := &cobra.Command{
		Use: "daemon", Short: "Run the daemon in the foreground",
		Long: "Run the daemon, which holds all authority, until it is told to stop.\nOther commands start it when they need it.",
		Args: usage(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			level := slog.LevelInfo
			if verbose {
				level = slog.LevelDebug
			}
			log := slog.New(slog.NewTextHandler(c.err, &slog.HandlerOptions{Level: level}))
			return daemon.Run(cmd.Context(), log)
		},
	}
	cmd.Flags().BoolVarP(&verbose, "verbose", "v", false, "log more")
	return cmd
}
