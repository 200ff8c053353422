//go:build !thin

package main

import (
	"errors"
	"io"
	"io/fs"

	"github.com/spf13/cobra"

	"github.com/garita-dev/garita/daemon"
	"github.com/garita-dev/garita/daemon/api"
)

// policyFile reads the file that args name, "-" for standard input, or policy.yaml. The name is for messages.
func (c *cli) policyFile(args []string) (name string, data []byte, err error) {
	if len(args) > 0 && args[0] == "-" {
		data, err = io.ReadAll(io.LimitReader(c.in, 1<<20))
		return "standard input", data, err
	}
	if len(args) > 0 {
		name = args[0]
	} else if name, err = policyPath(); err != nil {
		return "", nil, err
	}
	data, err = readPolicy(name)
	return name, data, err
}

func (c *cli) policySchemaCommand() *cobra.Command {
	return &cobra.Command{
		Use: "schema", Short: "Print the JSON Schema of policy.yaml", Args: usage(cobra.NoArgs),
		RunE: func(*cobra.Command, []string) error {
			_, err := c.out.Write(daemon.PolicySchema())
			return err
		},
	}
}

func (c *cli) policyCheckCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use: "check [FILE]", Short: "Say what is wrong with a policy", Args: usage(cobra.MaximumNArgs(1)),
		Long: "Say what is wrong with a policy file, and what in it may not be meant. No daemon is needed.\nWithout FILE it is your policy.yaml; - is standard input. Exit code 1 when the file is wrong.",
	}
	asJSON := jsonFlag(cmd)
	cmd.RunE = func(_ *cobra.Command, args []string) error {
		name, data, err := c.policyFile(args)
		if errors.Is(err, fs.ErrNotExist) && len(args) == 0 {
			printTo(c.err, "There is no %s: the default policy decides alone.\n  garita policy init\n", safe(name))
			data, err = nil, nil
		}
		if err != nil {
			return err
		}
		check := daemon.CheckPolicy(name, data)
		if *asJSON {
			err = c.printJSON(check)
		} else {
			c.showPolicyCheck(check)
		}
		if err == nil && !check.OK {
			return silent{exitFailed}
		}
		return err
	}
	return cmd
}

func (c *cli) showPolicyCheck(check api.PolicyCheck) {
	c.showPolicyProblems(check.Problems)
	if !check.OK {
		return
	}
	printTo(c.out, "%s, %s\n", c.style.green("ok"), count(len(check.Rules), "rule"))
	for _, r := range check.Rules {
		printTo(c.out, "%s\n", c.ruleLine(r))
	}
	for _, w := range check.Warnings {
		printTo(c.out, "%s %s: %s\n", c.style.amber("note:"), safe(w.Origin), safe(w.Text))
	}
}

func (c *cli) policyTestCommand() *cobra.Command {
	var file string
	cmd := &cobra.Command{
		Use: "test FILE", Short: "Try a policy on made-up calls", Args: usage(cobra.ExactArgs(1)),
		Long: "Try a policy on the cases of FILE: calls, and the effect you expect. No daemon is needed, and nothing is called.\nExit code 1 when a case comes out otherwise.",
		Example: "  # cases.yaml\n  version: 1\n  cases:\n    - {server: files, tool: write_file, class: write, arguments: {path: /etc/passwd}, expect: deny}\n\n" +
			"  garita policy test cases.yaml",
	}
	cmd.Flags().StringVar(&file, "policy", "", "the policy `FILE` to try; policy.yaml without it")
	asJSON := jsonFlag(cmd)
	cmd.RunE = func(_ *cobra.Command, args []string) error {
		test, err := c.tryPolicy(file, args[0])
		if err != nil {
			return err
		}
		if *asJSON {
			err = c.printJSON(test)
		} else {
			c.showPolicyTest(test)
		}
		if err == nil && !test.OK {
			return silent{exitFailed}
		}
		return err
	}
	return cmd
}

func (c *cli) tryPolicy(file, cases string) (api.PolicyTest, error) {
	var named []string
	if file != "" {
		named = []string{file}
	}
	name, data, err := c.policyFile(named)
	if err != nil && !(errors.Is(err, fs.ErrNotExist) && file == "") {
		return api.PolicyTest{}, err
	}
	text, err := readPolicy(cases)
	if err != nil {
		return api.PolicyTest{}, err
	}
	return daemon.TryPolicy(name, data, cases, text)
}

func (c *cli) showPolicyTest(test api.PolicyTest) {
	t := table{head: []string{"line", "case", "expected", "got", "by"}}
	wrong := 0
	for _, k := range test.Cases {
		t.add(itoa(k.Line), or(k.Name, k.Server+" "+k.Tool), k.Expect, k.Got, k.By)
		if k.Wrong != "" {
			wrong++
		}
	}
	t.print(c.out, c.style)
	if wrong == 0 {
		printTo(c.out, "\n%s, %s as expected\n", c.style.green("ok"), count(len(test.Cases), "case"))
		return
	}
	printTo(c.out, "\n%s of %s:\n", c.style.red(count(wrong, "difference")), count(len(test.Cases), "case"))
	for _, k := range test.Cases {
		if k.Wrong != "" {
			printTo(c.out, "  %s:%d %s: %s. %s\n", safe(test.File), k.Line, safe(or(k.Name, k.Tool)), safe(k.Wrong), safe(k.Reason))
		}
	}
}
