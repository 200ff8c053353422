package grants

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/containerd/errdefs"

	"github.com/garita-dev/garita/approvals"
	"github.com/garita-dev/garita/sandbox"
)

// execPath is where a grant that is about programs, and not about calls, has its pattern, in JSON. Such a
// grant names no tool, so it covers no call.
const execPath = "/exec"

// makeExec is the grant that follows from a yes to a program: for what a pattern has, which is this very
// command line where none is named.
func makeExec(r approvals.Request, g approvals.Grant, p approvals.Permission, now time.Time) (approvals.Grant, error) {
	pattern := sandbox.ExecPattern(r.Subject.Exec.Line())
	switch {
	case len(p.Arguments) == 1 && p.Arguments[0].Path == execPath:
		pattern = unquoted(p.Arguments[0])
	case len(p.Arguments) > 0:
		return approvals.Grant{}, fmt.Errorf("allow more than this once: name a pattern of commands, and nothing else: %w", errdefs.ErrInvalidArgument)
	}
	if err := checkExec(*r.Subject.Exec, pattern); err != nil {
		return approvals.Grant{}, fmt.Errorf("allow more than this once: %w: %w", err, errdefs.ErrInvalidArgument)
	}
	return makeTimed(r, g, p, now, approvals.Argument{Path: execPath, Equals: strconv.Quote(pattern)})
}

// checkExec says why a pattern cannot be permitted with a yes to x.
func checkExec(x approvals.Execution, pattern string) error {
	if err := sandbox.CheckExecPattern(pattern); err != nil {
		return err
	}
	if program, _, _ := strings.Cut(pattern, " "); !sandbox.NamesProgram(program) {
		return fmt.Errorf("%q names no program", pattern)
	}
	if !x.Seen().Allows(pattern) {
		return fmt.Errorf("%q would not have the command that was asked about, or that is not known in full", pattern)
	}
	return nil
}

// Exec is the pattern of commands that g lets its server execute; "" for a grant about anything else.
func Exec(g approvals.Grant) string { return hostAt(g, execPath) }

// subcommand is a first argument that says what a program does.
var subcommand = regexp.MustCompile(`^[a-z][a-z0-9-]*$`)

// execOffers are the permissions that can be given with a yes to a program: the command line itself, then
// what begins like it.
func execOffers(r approvals.Request, offers []Offer, now time.Time) []Offer {
	x := *r.Subject.Exec
	patterns := []string{sandbox.ExecPattern(x.Line())}
	if len(x.Argv) > 2 && subcommand.MatchString(x.Argv[1]) {
		begins := x
		begins.Argv = x.Argv[:2]
		patterns = append(patterns, sandbox.ExecPattern(begins.Line())+" *")
	}
	for _, pattern := range patterns {
		about := []approvals.Argument{{Path: execPath, Equals: strconv.Quote(pattern)}}
		for _, p := range []approvals.Permission{
			{Scope: approvals.ScopeSession, Arguments: about},
			{Scope: approvals.ScopeUntil, Until: now.Add(hour).Truncate(time.Minute), Arguments: about},
			{Scope: approvals.ScopeAlways, Arguments: about},
		} {
			offers = offer(offers, r, p, nil, now)
		}
	}
	return offers
}
