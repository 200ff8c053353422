package main

import (
	"github.com/spf13/cobra"
)

// rootCommand is the tree of all commands.
func (c *cli) rootCommand() *cobra.Command {
	root := &cobra.Command{
		Use:           "garita",
		Short:         "Run MCP servers behind walls, ask before they change anything, keep a record",
		SilenceErrors: true,
		SilenceUsage:  true,
		Args:          usage(cobra.NoArgs),
		RunE:          func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	root.SetIn(c.in)
	root.SetOut(c.out)
	root.SetErr(c.err)
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error { return usageError{cmd.CommandPath(), err} })
	root.AddGroup(
		&cobra.Group{ID: "look", Title: "See how things are:"},
		&cobra.Group{ID: "servers", Title: "Servers:"},
		&cobra.Group{ID: "answer", Title: "Answer and review:"},
		&cobra.Group{ID: "run", Title: "Run:"},
	)
	root.SetHelpCommandGroupID("look")
	root.CompletionOptions.HiddenDefaultCmd = true
	group(root, "look", c.statusCommand(), c.doctorCommand(), c.uiCommand(), c.traceCommand(), c.versionCommand())
	group(root, "servers", c.importCommand(), c.restoreCommand(), c.serverCommand(), c.secretCommand(), c.tokenCommand())
	group(root, "answer", c.approvalsCommand(), c.grantsCommand(), c.networkCommand(), c.policyCommand(), c.workspaceCommand(), c.auditCommand())
	group(root, "run", c.connectCommand(), c.runCommand(), c.callCommand(), c.hookCommand(), c.daemonCommand(), c.trayCommand())
	return root
}

func group(root *cobra.Command, id string, commands ...*cobra.Command) {
	for _, cmd := range commands {
		cmd.GroupID = id
		root.AddCommand(cmd)
	}
}

// family is a command that only has others below it.
func family(use, short string, below ...*cobra.Command) *cobra.Command {
	cmd := &cobra.Command{
		Use: use, Short: short,
		Args: usage(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(below...)
	return cmd
}

// jsonFlag adds --json to a listing.
func jsonFlag(cmd *cobra.Command) *bool {
	return cmd.Flags().Bool("json", false, "print JSON")
}
