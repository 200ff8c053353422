package main

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/garita-dev/garita/daemon/api"
)

// grantFlags are a grant as it is typed.
type grantFlags struct {
	grant                 api.SecretGrant
	headers, query, body  []string
	until                 string
	asJSON, yes           bool
	command, name, server string
}

func (c *cli) secretGrantCommand() *cobra.Command {
	var f grantFlags
	cmd := &cobra.Command{
		Use: "grant NAME SERVER [--env VARIABLE | --file NAME] [--host HOST…]", Short: "Let a server use a secret", Args: usage(cobra.ExactArgs(2)),
		Long: "Let a server use a secret, in place of what it was granted of it before. servers.yaml keeps it.\n\n" +
			"As a placeholder, which is the default, the server never has the value: it finds something of the same shape, and\n" +
			"Garita's wall puts the value in its place in requests to the hosts named here, in the header Authorization or where you say.\n" +
			"With --mode env or file the server holds the value itself and can send it anywhere it reaches: only for what cannot work otherwise.\n\n" +
			"To a server at a url Garita sends the value itself, in the header Authorization or where you say, and to nobody else.\n\n" +
			"What is left out is proposed where it is known of the server, and you are asked.",
		Example: "  garita secret grant github-token github\n" +
			"  garita secret grant github-token github --env GITHUB_TOKEN --host api.github.com\n" +
			"  garita secret grant weather-key weather --env API_KEY --query appid --host api.openweathermap.org --tool 'get_*'\n" +
			"  garita secret grant linear-key linear --header Authorization --scheme none    # a server at a url\n" +
			"  garita secret grant db-password db --mode env --env PGPASSWORD",
	}
	flags := cmd.Flags()
	flags.StringVar(&f.grant.Env, "env", "", "the `VARIABLE` in which the server finds it")
	flags.StringVar(&f.grant.File, "file", "", "or the `NAME` of the file, below /run/secrets")
	flags.StringVar(&f.grant.Arg, "arg", "", "or the `FLAG` among its arguments: --arg=--api-key, or --arg=--api-key= where both are one word; a placeholder only")
	flags.StringVar(&f.grant.Mode, "mode", "placeholder", "placeholder, env or file")
	flags.StringArrayVar(&f.grant.Hosts, "host", nil, "`HOST` to which the value is sent, [:PORT]; may be given again")
	flags.StringArrayVar(&f.headers, "header", nil, "`HEADER` in which it is sent; may be given again")
	flags.StringVar(&f.grant.Scheme, "scheme", "", "`WORD` before the value in the header Authorization of a server at a url: Bearer without it, none for nothing")
	flags.StringArrayVar(&f.query, "query", nil, "`PARAMETER` of the query in which it is sent; may be given again")
	flags.StringArrayVar(&f.body, "body", nil, "`MEMBER` of a JSON or form body in which it is sent; may be given again")
	flags.StringArrayVar(&f.grant.Tools, "tool", nil, "`PATTERN` of the tools during whose calls alone it is sent; may be given again")
	flags.StringVar(&f.until, "until", "", "`WHEN` it ends: 30d, 12h, 2027-01-31; never without it")
	flags.BoolVar(&f.grant.Ask, "ask", false, "ask me before each use")
	flags.BoolVarP(&f.yes, "yes", "y", false, "take what is proposed")
	flags.BoolVar(&f.asJSON, "json", false, "print JSON")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		f.command, f.name, f.server = cmd.CommandPath(), args[0], args[1]
		if err := f.complete(time.Now()); err != nil {
			return usageError{f.command, err}
		}
		if err := c.reachable(cmd.Context()); err != nil {
			return err
		}
		if !f.whole() {
			if err := c.propose(cmd.Context(), &f); err != nil {
				return err
			}
		}
		s, err := c.client.GrantSecret(cmd.Context(), f.name, f.grant)
		if err != nil {
			return err
		}
		if f.asJSON {
			return c.printJSON(s)
		}
		c.showGranted(s, f.server)
		return nil
	}
	return cmd
}

// complete checks what can be told without the daemon, which checks the rest.
func (f *grantFlags) complete(now time.Time) error {
	f.grant.Server = f.server
	if f.grant.Env != "" && f.grant.File != "" {
		return fmt.Errorf("give it --env VARIABLE or --file NAME, where the server finds it, not both: garita secret grant %s %s --env VARIABLE --host HOST", safe(f.name), safe(f.server))
	}
	for in, names := range map[string][]string{"header": f.headers, "query": f.query, "body": f.body} {
		for _, name := range names {
			f.grant.Places = append(f.grant.Places, api.SecretPlace{In: in, Name: name})
		}
	}
	var err error
	f.grant.Until, err = moment("--until", f.until, now)
	return err
}

// whole says that nothing is left to be known of the server.
func (f *grantFlags) whole() bool {
	return f.grant.Env+f.grant.File+f.grant.Arg != "" && (f.grant.Mode != "placeholder" || len(f.grant.Hosts) > 0)
}

// propose completes a grant by what is known of its server, once the person wants it so.
func (c *cli) propose(ctx context.Context, f *grantFlags) error {
	g, err := c.client.ProposeGrant(ctx, f.name, f.grant)
	if err != nil {
		return err
	}
	f.grant = g
	printTo(c.err, "%s\n", safe(g.Words))
	return c.confirm(f.command, "Grant it so?", f.yes)
}

func (c *cli) showGranted(s api.Secret, server string) {
	for _, g := range s.Grants {
		if g.Server != server {
			continue
		}
		printTo(c.err, "%s\n", safe(g.Words))
		if g.Weaker {
			printTo(c.err, "%s %s can send the value wherever it may reach, and print it. A placeholder cannot be lost that way.\n", c.style.amber("weaker:"), safe(server))
		}
	}
	if s.Missing {
		printTo(c.err, "It is not stored yet, and %s does not start before: garita secret set %s\n", safe(server), safe(s.Name))
	}
}

func (c *cli) secretRevokeCommand() *cobra.Command {
	return &cobra.Command{
		Use: "revoke NAME [SERVER]", Short: "Take a secret from a server, or from all", Args: usage(cobra.RangeArgs(1, 2)),
		Long: "Take a secret from a server at once, or from all that may use it. What it has of it is worth nothing from then on;\na server that holds the value itself ends.",
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := c.reachable(cmd.Context()); err != nil {
				return err
			}
			servers := args[1:]
			if len(servers) == 0 {
				all, err := c.client.Secrets(cmd.Context())
				if err != nil {
					return err
				}
				servers = grantees(all, args[0])
			}
			if len(servers) == 0 {
				printTo(c.err, "No server may use %s.\n", safe(args[0]))
			}
			for _, server := range servers {
				if _, err := c.client.RevokeSecret(cmd.Context(), args[0], server); err != nil {
					return err
				}
				printTo(c.err, "%s: taken from %s\n", safe(args[0]), safe(server))
			}
			return nil
		},
	}
}

// grantees are the servers that may use a secret.
func grantees(all api.Secrets, name string) (servers []string) {
	for _, s := range all.Secrets {
		for _, g := range s.Grants {
			if s.Name == name {
				servers = append(servers, g.Server)
			}
		}
	}
	return servers
}
