package main

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/garita-dev/garita/daemon/api"
)

func (c *cli) secretCommand() *cobra.Command {
	return family("secret", "Keep secrets, and say which servers may use them where",
		c.secretSetCommand(), c.secretListCommand(), c.secretGrantCommand(), c.secretRevokeCommand(),
		c.secretRemoveCommand(), c.secretRotateCommand(), c.secretUnlockCommand())
}

func (c *cli) secretSetCommand() *cobra.Command {
	var expires string
	var byCommand, asJSON bool
	cmd := &cobra.Command{
		Use: "set NAME [--from-command -- COMMAND …]", Short: "Store a secret, or its next value",
		Long: "Store a secret, or its next value, which holds at once wherever the secret is used. The value is asked for\n" +
			"at the terminal, unseen, or read from standard input; one newline at its end is left out.\n\n" +
			"With --from-command nothing is stored: the daemon runs COMMAND (outside of every sandbox, without a shell)\n" +
			"whenever the value is needed, and takes what it prints for 15 minutes at most.",
		Example: "  garita secret set github-token\n  pass show github | garita secret set github-token --expires 30d\n" +
			"  garita secret set gcp --from-command -- gcloud auth print-access-token",
	}
	cmd.Flags().BoolVar(&byCommand, "from-command", false, "the words after -- are a command that prints the value")
	cmd.Flags().StringVar(&expires, "expires", "", "`WHEN` it ends to be good: 30d, 12h, 2027-01-31; never without it")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	cmd.Args = usage(setArguments(&byCommand))
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		s := api.SecretSet{Name: args[0], Command: args[1:]}
		var err error
		if s.Expires, err = moment("--expires", expires, time.Now()); err != nil {
			return usageError{cmd.CommandPath(), err}
		}
		if err := c.reachable(cmd.Context()); err != nil {
			return err
		}
		if !byCommand {
			value, err := c.hidden(cmd.Context(), "Value of "+safe(s.Name)+" (it is not shown): ")
			if err != nil {
				return err
			}
			s.Value = api.Hidden(value)
		}
		set, err := c.client.SetSecret(cmd.Context(), s)
		if err != nil {
			return err
		}
		if asJSON {
			return c.printJSON(set)
		}
		c.showSet(set)
		return nil
	}
	return cmd
}

// setArguments refuses a value on the command line, where every program of this machine could read it.
func setArguments(byCommand *bool) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		dash := cmd.ArgsLenAtDash()
		switch {
		case len(args) == 0 || dash == 0:
			return errors.New("which secret? Give it a name, such as github-token")
		case *byCommand && (dash != 1 || len(args) < 2):
			return errors.New("--from-command wants the command after --: garita secret set NAME --from-command -- COMMAND …")
		case !*byCommand && len(args) > 1:
			return errors.New("a value is not given on the command line, where other programs can read it: pipe it in, or be asked for it")
		}
		return nil
	}
}

func (c *cli) showSet(s api.Secret) {
	printTo(c.err, "%s: stored as version %d%s\n", safe(s.Name), s.Version, until(s.Expires, ", good until "))
	if len(s.Grants) == 0 {
		printTo(c.err, "No server may use it yet: %s\n", c.style.dim("garita secret grant "+safe(s.Name)+" SERVER --env VARIABLE --host HOST"))
	}
}

func until(at *time.Time, before string) string {
	if at == nil {
		return ""
	}
	return before + day(at)
}

// moment is when something ends: after a time such as 30d or 12h, on a day (to its end), or at a time; nil for never.
func moment(flag, text string, now time.Time) (*time.Time, error) {
	if text == "" {
		return nil, nil
	}
	if at, err := time.Parse(time.RFC3339, text); err == nil {
		return &at, nil
	}
	if at, err := time.ParseInLocation(time.DateOnly, text, now.Location()); err == nil {
		at = at.AddDate(0, 0, 1)
		return &at, nil
	}
	at, err := expiry(text, now)
	if err != nil {
		return nil, fmt.Errorf("%s %s: want a time such as 30d or 12h, or a day such as 2027-01-31", flag, safe(text))
	}
	return at, nil
}

func (c *cli) secretListCommand() *cobra.Command {
	cmd := &cobra.Command{Use: "list", Aliases: []string{"ls"}, Short: "List secrets, and which server may use each where", Args: usage(cobra.NoArgs)}
	asJSON := jsonFlag(cmd)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if err := c.reachable(cmd.Context()); err != nil {
			return err
		}
		all, err := c.client.Secrets(cmd.Context())
		if err != nil {
			return err
		}
		if *asJSON {
			return c.printJSON(all)
		}
		c.showSecrets(all)
		return nil
	}
	return cmd
}

func (c *cli) showSecrets(all api.Secrets) {
	c.showKeeper(all.Keeper)
	if len(all.Secrets) == 0 {
		printTo(c.out, "No secrets. Store one: garita secret set NAME\n")
		return
	}
	t := table{head: []string{"secret", "state", "server", "as", "in", "sent to", "tools", "last used"}}
	for _, s := range all.Secrets {
		if len(s.Grants) == 0 {
			t.add(s.Name, secretState(s), "none", "", "", "", "", lastUse(s, ""))
		}
		for _, g := range s.Grants {
			t.add(s.Name, secretState(s), g.Server, grantMode(g), grantPlace(g), strings.Join(g.Hosts, ", "), grantLimits(g), lastUse(s, g.Server))
		}
	}
	t.print(c.out, c.style)
	c.showWanted(all.Secrets)
}

func secretState(s api.Secret) string {
	switch {
	case s.Missing:
		return "missing"
	case s.Expired:
		return "expired"
	case s.Expires != nil:
		return "until " + day(s.Expires)
	case s.FromCommand:
		return "by a command"
	}
	return "stored"
}

func grantMode(g api.SecretGrant) string {
	mode := g.Mode
	if g.Weaker {
		mode += " (weaker)"
	}
	if !g.InForce {
		mode += ", over"
	}
	return mode
}

// grantPlace is where a server finds it, or, at a url, where it is sent.
func grantPlace(g api.SecretGrant) string {
	if found := g.Env + g.File + strings.TrimSuffix(g.Arg, "="); found != "" || g.Mode != "sent" {
		return found
	}
	var all []string
	for _, p := range g.Places {
		all = append(all, p.In+" "+p.Name)
	}
	return strings.Join(all, ", ")
}

func grantLimits(g api.SecretGrant) string {
	words := or(strings.Join(g.Tools, ", "), "any")
	if g.Ask {
		words += ", asks"
	}
	return words + until(g.Until, ", until ")
}

// lastUse is when a secret was used last, if that was by this server; "" means by any.
func lastUse(s api.Secret, server string) string {
	if s.LastUse == nil || server != "" && s.LastUse.Server != server {
		return "-"
	}
	return day(&s.LastUse.At)
}

func (c *cli) showWanted(all []api.Secret) {
	first := "\n"
	for _, s := range all {
		if s.Missing || s.Expired {
			printTo(c.out, "%s%s is wanted, and %s: %s\n", first, safe(s.Name), secretState(s), c.style.dim("garita secret set "+safe(s.Name)))
			first = ""
		}
	}
}

func (c *cli) secretRemoveCommand() *cobra.Command {
	var yes bool
	cmd := &cobra.Command{
		Use: "remove NAME", Aliases: []string{"rm"}, Short: "Forget a secret and who may use it", Args: usage(cobra.ExactArgs(1)),
		Long: "Forget a secret's value, and take it from every server at once. Servers that hold the value themselves end.",
	}
	cmd.Flags().BoolVarP(&yes, "yes", "y", false, "do not ask")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if err := c.reachable(cmd.Context()); err != nil {
			return err
		}
		if err := c.confirm(cmd.CommandPath(), "Forget "+safe(args[0])+"?", yes); err != nil {
			return err
		}
		if err := c.client.RemoveSecret(cmd.Context(), args[0]); err != nil {
			return err
		}
		printTo(c.err, "%s: removed\n", safe(args[0]))
		return nil
	}
	return cmd
}

func (c *cli) secretRotateCommand() *cobra.Command {
	var since string
	var forget bool
	cmd := &cobra.Command{
		Use: "rotate NAME", Short: "On suspicion: end all use of a secret at once, and see what it was used for", Args: usage(cobra.ExactArgs(1)),
		Long: "End all use of a secret at once: its value is forgotten, servers that hold it themselves end, and it is listed what it was\n" +
			"used for. Who may use it stays, and comes to life with the value that is set next; with --forget-grants it does not stay.",
		Example: "  garita secret rotate github-token --since 7d",
	}
	cmd.Flags().StringVar(&since, "since", "", "list its uses since `WHEN`: 7d, 12h, 2027-01-31; all on record without it")
	cmd.Flags().BoolVar(&forget, "forget-grants", false, "take it from all servers for good: the next value is nobody's until it is granted")
	asJSON := jsonFlag(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		from, err := past("--since", since, time.Now())
		if err != nil {
			return usageError{cmd.CommandPath(), err}
		}
		if err := c.reachable(cmd.Context()); err != nil {
			return err
		}
		r, err := c.client.RotateSecret(cmd.Context(), args[0], from, forget)
		if err != nil {
			return err
		}
		if *asJSON {
			return c.printJSON(r)
		}
		c.showRotation(args[0], r)
		return nil
	}
	return cmd
}

// past is when something began: so long ago, on a day, or at a time; the zero time for "".
func past(flag, text string, now time.Time) (time.Time, error) {
	if text == "" {
		return time.Time{}, nil
	}
	if at, err := time.Parse(time.RFC3339, text); err == nil {
		return at, nil
	}
	if at, err := time.ParseInLocation(time.DateOnly, text, now.Location()); err == nil {
		return at, nil
	}
	ahead, err := expiry(text, now)
	if err != nil {
		return time.Time{}, fmt.Errorf("%s %s: want a time such as 7d or 12h, or a day such as 2027-01-31", flag, safe(text))
	}
	return now.Add(-ahead.Sub(now)), nil
}

func (c *cli) showRotation(name string, r api.SecretRotation) {
	if len(r.Uses) == 0 {
		printTo(c.out, "No use of it is on record.\n")
	} else {
		t := table{head: []string{"used", "server", "agent", "version", "sent to", "calls"}}
		for _, u := range r.Uses {
			t.add(u.At.Local().Format("2006-01-02 15:04:05"), u.Server, u.Agent, itoa(int(u.Version)), or(u.Host, "handed to the server"), strings.Join(u.Calls, ", "))
		}
		t.print(c.out, c.style)
	}
	printTo(c.out, "\n%s: nobody can use it any more", safe(name))
	if len(r.Revoked) > 0 {
		printTo(c.out, " (%s could)", safe(strings.Join(r.Revoked, ", ")))
	}
	if r.Ended > 0 {
		printTo(c.out, "; ended: %s", sandboxes(r.Ended))
	}
	printTo(c.out, ".\nNow have its issuer revoke the old value, and store the new one: %s\n", c.style.bold("garita secret set "+safe(name)))
}
