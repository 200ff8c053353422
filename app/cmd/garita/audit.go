package main

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/garita-dev/garita/daemon/api"
)

func (c *cli) auditCommand() *cobra.Command {
	return family("audit", "Read and check the record", c.auditTailCommand(), c.auditShowCommand(), c.auditSessionCommand(),
		c.auditExportCommand(), c.auditVerifyCommand())
}

func (c *cli) auditTailCommand() *cobra.Command {
	var follow bool
	var lines int
	cmd := &cobra.Command{Use: "tail", Short: "Print the end of the record", Args: usage(cobra.NoArgs)}
	cmd.Flags().BoolVarP(&follow, "follow", "f", false, "go on printing what comes")
	cmd.Flags().IntVarP(&lines, "lines", "n", 20, "how many")
	asJSON := jsonFlag(cmd)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		ctx := cmd.Context()
		if err := c.reachable(ctx); err != nil {
			return err
		}
		list, err := c.client.Audit(ctx, -int64(max(1, lines)), 1000, "")
		if err != nil {
			return err
		}
		if follow {
			err := c.followAudit(ctx, list, *asJSON)
			if ctx.Err() != nil {
				return nil // Ctrl-C is how one stops following
			}
			return err
		}
		if *asJSON {
			return c.printJSON(list)
		}
		c.showEvents(list)
		return nil
	}
	return cmd
}

func (c *cli) showEvents(list []api.AuditEvent) {
	for _, e := range list {
		printTo(c.out, "%s\n", c.eventLine(e))
	}
}

// eventLine is one line of the record.
func (c *cli) eventLine(e api.AuditEvent) string {
	var about []string
	for _, s := range []string{e.Server, e.Call, e.Principal} {
		if s != "" {
			about = append(about, safe(s))
		}
	}
	return words(c.eventHead(e), strings.Join(about, "  ")+" ", c.style.dim(gist(e)))
}

// eventHead is an event's number, time and kind.
func (c *cli) eventHead(e api.AuditEvent) string {
	return c.style.dim(pad(itoa(int(e.Seq)), 6)+"  "+e.At.Local().Format("2006-01-02 15:04:05")) + "  " + pad(safe(e.Kind), 20)
}

func pad(text string, width int) string {
	return text + strings.Repeat(" ", max(0, width-len(text)))
}

// oneLine is a body, folded when it is long.
func oneLine(body []byte) string {
	const most = 160
	text := string(safeJSON(compact(body)))
	if text == "null" {
		return ""
	}
	if len(text) > most {
		text = strings.ToValidUTF8(text[:most], "") + "… (" + size(int64(len(body))) + ")"
	}
	return text
}

// followAudit prints what is there and what comes, until ctx ends. Whatever changes wakes it; the
// tick is for what changes nothing but the record.
func (c *cli) followAudit(ctx context.Context, list []api.AuditEvent, asJSON bool) error {
	wake := make(chan struct{}, 1)
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		c.follow(ctx, func(api.Event) {
			select {
			case wake <- struct{}{}:
			default:
			}
		})
	}()
	defer func() {
		cancel()
		<-done
	}()
	tick := time.NewTicker(2 * time.Second)
	defer tick.Stop()
	var last int64
	for {
		if err := c.printEvents(list, asJSON); err != nil {
			return err
		}
		if len(list) > 0 {
			last = list[len(list)-1].Seq
		}
		select {
		case <-wake:
		case <-tick.C:
		case <-ctx.Done():
			return nil
		}
		var err error
		if list, err = c.client.Audit(ctx, last, 1000, ""); err != nil {
			return err
		}
	}
}

// printEvents prints events as lines, or as one JSON value a line.
func (c *cli) printEvents(list []api.AuditEvent, asJSON bool) error {
	if !asJSON {
		c.showEvents(list)
		return nil
	}
	for _, e := range list {
		if err := c.printJSONLine(e); err != nil {
			return err
		}
	}
	return nil
}

func (c *cli) auditShowCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use: "show ID", Short: "Show everything about one call, one session or one record",
		Long: "Show everything about one call (c…), one session (s…) or one record (its number). garita audit tail has them all.",
		Args: usage(cobra.ExactArgs(1)),
	}
	asJSON := jsonFlag(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		ctx := cmd.Context()
		if err := c.reachable(ctx); err != nil {
			return err
		}
		if strings.HasPrefix(args[0], "s") {
			return c.tellSession(cmd, args[0], *asJSON)
		}
		if seq, err := strconv.ParseInt(args[0], 10, 64); err == nil && seq > 0 {
			return c.showEvent(ctx, seq, *asJSON)
		}
		call, err := c.client.Call(ctx, args[0])
		if err != nil {
			return err
		}
		events, err := c.client.Audit(ctx, 0, 1000, args[0])
		switch {
		case err != nil:
			return err
		case *asJSON:
			return c.printJSON(struct {
				Call   api.Call         `json:"call"`
				Events []api.AuditEvent `json:"events"`
			}{call, events})
		}
		c.showCall(call)
		printTo(c.out, "\n%s\n", c.style.dim("in the record:"))
		c.showBodies(events)
		return nil
	}
	return cmd
}

// showEvent prints one event.
func (c *cli) showEvent(ctx context.Context, seq int64, asJSON bool) error {
	events, err := c.client.Audit(ctx, seq-1, 1, "")
	switch {
	case err != nil:
		return err
	case len(events) == 0 || events[0].Seq != seq:
		return &api.Problem{Code: "not_found", Title: fmt.Sprintf("The record has no number %d (any more)", seq), Next: "garita audit tail"}
	case asJSON:
		return c.printJSON(events[0])
	}
	c.showBodies(events)
	return nil
}

// showBodies prints events with everything in them.
func (c *cli) showBodies(events []api.AuditEvent) {
	for _, e := range events {
		printTo(c.out, "%s\n", c.eventHead(e))
		if body := indented(e.Body); body != "null" {
			printTo(c.out, "%s\n", c.style.dim(indentText(body, "        ")))
		}
	}
}

func (c *cli) showCall(call api.Call) {
	printTo(c.out, "%s\n\n", c.style.bold(safe(or(call.Sentence, call.Tool))))
	f := facts{c}
	f.say("call", call.ID)
	f.say("at", call.At.Local().Format("2006-01-02 15:04:05.000"))
	f.say("server", call.Server)
	f.say("tool", call.Tool)
	f.say("agent", call.Agent)
	f.say("principal", call.Principal)
	f.say("session", call.Session)
	f.say("sandbox", call.Sandbox)
	f.say("workspace", call.Workspace)
	f.say("class", strings.TrimSpace(call.Class+": "+call.ClassWhy))
	f.line("decision", c.style.word(safe(call.Effect))+safe(" by "+call.Rule+": "+call.Reason))
	if call.Answer != "" {
		f.say("answer", call.Answer+" "+or(call.By, "")+" after "+milliseconds(call.WaitedMS))
	}
	f.line("outcome", c.style.word(safe(call.Outcome)))
	f.say("error", call.Error)
	f.say("took", milliseconds(call.DurationMS))
	if call.ResultDigest != "" {
		f.say("result", size(call.ResultSize)+" "+call.ResultDigest)
	}
	f.list("findings", call.Findings)
	if len(call.Arguments) > 0 {
		printTo(c.out, "\n%s\n%s\n", c.style.dim("arguments:"), indented(call.Arguments))
	}
	if len(call.Input) > 0 {
		printTo(c.out, "\n%s\n%s\n", c.style.dim("answers to what the server asked:"), indented(call.Input))
	}
	if len(call.Changes) > 0 {
		printTo(c.out, "\n")
		c.showChanges(call.Changes)
	}
}

func (c *cli) auditVerifyCommand() *cobra.Command {
	cmd := &cobra.Command{Use: "verify", Short: "Check the whole record for edits, gaps and cuts", Args: usage(cobra.NoArgs)}
	asJSON := jsonFlag(cmd)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if err := c.reachable(cmd.Context()); err != nil {
			return err
		}
		v, err := c.client.VerifyAudit(cmd.Context())
		if err != nil {
			return err
		}
		if *asJSON {
			err = c.printJSON(v)
		} else {
			c.showVerification(v)
		}
		if err == nil && !v.OK {
			return silent{exitFailed}
		}
		return err
	}
	return cmd
}

func (c *cli) showVerification(v api.Verification) {
	records := count(int(v.Records), "record")
	if v.OK {
		printTo(c.out, "%s, %s\n", c.style.green("ok"), records)
	} else {
		printTo(c.out, "%s at record %d: %s\n%s verified\n", c.style.red("The record is not whole"), v.Bad, safe(v.Problem), records)
	}
	if d := v.Dropped; d != nil {
		printTo(c.out, "%s\n", c.style.dim(fmt.Sprintf("1 to %d dropped by %s: %s", d.Upto, d.At.Local().Format("2006-01-02 15:04"), safe(d.Why))))
	}
	if v.Notice != "" {
		printTo(c.out, "%s %s\n", c.style.amber("note:"), safe(v.Notice))
	}
}

func indentText(text, by string) string {
	return by + strings.ReplaceAll(text, "\n", "\n"+by)
}
