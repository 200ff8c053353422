package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/garita-dev/garita/assets"
	"github.com/garita-dev/garita/daemon/api"
)

func (c *cli) policyCommand() *cobra.Command {
	return family("policy", "Your own rules about calls",
		c.policyShowCommand(), c.policyInitCommand(), c.policyCheckCommand(), c.policyTestCommand(),
		c.policyExplainCommand(), c.policyClassifyCommand(), c.policyReplayCommand(), c.policyAcceptCommand(), c.policySchemaCommand())
}

// policyPath is where policy.yaml is kept.
func policyPath() (string, error) {
	d, err := api.FindDirs()
	return filepath.Join(d.Config, "policy.yaml"), err
}

// readPolicy reads a file, of which more than a policy may have is enough to refuse it.
func readPolicy(name string) ([]byte, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	return io.ReadAll(io.LimitReader(f, 1<<20))
}

func (c *cli) policyInitCommand() *cobra.Command {
	return &cobra.Command{
		Use: "init", Short: "Write a policy to start with", Args: usage(cobra.NoArgs),
		Long: "Write a policy to start with, if there is none: no rules, and the usual ones as comments.",
		RunE: func(*cobra.Command, []string) error {
			name, err := policyPath()
			if err != nil {
				return err
			}
			if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
				return err
			}
			f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
			if errors.Is(err, fs.ErrExist) {
				return fmt.Errorf("there is a policy at %s already, and it stays as it is\n  garita policy check", safe(name))
			}
			if err != nil {
				return err
			}
			_, err = f.Write(assets.Policy)
			if err := errors.Join(err, f.Close()); err != nil {
				return err
			}
			printTo(c.out, "%s\n", safe(name))
			return nil
		},
	}
}

func (c *cli) showPolicyProblems(problems []api.PolicyProblem) {
	for _, p := range problems {
		at := p.File
		if p.Line > 0 {
			at += ":" + itoa(p.Line)
		}
		printTo(c.out, "%s: %s\n", c.style.bold(safe(at)), c.style.red(safe(p.What)))
		for _, more := range []string{p.Why, p.Next} {
			if more != "" {
				printTo(c.out, "  %s\n", safe(more))
			}
		}
	}
}

// ruleLine is one rule: its effect, what it is about, where it stands.
func (c *cli) ruleLine(r api.PolicyRule) string {
	name := ""
	if r.Name != "" {
		name = safe(r.Name) + ": "
	}
	return "  " + c.style.word(pad(r.Effect, 5)) + "  " + name + safe(r.Words) + "  " + c.style.dim(safe(filepath.Base(r.Origin)))
}

func (c *cli) policyShowCommand() *cobra.Command {
	cmd := &cobra.Command{Use: "show", Short: "Show the rules in force", Args: usage(cobra.NoArgs)}
	asJSON := jsonFlag(cmd)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if err := c.reachable(cmd.Context()); err != nil {
			return err
		}
		p, err := c.client.Policy(cmd.Context())
		if err != nil {
			return err
		}
		if *asJSON {
			return c.printJSON(p)
		}
		c.showPolicy(p)
		return nil
	}
	return cmd
}

func (c *cli) showPolicy(p api.Policy) {
	c.showPolicyProblems(p.Problems)
	switch p.State {
	case "none":
		printTo(c.out, "There is no %s: the default policy decides alone.\n", safe(p.File))
	case "ok":
		printTo(c.out, "%s, in force since %s\n", safe(p.File), p.Since.Local().Format("2006-01-02 15:04:05"))
	case "refused":
		printTo(c.out, "%s The rules of before stay in force:\n", c.style.red("The file is wrong."))
	default:
		printTo(c.out, "%s Everything asks until it is put right, reads too.\n", c.style.red("The file is wrong, and nothing was in force before."))
	}
	for _, r := range p.Rules {
		printTo(c.out, "%s\n", c.ruleLine(r))
	}
	for _, w := range p.Warnings {
		printTo(c.out, "%s %s: %s\n", c.style.amber("note:"), safe(w.Origin), safe(w.Text))
	}
	printTo(c.out, "\n%s\n", c.style.dim("where no rule matches:"))
	for _, s := range p.Default {
		printTo(c.out, "  %s\n", safe(s))
	}
	for _, project := range p.Projects {
		printTo(c.out, "\n%s policy of %s\n", c.style.word(safe(project.State)), safe(project.Dir))
		if project.State != "accepted" {
			printTo(c.out, "  garita policy accept %s\n", safe(commandLine([]string{project.Dir})))
		}
	}
}

// reached has a running daemon answer ask, and prints what it said.
func reached[T any](ctx context.Context, c *cli, asJSON bool, ask func() (T, error), show func(T)) error {
	if err := c.reachable(ctx); err != nil {
		return err
	}
	answer, err := ask()
	if err != nil {
		return err
	}
	if asJSON {
		return c.printJSON(answer)
	}
	show(answer)
	return nil
}

// listed joins names for a sentence; "nothing" for none.
func listed(names []string) string { return or(strings.Join(names, ", "), "nothing") }
