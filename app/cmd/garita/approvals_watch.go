//go:build !thin

package main

import (
	"errors"

	"github.com/spf13/cobra"

	"github.com/garita-dev/garita/app/watch"
)

func (c *cli) approvalsWatchCommand() *cobra.Command {
	var plain, log bool
	cmd := &cobra.Command{
		Use: "watch", Short: "Answer questions as they come, in this terminal", Args: usage(cobra.NoArgs),
		Long: "Show what waits, one question after the other, and answer it: d denies; a approves, by a code that is\ntyped. What is shown stays until it is answered or has ended.",
	}
	cmd.Flags().BoolVar(&plain, "plain", false, "line by line, for screen readers and simple terminals")
	cmd.Flags().BoolVar(&log, "log", false, "only print a line for each question and its end; answer nothing")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		ctx := cmd.Context()
		if !log && (!c.asks || !plain && !c.pretty) {
			return usageError{cmd.CommandPath(), errors.New("there is no terminal here to show questions in: use --log, or garita approvals list --wait 10m and garita approvals deny ID, or garita ui")}
		}
		if err := c.reachable(ctx); err != nil {
			return err
		}
		o := watch.Options{In: c.in, Out: c.out}
		var err error
		switch {
		case log:
			err = c.watchApprovals(ctx)
		case plain:
			err = watch.RunPlain(ctx, watch.FromClient(c.client), o)
		default:
			err = watch.Run(ctx, watch.FromClient(c.client), o)
		}
		if ctx.Err() != nil {
			return nil // Ctrl-C is how one stops watching
		}
		return err
	}
	return cmd
}
