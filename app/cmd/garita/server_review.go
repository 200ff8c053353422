package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/garita-dev/garita/daemon/api"
)

// pinReview is what `garita server review` was asked to do.
type pinReview struct {
	accept, reject, all, asJSON bool
	items                       []string
}

func (c *cli) serverReviewCommand() *cobra.Command {
	var r pinReview
	cmd := &cobra.Command{
		Use: "review NAME", Short: "See and answer what is held back of a server", Args: usage(cobra.ExactArgs(1)),
		Long: "Show what a server says of itself that is new or has changed since it was accepted, in full and with what is\n" +
			"not seen written out. With --accept it exists for clients from now on, as it was shown; with --reject it does\n" +
			"not, and is not asked about again. A script may answer only where config.yaml says so (approvals.script),\n" +
			"and an agent never.",
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := c.reachable(cmd.Context()); err != nil {
				return err
			}
			return c.reviewPins(cmd.Context(), args[0], r)
		},
	}
	f := cmd.Flags()
	f.BoolVar(&r.accept, "accept", false, "accept what was shown")
	f.BoolVar(&r.reject, "reject", false, "refuse what was shown")
	f.StringSliceVar(&r.items, "only", nil, "answer about these alone: tool/NAME, prompt/NAME …")
	f.BoolVar(&r.all, "all", false, "show what was accepted, too")
	f.BoolVar(&r.asJSON, "json", false, "print JSON")
	cmd.MarkFlagsMutuallyExclusive("accept", "reject")
	return cmd
}

func (c *cli) reviewPins(ctx context.Context, server string, r pinReview) error {
	p, err := c.client.Pins(ctx, server)
	if err != nil {
		return err
	}
	if !r.accept && !r.reject {
		if r.asJSON {
			return c.printJSON(p)
		}
		c.showPins(p, r.all)
		return nil
	}
	if p.Binding == "" {
		return fmt.Errorf("nothing of %s is held back", safe(server))
	}
	if !r.asJSON {
		c.showPins(p, false)
	}
	a := api.PinAnswer{Accept: r.accept, Binding: p.Binding, Items: r.items}
	if c.asks {
		if err := c.typedReview(&a); err != nil {
			return err
		}
	}
	done, err := c.client.AnswerPins(ctx, server, a)
	switch {
	case err != nil:
		return err
	case r.asJSON:
		return c.printJSON(done)
	}
	printTo(c.out, "%s\n", map[bool]string{true: "accepted", false: "refused"}[r.accept])
	return nil
}

// typedReview has a person at the terminal type the code of what they have just seen. A no needs none.
func (c *cli) typedReview(a *api.PinAnswer) error {
	a.TTY, a.Code = true, api.AnswerCode(a.Binding)
	if !a.Accept {
		return nil
	}
	code, err := c.prompt("To accept all of this, type " + a.Code + ": ")
	if err != nil {
		return err
	}
	if code == "" || !strings.EqualFold(code, a.Code) {
		return errDeclined
	}
	return nil
}

// showPins shows what waits in full, and the rest in a line each.
func (c *cli) showPins(p api.Pins, all bool) {
	waits, quiet := 0, 0
	for _, i := range p.Items {
		switch i.State {
		case "waits":
			waits++
			c.showPin(i)
		case "refused":
			printTo(c.out, "%s %s: refused; after all: --accept --only %s\n", safe(i.Kind), safe(i.Name), safe(i.Kind+"/"+i.Name))
		case "cosmetic":
			quiet++
			if all {
				c.showPin(i)
			}
		default:
			if all {
				printTo(c.out, "%s %s: accepted, %s\n", safe(i.Kind), safe(i.Name), safe(or(i.By, "earlier")))
			}
		}
	}
	if quiet > 0 {
		printTo(c.out, "%d written a little differently than accepted; see them: --all\n", quiet)
	}
	switch {
	case waits > 0:
		printTo(c.out, "Answer: garita server review %s --accept, or --reject\n", safe(p.Server))
	case !all:
		printTo(c.out, "Nothing of %s is held back.\n", safe(p.Server))
	}
}

func (c *cli) showPin(i api.PinItem) {
	printTo(c.out, "%s\n", c.style.bold(safe(i.Kind+" "+i.Name)))
	if i.Why != "" {
		printTo(c.out, "  held back: %s\n", safe(i.Why))
	}
	for _, f := range i.Findings {
		printTo(c.out, "  %s at %s: %s\n    %s\n", c.style.word(safe(f.Kind)), safe(f.Field), safe(f.Why), safe(f.Excerpt))
	}
	for _, f := range i.Fields {
		printTo(c.out, "  %s (%s)\n", safe(f.Field), safe(or(f.Why, f.Drift)))
		c.showLines("  - ", f.Old)
		c.showLines("  + ", f.New)
	}
	if i.Before == "" {
		c.showLines("    ", i.Text)
	}
	printTo(c.out, "\n")
}

func (c *cli) showLines(before, text string) {
	for line := range strings.Lines(text) {
		printTo(c.out, "%s%s\n", before, safe(strings.TrimRight(line, "\r\n")))
	}
}
