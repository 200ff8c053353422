package grants

import (
	"fmt"
	"strings"
	"time"

	"github.com/garita-dev/garita/approvals"
	"github.com/garita-dev/garita/sandbox"
)

// Words says what g permits, in a clause that a person can check: the tool, how long, and what its
// arguments must be.
func Words(g approvals.Grant) string {
	if g.Scope == approvals.ScopeCollect {
		return fmt.Sprintf("%s may change files of its workspace without asking; you see them all before they reach your own files", g.Server)
	}
	for _, about := range []struct{ host, may string }{
		{Host(g), "reach"}, {UploadHost(g), "send any amount to"}, {CredentialsHost(g), "send what looks like credentials to"},
	} {
		if about.host != "" {
			return fmt.Sprintf("%s, as it is defined now, may %s %s, %s", g.Server, about.may, about.host, howLong(g))
		}
	}
	if host, key := HostKey(g); host != "" {
		return fmt.Sprintf("%s may be known to %s, as it is defined now, by the key %s, %s", host, g.Server, key, howLong(g))
	}
	if name, host := Secret(g); strings.HasPrefix(name, "SHA256:") {
		return fmt.Sprintf("%s, as it is defined now, may sign in at %s with your ssh key %s, %s", g.Server, host, name, howLong(g))
	} else if name != "" {
		return fmt.Sprintf("%s, as it is defined now, may use the secret %s toward %s, %s", g.Server, name, host, howLong(g))
	}
	if pattern := Exec(g); pattern != "" {
		return fmt.Sprintf("%s, as it is defined now, may execute %s, %s", g.Server, short(sandbox.ExecPatternWords(pattern)), howLong(g))
	}
	return fmt.Sprintf("%s of %s, as it is defined now, %s, %s", g.Tool, g.Server, howLong(g), with(g))
}

func howLong(g approvals.Grant) string {
	switch g.Scope {
	case approvals.ScopeSession:
		return "until this session ends"
	case approvals.ScopeUntil:
		return "until " + g.Until.Local().Format("2 January 15:04")
	case approvals.ScopeAlways:
		return "always"
	case approvals.ScopeOnce, approvals.ScopeCollect:
	}
	return "once"
}

func with(g approvals.Grant) string {
	if len(g.Arguments) == 0 {
		return "whatever its arguments are"
	}
	parts := make([]string, 0, len(g.Arguments))
	for _, a := range g.Arguments {
		parts = append(parts, argument(a))
	}
	said := "with " + strings.Join(parts, " and ")
	if whole(g) {
		return said
	}
	return said + "; its other arguments may be anything"
}

func argument(a approvals.Argument) string {
	name := strings.TrimPrefix(a.Path, "/")
	switch {
	case a.Path == "":
		return "exactly these arguments: " + short(a.Equals)
	case a.Equals != "":
		return name + " exactly " + short(a.Equals)
	case a.Prefix != "":
		return name + " in " + a.Prefix
	}
	return name + " made of commands like " + a.Command
}

// short bounds a value in a sentence.
func short(s string) string {
	const limit = 120
	if len(s) <= limit {
		return s
	}
	return strings.ToValidUTF8(s[:limit], "") + "…"
}

// Offer is a permission that can be given with a yes, in words.
type Offer struct {
	Permission approvals.Permission
	Words      string
	Matches    []approvals.Call // of the calls that were asked about lately or wait now, those it covers
}

// WordsOnce is what a yes permits by itself.
const WordsOnce = "this one, and nothing else"

// hour is how long ScopeUntil is offered for; a person may name another time.
const hour = time.Hour

// Offers are the permissions that can be given with a yes to r, the narrowest first; the first is
// once, and collecting comes last. lately are the calls that their preview is made from.
func Offers(r approvals.Request, lately []approvals.Call, now time.Time) []Offer {
	offers := []Offer{{Permission: approvals.Permission{Scope: approvals.ScopeOnce}, Words: WordsOnce}}
	if r.Kind == approvals.KindNetwork || r.Kind == approvals.KindSecret {
		return timedOffers(r, offers, now)
	}
	if r.Subject.Exec != nil {
		return execOffers(r, offers, now)
	}
	if r.Kind != approvals.KindCall && r.Kind != approvals.KindCommand {
		return offers
	}
	for _, arguments := range narrow(r.Call, r.Why.Class) {
		for _, p := range []approvals.Permission{
			{Scope: approvals.ScopeSession, Arguments: arguments},
			{Scope: approvals.ScopeUntil, Until: now.Add(hour).Truncate(time.Minute), Arguments: arguments},
			{Scope: approvals.ScopeAlways, Arguments: arguments},
		} {
			offers = offer(offers, r, p, lately, now)
		}
	}
	if c := r.Why.Class; c == approvals.Write || c == approvals.Read {
		offers = offer(offers, r, approvals.Permission{Scope: approvals.ScopeSession}, lately, now)
	}
	return offer(offers, r, approvals.Permission{Scope: approvals.ScopeCollect}, lately, now)
}

// offer adds p where it is one that can be given.
func offer(offers []Offer, r approvals.Request, p approvals.Permission, lately []approvals.Call, now time.Time) []Offer {
	g, err := Make(r, p, "", now)
	if err != nil {
		return offers
	}
	return append(offers, Offer{p, Words(g), Preview(g, lately, now)})
}
