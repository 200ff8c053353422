package main

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/garita-dev/garita/daemon/api"
)

func (c *cli) traceCommand() *cobra.Command {
	var follow bool
	cmd := &cobra.Command{
		Use: "trace [SESSION]", Short: "Show the messages of a session as they passed",
		Long:    "Show the last messages of a session as they passed, secrets taken out; without SESSION, list sessions.\nNothing is kept until garita trace on, and nothing is left after garita trace off.",
		Example: "  garita trace on\n  garita trace              # the sessions there are\n  garita trace -f SESSION   # one of them, as it goes on",
		Args:    usage(cobra.MaximumNArgs(1)),
	}
	cmd.Flags().BoolVarP(&follow, "follow", "f", false, "go on printing what comes")
	asJSON := jsonFlag(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		ctx := cmd.Context()
		if err := c.reachable(ctx); err != nil {
			return err
		}
		if len(args) == 0 {
			return c.listSessions(ctx, *asJSON)
		}
		err := c.traceSession(ctx, args[0], follow, *asJSON)
		if follow && ctx.Err() != nil {
			return nil // Ctrl-C is how one stops following
		}
		return err
	}
	cmd.AddCommand(c.traceSwitchCommand("on", "Keep messages from now on", true), c.traceSwitchCommand("off", "Keep none, and forget those kept", false))
	return cmd
}

func (c *cli) traceSwitchCommand(use, short string, on bool) *cobra.Command {
	return &cobra.Command{
		Use: use, Short: short, Args: usage(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := c.reachable(cmd.Context()); err != nil {
				return err
			}
			now, err := c.client.SetTracing(cmd.Context(), api.Tracing{On: on})
			if err != nil {
				return err
			}
			c.sayTracing(now.On)
			return nil
		},
	}
}

func (c *cli) sayTracing(on bool) {
	if on {
		printTo(c.err, "%s\n", c.style.dim("Messages are kept: garita trace off ends that."))
	} else {
		printTo(c.err, "%s\n", c.style.dim("No messages are kept: garita trace on changes that."))
	}
}

func (c *cli) listSessions(ctx context.Context, asJSON bool) error {
	list, err := c.client.Sessions(ctx)
	if err != nil {
		return err
	}
	if asJSON {
		return c.printJSON(list)
	}
	now, err := c.client.Tracing(ctx)
	if err != nil {
		return err
	}
	c.sayTracing(now.On)
	if len(list) == 0 {
		printTo(c.out, "No sessions.\n")
		return nil
	}
	t := table{head: []string{"session", "agent", "server", "by", "since", "state"}}
	for _, s := range list {
		t.add(s.ID, s.Agent, or(s.Server, "all"), s.Door, s.Started.Local().Format("15:04:05"), sessionState(s))
	}
	t.print(c.out, c.style)
	return nil
}

func sessionState(s api.Session) string {
	if s.Ended == nil {
		return "open"
	}
	return "ended " + s.Ended.Local().Format("15:04:05")
}

// traceSession prints what is kept and, following, what comes until the session or ctx ends.
func (c *cli) traceSession(ctx context.Context, id string, follow, asJSON bool) error {
	trace, err := c.client.Trace(ctx, id, 0, 0)
	if err != nil {
		return err
	}
	if asJSON && !follow {
		return c.printJSON(trace)
	}
	if !trace.On {
		c.sayTracing(false)
	}
	for {
		if err := c.showTrace(trace, asJSON); err != nil || !follow || trace.Session.Ended != nil {
			return err
		}
		if trace, err = c.client.Trace(ctx, id, trace.Next, followWait); err != nil {
			return err
		}
	}
}

func (c *cli) showTrace(trace api.Trace, asJSON bool) error {
	for _, m := range trace.Lines {
		if asJSON {
			if err := c.printJSONLine(m); err != nil {
				return err
			}
			continue
		}
		c.showMessage(m)
	}
	return nil
}

// arrows are the directions as they are shown: the client on the left, the server on the right.
var arrows = map[string]string{
	"from-client": "client →       ", "to-server": "       → server", "from-server": "       ← server", "to-client": "client ←       ",
}

func (c *cli) showMessage(m api.TraceMessage) {
	text := string(safeJSON([]byte(m.Text)))
	if m.Text == "" {
		text = c.style.dim("(" + size(int64(m.Size)) + ", too long to be kept)")
	}
	printTo(c.out, "%s  %s  %s\n", c.style.dim(m.At.Local().Format("15:04:05.000")), arrows[m.Dir], text)
}
