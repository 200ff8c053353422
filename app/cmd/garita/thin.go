//go:build thin

package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"syscall"

	"github.com/spf13/cobra"
)

// The thin garita leaves the daemon, and what thinks as the daemon does, to garitad, which is the
// same program built whole: a bridge that a client waits for loads none of it (ADR 8).

func (c *cli) runDaemon(context.Context, bool) error { return c.becomeWhole() }

func (c *cli) policyCheckCommand() *cobra.Command {
	return c.wholly("check", "Say what is wrong with a policy")
}

func (c *cli) policyTestCommand() *cobra.Command {
	return c.wholly("test", "Try a policy on made-up calls")
}

func (c *cli) policySchemaCommand() *cobra.Command {
	return c.wholly("schema", "Print the JSON Schema of policy.yaml")
}

func (c *cli) policyClassifyCommand() *cobra.Command {
	return c.wholly("classify", "Say what a server's tools do, by its tools/list answer")
}

func (c *cli) approvalsWatchCommand() *cobra.Command {
	return c.wholly("watch", "Answer questions as they come, in this terminal")
}

// wholly is a command of which only the whole program knows the flags.
func (c *cli) wholly(use, short string) *cobra.Command {
	return &cobra.Command{
		Use: use, Short: short, DisableFlagParsing: true,
		RunE: func(*cobra.Command, []string) error { return c.becomeWhole() },
	}
}

// becomeWhole runs the same command line in the whole program, in place of this one.
func (c *cli) becomeWhole() error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	program := filepath.Join(filepath.Dir(self), "garitad")
	err = syscall.Exec(program, append([]string{"garita"}, os.Args[1:]...), os.Environ())
	return fmt.Errorf("%s belongs beside %s and cannot be run: %w", safe(program), safe(filepath.Base(self)), err)
}
