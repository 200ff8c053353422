package main

import (
	"errors"

	"github.com/spf13/cobra"
)

func (c *cli) trayCommand() *cobra.Command {
	return &cobra.Command{
		Use: "tray", Short: "Show what waits in the desktop's tray",
		Args: usage(cobra.NoArgs),
		RunE: func(*cobra.Command, []string) error { return errors.New("not built yet") },
	}
}
