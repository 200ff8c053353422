package grants

import (
	"slices"
	"strings"
	"time"

	"github.com/garita-dev/garita/approvals"
)

// found is what some grants make of a call.
type found struct {
	grants  []approvals.Grant
	missing string
}

func (f found) covered() bool { return len(f.grants) > 0 }

func (f found) coverage() approvals.Coverage {
	if !f.covered() {
		return approvals.Coverage{Missing: f.missing}
	}
	c := approvals.Coverage{Exact: true}
	var ids, words []string
	for _, g := range f.grants {
		ids = append(ids, string(g.ID))
		words = append(words, Words(g))
		c.Exact = c.Exact && whole(g)
		c.Collect = c.Collect || g.Scope == approvals.ScopeCollect
	}
	c.Grants, c.Words = approvals.GrantIDs(strings.Join(ids, " ")), strings.Join(words, "; and ")
	return c
}

// whole says whether g names a call's arguments as a whole.
func whole(g approvals.Grant) bool {
	return slices.ContainsFunc(g.Arguments, func(a approvals.Argument) bool { return a.Path == "" && a.Equals != "" })
}

// cover finds the grant that covers c, one that names its very arguments first, or those that cover
// the parts of its shell line together.
func cover(all []approvals.Grant, c approvals.Call, now time.Time) found {
	var fit found
	for _, g := range all {
		if !applies(g, c, now) || hasCommand(g) || !holds(g, c.Arguments) {
			continue
		}
		if whole(g) {
			return found{grants: []approvals.Grant{g}}
		}
		if !fit.covered() {
			fit = found{grants: []approvals.Grant{g}}
		}
	}
	if fit.covered() || c.Class != approvals.Execute {
		return fit
	}
	return coverCommands(all, c, now)
}

// applies says whether g is about c at all: everything but the arguments.
func applies(g approvals.Grant, c approvals.Call, now time.Time) bool {
	if !g.Revoked.IsZero() || g.Principal != c.Principal || g.Server != c.Server || g.Spec != c.Spec || g.Spec == "" {
		return false
	}
	switch g.Scope {
	case approvals.ScopeSession:
		if g.Session == "" || g.Session != c.Session {
			return false
		}
	case approvals.ScopeUntil:
		if !now.Before(g.Until) {
			return false
		}
	case approvals.ScopeAlways:
	case approvals.ScopeCollect:
		return g.Workspace == c.Workspace && collects(c) && collected(c)
	default:
		return false
	}
	return g.Tool == c.Tool && g.Pin == c.Pin && g.Pin != "" && g.Class == c.Class && (g.Sensitive || c.Sensitive == "")
}

// collected says whether c is of the kind whose changes are shown at apply. Commands do more than
// change files, and what is sensitive is seen at once.
func collected(c approvals.Call) bool {
	return (c.Class == approvals.Write || c.Class == approvals.Destroy) && c.Sensitive == ""
}

func hasCommand(g approvals.Grant) bool {
	return slices.ContainsFunc(g.Arguments, func(a approvals.Argument) bool { return a.Command != "" })
}

// coverCommands takes c's shell line apart and finds a grant for each part. A line with no part that
// is covered has none missing either.
func coverCommands(all []approvals.Grant, c approvals.Call, now time.Time) found {
	var usable []approvals.Grant
	for _, g := range all {
		if hasCommand(g) && applies(g, c, now) && holds(g, c.Arguments) {
			usable = append(usable, g)
		}
	}
	if len(usable) == 0 {
		return found{}
	}
	pointer := commandOf(usable[0]).Path
	text, ok := line(approvals.Argument{Path: pointer}, c.Arguments)
	if !ok {
		return found{}
	}
	parts, ok := commands(text)
	if !ok {
		return found{}
	}
	return coverParts(usable, pointer, parts)
}

func coverParts(usable []approvals.Grant, pointer string, parts [][]string) found {
	var used found
	for _, words := range parts {
		i := slices.IndexFunc(usable, func(g approvals.Grant) bool {
			a := commandOf(g)
			return a.Path == pointer && fits(words, pattern(a.Command))
		})
		switch {
		case i < 0 && used.missing == "":
			used.missing = strings.Join(words, " ")
		case i >= 0 && !slices.ContainsFunc(used.grants, func(g approvals.Grant) bool { return g.ID == usable[i].ID }):
			used.grants = append(used.grants, usable[i])
		}
	}
	switch {
	case used.missing == "":
		return used
	case used.covered():
		return found{missing: used.missing}
	}
	return found{}
}

// commandOf is the command that g names.
func commandOf(g approvals.Grant) approvals.Argument {
	i := slices.IndexFunc(g.Arguments, func(a approvals.Argument) bool { return a.Command != "" })
	return g.Arguments[i]
}

// Preview is which of calls g would cover, were they made at now by the same session. It is pure.
func Preview(g approvals.Grant, calls []approvals.Call, now time.Time) []approvals.Call {
	var covered []approvals.Call
	for _, c := range calls {
		if cover([]approvals.Grant{g}, c, now).covered() {
			covered = append(covered, c)
		}
	}
	return covered
}
