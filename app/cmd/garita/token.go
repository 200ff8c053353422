package main

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/garita-dev/garita/daemon/api"
)

func (c *cli) tokenCommand() *cobra.Command {
	return family("token", "Let clients in over HTTP", c.tokenCreateCommand(), c.tokenListCommand(), c.tokenRevokeCommand())
}

func (c *cli) tokenCreateCommand() *cobra.Command {
	var n api.NewToken
	var expires string
	cmd := &cobra.Command{
		Use: "create --name NAME --server SERVER…", Short: "Make a bearer token", Args: usage(cobra.NoArgs),
		Long:    "Make a bearer token for clients that speak Streamable HTTP. It is shown this once; only a hash of it is kept.\nIt opens the servers named here and no other.",
		Example: "  garita token create --name inspector --server files --tool 'read_*' --expires 30d",
	}
	cmd.Flags().StringVar(&n.Name, "name", "", "what it is for, for you")
	cmd.Flags().StringArrayVar(&n.Servers, "server", nil, "`SERVER` it opens; may be given again")
	cmd.Flags().StringArrayVar(&n.Tools, "tool", nil, "`PATTERN` of the tools it sees, such as 'read_*', and nothing but tools then; may be given again; everything without it")
	cmd.Flags().StringVar(&expires, "expires", "", "how `LONG` it is good for: 30d, 12h; for ever without it")
	asJSON := jsonFlag(cmd)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if n.Name == "" || len(n.Servers) == 0 {
			return usageError{cmd.CommandPath(), errors.New("give it a --name and at least one --server")}
		}
		var err error
		if n.Expires, err = expiry(expires, time.Now()); err != nil {
			return usageError{cmd.CommandPath(), err}
		}
		if err := c.reachable(cmd.Context()); err != nil {
			return err
		}
		made, err := c.client.CreateToken(cmd.Context(), n)
		if err != nil {
			return err
		}
		if *asJSON {
			return c.printJSON(made)
		}
		c.showCreated(made)
		return nil
	}
	return cmd
}

// expiry is when a token made now ends; nil for never. Days are d, the rest is as time.ParseDuration reads it.
func expiry(text string, now time.Time) (*time.Time, error) {
	if text == "" {
		return nil, nil
	}
	var long time.Duration
	var err error
	if days, ok := strings.CutSuffix(text, "d"); ok {
		var n int
		n, err = strconv.Atoi(days)
		long = time.Duration(n) * 24 * time.Hour
		if n > 36500 {
			err = errors.New("longer than a century")
		}
	} else {
		long, err = time.ParseDuration(text)
	}
	if err != nil || long <= 0 {
		return nil, fmt.Errorf("--expires %s: want a time such as 30d or 12h", safe(text))
	}
	at := now.Add(long)
	return &at, nil
}

// showCreated prints the secret alone on standard output, so that it can be piped.
func (c *cli) showCreated(made api.CreatedToken) {
	printTo(c.err, "Token %s for %s. It is shown this once:\n", safe(made.Token.ID), safe(strings.Join(made.Token.Servers, ", ")))
	printTo(c.out, "%s\n", safe(made.Secret))
	if made.URL != "" && len(made.Token.Servers) == 1 {
		printTo(c.err, "Send it as \"Authorization: Bearer …\" to %s/%s\n", safe(made.URL), safe(made.Token.Servers[0]))
	} else if made.URL != "" {
		printTo(c.err, "Send it as \"Authorization: Bearer …\" to %s, or to %s/SERVER\n", safe(made.URL), safe(made.URL))
	}
}

func (c *cli) tokenListCommand() *cobra.Command {
	cmd := &cobra.Command{Use: "list", Aliases: []string{"ls"}, Short: "List bearer tokens", Args: usage(cobra.NoArgs)}
	asJSON := jsonFlag(cmd)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if err := c.reachable(cmd.Context()); err != nil {
			return err
		}
		list, err := c.client.Tokens(cmd.Context())
		if err != nil {
			return err
		}
		if *asJSON {
			return c.printJSON(list)
		}
		c.showTokens(list)
		return nil
	}
	return cmd
}

func (c *cli) showTokens(list []api.Token) {
	if len(list) == 0 {
		printTo(c.out, "No tokens. Make one: garita token create --name NAME --server SERVER\n")
		return
	}
	t := table{head: []string{"id", "name", "state", "servers", "tools", "expires", "last used"}}
	for _, k := range list {
		t.add(k.ID, k.Name, k.State, strings.Join(k.Servers, ", "), or(strings.Join(k.Tools, ", "), "all"), day(k.Expires), day(k.LastUsed))
	}
	t.print(c.out, c.style)
}

// day is a time to the minute; "never" for none.
func day(at *time.Time) string {
	if at == nil {
		return "never"
	}
	return at.Local().Format("2006-01-02 15:04")
}

func (c *cli) tokenRevokeCommand() *cobra.Command {
	return &cobra.Command{
		Use: "revoke ID", Short: "End a bearer token for good",
		Long: "End a bearer token for good, and the sessions it opened. garita token list has the IDs.",
		Args: usage(cobra.ExactArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := c.reachable(cmd.Context()); err != nil {
				return err
			}
			if err := c.client.RevokeToken(cmd.Context(), args[0]); err != nil {
				return err
			}
			printTo(c.err, "%s: revoked\n", safe(args[0]))
			return nil
		},
	}
}
