package policy

import (
	"fmt"
	"slices"
	"strings"

	"github.com/garita-dev/garita/approvals"
)

// Warning is something about a rule that is no fault but may not be meant.
type Warning struct {
	Origin string
	Text   string // one sentence
}

// Review finds what a person may not have meant: rules that are never reached, and rules that allow
// more than they look like.
func Review(p approvals.Policy) []Warning {
	var found []Warning
	for i, r := range p.Rules {
		warn := func(format string, args ...any) {
			found = append(found, Warning{r.Origin, fmt.Sprintf(format, args...)})
		}
		if j := slices.IndexFunc(p.Rules[:i], func(before approvals.Rule) bool { return covers(before, r) }); j >= 0 {
			warn("It is never reached: %s matches whatever it matches.", p.Rules[j].Label())
		}
		if r.Effect != approvals.Allow {
			continue
		}
		switch {
		case open(r.Tools) && open(r.Servers) && len(r.Classes) == 0:
			warn("It allows everything that it does not exclude, deleting, publishing and running commands too; name servers, tools or classes.")
		case len(r.Classes) == 0 && wild(r.Tools):
			warn("It names no classes, so it allows what destroys, publishes and runs commands too; give it classes.")
		}
		if r.CoversRisk {
			warn("It lets arguments through that look like credentials, or are very large.")
		}
		if r.When != nil && strings.Contains(r.When.String(), "startsWith(\"/") {
			warn("startsWith does not see “..” in a path; inside(args.path, \"/folder\") does.")
		}
	}
	return found
}

// covers says whether a matches all that b does, as far as that can be seen without a doubt.
func covers(a, b approvals.Rule) bool {
	return a.When == nil && (a.Sensitive == nil || b.Sensitive != nil && *a.Sensitive == *b.Sensitive) &&
		within(a.Principals, b.Principals) && within(a.Servers, b.Servers) && within(a.Tools, b.Tools) &&
		within(a.Classes, b.Classes) && within(a.Modes, b.Modes)
}

// within says whether a list, where none means all, takes in another.
func within[T ~string](wide, narrow []T) bool {
	if len(wide) == 0 || slices.Contains(wide, "*") {
		return true
	}
	return len(narrow) > 0 && !slices.ContainsFunc(narrow, func(n T) bool { return !slices.Contains(wide, n) })
}

// open says whether a list of patterns leaves nothing out.
func open(patterns []string) bool { return within(patterns, nil) }

// wild says whether patterns may match what nobody has named.
func wild(patterns []string) bool {
	return len(patterns) == 0 || slices.ContainsFunc(patterns, func(p string) bool { return strings.ContainsAny(p, "*?") })
}
