// Package grants keeps what a person has permitted beyond one call: which calls a permission
// covers, what it says in words, and which permissions can be offered for a call.
//
// A permission is compared with a call byte for byte where it says so and by declared pattern where
// it does not; what cannot be read with certainty is never covered. Shell lines are parsed, and each
// simple command in them must be covered: a line is never compared as text.
package grants

import (
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"strings"
	"time"

	"github.com/containerd/errdefs"

	"github.com/garita-dev/garita/approvals"
	"github.com/garita-dev/garita/sandbox"
)

// maxArguments bounds how many arguments one permission may name.
const maxArguments = 16

// Make is the grant that follows from a person's yes to r, by whom, with permission p. It covers the
// call that was asked about. Kinds: InvalidArgument, saying what to choose instead.
func Make(r approvals.Request, p approvals.Permission, by string, now time.Time) (approvals.Grant, error) {
	c := r.Call
	g := approvals.Grant{
		Scope: p.Scope, Principal: c.Principal, Server: c.Server, Spec: c.Spec, Tool: c.Tool, Pin: c.Pin,
		Class: r.Why.Class, Sensitive: c.Sensitive != "", Arguments: p.Arguments,
		Request: r.ID, By: by, Created: now,
	}
	if r.Kind == approvals.KindNetwork {
		return makeHost(r, g, p, now)
	}
	if r.Kind == approvals.KindSecret {
		return makeSecret(r, g, p, now)
	}
	if r.Subject.Exec != nil {
		return makeExec(r, g, p, now)
	}
	switch p.Scope {
	case approvals.ScopeSession:
		g.Session = c.Session
	case approvals.ScopeUntil:
		g.Until = p.Until
	case approvals.ScopeCollect:
		g.Tool, g.Pin, g.Class, g.Sensitive, g.Workspace = "", "", "", false, c.Workspace
	case approvals.ScopeAlways, approvals.ScopeOnce:
	}
	if err := check(r, g, now); err != nil {
		return approvals.Grant{}, fmt.Errorf("allow more than this call: %w: %w", err, errdefs.ErrInvalidArgument)
	}
	g.ID = newID()
	return g, nil
}

// newID is "g" and 64 random bits in hex.
func newID() approvals.GrantID {
	var b [8]byte
	_, _ = rand.Read(b[:]) // never fails
	return approvals.GrantID("g" + hex.EncodeToString(b[:]))
}

func check(r approvals.Request, g approvals.Grant, now time.Time) error {
	if r.Kind != approvals.KindCall && r.Kind != approvals.KindCommand {
		return fmt.Errorf("a question about %q can only be answered once", r.Kind)
	}
	if err := checkScope(r.Call, g, now); err != nil {
		return err
	}
	if err := checkArguments(g); err != nil {
		return err
	}
	c := r.Call
	c.Class = r.Why.Class
	if !cover([]approvals.Grant{g}, c, now).covered() {
		return fmt.Errorf("it would not cover the call that it answers; choose other arguments")
	}
	return nil
}

func checkScope(c approvals.Call, g approvals.Grant, now time.Time) error {
	switch g.Scope {
	case approvals.ScopeSession:
	case approvals.ScopeUntil:
		if !now.Before(g.Until) {
			return fmt.Errorf("it would have ended already; name a time to come")
		}
	case approvals.ScopeAlways:
		if g.Class == approvals.Destroy && !exact(g.Arguments) {
			return fmt.Errorf("what cannot be taken back is always allowed with exact arguments only; name each by its whole value")
		}
	case approvals.ScopeCollect:
		return checkCollect(c, g)
	default:
		return fmt.Errorf("%q is no scope that is remembered; choose session, until, always or collect", g.Scope)
	}
	return nil
}

func checkCollect(c approvals.Call, g approvals.Grant) error {
	switch {
	case len(g.Arguments) > 0:
		return fmt.Errorf("collecting is for a whole server and takes no arguments")
	case !collects(c):
		return fmt.Errorf("changes can be collected only in a snapshot workspace of a server that runs here")
	}
	return nil
}

// collects says whether what c's server does to files can be collected.
func collects(c approvals.Call) bool {
	return c.Mode == sandbox.Snapshot && !c.External && c.Workspace != ""
}

// exact says whether every argument that is named is named by its whole value.
func exact(arguments []approvals.Argument) bool {
	for _, a := range arguments {
		if a.Equals == "" {
			return false
		}
	}
	return len(arguments) > 0
}

func checkArguments(g approvals.Grant) error {
	if len(g.Arguments) > maxArguments {
		return fmt.Errorf("it names %d arguments, more than %d", len(g.Arguments), maxArguments)
	}
	if g.Class == approvals.Execute && len(g.Arguments) == 0 {
		return fmt.Errorf("commands and code are allowed only as they are, or by the words a command begins with")
	}
	for _, a := range g.Arguments {
		if err := checkArgument(g.Class, a); err != nil {
			return fmt.Errorf("argument %q: %w", a.Path, err)
		}
	}
	return nil
}

func checkArgument(class approvals.Class, a approvals.Argument) error {
	set := 0
	for _, s := range [...]string{a.Equals, a.Prefix, a.Command} {
		if s != "" {
			set++
		}
	}
	switch {
	case set != 1:
		return fmt.Errorf("want one of a value, a beginning or a command")
	case a.Path != "" && !strings.HasPrefix(a.Path, "/"):
		return fmt.Errorf("want a JSON pointer such as /path")
	case a.Equals != "" && canonical([]byte(a.Equals)) == nil:
		return fmt.Errorf("its value is no JSON")
	case a.Prefix != "" && class == approvals.Execute:
		return fmt.Errorf("commands are not compared by their beginning: name a whole value, or the words of a simple command")
	case a.Prefix != "":
		return checkPrefix(a.Prefix)
	case a.Command != "" && class != approvals.Execute:
		return fmt.Errorf("it is no command")
	case a.Command != "" && pattern(a.Command) == nil:
		return fmt.Errorf("%q is no simple command; write plain words such as git status", a.Command)
	}
	return nil
}

// checkPrefix refuses beginnings that would reach beyond a folder.
func checkPrefix(prefix string) error {
	switch {
	case !strings.HasSuffix(prefix, "/"):
		return fmt.Errorf("a beginning ends in a slash, such as src/")
	case !plainPath(prefix):
		return fmt.Errorf("a beginning has no .. and no control characters")
	case strings.Trim(prefix, "./") == "":
		return fmt.Errorf("%q is every place there is; name a folder", prefix)
	}
	return nil
}
