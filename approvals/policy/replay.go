package policy

import (
	"bytes"
	"strings"
	"time"

	"github.com/garita-dev/garita/approvals"
)

// Recorded is a call as the record keeps it: its arguments redacted and bounded, and what was
// decided about it in the end.
type Recorded struct {
	Call     approvals.Call
	Decision approvals.Decision
}

// Replayed is what a policy would have done with recorded calls.
type Replayed struct {
	Calls   int
	Apart   int // of Calls, those that no policy was asked about: refused for a full queue, or while nothing could be recorded
	Same    int
	Unsure  int // of Calls, those whose recorded arguments are not whole and were looked at by a condition
	Counts  []Count
	Changes []Change // the latest, at most mostChanges
}

// Count is how many calls would have gone from one effect to another.
type Count struct {
	Was, Now approvals.Effect
	Calls    int
}

// Change is a call that would have been decided otherwise.
type Change struct {
	Call   approvals.Call
	Was    approvals.Effect // what was decided before a person was asked
	By     string           // the rule that decided so
	Now    approvals.Decision
	Unsure string // why this may be wrong; "" when it is not
}

// mostChanges bounds what is told one by one.
const mostChanges = 500

// Replay decides recorded calls anew by a policy, each at its own time. What was permitted then by
// grants is taken as permitted still. Nothing is called, asked or recorded.
type Replay struct {
	policy approvals.Policy
	result Replayed
}

// NewReplay is a Replay by p without calls.
func NewReplay(p approvals.Policy) *Replay { return &Replay{policy: p} }

// Result is what came of the calls added so far.
func (p *Replay) Result() Replayed { return p.result }

// Add decides one more call anew, and says whether that comes out otherwise than it did.
func (p *Replay) Add(r Recorded) (changed bool) {
	out := &p.result
	out.Calls++
	was := before(r.Decision)
	if was == "" {
		out.Apart++
		return false
	}
	now := again(p.policy, r)
	unsure := ""
	if !whole(r.Call.Arguments) && looks(p.policy, r.Call) {
		unsure = "its arguments were recorded redacted or cut, and a rule looks into them"
		out.Unsure++
	}
	if now.Effect == was {
		out.Same++
		return false
	}
	out.count(was, now.Effect)
	if len(out.Changes) == mostChanges {
		out.Changes = out.Changes[1:]
	}
	out.Changes = append(out.Changes, Change{r.Call, was, r.Decision.Rule, now, unsure})
	return true
}

func (r *Replayed) count(was, now approvals.Effect) {
	for i, c := range r.Counts {
		if c.Was == was && c.Now == now {
			r.Counts[i].Calls++
			return
		}
	}
	r.Counts = append(r.Counts, Count{was, now, 1})
}

// before is what was decided before a person was asked; "" where no policy decided.
func before(d approvals.Decision) approvals.Effect {
	switch {
	case d.Rule == "fail closed" || d.Rule == "queue limit" || d.Rule == "rate limit":
		return ""
	case d.Outcome != "":
		return approvals.Ask
	}
	return d.Effect
}

// again decides one call by p, with what the record tells of how things stood.
func again(p approvals.Policy, r Recorded) approvals.Decision {
	c, standing := r.Call, approvals.Standing{}
	switch r.Decision.Rule {
	case approvals.RuleDemoted:
		standing.Demoted = "it had changed something before"
	case approvals.RuleHeld:
		standing.Held = "nobody had reviewed it"
	case approvals.RuleExternal:
		c.External = true
	case approvals.RuleSensitive:
		c.Sensitive = orElse(c.Sensitive, "it was sensitive then")
	case approvals.RuleArguments:
		c.Arguments = risked(c.Arguments) // what was risky about them is redacted now
	case approvals.RuleInput:
		c.State = []byte(`""`) // which is not recorded
	}
	return approvals.Evaluate(c, standing, p, then{r.Decision.Grants}, c.At)
}

// risked is arguments in which something risky is found, the rest as it was. The added name says what it is.
func risked(arguments []byte) []byte {
	rest := bytes.TrimLeft(arguments, " \t\r\n")
	if len(rest) == 0 || rest[0] != '{' {
		return []byte(`{"secret":"[redacted]"}`)
	}
	rest = bytes.TrimLeft(rest[1:], " \t\r\n")
	comma := ","
	if bytes.HasPrefix(rest, []byte("}")) {
		comma = ""
	}
	return append([]byte(`{"x-api-key":"[redacted]"`+comma), rest...)
}

// then is what had been permitted when a call was recorded.
type then struct{ ids approvals.GrantIDs }

func (t then) Cover(approvals.Call, time.Time) approvals.Coverage {
	return approvals.Coverage{Grants: t.ids, Words: "as it was then", Exact: true}
}

// whole says whether arguments were recorded as they were sent.
func whole(arguments []byte) bool {
	return !bytes.Contains(arguments, []byte("[redacted]")) && !bytes.Contains(arguments, []byte(" bytes left out]")) &&
		!bytes.HasPrefix(bytes.TrimSpace(arguments), []byte(`"`))
}

// looks says whether a rule that could be about c looks into its arguments.
func looks(p approvals.Policy, c approvals.Call) bool {
	for _, rules := range append([][]approvals.Rule{p.Rules}, p.Projects...) {
		for _, r := range rules {
			if r.When != nil && strings.Contains(r.When.String(), "args") && named(r, c) {
				return true
			}
		}
	}
	return false
}

// named says whether c fits r but for its condition.
func named(r approvals.Rule, c approvals.Call) bool {
	r.When = nil
	return r.Matches(c, c.At)
}

func orElse(s, other string) string {
	if s == "" {
		return other
	}
	return s
}
