package approvals

import (
	"fmt"
	"time"

	"github.com/garita-dev/garita/sandbox"
)

// Standing is what is remembered about a tool when a call of it is judged. The zero Standing is a
// tool nothing is held against.
type Standing struct {
	Demoted string // why it may no longer pass as a read; "" when it may
	Held    string // why it may not be called at all before a person has looked at it; "" when it may
	// Observed is since when a person watches the server and is asked about everything: what was permitted
	// before that does not count. Zero when nobody does.
	Observed time.Time
}

// The rules of the default policy, as Decisions name them.
const (
	RuleReads     = "default rule 1 (reads pass)"
	RuleAsk       = "default rule 2 (everything else asks)"
	RuleUnlisted  = "default rule 3 (tools the server never listed are refused)"
	RuleArguments = "default rule 4 (credential-like and very large arguments ask)"
	RuleDemoted   = "default rule 5 (a read that changed something asks)"
	RuleDirect    = "default rule 6 (in direct mode everything asks)"
	RuleContinues = "default rule 7 (a call that was let through may go on after the server's own question)"
	RuleExternal  = "default rule 8 (servers that run elsewhere ask)"
	RuleSensitive = "default rule 9 (reads of secrets and of other people's data ask)"
	RuleHeld      = "default rule 10 (tools nobody has reviewed are held back)"
	RuleDoubt     = "default rule 12 (what an agent does after a result that reads like instructions asks)"
	RuleInput     = "default rule 13 (answers to a question the server is not known to have asked ask)"
	RuleNoPolicy  = "default rule 11 (with no policy that can be read, reads ask too)"
	RuleObserved  = "default rule 14 (of a server that is observed, everything asks)"
)

// Evaluate decides c. What cannot be allowed at all is refused first; then the person's policy
// speaks, then what the person has permitted before, then the default policy: what is surely
// read-only passes, and everything else asks. A rule that denies is stronger than any permission; a
// permission answers a rule that asks. It is pure but for now, g may be nil, and what it does not
// know it asks about.
func Evaluate(c Call, s Standing, p Policy, g Grants, now time.Time) Decision {
	c.Class = settled(c.Class)
	if s.Demoted != "" && c.Class == Read {
		c.Class = Write // no longer taken for a read, by rules and permissions alike
	}
	if d, refused := refuse(c, s); refused {
		return d
	}
	risk := RiskOf(c)
	d, ruled := byPolicy(c, p, risk, now)
	switch {
	case d.Effect == Deny:
		return d
	case c.Continues != "" && s.Demoted == "" && risky(c.Input) == "":
		return decide(c, Allow, RuleContinues, fmt.Sprintf("It takes up %s, with the answers to what the server asked.", c.Continues))
	case !s.Observed.IsZero() && (!ruled || d.Effect == Allow):
		d = decide(c, Ask, RuleObserved, fmt.Sprintf("%s is observed, so you are asked about all that it does.", c.Server))
	case !ruled:
		d = byDefault(c, s, p, risk)
	}
	if c.Doubt != "" && c.Class != Read {
		return doubted(c, d)
	}
	if c.Continues == "" && (c.Input != nil || c.State != nil) { // no rule or permission speaks of these
		return decide(c, Ask, RuleInput, "It comes with answers to a question that the server is not known to have asked; they are shown with the call.")
	}
	if d.Effect == Ask && g != nil {
		return byGrants(c, d, g.Cover(c, now), risk)
	}
	return d
}

func decide(c Call, e Effect, rule, reason string) Decision {
	return Decision{Effect: e, Class: c.Class, Rule: rule, Reason: reason}
}

// refuse turns away what nothing can allow.
func refuse(c Call, s Standing) (Decision, bool) {
	switch {
	case c.Tool == "" || c.Pin == "":
		return decide(c, Deny, RuleUnlisted, fmt.Sprintf("The server %s never listed a tool named %q.", c.Server, c.Tool)), true
	case s.Held != "":
		return decide(c, Deny, RuleHeld, fmt.Sprintf("%s is held back until a person has reviewed it: %s", c.Tool, sentence(s.Held))), true
	}
	return Decision{}, false
}

// doubted is d for a call that may be somebody else's idea: rules and permissions were given for the
// person's own.
func doubted(c Call, d Decision) Decision {
	if d.Effect == Allow {
		d = decide(c, Ask, RuleDoubt, "It would be let through otherwise.")
	}
	d.Reason += " " + sentence(c.Doubt)
	return d
}

// byPolicy is what the person's own rules say; ruled is false where they say nothing.
func byPolicy(c Call, p Policy, risk string, now time.Time) (d Decision, ruled bool) {
	r, found := p.Match(c, now)
	if !found {
		return Decision{}, false
	}
	if r.Effect == Allow && risk != "" && !r.CoversRisk {
		return decide(c, Ask, RuleArguments, fmt.Sprintf("%s allows it, but not that %s.", r.Label(), risk)), true
	}
	switch r.Effect {
	case Allow:
		return decide(c, Allow, r.Label(), orElse(r.Reason, "The policy allows it.")), true
	case Ask:
		return decide(c, Ask, r.Label(), orElse(r.Reason, "The policy asks about it.")), true
	default: // Deny, or what is no effect
		return decide(c, Deny, r.Label(), orElse(r.Reason, "The policy denies it.")), true
	}
}

// byDefault is the default policy.
func byDefault(c Call, s Standing, p Policy, risk string) Decision {
	switch {
	case risk != "":
		return decide(c, Ask, RuleArguments, fmt.Sprintf("%s asks because %s.", c.Tool, risk))
	case s.Demoted != "":
		return decide(c, Ask, RuleDemoted, fmt.Sprintf("%s no longer passes as a read: %s", c.Tool, sentence(s.Demoted)))
	case c.Class != Read:
		return decide(c, Ask, RuleAsk, because(classWords(c.Class), c.ClassWhy))
	case c.External && c.Profile == "":
		return decide(c, Ask, RuleExternal, fmt.Sprintf("%s runs outside of Garita's walls, where nobody sees what %s does.", c.Server, c.Tool))
	case !confined(c.Mode) && (c.Mode != sandbox.Direct || c.Profile == ""):
		return decide(c, Ask, RuleDirect, fmt.Sprintf("%s works on your files directly, with nothing in between that could be undone.", c.Tool))
	case c.Sensitive != "":
		return decide(c, Ask, RuleSensitive, fmt.Sprintf("%s only reads, but %s", c.Tool, sentence(c.Sensitive)))
	case p.ReadsAsk:
		return decide(c, Ask, RuleNoPolicy, "The policy file cannot be read, so nobody knows what you want let through.")
	}
	return decide(c, Allow, RuleReads, because("reads only", c.ClassWhy))
}

// byGrants is d, which asks, unless what was permitted before covers c. Credential-like and very
// large arguments are covered only by a permission that names these very arguments.
func byGrants(c Call, d Decision, found Coverage, risk string) Decision {
	switch {
	case found.Grants == "" && found.Missing != "":
		d.Reason = fmt.Sprintf("%s Nothing you have allowed covers “%s”.", d.Reason, found.Missing)
		return d
	case found.Grants == "" || risk != "" && !found.Exact:
		return d
	}
	d = decide(c, Allow, "grant "+string(found.Grants), "You allowed it before: "+sentence(found.Words))
	d.Grants, d.Collect = found.Grants, found.Collect
	return d
}

func orElse(s, other string) string {
	if s == "" {
		return other
	}
	return sentence(s)
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
