package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"syscall"

	"github.com/containerd/errdefs"
	"github.com/spf13/cobra"

	"github.com/garita-dev/garita/daemon/api"
)

// The exit codes, as documented for scripts.
const (
	exitDone         = 0
	exitFailed       = 1
	exitUsage        = 2
	exitDenied       = 3 // by policy or person
	exitPrecondition = 4 // something is missing: see garita doctor
)

// usageError is a command line that cannot be understood.
type usageError struct {
	command string
	err     error
}

func (u usageError) Error() string { return u.err.Error() }
func (u usageError) Unwrap() error { return u.err }

// silent is an error about which everything has been printed.
type silent struct{ code int }

func (s silent) Error() string { return fmt.Sprintf("exit code %d", s.code) }

// usage makes what a check of arguments complains of a usageError.
func usage(check cobra.PositionalArgs) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if err := check(cmd, args); err != nil {
			return usageError{cmd.CommandPath(), err}
		}
		return nil
	}
}

// finish prints what went wrong, if anything, and chooses the exit code.
func (c *cli) finish(err error) int {
	var s silent
	if err == nil || errors.As(err, &s) {
		return s.code
	}
	printTo(c.err, "%s", describe(err))
	return exitCode(err)
}

// describe says what, why and what to do next.
func describe(err error) string {
	var u usageError
	var away *api.Unreachable
	switch {
	case errors.As(err, &u):
		return fmt.Sprintf("garita: %s\n  %s --help\n", safe(err.Error()), u.command)
	case errors.Is(err, syscall.ENOENT), errors.Is(err, syscall.ECONNREFUSED):
		if errors.As(err, &away) {
			return fmt.Sprintf("garita: no daemon is running: nobody listens at %s\n  garita daemon\n", safe(away.Socket))
		}
		return "garita: " + safeLines(err.Error()) + "\n"
	case errors.As(err, &away):
		return fmt.Sprintf("garita: the daemon does not answer: %s\n  garita daemon\n", safe(away.Err.Error()))
	case errors.Is(err, context.Canceled):
		return "garita: interrupted\n"
	default:
		return "garita: " + safeLines(strings.TrimRight(err.Error(), "\n")) + "\n"
	}
}

func exitCode(err error) int {
	var p *api.Problem
	var u usageError
	var away *api.Unreachable
	switch {
	case errors.As(err, &u):
		return exitUsage
	case errors.As(err, &away), errdefs.IsFailedPrecondition(err):
		return exitPrecondition
	case errors.As(err, &p) && p.Code == "denied":
		return exitDenied
	case errors.As(err, &p) && p.Code == "precondition":
		return exitPrecondition
	default:
		return exitFailed
	}
}
