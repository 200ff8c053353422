package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/garita-dev/garita/daemon/api"
)

// serverObserve is what `garita server observe` was asked to do.
type serverObserve struct {
	length            time.Duration
	workspace, mounts []string
	write             string
	stop, yes, asJSON bool
}

func (c *cli) serverObserveCommand() *cobra.Command {
	var o serverObserve
	cmd := &cobra.Command{
		Use: "observe NAME", Short: "Watch what a server does, and give it no more than that", Args: usage(cobra.ExactArgs(1)),
		Long: "Have a server asked about everything it does, reads and listed hosts too, while you use it from your client or with\n" +
			"garita call, and show what it reaches, runs and looks for. When that ends (Ctrl-C, --for, or --stop elsewhere) the\n" +
			"least that it needed is shown as a change of servers.yaml, with why. What you denied is never in it, and folders\n" +
			"of yours that it looked for are suggestions: name with --mount those it should have. With a yes it is so from\n" +
			"then on; without one nothing changes. A script may say yes only where config.yaml says so (approvals.script),\n" +
			"and an agent never.",
		Example: `  garita server observe github --for 20m
  garita server observe files --stop --mount ~/data/in`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := c.reachable(cmd.Context()); err != nil {
				return err
			}
			return c.observeServer(cmd.Context(), args[0], o)
		},
	}
	f := cmd.Flags()
	f.DurationVar(&o.length, "for", 30*time.Minute, "end after so long")
	f.StringArrayVar(&o.workspace, "workspace", nil, "a folder for the sessions that name none")
	f.BoolVar(&o.stop, "stop", false, "end what was begun elsewhere, or show again what was seen")
	f.StringArrayVar(&o.mounts, "mount", nil, "have this suggested path, read-only, in the proposal")
	f.StringVar(&o.write, "write", "", "write the proposed definition to a file, and ask nothing")
	f.BoolVar(&o.yes, "yes", false, "say yes to what is shown")
	f.BoolVar(&o.asJSON, "json", false, "print JSON at the end, and ask nothing")
	return cmd
}

func (c *cli) observeServer(ctx context.Context, server string, o serverObserve) error {
	seen, err := c.observed(ctx, server, o)
	if err != nil {
		return err
	}
	signal.Reset(os.Interrupt) // one Ctrl-C has ended the watching; the next ends the command
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Hour)
	defer cancel()
	if len(o.mounts) > 0 {
		if seen, err = c.chooseMounts(ctx, server, o.mounts); err != nil {
			return err
		}
	}
	switch p := seen.Proposal; {
	case o.asJSON && !o.yes:
		return c.printJSON(seen)
	case p == nil:
		return fmt.Errorf("%s was not observed", safe(server))
	case o.write != "":
		return os.WriteFile(o.write, []byte(p.After), 0o600)
	default:
		if !o.asJSON {
			c.showLeast(server, *p)
		}
		return c.answerLeast(ctx, server, *p, o)
	}
}

// observed watches until the end, and returns what was seen by then.
func (c *cli) observed(ctx context.Context, server string, o serverObserve) (api.Observation, error) {
	if o.stop {
		return c.client.EndObservation(ctx, server)
	}
	r := api.ObserveRequest{Minutes: int((o.length + time.Minute - 1) / time.Minute)}
	for _, dir := range o.workspace {
		whole, err := filepath.Abs(dir)
		if err != nil {
			return api.Observation{}, err
		}
		r.Workspace = append(r.Workspace, whole)
	}
	now, err := c.client.Observe(ctx, server, r)
	if err != nil {
		return now, err
	}
	printTo(c.err, "%s is observed until %s, and asked about everything. Use it now; Ctrl-C ends it.\n", safe(server), now.Until.Local().Format("15:04"))
	return c.watchObserved(ctx, now)
}

// watchObserved tells what is seen as it is seen, until the observation ends or ctx does.
func (c *cli) watchObserved(ctx context.Context, now api.Observation) (api.Observation, error) {
	told := map[string]bool{}
	for {
		c.tellObserved(now, told)
		if now.State != "observing" {
			return now, nil
		}
		next, err := c.client.Observation(ctx, now.Server, now.Seq, 30*time.Second)
		if ctx.Err() != nil {
			ending, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Minute)
			defer cancel()
			return c.client.EndObservation(ending, now.Server)
		}
		if err != nil {
			return now, err
		}
		now = next
	}
}

// tellObserved says what is new, a line each.
func (c *cli) tellObserved(o api.Observation, told map[string]bool) {
	for _, n := range o.Notes {
		c.tellOnce(told, n, c.style.amber(safe(n)))
	}
	for _, s := range o.Seen {
		if s.Denied > 0 {
			c.tellOnce(told, "denied "+s.Kind+" "+s.What, fmt.Sprintf("%s  %-8s %s", s.Last.Local().Format(time.TimeOnly), s.Kind, c.style.red(safe(s.What)+", denied")))
		}
		if s.Count > 0 {
			line := fmt.Sprintf("%s  %-8s %s", s.First.Local().Format(time.TimeOnly), s.Kind, safe(s.What))
			if len(s.In) > 0 && s.Kind != "tool" {
				line += c.style.dim("  in " + safe(strings.Join(s.In, ", ")))
			}
			c.tellOnce(told, s.Kind+" "+s.What, line)
		}
	}
}

func (c *cli) tellOnce(told map[string]bool, what, line string) {
	if !told[what] {
		told[what] = true
		printTo(c.err, "%s\n", line)
	}
}

func (c *cli) chooseMounts(ctx context.Context, server string, dirs []string) (api.Observation, error) {
	m := api.MountChoice{}
	for _, dir := range dirs {
		whole, err := filepath.Abs(dir)
		if err != nil {
			return api.Observation{}, err
		}
		m.Mounts = append(m.Mounts, whole)
	}
	return c.client.ChooseMounts(ctx, server, m)
}

// showLeast shows each thing with why, and what would change.
func (c *cli) showLeast(server string, p api.LeastSpec) {
	t := table{head: []string{"", "part", "what", "why"}}
	marks := map[string]string{"keep": " ", "add": "+", "remove": "-", "suggest": "?", "refuse": "!", "tell": "·"}
	for _, l := range p.Lines {
		t.add(marks[l.Change], l.Part, l.What, l.Why)
	}
	if len(p.Lines) > 0 {
		printTo(c.out, "\n")
		t.print(c.out, c.style)
	}
	for _, n := range p.Notes {
		printTo(c.out, "%s\n", safe(n))
	}
	if p.Diff == "" {
		printTo(c.out, "\nNothing of %s's definition would change.\n", safe(server))
		return
	}
	printTo(c.out, "\n")
	for line := range strings.Lines(p.Diff) {
		c.showDiffLine(strings.TrimRight(line, "\n"))
	}
	for _, l := range p.Lines {
		if l.Change == "suggest" {
			printTo(c.out, "%s\n", c.style.dim("To have it: garita server observe "+safe(server)+" --stop --mount "+safe(l.Mount)))
		}
	}
}

func (c *cli) showDiffLine(line string) {
	switch {
	case strings.HasPrefix(line, "+"):
		printTo(c.out, "%s\n", c.style.green(safe(line)))
	case strings.HasPrefix(line, "-"):
		printTo(c.out, "%s\n", c.style.red(safe(line)))
	default:
		printTo(c.out, "%s\n", safe(line))
	}
}

// answerLeast has the person say yes or no. A no changes nothing, and what was seen can be shown again.
func (c *cli) answerLeast(ctx context.Context, server string, p api.LeastSpec, o serverObserve) error {
	if p.Binding == "" {
		return nil
	}
	a := api.LeastAnswer{Binding: p.Binding}
	switch {
	case c.asks && !o.asJSON:
		a.TTY, a.Code = true, api.AnswerCode(p.Binding)
		code, err := c.prompt("To give " + safe(server) + " just this, type " + a.Code + ": ")
		if err != nil {
			return err
		}
		if code == "" || !strings.EqualFold(code, a.Code) {
			return errDeclined
		}
	case !o.yes:
		printTo(c.err, "Nothing has changed. To take it: garita server observe %s --stop --yes\n", safe(server))
		return nil
	}
	done, err := c.client.AcceptObservation(ctx, server, a)
	switch {
	case err != nil:
		return err
	case o.asJSON:
		return c.printJSON(done)
	}
	printTo(c.err, "%s has just what is shown from now on\n", safe(server))
	return nil
}
