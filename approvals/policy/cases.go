package policy

import (
	"fmt"
	"slices"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"

	"github.com/garita-dev/garita/approvals"
	"github.com/garita-dev/garita/sandbox"
)

// Case is a call made up to try a policy, and what a person expects of it.
type Case struct {
	Name   string
	Line   int
	Call   approvals.Call // Class "" where the case does not say
	Expect approvals.Effect
	Rule   string // the name of the rule that should decide; "" for any
}

// caseKeys are the keys of a case.
var caseKeys = []string{"name", "agent", "server", "tool", "class", "sensitive", "workspace", "external", "arguments", "at", "expect", "rule"}

// ParseCases reads a file of cases: version and cases, a list. The errors are as Parse's.
func ParseCases(file string, data []byte) ([]Case, error) {
	if len(data) > maxFile {
		return nil, &Problem{File: file, What: "the file is too long", Next: fmt.Sprintf("keep it under %d KiB", maxFile>>10)}
	}
	root, err := document(file, data)
	if err != nil {
		return nil, err
	}
	r := reader{file: file}
	var out []Case
	if root == nil {
		r.bad(1, "there are no cases", "", "write a list below cases:")
	} else {
		out = r.cases(root)
	}
	if len(r.problems) > 0 {
		return nil, joinProblems(r.problems)
	}
	return out, nil
}

func (r *reader) cases(root ast.Node) []Case {
	var out []Case
	for _, e := range r.mapping(root, "a file of cases", []string{"version", "cases"}) {
		if e.key == "version" {
			r.version(e)
			continue
		}
		list, ok := e.value.(*ast.SequenceNode)
		if !ok || len(list.Values) == 0 {
			r.bad(e.at, "cases is "+kindOf(e.value)+" without cases", "", "write a list of cases")
			continue
		}
		for _, n := range list.Values {
			out = append(out, r.tried(n))
		}
	}
	return out
}

// tried reads one case. What it does not say is as of an ordinary call: listed by the server, in a
// snapshot, now.
func (r *reader) tried(n ast.Node) Case {
	t := Case{Line: line(n), Call: approvals.Call{Pin: "sha256:case", Mode: sandbox.Snapshot, At: time.Now()}}
	entries := r.mapping(n, "a case", caseKeys)
	if len(entries) > 0 {
		t.Line = entries[0].at
	}
	for _, e := range entries {
		r.caseField(&t, e)
	}
	for _, key := range []string{"server", "tool", "expect"} {
		if isMapping(n) && !slices.ContainsFunc(entries, func(e entry) bool { return e.key == key }) {
			r.bad(t.Line, "a case has no "+key, "", "add "+key)
		}
	}
	return t
}

func (r *reader) caseField(t *Case, e entry) {
	c := &t.Call
	switch e.key {
	case "name":
		t.Name = r.short(e)
	case "rule":
		t.Rule = r.short(e)
	case "agent":
		c.Principal.Client = r.short(e)
	case "server":
		c.Server = sandbox.ServerName(r.short(e))
	case "tool":
		c.Tool = r.short(e)
	case "class":
		c.Class = approvals.Class(r.word(e, wordsOf("classes")))
	case "workspace":
		c.Mode = sandbox.WorkspaceMode(r.word(e, wordsOf("workspace")))
	case "sensitive":
		if r.flag(e) {
			c.Sensitive = "the case says so"
		}
	case "external":
		c.External = r.flag(e)
	case "arguments":
		c.Arguments = r.object(e)
	case "at":
		c.At = r.moment(e)
	case "expect":
		t.Expect = approvals.Effect(r.word(e, wordsOf("effect")))
	}
}

func wordsOf(name string) []string {
	return fields[slices.IndexFunc(fields, func(f field) bool { return f.name == name })].words
}

// object is a mapping as JSON.
func (r *reader) object(e entry) []byte {
	var v map[string]any
	if err := yaml.NodeToValue(e.value, &v); err != nil {
		r.bad(e.at, e.key+" is "+kindOf(e.value), "", "write a mapping: {path: /a}")
		return nil
	}
	out, err := json.Marshal(v, json.Deterministic(true))
	if err != nil {
		r.bad(e.at, e.key+" cannot be written as JSON", "", "use texts, numbers, lists and mappings")
	}
	return out
}

func (r *reader) moment(e entry) time.Time {
	s, _ := r.scalar(e, e.value)
	at, err := time.Parse(time.RFC3339, s)
	if s != "" && err != nil {
		r.bad(e.at, fmt.Sprintf("at: %q is no time", clip(s)), "", `write it as "2026-11-30T12:00:00+01:00"`)
	}
	return at
}

// Verdict is what came of a Case.
type Verdict struct {
	Case
	Got   approvals.Decision
	Wrong string // in words; "" when it is as expected
}

// Try decides every case by p.
func Try(p approvals.Policy, cases []Case) []Verdict {
	out := make([]Verdict, 0, len(cases))
	for _, t := range cases {
		v := Verdict{Case: t, Got: approvals.Evaluate(t.Call, approvals.Standing{}, p, nil, t.Call.At)}
		rule, _ := p.Match(t.Call, t.Call.At)
		switch {
		case v.Got.Effect != t.Expect:
			v.Wrong = fmt.Sprintf("expected %s, got %s", t.Expect, v.Got.Effect)
		case t.Rule != "" && t.Rule != rule.Name:
			v.Wrong = fmt.Sprintf("expected the rule %q, got %s", t.Rule, v.Got.Rule)
		}
		out = append(out, v)
	}
	return out
}
