package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/garita-dev/garita/daemon/api"
)

func (c *cli) importCommand() *cobra.Command {
	var from string
	var dry, rewire, yes bool
	cmd := &cobra.Command{
		Use: "import", Short: "Take over the servers of an MCP client",
		Long:    "Read an MCP client's settings, show what was found and what it will be granted, and,\nonce you agree, run those servers behind walls. --rewire points the client at them;\ngarita restore puts its settings back byte for byte.",
		Example: "  garita import --dry-run                     # what Claude Desktop has\n  garita import --from ~/mcp.json --rewire    # any file with mcpServers",
		Args:    usage(cobra.NoArgs),
	}
	cmd.Flags().StringVar(&from, "from", "claude-desktop", "client or settings `FILE`")
	cmd.Flags().BoolVar(&dry, "dry-run", false, "only show")
	cmd.Flags().BoolVar(&rewire, "rewire", false, "point the client at Garita")
	cmd.Flags().BoolVarP(&yes, "yes", "y", false, "agree beforehand")
	asJSON := jsonFlag(cmd)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		ctx := cmd.Context()
		self, err := os.Executable()
		if err != nil {
			return fmt.Errorf("find garita itself: %w", err)
		}
		if err := c.running(ctx); err != nil {
			return err
		}
		req := api.ImportRequest{From: source(from), DryRun: true, Rewire: rewire, Garita: self}
		plan, err := c.client.Import(ctx, req)
		if err != nil {
			return err
		}
		nothing := takes(plan) == 0
		if *asJSON && (dry || nothing) {
			return c.printJSON(plan)
		}
		if !*asJSON {
			c.showPlan(plan, rewire)
		}
		if nothing {
			printTo(c.out, "Nothing is left to import.\n")
		}
		if dry || nothing {
			return nil
		}
		if err := c.confirm(cmd.CommandPath(), "Import "+count(takes(plan), "server")+"?", yes); err != nil {
			return err
		}
		return c.carryOut(ctx, req, *asJSON)
	}
	return cmd
}

// carryOut does what has been agreed to.
func (c *cli) carryOut(ctx context.Context, req api.ImportRequest, asJSON bool) error {
	req.DryRun = false
	stop := c.showProgress(ctx)
	done, err := c.client.Import(ctx, req)
	stop()
	if err != nil {
		return err
	}
	if asJSON {
		return c.printJSON(done)
	}
	c.showImported(done)
	return nil
}

// source is what to read: a client by its name, or a file by its absolute path.
func source(from string) string {
	if !strings.ContainsRune(from, filepath.Separator) {
		if _, err := os.Stat(from); err != nil {
			return from
		}
	}
	abs, err := filepath.Abs(from)
	if err != nil {
		return from
	}
	return abs
}

// takes counts the servers that will be imported.
func takes(p api.ImportPlan) (n int) {
	for _, s := range p.Servers {
		if s.Skipped == "" {
			n++
		}
	}
	return n
}

func (c *cli) showPlan(p api.ImportPlan, rewire bool) {
	printTo(c.out, "%s in %s (%s)\n", count(len(p.Servers), "server"), safe(p.File), safe(or(p.Client, "unknown client")))
	for _, s := range p.Servers {
		c.showFound(s)
	}
	printTo(c.out, "\n")
	for _, n := range p.Notices {
		printTo(c.out, "%s %s\n", c.style.amber("note:"), safe(n))
	}
	if rewire && takes(p) > 0 {
		printTo(c.out, "The file is kept and then changed to run garita; garita restore puts it back.\n")
	}
}

func (c *cli) showFound(s api.ImportServer) {
	name := c.style.bold(safe(or(s.Name, s.Entry)))
	if s.Name != "" && s.Entry != "" && s.Entry != s.Name {
		name += safe(" (" + s.Entry + " in the file)")
	}
	printTo(c.out, "\n%s\n  %s %s\n", name, c.style.dim("runs  "), safe(commandLine(s.Command)))
	if s.Skipped != "" {
		printTo(c.out, "  %s %s\n", c.style.amber("left out:"), safe(s.Skipped))
		return
	}
	for _, g := range s.Grants {
		printTo(c.out, "  %s %s\n", c.style.dim("may   "), safe(g))
	}
	for _, w := range s.Warnings {
		printTo(c.out, "  %s %s\n", c.style.amber("warning:"), safe(w))
	}
}

func (c *cli) showImported(p api.ImportPlan) {
	printTo(c.out, "%s %s.\n", c.style.green("Imported"), count(takes(p), "server"))
	if p.Rewired {
		printTo(c.out, "%s now runs them through Garita", safe(p.File))
		if p.Backup != "" {
			printTo(c.out, "; as it was, it is kept in %s", safe(p.Backup))
		}
		printTo(c.out, ".\nRestart the client to use them. Undo: garita restore\n")
	}
}
