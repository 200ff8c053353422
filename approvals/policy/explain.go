package policy

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/garita-dev/garita/approvals"
)

// Explanation is why a call is decided as it is.
type Explanation struct {
	Decision approvals.Decision
	// Rule is the rule of the policy that matched, nil when none did. Decision.Rule says whether it
	// decided, or something stronger: a tool that was never listed, a permission.
	Rule *approvals.Rule
	Near []Near // the rules that came nearest to it, the nearest first
}

// Near is a rule that did not decide, and why, one sentence.
type Near struct {
	Rule approvals.Rule
	Why  string
}

const (
	mostNear   = 5 // rules worth telling
	farthestOf = 2 // parts that a rule may miss and still have come near
)

// Explain decides c as approvals.Evaluate does, and tells which rule decided, which came near and
// why they did not. It is pure but for now; g may be nil.
func Explain(p approvals.Policy, c approvals.Call, s approvals.Standing, g approvals.Grants, now time.Time) Explanation {
	x := Explanation{Decision: approvals.Evaluate(c, s, p, g, now)}
	c.Class = x.Decision.Class // as the rules see it: a demoted read is none
	var label string
	if r, ok := p.Match(c, now); ok {
		x.Rule, label = &r, r.Label()
	}
	x.Near = near(p, c, label, now)
	return x
}

// near ranks the rules other than the one that matched.
func near(p approvals.Policy, c approvals.Call, matched string, now time.Time) []Near {
	type ranked struct {
		Near
		misses int
	}
	var found []ranked
	for _, r := range slices.Concat(append([][]approvals.Rule{p.Rules}, p.Projects...)...) {
		misses, trouble := r.Misses(c, now)
		if r.Label() == matched || len(misses) > farthestOf {
			continue
		}
		found = append(found, ranked{Near{r, whyNot(r, c, misses, trouble, matched)}, len(misses)})
	}
	slices.SortStableFunc(found, func(a, b ranked) int { return a.misses - b.misses })
	out := make([]Near, 0, mostNear)
	for _, f := range found[:min(len(found), mostNear)] {
		out = append(out, f.Near)
	}
	return out
}

// whyNot says why r did not decide about c.
func whyNot(r approvals.Rule, c approvals.Call, misses []approvals.Part, trouble error, matched string) string {
	if len(misses) == 0 {
		return "It matches too, but " + matched + " comes before it, or is stricter."
	}
	var parts []string
	for _, m := range misses {
		parts = append(parts, miss(r, c, m, trouble))
	}
	return strings.Join(parts, "; ") + "."
}

// miss says how c does not fit one part of r.
func miss(r approvals.Rule, c approvals.Call, part approvals.Part, trouble error) string {
	switch part {
	case approvals.PartPrincipal:
		names := c.Principal.Names()
		return fmt.Sprintf("it is about the agents %s, and this is %s", strings.Join(r.Principals, ", "), names[len(names)-1])
	case approvals.PartServer:
		return fmt.Sprintf("it is about the servers %s, and this is %s", strings.Join(r.Servers, ", "), c.Server)
	case approvals.PartTool:
		return fmt.Sprintf("it is about the tools %s, and this is %s", strings.Join(r.Tools, ", "), c.Tool)
	case approvals.PartClass:
		return fmt.Sprintf("it is about calls that are %s, and this is %s", joined(r.Classes), c.Class)
	case approvals.PartMode:
		return fmt.Sprintf("it is about workspaces that are %s, and this is %s", joined(r.Modes), orNone(string(c.Mode)))
	case approvals.PartSensitive:
		return map[bool]string{
			true:  "it is about what is sensitive, and this is not",
			false: "it is about what is not sensitive, and this is: " + c.Sensitive,
		}[*r.Sensitive]
	case approvals.PartFolder:
		return fmt.Sprintf("it is about servers that are given %s, and this is given %s", r.Folder, orNone(strings.Join(c.Folders, ", ")))
	case approvals.PartWhen:
		if trouble != nil {
			return fmt.Sprintf("whether %s cannot be told (%v), and a rule that allows needs to know", r.When, trouble)
		}
		return fmt.Sprintf("it holds only when %s", r.When)
	}
	return string(part)
}

func joined[T ~string](list []T) string {
	texts := make([]string, 0, len(list))
	for _, t := range list {
		texts = append(texts, string(t))
	}
	return strings.Join(texts, " or ")
}

func orNone(s string) string {
	if s == "" {
		return "none"
	}
	return s
}

// Words says what a rule does, in one sentence: "Ask about write and destroy calls of the tools
// push_* of the servers github when …".
func Words(r approvals.Rule) string {
	var b strings.Builder
	b.WriteString(map[approvals.Effect]string{approvals.Allow: "Allow ", approvals.Ask: "Ask about ", approvals.Deny: "Deny "}[r.Effect])
	if r.Sensitive != nil {
		b.WriteString(map[bool]string{true: "sensitive ", false: "not sensitive "}[*r.Sensitive])
	}
	if len(r.Classes) > 0 {
		b.WriteString(joined(r.Classes) + " calls")
	} else {
		b.WriteString("every call")
	}
	for _, of := range []struct {
		of    string
		names []string
	}{{" of the tools ", r.Tools}, {" of the servers ", r.Servers}, {" by the agents ", r.Principals}} {
		if len(of.names) > 0 {
			b.WriteString(of.of + strings.Join(of.names, ", "))
		}
	}
	if len(r.Modes) > 0 {
		b.WriteString(" in workspaces that are " + joined(r.Modes))
	}
	if r.Folder != "" {
		b.WriteString(" of servers that are given " + r.Folder)
	}
	if r.When != nil {
		b.WriteString(" when " + r.When.String())
	}
	if r.CoversRisk {
		b.WriteString(", even with credentials or very much in the arguments")
	}
	return b.String() + "."
}
