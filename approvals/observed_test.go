package approvals_test

import (
	"testing"
	"time"

	"github.com/garita-dev/garita/approvals"
)

// Of a server that is observed everything asks that would pass, and what is refused stays refused.
func TestObservedServersAsk(t *testing.T) {
	observed := approvals.Standing{Observed: time.Now()}
	allow := approvals.Policy{Rules: []approvals.Rule{{Name: "all", Effect: approvals.Allow}}}
	deny := approvals.Policy{Rules: []approvals.Rule{{Name: "none", Effect: approvals.Deny}}}
	ask := approvals.Policy{Rules: []approvals.Rule{{Name: "look", Effect: approvals.Ask}}}
	for name, c := range map[string]struct {
		change func(*approvals.Call)
		policy approvals.Policy
		effect approvals.Effect
		rule   string
	}{
		"a read":                    {func(*approvals.Call) {}, approvals.Policy{}, approvals.Ask, approvals.RuleObserved},
		"a write":                   {func(c *approvals.Call) { c.Class = approvals.Write }, approvals.Policy{}, approvals.Ask, approvals.RuleObserved},
		"what the policy allows":    {func(*approvals.Call) {}, allow, approvals.Ask, approvals.RuleObserved},
		"what the policy asks":      {func(*approvals.Call) {}, ask, approvals.Ask, ""},
		"what the policy denies":    {func(*approvals.Call) {}, deny, approvals.Deny, ""},
		"a tool never listed":       {func(c *approvals.Call) { c.Pin = "" }, approvals.Policy{}, approvals.Deny, approvals.RuleUnlisted},
		"a call that was let begin": {func(c *approvals.Call) { c.Continues = "call c1" }, approvals.Policy{}, approvals.Allow, approvals.RuleContinues},
	} {
		t.Run(name, func(t *testing.T) {
			call := aRead()
			c.change(&call)
			d := approvals.Evaluate(call, observed, c.policy, nil, time.Now())
			if d.Effect != c.effect || c.rule != "" && d.Rule != c.rule {
				t.Errorf("got %s by %q, want %s by %q", d.Effect, d.Rule, c.effect, c.rule)
			}
		})
	}
}
