package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/garita-dev/garita/daemon/api"
)

// settingsFlags say which settings, and whether to ask.
type settingsFlags struct {
	file     string
	yes, dry bool
	json     *bool
}

func (f *settingsFlags) add(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.file, "settings", "", "settings `FILE`; Claude Code's own for you without it")
	cmd.Flags().BoolVar(&f.dry, "dry-run", false, "only show")
	cmd.Flags().BoolVarP(&f.yes, "yes", "y", false, "agree beforehand")
	f.json = jsonFlag(cmd)
}

func (c *cli) hookInstallCommand() *cobra.Command {
	var f settingsFlags
	var wait time.Duration
	cmd := &cobra.Command{
		Use: "install", Short: "Put the hooks into Claude Code's settings", Args: usage(cobra.NoArgs),
		Long: "Have Claude Code ask Garita before it uses its own tools (Bash, Write, Edit …), and tell it how that ended.\nWhat would be changed is shown first. Sessions that run already go on without.\ngarita hook uninstall puts the file back byte for byte. What a hook cannot do: docs/hooks.md.",
	}
	f.add(cmd)
	cmd.Flags().DurationVar(&wait, "timeout", hookWait, "how long a person may take to answer")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		self, err := os.Executable()
		if err != nil {
			return fmt.Errorf("find garita itself: %w", err)
		}
		if wait < time.Second || wait > time.Hour {
			return usageError{cmd.CommandPath(), fmt.Errorf("--timeout %s: between a second and an hour", wait)}
		}
		return c.setHooks(cmd, f, hookLines(self, os.Getenv("GARITA_HOME"), wait))
	}
	return cmd
}

func (c *cli) hookUninstallCommand() *cobra.Command {
	var f settingsFlags
	cmd := &cobra.Command{Use: "uninstall", Short: "Take the hooks out of Claude Code's settings", Args: usage(cobra.NoArgs)}
	f.add(cmd)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error { return c.setHooks(cmd, f, nil) }
	return cmd
}

// hookLines are the hooks that run the garita at self. Where it cannot even be started the shell says
// no in its place: of any code but 2 Claude Code thinks nothing and runs the tool.
func hookLines(self, home string, wait time.Duration) []api.HookLine {
	run := shellWord(self) + " hook "
	if home != "" {
		run = "GARITA_HOME=" + shellWord(home) + " " + run
	}
	before := run + "pre-tool-use"
	if wait != hookWait {
		before += " --timeout " + wait.String()
	}
	const grace = 30 // seconds, so that we always end first
	return []api.HookLine{
		{Event: "PreToolUse", Command: before + " || exit 2", Timeout: int(wait.Seconds()) + grace},
		{Event: "PostToolUse", Command: run + "post-tool-use", Timeout: grace},
		{Event: "PostToolUseFailure", Command: run + "post-tool-use", Timeout: grace},
	}
}

// shellWord is text as one word of a shell line.
func shellWord(text string) string { return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'" }

// setHooks shows what would be changed, asks, and changes it.
func (c *cli) setHooks(cmd *cobra.Command, f settingsFlags, lines []api.HookLine) error {
	ctx := cmd.Context()
	want := api.HookSettings{DryRun: true, Hooks: lines}
	if f.file != "" {
		abs, err := filepath.Abs(f.file)
		if err != nil {
			return fmt.Errorf("settings %s: %w", f.file, err)
		}
		want.File = abs
	}
	if err := c.running(ctx); err != nil {
		return err
	}
	plan, err := c.client.SetHooks(ctx, want)
	if err != nil {
		return err
	}
	if !*f.json {
		c.showHookPlan(plan)
	}
	if f.dry || plan.Diff == "" {
		return c.hookPlanJSON(plan, *f.json)
	}
	if err := c.confirm(cmd.CommandPath(), "Change "+safe(plan.File)+"?", f.yes); err != nil {
		return err
	}
	return c.carryHooks(ctx, want, *f.json)
}

func (c *cli) carryHooks(ctx context.Context, want api.HookSettings, asJSON bool) error {
	want.DryRun = false
	done, err := c.client.SetHooks(ctx, want)
	if err != nil {
		return err
	}
	if asJSON {
		return c.printJSON(done)
	}
	c.showHooksSet(done, len(want.Hooks) > 0)
	return nil
}

func (c *cli) hookPlanJSON(p api.HookPlan, asJSON bool) error {
	if asJSON {
		return c.printJSON(p)
	}
	return nil
}

func (c *cli) showHookPlan(p api.HookPlan) {
	printTo(c.out, "%s\n", c.style.bold(safe(p.File)))
	if p.Diff != "" {
		c.showFileDiff(api.FileDiff{Unified: p.Diff})
	}
	if p.Note != "" {
		printTo(c.out, "%s\n", safe(p.Note))
	}
	if p.Diff == "" {
		printTo(c.out, "Nothing is to be changed.\n")
	}
}

func (c *cli) showHooksSet(p api.HookPlan, in bool) {
	if !in {
		printTo(c.out, "%s the hooks of Garita from %s.\n", c.style.green("Removed"), safe(p.File))
		return
	}
	printTo(c.out, "%s: Claude Code asks Garita from its next session on.\n", c.style.green("Installed"))
	if p.Backup != "" {
		printTo(c.out, "As the file was, it is kept in %s.\n", safe(p.Backup))
	}
	printTo(c.out, "Undo: garita hook uninstall. Answer: garita approvals watch, or garita ui\n")
}
