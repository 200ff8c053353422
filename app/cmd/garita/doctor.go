package main

import (
	"github.com/spf13/cobra"

	"github.com/garita-dev/garita/daemon/api"
)

func (c *cli) doctorCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use: "doctor", Short: "Check what this machine can do, and how to mend what it cannot",
		Args: usage(cobra.NoArgs),
	}
	asJSON := jsonFlag(cmd)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if err := c.running(cmd.Context()); err != nil {
			return err
		}
		d, err := c.client.Doctor(cmd.Context())
		if err != nil {
			return err
		}
		if *asJSON {
			err = c.printJSON(d)
		} else {
			c.showDoctor(d)
		}
		if err == nil && failing(d) > 0 {
			return silent{exitPrecondition}
		}
		return err
	}
	return cmd
}

func failing(d api.Doctor) (n int) {
	for _, check := range d.Checks {
		if check.State == "fail" {
			n++
		}
	}
	return n
}

func (c *cli) showDoctor(d api.Doctor) {
	t := table{head: []string{"state", "check", "found"}}
	for _, check := range d.Checks {
		t.add(check.State, check.Name, check.Found)
	}
	t.print(c.out, c.style)
	for _, check := range d.Checks {
		if check.State == "ok" {
			continue
		}
		printTo(c.out, "\n%s %s: %s\n", c.style.word(safe(check.State)), c.style.bold(safe(check.Name)), safe(check.Found))
		if check.Consequence != "" {
			printTo(c.out, "  %s\n", safe(check.Consequence))
		}
		if check.Mend != "" {
			printTo(c.out, "  mend: %s\n", safe(check.Mend))
		}
	}
}
