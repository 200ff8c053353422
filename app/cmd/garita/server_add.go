package main

import (
	"errors"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"github.com/garita-dev/garita/daemon/api"
)

func (c *cli) serverAddCommand() *cobra.Command {
	var yes bool
	cmd := &cobra.Command{
		Use: "add NAME -- COMMAND…", Short: "Declare a server by its command line",
		Long:    "Show what a command would be given to run behind walls and, once you agree, declare it in servers.yaml\nunder NAME. Folders that the command names are what it may work in.",
		Example: "  garita server add files -- npx -y @modelcontextprotocol/server-filesystem ~/shop",
		Args:    usage(cobra.MinimumNArgs(2)),
	}
	cmd.Flags().BoolVarP(&yes, "yes", "y", false, "agree beforehand")
	asJSON := jsonFlag(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		ctx := cmd.Context()
		if cmd.ArgsLenAtDash() != 1 {
			return usageError{cmd.CommandPath(), errors.New("write its name, then --, then the command")}
		}
		dir, err := os.Getwd()
		if err != nil {
			return fmt.Errorf("find the current folder: %w", err)
		}
		if err := c.running(ctx); err != nil {
			return err
		}
		req := api.ImportRequest{DryRun: true, Add: &api.NewServer{Name: args[0], Command: args[1:], Dir: dir}}
		plan, err := c.client.Import(ctx, req)
		if err != nil {
			return err
		}
		if !*asJSON {
			c.showAdded(plan)
		}
		if err := c.confirm(cmd.CommandPath(), "Add "+safe(args[0])+"?", yes); err != nil {
			return err
		}
		req.DryRun = false
		done, err := c.client.Import(ctx, req)
		if err != nil {
			return err
		}
		if *asJSON {
			return c.printJSON(done)
		}
		printTo(c.out, "%s %s. A client runs it as: garita connect %s\n", c.style.green("Added"), safe(args[0]), safe(args[0]))
		return nil
	}
	return cmd
}

func (c *cli) showAdded(p api.ImportPlan) {
	for _, s := range p.Servers {
		c.showFound(s)
	}
	printTo(c.out, "\n")
	for _, n := range p.Notices {
		printTo(c.out, "%s %s\n", c.style.amber("note:"), safe(n))
	}
}
