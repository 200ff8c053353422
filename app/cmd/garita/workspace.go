package main

import (
	"context"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/garita-dev/garita/daemon/api"
)

func (c *cli) workspaceCommand() *cobra.Command {
	return family("workspace", "Review what agents changed, and apply it to your files",
		c.workspaceListCommand(), c.workspaceDiffCommand(),
		c.workspaceChangeCommand("apply", "Apply changes to your files", c.applyChanges),
		c.workspaceChangeCommand("discard", "Throw changes away", c.discardChanges))
}

func (c *cli) workspaceListCommand() *cobra.Command {
	cmd := &cobra.Command{Use: "list", Aliases: []string{"ls"}, Short: "List workspaces", Args: usage(cobra.NoArgs)}
	asJSON := jsonFlag(cmd)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if err := c.reachable(cmd.Context()); err != nil {
			return err
		}
		list, err := c.client.Workspaces(cmd.Context())
		if err != nil {
			return err
		}
		if *asJSON {
			return c.printJSON(list)
		}
		c.showWorkspaces(list)
		return nil
	}
	return cmd
}

func (c *cli) showWorkspaces(list []api.Workspace) {
	if len(list) == 0 {
		printTo(c.out, "No workspaces yet: they come with the first run of a server that is given a folder.\n")
		return
	}
	t := table{head: []string{"server", "agent", "changes", "folders"}}
	for _, w := range list {
		t.add(w.Server, or(w.Agent, "-"), changes(w), strings.Join(w.Folders, ", "))
	}
	t.print(c.out, c.style)
}

// changes counts what differs from the host.
func changes(w api.Workspace) string {
	var parts []string
	for _, p := range []struct {
		n    int
		word string
	}{{w.Added, "added"}, {w.Changed, "modified"}, {w.Deleted, "deleted"}, {w.Held, "held back"}} {
		if p.n > 0 {
			parts = append(parts, itoa(p.n)+" "+p.word)
		}
	}
	return or(strings.Join(parts, ", "), "none")
}

func (c *cli) workspaceDiffCommand() *cobra.Command {
	var agent string
	cmd := &cobra.Command{Use: "diff NAME", Short: "Show what differs from your files", Args: usage(cobra.ExactArgs(1))}
	cmd.Flags().StringVar(&agent, "agent", "", "whose workspace, when there are several")
	asJSON := jsonFlag(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if err := c.reachable(cmd.Context()); err != nil {
			return err
		}
		d, err := c.client.WorkspaceDiff(cmd.Context(), args[0], agent)
		if err != nil {
			return err
		}
		if *asJSON {
			return c.printJSON(d)
		}
		c.showDiff(d)
		return nil
	}
	return cmd
}

func (c *cli) showDiff(d api.WorkspaceDiff) {
	if len(d.Files) == 0 {
		printTo(c.out, "Nothing differs from your files.\n")
		return
	}
	files := make([]api.Change, len(d.Files))
	for i, f := range d.Files {
		files[i] = f.Change
	}
	c.showChanges(files)
	for _, f := range d.Files {
		if f.Unified != "" || f.Note != "" {
			printTo(c.out, "\n")
			c.showFileDiff(f)
		}
	}
}

func (c *cli) showChanges(files []api.Change) {
	t := table{head: []string{"change", "path", "size", "note"}}
	for _, f := range files {
		t.add(f.Kind, filepath.Join(f.Folder, f.Path), sizeOf(f), noteOf(f))
	}
	t.print(c.out, c.style)
}

func sizeOf(f api.Change) string {
	if f.Type != "file" || f.Kind == "deleted" {
		return f.Type
	}
	return size(f.Size)
}

func noteOf(f api.Change) string {
	var notes []string
	if f.Held != "" {
		notes = append(notes, "held back: "+f.Held)
	}
	if f.Stale {
		notes = append(notes, "your file has changed since")
	}
	return strings.Join(notes, "; ")
}

// showFileDiff prints a unified diff, or why there is none.
func (c *cli) showFileDiff(f api.FileDiff) {
	if f.Note != "" {
		printTo(c.out, "%s: %s\n", safe(f.Path), safe(f.Note))
	}
	if f.Unified == "" {
		return
	}
	for line := range strings.SplitSeq(strings.TrimSuffix(f.Unified, "\n"), "\n") {
		printTo(c.out, "%s\n", c.diffLine(safeLines(line)))
	}
}

func (c *cli) diffLine(line string) string {
	switch {
	case strings.HasPrefix(line, "+++"), strings.HasPrefix(line, "---"):
		return c.style.bold(line)
	case strings.HasPrefix(line, "+"):
		return c.style.green(line)
	case strings.HasPrefix(line, "-"):
		return c.style.red(line)
	case strings.HasPrefix(line, "@@"):
		return c.style.blue(line)
	default:
		return line
	}
}

// change applies or discards, and says what it did.
type change func(ctx context.Context, server string, r api.ApplyRequest) (api.ApplyResult, error)

func (c *cli) applyChanges(ctx context.Context, server string, r api.ApplyRequest) (api.ApplyResult, error) {
	return c.client.ApplyWorkspace(ctx, server, r)
}

func (c *cli) discardChanges(ctx context.Context, server string, r api.ApplyRequest) (api.ApplyResult, error) {
	return c.client.DiscardWorkspace(ctx, server, r)
}

func (c *cli) workspaceChangeCommand(verb, short string, do change) *cobra.Command {
	var agent string
	var yes bool
	cmd := &cobra.Command{
		Use: verb + " NAME [PATH…]", Short: short,
		Long: short + ": the named ones, or all but those held back. A path is absolute, or relative to the folder.",
		Args: usage(cobra.MinimumNArgs(1)),
	}
	cmd.Flags().StringVar(&agent, "agent", "", "whose workspace, when there are several")
	cmd.Flags().BoolVarP(&yes, "yes", "y", false, "agree beforehand")
	asJSON := jsonFlag(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		ctx := cmd.Context()
		if err := c.reachable(ctx); err != nil {
			return err
		}
		r := api.ApplyRequest{Agent: agent, Paths: args[1:]}
		if !yes {
			if err := c.review(ctx, cmd.CommandPath(), verb, args[0], &r); err != nil {
				return err
			}
		}
		done, err := do(ctx, args[0], r)
		switch {
		case err != nil:
			return err
		case *asJSON:
			return c.printJSON(done)
		}
		c.showApplied(verb, done)
		return nil
	}
	return cmd
}

// review shows all that differs, asks, and binds r to what was agreed to: what comes to be in the
// workspace meanwhile, or changes there, is not part of it.
func (c *cli) review(ctx context.Context, command, verb, server string, r *api.ApplyRequest) error {
	d, err := c.client.WorkspaceDiff(ctx, server, r.Agent)
	if err != nil {
		return err
	}
	c.showDiff(d)
	what := count(len(r.Paths), "path")
	if len(r.Paths) == 0 {
		r.Paths, what = shown(d), "all of it"
	}
	if len(r.Paths) == 0 {
		return errDeclined
	}
	r.Seen = d.Seen
	return c.confirm(command, "\n"+strings.ToUpper(verb[:1])+verb[1:]+" "+what+"?", false)
}

// shown are the paths in d, but for those held back.
func shown(d api.WorkspaceDiff) []string {
	var paths []string
	for _, f := range d.Files {
		if f.Held == "" {
			paths = append(paths, filepath.Join(f.Folder, f.Path))
		}
	}
	return paths
}

func (c *cli) showApplied(verb string, r api.ApplyResult) {
	past := map[string]string{"apply": "Applied", "discard": "Discarded"}[verb]
	printTo(c.out, "%s %s.\n", past, count(len(r.Done), "change"))
	if len(r.Done) > 0 {
		c.showChanges(r.Done)
	}
	if len(r.Left) > 0 {
		printTo(c.out, "\n%s\n", c.style.amber("Left out:"))
		c.showChanges(r.Left)
	}
}
