package main

import (
	"context"
	"strings"

	"github.com/spf13/cobra"

	"github.com/garita-dev/garita/daemon/api"
)

// serverUpdate is what `garita server update` was asked to do.
type serverUpdate struct{ yes, asJSON bool }

func (c *cli) serverUpdateCommand() *cobra.Command {
	var u serverUpdate
	cmd := &cobra.Command{
		Use: "update NAME", Short: "Run a server from the newest version of its package", Args: usage(cobra.ExactArgs(1)),
		Long: "Look for the newest version that is allowed (packages.age in config.yaml), install it beside the one in use, start\n" +
			"it aside to see its tools, and show what would change: packages, install scripts, tools. With a yes the lock and\n" +
			"what is accepted of its tools change together; without one nothing does. A script may say yes only where\n" +
			"config.yaml says so (approvals.script), and an agent never.",
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := c.reachable(cmd.Context()); err != nil {
				return err
			}
			return c.updateServer(cmd.Context(), args[0], u)
		},
	}
	cmd.Flags().BoolVar(&u.yes, "yes", false, "say yes to what is shown")
	cmd.Flags().BoolVar(&u.asJSON, "json", false, "print JSON")
	return cmd
}

func (c *cli) updateServer(ctx context.Context, server string, u serverUpdate) error {
	shown, err := c.client.Update(ctx, server)
	if err != nil {
		return err
	}
	if u.asJSON && (!u.yes || shown.Binding == "") {
		return c.printJSON(shown)
	}
	if !u.asJSON {
		c.showUpdate(shown)
	}
	if shown.Binding == "" {
		return nil
	}
	a := api.UpdateAnswer{Binding: shown.Binding}
	switch {
	case c.asks:
		if err := c.typedUpdate(&a); err != nil {
			return err
		}
	case !u.yes:
		printTo(c.err, "Nothing has changed. To take it: garita server update %s --yes\n", safe(server))
		return nil
	}
	done, err := c.client.AcceptUpdate(ctx, server, a)
	switch {
	case err != nil:
		return err
	case u.asJSON:
		return c.printJSON(done)
	}
	printTo(c.err, "%s: runs from %s from now on\n", safe(server), safe(done.To))
	return nil
}

// typedUpdate has a person at the terminal type the code of what they have just seen.
func (c *cli) typedUpdate(a *api.UpdateAnswer) error {
	a.TTY, a.Code = true, api.AnswerCode(a.Binding)
	code, err := c.prompt("To take all of this, type " + a.Code + ": ")
	if err != nil {
		return err
	}
	if code == "" || !strings.EqualFold(code, a.Code) {
		return errDeclined
	}
	return nil
}

func (c *cli) showUpdate(u api.Update) {
	if u.Binding == "" {
		printTo(c.out, "%s runs from the newest allowed version: %s\n", safe(u.Server), safe(u.From))
		return
	}
	printTo(c.out, "%s: %s becomes %s\n\n", safe(u.Server), safe(u.From), safe(u.To))
	t := table{head: []string{"package", "before", "after"}}
	for _, p := range u.Packages {
		t.add(p.Name, or(p.Before, "none"), or(p.After, "none"))
	}
	t.print(c.out, c.style)
	for _, s := range u.Scripts {
		printTo(c.out, "install script: %s\n", safe(s))
	}
	for _, tool := range u.Tools {
		printTo(c.out, "\ntool %s is %s%s\n", safe(tool.Name), safe(tool.Change), safe(classChange(tool)))
		for _, f := range tool.Findings {
			printTo(c.out, "  found: %s\n", safe(f))
		}
		for line := range strings.Lines(tool.Diff) {
			printTo(c.out, "  %s\n", safe(strings.TrimRight(line, "\n")))
		}
	}
	if len(u.Tools) == 0 && len(u.Notes) == 0 {
		printTo(c.out, "\nNo tool is new, changed or gone.\n")
	}
	for _, n := range u.Notes {
		printTo(c.out, "%s\n", safe(n))
	}
}

// classChange says what calls of a tool do now, where that is known to be something else.
func classChange(t api.ToolUpdate) string {
	switch {
	case t.Is == "" || t.Was == t.Is:
		return ""
	case t.Was == "":
		return " (" + t.Is + ")"
	}
	return " (it was " + t.Was + ", it is " + t.Is + ")"
}
