package main

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/garita-dev/garita/app/question"
	"github.com/garita-dev/garita/daemon/api"
)

func (c *cli) approvalsCommand() *cobra.Command {
	return family("approvals", "See and answer what waits for you",
		c.approvalsListCommand(), c.approvalsShowCommand(), c.approvalsWatchCommand(), c.approvalsExpiredCommand(),
		c.answerCommand("approve", "Approve one question, or all like it", true), c.answerCommand("deny", "Deny one question, or all like it", false))
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
		return c.noteGroups(cmd.Context())
	}
	return cmd
}

// noteGroups says what of that can be answered together.
func (c *cli) noteGroups(ctx context.Context) error {
	groups, err := c.client.ApprovalGroups(ctx)
	if err != nil {
		return err
	}
	for _, g := range groups {
		if len(g.Members) > 1 {
			printTo(c.out, "%s: garita approvals approve %s --group\n", safe(g.Title), safe(short(g.Members[0].ID)))
		}
	}
	return nil
}

func (c *cli) approvalsShowCommand() *cobra.Command {
	cmd := &cobra.Command{Use: "show ID", Short: "Show one question whole, answered or not", Args: usage(cobra.ExactArgs(1))}
	asJSON := jsonFlag(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if err := c.reachable(cmd.Context()); err != nil {
			return err
		}
		a, err := c.findApproval(cmd.Context(), args[0])
		if err != nil {
			return err
		}
		if *asJSON {
			return c.printJSON(a)
		}
		c.showApproval(a, time.Now())
		return nil
	}
	return cmd
}

func (c *cli) approvalsExpiredCommand() *cobra.Command {
	var seen bool
	cmd := &cobra.Command{Use: "expired", Short: "List the questions that nobody answered in time", Args: usage(cobra.NoArgs)}
	cmd.Flags().BoolVar(&seen, "seen", false, "and do not list these again")
	asJSON := jsonFlag(cmd)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if err := c.reachable(cmd.Context()); err != nil {
			return err
		}
		list, err := c.client.Expired(cmd.Context())
		if err != nil {
			return err
		}
		if *asJSON {
			err = c.printJSON(list)
		} else {
			c.showExpired(list)
		}
		if err != nil || !seen || len(list) == 0 {
			return err
		}
		ids := make([]string, 0, len(list))
		for _, a := range list {
			ids = append(ids, a.ID)
		}
		return c.client.SeeExpired(cmd.Context(), ids...)
	}
	return cmd
}

func (c *cli) showExpired(list []api.Approval) {
	if len(list) == 0 {
		printTo(c.out, "Nothing expired unseen.\n")
		return
	}
	t := table{head: []string{"id", "asked", "server", "wanted"}}
	for _, a := range list {
		t.add(short(a.ID), a.Asked.Local().Format("2 Jan 15:04"), a.Call.Server, a.Title+objectOf(a))
	}
	t.print(c.out, c.style)
}

func (c *cli) showApprovals(list []api.Approval, now time.Time) {
	if len(list) == 0 {
		printTo(c.out, "Nothing waits for you.\n")
		return
	}
	t := table{head: []string{"id", "left", "kind", "server", "wants"}}
	for _, a := range list {
		t.add(short(a.ID), left(now, a.Expires), a.Kind, a.Call.Server, a.Title+objectOf(a))
	}
	t.print(c.out, c.style)
	printTo(c.out, "\nSee and answer one: garita approvals approve ID, or garita approvals deny ID\n")
}

func objectOf(a api.Approval) string {
	if a.Object == "" || strings.HasSuffix(a.Title, a.Object) {
		return ""
	}
	return ": " + a.Object
}

// short is enough of an id to name it.
func short(id string) string { return id[:min(len(id), 9)] }

func (c *cli) answerCommand(use, short string, approve bool) *cobra.Command {
	r := reply{cli: c, approve: approve}
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
			if r.permit, err = reach.permit(time.Now()); err != nil {
				return err
			}
			return r.give(cmd.Context(), a)
		},
	}
	if approve {
		reach.add(cmd)
	}
	cmd.Flags().BoolVar(&r.group, "group", false, "answer all that can be answered together with it: garita approvals list")
	r.json = jsonFlag(cmd)
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

// reply is one answer of a person's.
type reply struct {
	*cli
	approve bool
	group   bool
	permit  api.Permit
	json    *bool
}

// give shows the question and sends the answer.
func (r reply) give(ctx context.Context, a api.Approval) error {
	if r.group {
		return r.giveAll(ctx, a)
	}
	if !*r.json {
		r.showApproval(a, time.Now())
	}
	if a.State != "pending" {
		return fmt.Errorf("it no longer waits: it is %s", safe(a.State))
	}
	if err := r.confirmPermit(ctx, a, r.permit); err != nil {
		return err
	}
	answer := api.Answer{Approve: r.approve, Binding: a.Binding, Permit: r.permit}
	var err error
	if answer.TTY, answer.Code, err = r.typed(api.AnswerCode(a.Binding)); err != nil {
		return err
	}
	done, err := r.client.Answer(ctx, a.ID, answer)
	switch {
	case err != nil:
		return err
	case *r.json:
		return r.printJSON(done)
	}
	printTo(r.out, "%s\n", r.style.word(safe(done.State)))
	return nil
}

// giveAll answers all the questions of a's group, as they are listed, and no other.
func (r reply) giveAll(ctx context.Context, a api.Approval) error {
	groups, err := r.client.ApprovalGroups(ctx)
	if err != nil {
		return err
	}
	i := slices.IndexFunc(groups, func(g api.ApprovalGroup) bool {
		return slices.ContainsFunc(g.Members, func(m api.GroupMember) bool { return m.ID == a.ID })
	})
	if i < 0 {
		return fmt.Errorf("%s stands alone: there is nothing to answer together with it", safe(short(a.ID)))
	}
	all := api.GroupAnswer{Approve: r.approve, Permit: r.permit}
	for _, m := range groups[i].Members {
		all.Members = append(all.Members, m.Seen)
	}
	if !*r.json {
		r.showPage(question.Together(groups[i], 0))
	}
	if err := r.confirmPermit(ctx, a, r.permit); err != nil {
		return err
	}
	if all.TTY, all.Code, err = r.typed(api.GroupCode(all.Members)); err != nil {
		return err
	}
	done, err := r.client.AnswerGroup(ctx, all)
	switch {
	case err != nil:
		return err
	case *r.json:
		return r.printJSON(done)
	}
	for _, d := range done {
		printTo(r.out, "%s  %s  %s\n", safe(short(d.ID)), r.style.word(safe(d.State)), safe(d.Call.Sentence))
	}
	return nil
}

// typed has a person at a terminal type the code of what they have just seen. A no needs none typed, and
// where there is no terminal there is no code.
func (r reply) typed(code string) (tty bool, typed string, err error) {
	if !r.asks {
		return false, "", nil
	}
	if !r.approve {
		return true, code, nil
	}
	typed, err = r.prompt("To approve, type " + code + ": ")
	if err != nil {
		return false, "", err
	}
	if !strings.EqualFold(typed, code) {
		return false, "", errDeclined
	}
	return true, code, nil
}

// showApproval shows a question whole.
func (c *cli) showApproval(a api.Approval, now time.Time) {
	c.showPage(question.Of(a, 0))
	printTo(c.out, "\n")
	if a.State == "pending" {
		printTo(c.out, "%s\n\n", c.style.dim(question.Left(now, a.Expires)))
		return
	}
	printTo(c.out, "%s\n\n", question.Ending(a, false))
}

func (c *cli) showPage(lines []question.Line) {
	for _, l := range lines {
		printTo(c.out, "%s\n", c.paint(l))
	}
}

func (c *cli) paint(l question.Line) string {
	switch l.Look {
	case question.Bold:
		return c.style.bold(l.Text)
	case question.Dim:
		return c.style.dim(l.Text)
	case question.Warn:
		return c.style.amber(l.Text)
	case question.Added:
		return c.style.green(l.Text)
	case question.Removed:
		return c.style.red(l.Text)
	case question.Place:
		return c.style.blue(l.Text)
	case question.Normal:
	}
	return l.Text
}
