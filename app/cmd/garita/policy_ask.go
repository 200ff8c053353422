package main

import (
	"encoding/json"
	"errors"
	"path/filepath"
	"strings"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/spf13/cobra"

	"github.com/garita-dev/garita/daemon/api"
)

func (c *cli) policyExplainCommand() *cobra.Command {
	var r api.ExplainRequest
	cmd := &cobra.Command{
		Use: "explain SERVER TOOL [JSON] | explain CALL", Short: "Say which rule decides about a call, and why", Args: usage(cobra.RangeArgs(1, 3)),
		Long:    "Say which rule decides about a call, and why, with what the daemon knows: permissions given, tools that wait for review or have\nlost the right to pass as reads. Nothing is called. CALL is the ID of a recorded call: garita audit tail has them.",
		Example: `  garita policy explain files write_file '{"path":"/home/ana/shop/a.ts"}'`,
	}
	cmd.Flags().StringVar(&r.Agent, "agent", "", "the `CLIENT` that calls; the command line without it")
	asJSON := jsonFlag(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		switch len(args) {
		case 1:
			r.Call = args[0]
		case 3:
			if v := jsontext.Value(args[2]); !v.IsValid() || v.Kind() != '{' {
				return usageError{cmd.CommandPath(), errors.New("the arguments are not a JSON object")}
			}
			r.Arguments = json.RawMessage(args[2])
			fallthrough
		default:
			r.Server, r.Tool = args[0], args[1]
		}
		return reached(cmd.Context(), c, *asJSON, func() (api.Explanation, error) { return c.client.ExplainPolicy(cmd.Context(), r) }, c.showExplanation)
	}
	return cmd
}

func (c *cli) showExplanation(x api.Explanation) {
	printTo(c.out, "%s  %s %s by %s\n", c.style.word(x.Effect), safe(x.Server), safe(x.Tool), safe(x.Agent))
	printTo(c.out, "  %s\n\n", safe(x.Reason))
	f := facts{c}
	f.say("decided by", x.Decided)
	if x.Rule != nil {
		f.say("rule", x.Rule.Words+"  "+x.Rule.Origin)
	}
	f.say("class", strings.TrimSpace(x.Class+": "+x.ClassWhy))
	f.say("sensitive", x.Sensitive)
	if x.Was != nil {
		then := x.Was.Effect + " by " + x.Was.Rule
		if x.Was.Answer != "" {
			then += ", asked and " + x.Was.Answer
		}
		f.say("then", then)
	}
	if len(x.Near) > 0 {
		printTo(c.out, "\n%s\n", c.style.dim("rules that came near:"))
	}
	for _, n := range x.Near {
		printTo(c.out, "%s\n         %s\n", c.ruleLine(n.Rule), safe(n.Why))
	}
	for _, n := range x.Notes {
		printTo(c.out, "\n%s %s\n", c.style.amber("note:"), safe(n))
	}
}

func (c *cli) policyReplayCommand() *cobra.Command {
	var file, since string
	cmd := &cobra.Command{
		Use: "replay", Short: "Say what a policy would have done with recorded calls", Args: usage(cobra.NoArgs),
		Long:    "Say what a policy would have done with the calls of the last week. Nothing is called. The record keeps arguments redacted and\nbounded: where a rule looks into arguments that were, the answer says so.",
		Example: "  garita policy replay --policy new.yaml --since 30d",
	}
	cmd.Flags().StringVar(&file, "policy", "", "the policy `FILE` to try; the one in force without it")
	cmd.Flags().StringVar(&since, "since", "7d", "how `LONG` back: 7d, 12h")
	asJSON := jsonFlag(cmd)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		back, err := expiry(since, time.Time{})
		if err != nil || back == nil {
			return usageError{cmd.CommandPath(), errors.New("--since: want a time such as 7d or 12h")}
		}
		r := api.ReplayRequest{Since: time.Now().Add(-back.Sub(time.Time{}))}
		if file != "" {
			data, err := readPolicy(file)
			if err != nil {
				return err
			}
			text := string(data)
			r.File, r.Text = file, &text
		}
		return reached(cmd.Context(), c, *asJSON, func() (api.Replay, error) { return c.client.ReplayPolicy(cmd.Context(), r) }, c.showReplay)
	}
	return cmd
}

func (c *cli) showReplay(r api.Replay) {
	printTo(c.out, "%s since %s: %s as before", count(r.Calls, "call"), r.Since.Local().Format("2006-01-02 15:04"), itoa(r.Same))
	for _, n := range r.Counts {
		printTo(c.out, ", %d %s → %s", n.Calls, safe(n.Was), safe(n.Now))
	}
	if r.Apart > 0 {
		printTo(c.out, ", %d decided by no policy", r.Apart)
	}
	printTo(c.out, "\n")
	if len(r.Changes) > 0 {
		printTo(c.out, "\n")
		t := table{head: []string{"call", "at", "server", "wants", "was", "now", "by"}}
		for _, x := range r.Changes {
			was := x.Was
			if x.Answer != "" {
				was += " (" + x.Answer + ")"
			}
			mark := ""
			if x.Unsure != "" {
				mark = " ?"
			}
			t.add(x.Call, x.At.Local().Format("01-02 15:04"), x.Server, or(x.Sentence, x.Tool), was, x.Now+mark, x.NowBy)
		}
		t.print(c.out, c.style)
	}
	if r.Unsure > 0 {
		printTo(c.out, "\n%s %s looked at arguments that the record keeps redacted or cut; it may be otherwise (?).\n",
			c.style.amber("note:"), "For "+count(r.Unsure, "call")+" a rule")
	}
}

func (c *cli) policyAcceptCommand() *cobra.Command {
	var a api.AcceptPolicy
	cmd := &cobra.Command{
		Use: "accept DIR", Short: "Accept the policy in a project's files", Args: usage(cobra.ExactArgs(1)),
		Long: "Accept the policy that a project brings along, DIR/.garita/policy.yaml. Until then it has no effect. It then makes calls of servers\n" +
			"that are given the folder stricter; its rules that allow count only with --allow, and never against yours.\n" +
			"When the file changes, what you accepted stays in force until you accept the change.",
	}
	cmd.Flags().BoolVar(&a.Allows, "allow", false, "accept its rules that allow, too")
	cmd.Flags().BoolVar(&a.Remove, "remove", false, "take back what you accepted")
	asJSON := jsonFlag(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		dir, err := filepath.Abs(args[0])
		if err != nil {
			return err
		}
		if err := c.reachable(cmd.Context()); err != nil {
			return err
		}
		found, err := c.client.ProjectPolicy(cmd.Context(), dir)
		if err != nil {
			return err
		}
		a.Dir, a.Digest = dir, found.Digest
		if a.Remove {
			a.Digest = found.Accepted
		}
		if !*asJSON {
			c.showProject(found, a)
		}
		if done := c.nothingToAccept(found, a); done != nil {
			return done
		}
		if err := c.typedPolicy(&a); err != nil {
			return err
		}
		return reached(cmd.Context(), c, *asJSON, func() (api.ProjectPolicy, error) { return c.client.AcceptPolicy(cmd.Context(), a) },
			func(p api.ProjectPolicy) { printTo(c.out, "%s\n", c.style.word(safe(or(p.State, "removed")))) })
	}
	return cmd
}

// nothingToAccept says why there is nothing to be done.
func (c *cli) nothingToAccept(found api.ProjectPolicy, a api.AcceptPolicy) error {
	switch {
	case a.Digest == "":
		return errors.New("there is nothing to take back or to accept")
	case found.State == "invalid" && !a.Remove:
		return silent{exitFailed}
	case found.State == "accepted" && found.Allows == a.Allows && !a.Remove:
		return silent{exitDone}
	}
	return nil
}

func (c *cli) showProject(p api.ProjectPolicy, a api.AcceptPolicy) {
	printTo(c.out, "%s %s\n", c.style.word(safe(p.State)), safe(p.File))
	c.showPolicyProblems(p.Problems)
	f := facts{c}
	f.say("servers", listed(p.Servers))
	if p.At != nil {
		f.say("accepted", p.At.Local().Format("2006-01-02 15:04")+" by "+p.By)
	}
	c.showRules("it makes stricter:", p.Narrows)
	without := "it would allow, which is left out without --allow:"
	if a.Allows {
		without = "it allows, where none of your rules says otherwise:"
	}
	c.showRules(without, p.Widens)
	c.showRules("you accepted these, and they would be gone:", p.Lost)
	printTo(c.out, "\n")
}

func (c *cli) showRules(title string, rules []api.PolicyRule) {
	if len(rules) == 0 {
		return
	}
	printTo(c.out, "\n%s\n", c.style.dim(title))
	for _, r := range rules {
		printTo(c.out, "%s\n", c.ruleLine(r))
	}
}

// typedPolicy has a person at the terminal type the code of what they have just seen.
func (c *cli) typedPolicy(a *api.AcceptPolicy) error {
	if !c.asks {
		return nil
	}
	a.TTY, a.Code = true, api.AnswerCode(a.Digest)
	code, err := c.prompt("To go on, type " + a.Code + ": ")
	if err != nil {
		return err
	}
	if code == "" || !strings.EqualFold(code, a.Code) {
		return errDeclined
	}
	return nil
}
