package approvals

import (
	"fmt"

	"github.com/garita-dev/garita/sandbox"
)

// Standing is what is remembered about a tool when a call of it is judged. The zero Standing is a
// tool nothing is held against.
type Standing struct {
	Demoted string // why it may no longer pass as a read; "" when it may
	// Held is why the tool does not exist for its clients until a person has seen it, and what to do; "" when it does.
	Held string
}

// The rules of the default policy, as Decisions name them.
const (
	RuleReads     = "default rule 1 (reads pass)"
	RuleAsk       = "default rule 2 (everything else asks)"
	RuleUnlisted  = "default rule 3 (tools the server never listed are refused)"
	RuleArguments = "default rule 4 (credential-like and very large arguments ask)"
	RuleDemoted   = "default rule 5 (a read that changed something asks)"
	RuleExternal  = "default rule 8 (servers that run elsewhere ask)"
	RuleContinues = "default rule 7 (a call that was let through may go on after the server's own question)"
	RuleDirect    = "default rule 6 (in direct mode everything asks)"
	RuleHeld      = "default rule 9 (what has not been seen by a person since it changed is refused)"
)

// Evaluate decides c by the default policy: what is surely read-only passes, a tool the server
// never listed is refused, everything else asks. It is pure, and what it does not know it asks about.
func Evaluate(c Call, s Standing) Decision {
	d := Decision{Effect: Ask, Class: settled(c.Class)}
	risk := risky(c.Arguments)
	switch {
	case c.Tool == "" || c.Pin == "":
		d.Effect, d.Rule = Deny, RuleUnlisted
		d.Reason = fmt.Sprintf("The server %s never listed a tool named %q.", c.Server, c.Tool)
	case s.Held != "":
		d.Effect, d.Rule, d.Reason = Deny, RuleHeld, sentence(s.Held)
	case c.Continues != "" && s.Demoted == "":
		d.Effect, d.Rule, d.Reason = Allow, RuleContinues, fmt.Sprintf("It takes up %s, with the answers to what the server asked.", c.Continues)
	case risk != "":
		d.Rule, d.Reason = RuleArguments, fmt.Sprintf("%s asks because %s.", c.Tool, risk)
	case s.Demoted != "":
		d.Rule, d.Reason = RuleDemoted, fmt.Sprintf("%s no longer passes as a read: %s", c.Tool, sentence(s.Demoted))
	case c.Class == Read && c.External:
		d.Rule, d.Reason = RuleExternal, fmt.Sprintf("%s runs outside of Garita's walls, where nobody sees what %s does.", c.Server, c.Tool)
	case c.Class == Read && !confined(c.Mode):
		d.Rule, d.Reason = RuleDirect, fmt.Sprintf("%s works on your files directly, with nothing in between that could be undone.", c.Tool)
	case c.Class == Read:
		d.Effect, d.Rule, d.Reason = Allow, RuleReads, because("reads only", c.ClassWhy)
	default:
		d.Rule, d.Reason = RuleAsk, because(classWords(c.Class), c.ClassWhy)
	}
	return d
}

// settled is c, or Write where c says nothing definite.
func settled(c Class) Class {
	switch c {
	case Read, Write, Destroy, Execute:
		return c
	default:
		return Write
	}
}

// confined says whether a mode keeps what a read does by stealth away from the person's files.
func confined(m sandbox.WorkspaceMode) bool {
	switch m {
	case "", sandbox.Snapshot, sandbox.ReadOnly, sandbox.None:
		return true
	default: // Direct, or a mode we do not know
		return false
	}
}

// classWords says what a call of class c does, as the end of "It …".
func classWords(c Class) string {
	switch c {
	case Write:
		return "may change something"
	case Destroy:
		return "may destroy or publish something that cannot be taken back"
	case Execute:
		return "runs commands or code"
	default:
		return "is not known to be read-only"
	}
}

// because joins what a call does and how that is known into one sentence.
func because(does, why string) string {
	if why == "" {
		return "It " + does + "."
	}
	return "It " + does + ": " + sentence(why)
}

// sentence ends s with a full stop.
func sentence(s string) string {
	if s == "" || s[len(s)-1] == '.' {
		return s
	}
	return s + "."
}
