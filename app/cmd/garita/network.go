package main

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/garita-dev/garita/daemon/api"
)

func (c *cli) networkCommand() *cobra.Command {
	return family("network", "See and change the hosts that servers may reach", c.networkListCommand(),
		c.networkChangeCommand("allow", "Let a server reach a host, from now on", true),
		c.networkChangeCommand("deny", "Take a host from a server, or keep one blocked that it does not have", false))
}

func (c *cli) networkListCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use: "list [SERVER]", Aliases: []string{"ls", "show"}, Args: usage(cobra.MaximumNArgs(1)),
		Short: "Show what a server, or each, may reach, what it reaches now, and what it was refused",
	}
	asJSON := jsonFlag(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if err := c.reachable(cmd.Context()); err != nil {
			return err
		}
		if len(args) == 0 {
			return c.showNetworks(cmd.Context(), *asJSON)
		}
		n, err := c.client.Network(cmd.Context(), args[0])
		if err != nil {
			return err
		}
		if *asJSON {
			return c.printJSON(n)
		}
		c.showNetwork(n)
		return nil
	}
	return cmd
}

// showNetworks shows what each server may reach, those at a URL aside: they run elsewhere.
func (c *cli) showNetworks(ctx context.Context, asJSON bool) error {
	servers, err := c.client.Servers(ctx)
	if err != nil {
		return err
	}
	all := []api.Network{}
	for _, s := range servers {
		if s.URL != "" {
			continue
		}
		n, err := c.client.Network(ctx, s.Name)
		if err != nil {
			return err
		}
		all = append(all, n)
	}
	switch {
	case asJSON:
		return c.printJSON(all)
	case len(all) == 0:
		printTo(c.out, "No server runs behind a wall.\n")
	}
	for i, n := range all {
		if i > 0 {
			printTo(c.out, "\n")
		}
		c.showNetwork(n)
	}
	return nil
}

func (c *cli) networkChangeCommand(verb, short string, allow bool) *cobra.Command {
	var forget bool
	var keys []string
	cmd := &cobra.Command{
		Use: verb + " SERVER HOST[:PORT]", Short: short, Args: usage(cobra.ExactArgs(2)),
		Long: short + ".\n\nHOST is a name, *.NAME for everything below it (and not it), an address, or public-web for any public host.",
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := c.reachable(cmd.Context()); err != nil {
				return err
			}
			n, err := c.client.ChangeNetwork(cmd.Context(), args[0], api.NetworkChange{Host: args[1], Allow: allow, Forget: forget, Keys: keys})
			if err != nil {
				return err
			}
			c.showNetwork(n)
			return nil
		},
	}
	if allow {
		cmd.Long += " The port is 443 where none is named.\n\nAt port 22 only SSH passes, to a host whose key is known: pinned by --key, or in your own known_hosts. Another one is asked about."
		cmd.Flags().StringArrayVar(&keys, "key", nil, "a key by which the host, which is reached by SSH, is known: SHA256:…, or \"ssh-ed25519 AAAA…\"")
		c.withTried(cmd)
		return cmd
	}
	cmd.Long += `

A host that the server was allowed is taken from it: what is open to it ends at once, and it is asked about again
from now on. A host that it was not allowed is kept blocked: it is refused at once, at each port where none is named,
and nobody is asked about it any more, until 'garita network allow' or --forget takes that back.`
	cmd.Flags().BoolVar(&forget, "forget", false, "ask about the host again: it is neither allowed nor kept blocked any more")
	return cmd
}

// withTried lets allow take what a server was refused for its hosts, once they have been shown.
func (c *cli) withTried(cmd *cobra.Command) {
	one := cmd.RunE
	tried := cmd.Flags().Bool("tried", false, "allow what the server tried and was refused, as 'garita network list' shows it")
	yes := cmd.Flags().BoolP("yes", "y", false, "with --tried: agree beforehand")
	cmd.Use = "allow SERVER (HOST[:PORT] | --tried)"
	cmd.Args = usage(func(cmd *cobra.Command, args []string) error {
		if *tried {
			return cobra.ExactArgs(1)(cmd, args)
		}
		return cobra.ExactArgs(2)(cmd, args)
	})
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if !*tried {
			return one(cmd, args)
		}
		return c.allowTried(cmd.Context(), args[0], *yes)
	}
}

// allowTried allows every host that is proposed. What belongs into the lists of private networks or of
// this machine's ports is left for servers.yaml.
func (c *cli) allowTried(ctx context.Context, server string, yes bool) error {
	if err := c.reachable(ctx); err != nil {
		return err
	}
	n, err := c.client.Network(ctx, server)
	if err != nil {
		return err
	}
	hosts := proposed(n)
	if len(hosts) == 0 {
		printTo(c.out, "%s was refused nothing that could be allowed by one command; see garita network list %s\n", safe(server), safe(server))
		return nil
	}
	printTo(c.out, "%s tried these hosts, and would be allowed to reach them from now on:\n", safe(server))
	for _, host := range hosts {
		printTo(c.out, "  %s\n", safe(host))
	}
	if err := c.confirm("garita network allow --tried", "Allow them?", yes); err != nil {
		return err
	}
	for _, host := range hosts {
		if n, err = c.client.ChangeNetwork(ctx, server, api.NetworkChange{Host: host, Allow: true}); err != nil {
			return err
		}
	}
	c.showNetwork(n)
	return nil
}

// proposed are the hosts of what a server was refused, each once.
func proposed(n api.Network) (hosts []string) {
	for _, t := range n.Tried {
		if t.Propose != "" && !strings.Contains(t.Propose, "[") && !slices.Contains(hosts, t.Propose) {
			hosts = append(hosts, t.Propose)
		}
	}
	slices.Sort(hosts)
	return hosts
}

func (c *cli) showNetwork(n api.Network) {
	printTo(c.out, "%s may reach: %s\n", safe(n.Server), safe(allowedWords(n)))
	printTo(c.out, "%s\n", c.style.dim(otherwise(n)))
	if len(n.Deny) > 0 {
		printTo(c.out, "kept blocked: %s\n", safe(strings.Join(n.Deny, ", ")))
	}
	c.showSSH(n)
	for _, g := range n.Granted {
		printTo(c.out, "  %s %s\n", safe(g.Words), c.style.dim("("+g.Grant+")"))
	}
	if len(n.Live) > 0 {
		t := table{head: []string{"open to", "address", "sent", "received", "agent", "rule"}}
		for _, l := range n.Live {
			t.add(fmt.Sprintf("%s:%d", l.Host, l.Port), l.Address, size(l.Sent), size(l.Received), l.Agent, l.Rule)
		}
		printTo(c.out, "\n")
		t.print(c.out, c.style)
	}
	c.showTried(n)
}

// otherwise says what becomes of what is not listed.
func otherwise(n api.Network) string {
	switch {
	case n.None:
		return "It has no network at all (network: none), so what it tries is on no record."
	case n.Ask:
		return "Anything else is asked about."
	}
	return "Anything else is refused at once."
}

func (c *cli) showTried(n api.Network) {
	if len(n.Tried) == 0 {
		return
	}
	printTo(c.out, "\nIt tried these, and was refused:\n")
	for _, t := range n.Tried {
		printTo(c.out, "  %s%s\n", safe(t.Why), c.style.dim(times(t.Count)))
		if t.Propose != "" && !strings.Contains(t.Propose, "[") {
			printTo(c.out, "    %s\n", c.style.dim("garita network allow "+safe(n.Server)+" "+safe(t.Propose)))
		} else if t.Propose != "" {
			printTo(c.out, "    %s\n", c.style.dim("in servers.yaml: network: {"+safe(t.Propose)+"}"))
		}
	}
	if len(proposed(n)) > 1 {
		printTo(c.out, "  %s\n", c.style.dim("all of them: garita network allow "+safe(n.Server)+" --tried"))
	}
}

func times(n int) string {
	if n <= 1 {
		return ""
	}
	return fmt.Sprintf(" (%d times)", n)
}

func allowedWords(n api.Network) string {
	words := append([]string{}, n.Allow...)
	if n.PublicWeb {
		words = append(words, "any public host (web ports)")
	}
	for _, l := range n.LAN {
		words = append(words, l+" (private network)")
	}
	for _, p := range n.HostPorts {
		words = append(words, fmt.Sprintf("port %d of this machine", p))
	}
	if len(words) == 0 {
		return "no host"
	}
	return strings.Join(words, ", ")
}
