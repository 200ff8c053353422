package main

import (
	"github.com/spf13/cobra"

	"github.com/garita-dev/garita/daemon/api"
)

func (c *cli) restoreCommand() *cobra.Command {
	var yes bool
	cmd := &cobra.Command{
		Use: "restore [CLIENT]", Short: "Put clients' settings back as they were before the import",
		Args: usage(cobra.MaximumNArgs(1)),
	}
	cmd.Flags().BoolVarP(&yes, "yes", "y", false, "agree beforehand")
	asJSON := jsonFlag(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		client, which := "", "all clients"
		if len(args) == 1 {
			client, which = args[0], args[0]
		}
		if err := c.confirm(cmd.CommandPath(), "Put the settings of "+safe(which)+" back?", yes); err != nil {
			return err
		}
		if err := c.running(cmd.Context()); err != nil {
			return err
		}
		done, err := c.client.Restore(cmd.Context(), api.RestoreRequest{Client: client})
		if err != nil {
			return err
		}
		if *asJSON {
			err = c.printJSON(done)
		} else {
			c.showRestored(done)
		}
		if err == nil && leftOut(done) {
			return silent{exitFailed}
		}
		return err
	}
	return cmd
}

func leftOut(done []api.Restored) bool {
	for _, r := range done {
		if !r.Done {
			return true
		}
	}
	return false
}

func (c *cli) showRestored(done []api.Restored) {
	if len(done) == 0 {
		printTo(c.out, "No client's settings had been changed.\n")
	}
	for _, r := range done {
		word := c.style.green("restored")
		if !r.Done {
			word = c.style.red("not restored")
		}
		printTo(c.out, "%s %s (%s)", word, safe(r.File), safe(r.Client))
		if r.Note != "" {
			printTo(c.out, ": %s", safe(r.Note))
		}
		printTo(c.out, "\n")
	}
}
