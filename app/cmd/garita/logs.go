package main

import (
	"context"
	"time"

	"github.com/spf13/cobra"

	"github.com/garita-dev/garita/daemon/api"
)

// followWait is how long one request of a follower waits for something to come.
const followWait = time.Minute

func (c *cli) serverLogsCommand() *cobra.Command {
	var follow bool
	var last int
	cmd := &cobra.Command{Use: "logs NAME", Short: "Print a server's last lines of standard error", Args: usage(cobra.ExactArgs(1))}
	cmd.Flags().BoolVarP(&follow, "follow", "f", false, "go on printing what comes")
	cmd.Flags().IntVarP(&last, "lines", "n", 0, "how many, at most; 0 means all that are kept")
	asJSON := jsonFlag(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		ctx := cmd.Context()
		if err := c.reachable(ctx); err != nil {
			return err
		}
		log, err := c.client.ServerLog(ctx, args[0], 0, 0)
		if err != nil {
			return err
		}
		if last > 0 {
			log.Lines = log.Lines[max(0, len(log.Lines)-last):]
		}
		if !follow {
			return c.printLog(log, *asJSON)
		}
		err = c.followLog(ctx, args[0], log, *asJSON)
		if ctx.Err() != nil {
			return nil // Ctrl-C is how one stops following
		}
		return err
	}
	return cmd
}

func (c *cli) printLog(log api.ServerLog, asJSON bool) error {
	if asJSON {
		return c.printJSON(log)
	}
	c.showLog(log)
	return nil
}

func (c *cli) showLog(log api.ServerLog) {
	if log.Skipped > 0 {
		printTo(c.out, "%s\n", c.style.dim("("+count(int(log.Skipped), "line")+" not kept)"))
	}
	for _, line := range log.Lines {
		printTo(c.out, "%s\n", safeLines(line))
	}
}

// followLog prints what is there and what comes, until ctx ends; as JSON, one value a line.
func (c *cli) followLog(ctx context.Context, name string, log api.ServerLog, asJSON bool) error {
	for {
		if asJSON && len(log.Lines) > 0 {
			if err := c.printJSONLine(log); err != nil {
				return err
			}
		} else if !asJSON {
			c.showLog(log)
		}
		var err error
		if log, err = c.client.ServerLog(ctx, name, log.Next, followWait); err != nil {
			return err
		}
	}
}
