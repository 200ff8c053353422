package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/spf13/cobra"

	"github.com/garita-dev/garita/daemon/api"
)

const (
	// hookWait is how long a person may take to answer. The client kills the hook some time later.
	hookWait = 10 * time.Minute
	// hookNote is how long it may take to note how a tool ended.
	hookNote = 20 * time.Second
	// hookSlack is how much of its time a hook keeps for saying no.
	hookSlack = 2 * time.Second
	// exitBlock is the exit code by which Claude Code does not run a tool.
	exitBlock = 2
)

func (c *cli) hookCommand() *cobra.Command {
	return family("hook", "Be asked about Claude Code's own tools, too",
		c.hookInstallCommand(), c.hookUninstallCommand(), c.hookBeforeCommand(), c.hookAfterCommand())
}

// hookFlags are what a hook can be told.
type hookFlags struct {
	client  string
	timeout time.Duration
}

func (f *hookFlags) add(cmd *cobra.Command, timeout time.Duration) {
	cmd.Flags().StringVar(&f.client, "client", "claude-code", "`ID` of the client whose hook this is")
	cmd.Flags().DurationVar(&f.timeout, "timeout", timeout, "how long it may take in all")
}

func (c *cli) hookBeforeCommand() *cobra.Command {
	var f hookFlags
	cmd := &cobra.Command{
		Use: "pre-tool-use", Short: "Decide about a use of a tool; Claude Code runs this", Args: usage(cobra.NoArgs),
		Long: "Read what Claude Code tells its PreToolUse hooks from standard input, and answer whether the tool may\nrun. Whatever goes wrong, the answer is no. See docs/hooks.md.",
	}
	f.add(cmd, hookWait)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		ctx, cancel := context.WithTimeout(cmd.Context(), f.timeout)
		defer cancel()
		d, err := c.askBefore(ctx, f)
		if err != nil {
			d = api.HookDecision{Decision: "deny", Reason: whyNot(err)}
		}
		return c.tellHook(d)
	}
	return cmd
}

// askBefore has the daemon decide.
func (c *cli) askBefore(ctx context.Context, f hookFlags) (api.HookDecision, error) {
	e, err := c.readHook(ctx, "PreToolUse")
	if err != nil {
		return api.HookDecision{}, err
	}
	if err := c.reachable(ctx); err != nil {
		return api.HookDecision{}, err
	}
	slack := min(hookSlack, f.timeout/4)
	deadline, _ := ctx.Deadline()
	return c.client.BeforeTool(ctx, api.HookCall{
		HookUse: e.use(f.client), Dir: e.Dir, Input: []byte(e.Input), WaitMS: (time.Until(deadline) - slack).Milliseconds(),
	})
}

// whyNot says to the model and the person why a tool was not run, and what to do.
func whyNot(err error) string {
	if errors.Is(err, context.DeadlineExceeded) {
		return "Garita did not answer in time, so this was not run. Look at: garita status"
	}
	return "Garita could not be asked, so this was not run. " + strings.TrimSpace(describe(err))
}

// hookAnswer is what Claude Code reads from a PreToolUse hook.
type hookAnswer struct {
	Output struct {
		Event    string `json:"hookEventName"`
		Decision string `json:"permissionDecision"`
		Reason   string `json:"permissionDecisionReason"`
	} `json:"hookSpecificOutput"`
}

// tellHook answers the client. Where nothing is decided nothing is said: the client's own rules hold.
func (c *cli) tellHook(d api.HookDecision) error {
	var a hookAnswer
	a.Output.Event, a.Output.Reason = "PreToolUse", safeLines(d.Reason)
	switch d.Decision {
	case "none":
		return nil
	case "allow":
		a.Output.Decision = "allow"
	default:
		a.Output.Decision = "deny"
	}
	text, err := json.Marshal(a)
	if err == nil {
		_, err = c.out.Write(append(text, '\n'))
	}
	if err != nil { // an answer that does not arrive would let the tool run
		printTo(c.err, "%s\n", safeLines(d.Reason))
		return silent{exitBlock}
	}
	return nil
}

func (c *cli) hookAfterCommand() *cobra.Command {
	var f hookFlags
	cmd := &cobra.Command{
		Use: "post-tool-use", Short: "Record how a use of a tool ended; Claude Code runs this", Args: usage(cobra.NoArgs),
		Long: "Read what Claude Code tells its PostToolUse and PostToolUseFailure hooks from standard input, and record\nit: whether it failed, how long what came back is, and its digest.",
	}
	f.add(cmd, hookNote)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		ctx, cancel := context.WithTimeout(cmd.Context(), f.timeout)
		defer cancel()
		e, err := c.readHook(ctx, "PostToolUse", "PostToolUseFailure")
		if err != nil {
			return err
		}
		if err := c.reachable(ctx); err != nil {
			return err
		}
		return c.client.AfterTool(ctx, e.result(f.client))
	}
	return cmd
}

// readHook reads standard input as a hook of one of these events. It gives up when ctx ends.
func (c *cli) readHook(ctx context.Context, events ...string) (hookEvent, error) {
	type read struct {
		text []byte
		err  error
	}
	done := make(chan read, 1)
	// It may stay in Read when nothing comes; the process ends right after.
	go func() {
		text, err := io.ReadAll(io.LimitReader(c.in, maxHook+1))
		done <- read{text, err}
	}()
	select {
	case r := <-done:
		if r.err != nil {
			return hookEvent{}, fmt.Errorf("read what the hook is told: %w", r.err)
		}
		return parseHook(r.text, events...)
	case <-ctx.Done():
		return hookEvent{}, fmt.Errorf("read what the hook is told: %w", ctx.Err())
	}
}

// hookClient is the process whose hook this is.
func hookClient() int { return clientPID(os.Getpid(), lookProc, "garita") }
