package main

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/garita-dev/garita/daemon/api"
)

func (c *cli) grantsCommand() *cobra.Command {
	return family("grants", "See and revoke what you have allowed for longer", c.grantsListCommand(), c.grantsRevokeCommand())
}

func (c *cli) grantsListCommand() *cobra.Command {
	var all bool
	cmd := &cobra.Command{Use: "list", Aliases: []string{"ls"}, Short: "List what agents may do without asking", Args: usage(cobra.NoArgs)}
	cmd.Flags().BoolVar(&all, "all", false, "also what has ended or was revoked")
	asJSON := jsonFlag(cmd)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if err := c.reachable(cmd.Context()); err != nil {
			return err
		}
		list, err := c.client.Grants(cmd.Context(), all)
		if err != nil {
			return err
		}
		if *asJSON {
			return c.printJSON(list)
		}
		c.showGrants(list)
		return nil
	}
	return cmd
}

func (c *cli) showGrants(list []api.Grant) {
	if len(list) == 0 {
		printTo(c.out, "Nothing is allowed for longer than one call.\n")
		return
	}
	t := table{head: []string{"id", "state", "agent", "uses", "allows"}}
	for _, g := range list {
		t.add(g.ID, g.State, g.Agent, fmt.Sprint(g.Uses), g.Words)
	}
	t.print(c.out, c.style)
	printTo(c.out, "\nTake one back: garita grants revoke ID\n")
}

func (c *cli) grantsRevokeCommand() *cobra.Command {
	cmd := &cobra.Command{Use: "revoke ID", Short: "Take a permission back, at once", Args: usage(cobra.ExactArgs(1))}
	asJSON := jsonFlag(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		ctx := cmd.Context()
		if err := c.reachable(ctx); err != nil {
			return err
		}
		if err := c.client.RevokeGrant(ctx, args[0]); err != nil {
			return err
		}
		if !*asJSON {
			printTo(c.out, "revoked\n")
			return nil
		}
		all, err := c.client.Grants(ctx, true)
		i := slices.IndexFunc(all, func(g api.Grant) bool { return g.ID == args[0] })
		if err != nil || i < 0 {
			return err
		}
		return c.printJSON(all[i])
	}
	return cmd
}

// permitFlags say how far a yes reaches.
type permitFlags struct {
	scope string
	match []string
}

func (f *permitFlags) add(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.scope, "scope", "once", "how far the yes reaches: once, session, until=2h, always or collect")
	cmd.Flags().StringArrayVar(&f.match, "match", nil,
		"only with such an argument: /path=src/ (in that folder), /env=\"prod\" (exactly this JSON value), '/command~git status' (a command's first words); may be repeated")
}

// approve is the command whose flags these are, for its help.
const approve = "garita approvals approve"

// permit is what the flags say, at now; the zero Permit for one call.
func (f *permitFlags) permit(now time.Time) (api.Permit, error) {
	p := api.Permit{Scope: f.scope}
	if length, ok := strings.CutPrefix(f.scope, "until="); ok {
		d, err := time.ParseDuration(length)
		if err != nil || d <= 0 {
			return p, usageError{approve, fmt.Errorf("--scope until=%s: want a length of time such as until=2h", safe(length))}
		}
		until := now.Add(d)
		p.Scope, p.Until = "until", &until
	}
	for _, text := range f.match {
		m, err := parseMatch(text)
		if err != nil {
			return p, err
		}
		p.Match = append(p.Match, m)
	}
	switch {
	case p.Scope != "once":
	case len(p.Match) > 0:
		return p, usageError{approve, fmt.Errorf("--match says what else a yes covers: give --scope session, until=2h or always with it")}
	default:
		p.Scope = ""
	}
	return p, nil
}

// parseMatch reads POINTER=FOLDER/, POINTER=JSON or POINTER~COMMAND.
func parseMatch(text string) (api.Match, error) {
	at := strings.IndexAny(text, "=~")
	if at < 0 || at > 0 && text[0] != '/' {
		return api.Match{}, usageError{approve, fmt.Errorf("--match %s: want /name=folder/, /name=JSON or '/name~command'", safe(text))}
	}
	m, value := api.Match{Path: text[:at]}, text[at+1:]
	switch {
	case text[at] == '~':
		m.Command = value
	case strings.HasSuffix(value, "/") && !strings.HasPrefix(value, `"`):
		m.Prefix = value
	default:
		m.Equals = value
	}
	return m, nil
}

// confirmPermit shows what a yes would cover beyond the one call.
func (c *cli) confirmPermit(ctx context.Context, a api.Approval, p api.Permit) error {
	if p.Scope == "" {
		return nil
	}
	o, err := c.client.Preview(ctx, a.ID, p)
	if err != nil {
		return err
	}
	printTo(c.out, "%s %s\n", c.style.bold("This allows:"), safe(o.Words))
	for _, m := range o.Matches {
		printTo(c.out, "  %s\n", safe(m.Sentence))
	}
	if len(o.Matches) > 0 {
		printTo(c.out, "%s\n", c.style.dim("were asked about lately and would have been covered."))
	}
	printTo(c.out, "\n")
	return nil
}
