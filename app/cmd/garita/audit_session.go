package main

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/garita-dev/garita/app/record"
	"github.com/garita-dev/garita/daemon/api"
)

func (c *cli) auditSessionCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use: "session SESSION", Short: "Tell what happened in one session, from the record alone",
		Long: "Tell in order who came, what was called, what was asked and answered, and what it did. Everything is from the\n" +
			"record, which garita audit verify checks. garita audit tail has the IDs of sessions.",
		Args: usage(cobra.ExactArgs(1)),
	}
	asJSON := jsonFlag(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if err := c.reachable(cmd.Context()); err != nil {
			return err
		}
		return c.tellSession(cmd, args[0], *asJSON)
	}
	return cmd
}

// tellSession prints a session's steps as they come; as JSON, one a line.
func (c *cli) tellSession(cmd *cobra.Command, session string, asJSON bool) error {
	met, calls := 0, 0
	err := c.eachEvent(cmd.Context(), api.AuditQuery{Session: session}, func(e api.AuditEvent) error {
		s := record.Tell(e)
		if asJSON {
			met++
			return c.printJSONLine(s)
		}
		if met == 0 {
			printTo(c.out, "%s\n%s\n\n", c.style.bold("session "+safe(session)), c.style.dim(strings.Join([]string{safe(e.Principal), safe(e.Server), e.At.Local().Format("2006-01-02")}, "  ")))
		}
		met++
		if e.Kind == "call.finished" {
			calls++
		}
		c.showStep(s)
		return nil
	})
	switch {
	case err != nil:
		return err
	case met == 0:
		return &api.Problem{Code: "not_found", Title: fmt.Sprintf("The record has no session %q", session), Next: "garita audit tail"}
	case !asJSON:
		printTo(c.out, "\n%s\n", c.style.dim(count(met, "record")+", "+count(calls, "call")))
	}
	return nil
}

// showStep prints one step: when, which call, what, and below it the rest.
func (c *cli) showStep(s record.Step) {
	printTo(c.out, "%s  %s %s\n", c.style.dim(s.At.Local().Format("15:04:05.000")), pad(safe(s.Call), 17), safe(s.What))
	for _, d := range s.Details {
		printTo(c.out, "%s%s\n", strings.Repeat(" ", 32), c.style.dim(safe(d)))
	}
}
