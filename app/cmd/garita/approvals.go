package main

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/garita-dev/garita/daemon/api"
)

func (c *cli) approvalsCommand() *cobra.Command {
	return family("approvals", "See and answer what waits for you",
		c.approvalsListCommand(), c.approvalsWatchCommand(),
		c.answerCommand("approve", "Approve one question", true), c.answerCommand("deny", "Deny one question", false))
}

func (c *cli) approvalsListCommand() *cobra.Command {
	var wait time.Duration
	cmd := &cobra.Command{Use: "list", Aliases: []string{"ls"}, Short: "List what waits for you", Args: usage(cobra.NoArgs)}
	cmd.Flags().DurationVar(&wait, "wait", 0, "wait this long for one")
	asJSON := jsonFlag(cmd)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if err := c.reachable(cmd.Context()); err != nil {
			return err
		}
		list, err := c.client.Approvals(cmd.Context(), wait)
		if err != nil {
			return err
		}
		if *asJSON {
			return c.printJSON(list)
		}
		c.showApprovals(list, time.Now())
		return nil
	}
	return cmd
}

func (c *cli) showApprovals(list []api.Approval, now time.Time) {
	if len(list) == 0 {
		printTo(c.out, "Nothing waits for you.\n")
		return
	}
	t := table{head: []string{"id", "left", "server", "wants"}}
	for _, a := range list {
		t.add(short(a.ID), left(now, a.Expires), a.Call.Server, a.Title+objectOf(a))
	}
	t.print(c.out, c.style)
	printTo(c.out, "\nSee and answer one: garita approvals approve ID, or garita approvals deny ID\n")
}

func objectOf(a api.Approval) string {
	if a.Object == "" {
		return ""
	}
	return ": " + a.Object
}

// short is enough of an id to name it.
func short(id string) string { return id[:min(len(id), 9)] }

func (c *cli) approvalsWatchCommand() *cobra.Command {
	return &cobra.Command{
		Use: "watch", Short: "Show questions as they come", Args: usage(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := c.reachable(cmd.Context()); err != nil {
				return err
			}
			err := c.watchApprovals(cmd.Context())
			if cmd.Context().Err() != nil {
				return nil // Ctrl-C is how one stops watching
			}
			return err
		},
	}
}

// watchApprovals shows each question once, and what became of it, until ctx ends.
func (c *cli) watchApprovals(ctx context.Context) error {
	stream, err := c.client.Events(ctx, 0)
	if err != nil {
		return err
	}
	defer func() { _ = stream.Close() }()
	states := map[string]string{}
	for {
		e, err := stream.Next(ctx)
		if err != nil {
			return err
		}
		switch e.Kind {
		case "approval":
			err = c.noteApproval(ctx, e.ID, states)
		case "reset":
			err = c.noteWaiting(ctx, states)
		}
		if err != nil {
			return err
		}
	}
}

func (c *cli) noteWaiting(ctx context.Context, states map[string]string) error {
	list, err := c.client.Approvals(ctx, 0)
	if err != nil {
		return err
	}
	for _, a := range list {
		c.tellApproval(a, states)
	}
	return nil
}

func (c *cli) noteApproval(ctx context.Context, id string, states map[string]string) error {
	a, err := c.client.Approval(ctx, id)
	if err != nil {
		return err
	}
	c.tellApproval(a, states)
	return nil
}

func (c *cli) tellApproval(a api.Approval, states map[string]string) {
	if states[a.ID] == a.State {
		return
	}
	states[a.ID] = a.State
	line := short(a.ID) + "  " + a.Call.Server + "  " + a.Title + objectOf(a)
	printTo(c.out, "%s  %s  %s", time.Now().Format("15:04:05"), c.style.word(safe(a.State)), safe(line))
	if a.By != "" {
		printTo(c.out, "  (%s)", safe(a.By))
	}
	printTo(c.out, "\n")
}

func (c *cli) answerCommand(use, short string, approve bool) *cobra.Command {
	reach := permitFlags{scope: "once"}
	cmd := &cobra.Command{
		Use: use + " ID", Short: short, Args: usage(cobra.ExactArgs(1)),
		Long: short + ". The whole question is shown first; at a terminal you are asked to type a code.\nA script may answer only where config.yaml says so (approvals.script), and an agent never.",
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := c.reachable(cmd.Context()); err != nil {
				return err
			}
			a, err := c.findApproval(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			p, err := reach.permit(time.Now())
			if err != nil {
				return err
			}
			return c.reply(cmd.Context(), a, approve, p)
		},
	}
	if approve {
		reach.add(cmd)
	}
	return cmd
}

// findApproval takes a whole id, or the beginning of exactly one that waits.
func (c *cli) findApproval(ctx context.Context, id string) (api.Approval, error) {
	list, err := c.client.Approvals(ctx, 0)
	if err != nil {
		return api.Approval{}, err
	}
	found, err := matching(list, id)
	if err != nil {
		return api.Approval{}, err
	}
	return c.client.Approval(ctx, or(found, id))
}

// matching finds the one question whose id begins with id; "" when none does.
func matching(list []api.Approval, id string) (string, error) {
	found := ""
	for _, a := range list {
		if len(id) < 3 || len(a.ID) < len(id) || a.ID[:len(id)] != id {
			continue
		}
		if found != "" {
			return "", fmt.Errorf("several questions begin with %s: give more of the id", safe(id))
		}
		found = a.ID
	}
	return found, nil
}

// reply shows the question and sends the answer.
func (c *cli) reply(ctx context.Context, a api.Approval, approve bool, p api.Permit) error {
	c.showApproval(a, time.Now())
	if a.State != "pending" {
		return fmt.Errorf("it no longer waits: it is %s", safe(a.State))
	}
	if err := c.confirmPermit(ctx, a, p); err != nil {
		return err
	}
	answer := api.Answer{Approve: approve, Binding: a.Binding, Permit: p}
	if c.asks {
		if err := c.typed(a, &answer); err != nil {
			return err
		}
	}
	done, err := c.client.Answer(ctx, a.ID, answer)
	if err != nil {
		return err
	}
	printTo(c.out, "%s\n", c.style.word(safe(done.State)))
	return nil
}

// typed has a person at the terminal type the code of what they have just seen. A no needs none.
func (c *cli) typed(a api.Approval, answer *api.Answer) error {
	answer.TTY, answer.Code = true, api.AnswerCode(a.Binding)
	if !answer.Approve {
		return nil
	}
	code, err := c.prompt("To approve, type " + answer.Code + ": ")
	if err != nil {
		return err
	}
	if code == "" || !strings.EqualFold(code, answer.Code) {
		return errDeclined
	}
	return nil
}

func (c *cli) showApproval(a api.Approval, now time.Time) {
	printTo(c.out, "%s\n", c.style.bold(safe(a.Title)))
	if a.Object != "" {
		printTo(c.out, "  %s\n", safe(a.Object))
	}
	if a.Stays != "" {
		printTo(c.out, "  %s\n", safe(a.Stays))
	}
	printTo(c.out, "\n")
	f := facts{c}
	f.say("call", a.Call.Server+" "+a.Call.Tool+" ("+a.Call.Class+")")
	f.say("agent", a.Call.Agent)
	f.say("why", a.Call.Rule+": "+a.Call.Reason)
	f.say("before", a.Before)
	f.say("reaches", a.Reaches)
	if a.State == "pending" {
		f.say("expires in", left(now, a.Expires))
	}
	if len(a.Call.Arguments) > 0 {
		printTo(c.out, "\n%s\n%s\n", c.style.dim("arguments, as the client sent them:"), indented(a.Call.Arguments))
	}
	if a.Diff != nil {
		printTo(c.out, "\n")
		c.showFileDiff(*a.Diff)
	}
	printTo(c.out, "\n")
}
