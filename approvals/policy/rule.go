package policy

import (
	"fmt"
	"slices"
	"strings"

	"github.com/goccy/go-yaml/ast"

	"github.com/garita-dev/garita/approvals"
	"github.com/garita-dev/garita/sandbox"
)

// kind is what a field of a rule takes.
type kind int

const (
	aText     kind = iota
	aFlag          // true or false
	patterns       // one or a list
	words          // one or a list, of given words
	aWord          // one of given words
	ranges         // of hours, one or a list
	condition      // CEL
)

// field is one key of a rule: the parser and the schema are made of the same list.
type field struct {
	name  string
	kind  kind
	words []string // for words and aWord
	doc   string
}

// fields are the keys of a rule, in the order people write them.
var fields = []field{
	{"name", aText, nil, "What you call the rule. It is shown wherever the rule decides."},
	{"agents", patterns, nil, "Who calls: the id of the client's entry (claude-desktop), or token:ID for a bearer token."},
	{"servers", patterns, nil, "Names of servers, as in servers.yaml."},
	{"tools", patterns, nil, "Names of tools, as the server lists them."},
	{"classes", words, []string{"read", "write", "destroy", "execute"}, "What the call does."},
	{"workspace", words, []string{"snapshot", "read-only", "direct", "none"}, "How the server sees its folder."},
	{"sensitive", aFlag, nil, "Whether the call reads what is not for everybody: the environment, tokens, other people's data."},
	{"when", condition, nil, "A CEL expression over args, class, server, tool, agent, workspace, mode, sensitive and now. Where it cannot be told, a rule that allows does not apply, and one that asks or denies does."},
	{"hours", ranges, nil, "Local time of day: 09:00-18:00; past midnight 22:00-06:00. The end is not included."},
	{"days", words, days, "Days of the week, local time."},
	{"effect", aWord, []string{"allow", "ask", "deny"}, "What is done about the call."},
	{"covers_risk", aFlag, nil, "With allow: also for arguments that look like credentials or are very large. Without it such calls ask."},
	{"reason", aText, nil, "Why, in your words. The agent is told it when the rule denies."},
}

var days = []string{"mon", "tue", "wed", "thu", "fri", "sat", "sun"}

func names(fields []field) []string {
	out := make([]string, 0, len(fields))
	for _, f := range fields {
		out = append(out, f.name)
	}
	return out
}

// policy reads the whole document.
func (r *reader) policy(root ast.Node) []approvals.Rule {
	if root == nil {
		return nil
	}
	var rules []approvals.Rule
	versioned := false
	for _, e := range r.mapping(root, "a policy", []string{"version", "rules"}) {
		if e.key == "version" {
			versioned = true
			r.version(e)
			continue
		}
		rules = r.rules(e)
	}
	if !versioned && len(r.problems) == 0 {
		r.bad(1, "there is no version", "a later Garita must know what was meant", fmt.Sprintf("begin the file with version: %d", Version))
	}
	return rules
}

func (r *reader) version(e entry) {
	if n, ok := e.value.(*ast.IntegerNode); ok && fmt.Sprint(n.Value) == fmt.Sprint(Version) {
		return
	}
	r.bad(e.at, "the version is not known", fmt.Sprintf("this Garita reads version %d", Version), fmt.Sprintf("write version: %d, or update Garita", Version))
}

func (r *reader) rules(e entry) []approvals.Rule {
	list, ok := e.value.(*ast.SequenceNode)
	if !ok {
		r.bad(e.at, "rules is "+kindOf(e.value), "", "write a list of rules, or [] for none")
		return nil
	}
	if len(list.Values) > maxRules {
		r.bad(e.at, fmt.Sprintf("there are %d rules", len(list.Values)), fmt.Sprintf("a policy has at most %d", maxRules), "put patterns together")
		return nil
	}
	out := make([]approvals.Rule, 0, len(list.Values))
	for _, n := range list.Values {
		out = append(out, r.rule(n))
	}
	return out
}

// draft is a rule while it is read.
type draft struct {
	approvals.Rule
	at   int
	cond conditions
}

func (r *reader) rule(n ast.Node) approvals.Rule {
	d := draft{at: line(n)}
	entries := r.mapping(n, "a rule", names(fields))
	if len(entries) > 0 {
		d.at = entries[0].at
	}
	d.Origin = fmt.Sprintf("%s:%d", r.file, d.at)
	for _, e := range entries {
		r.field(&d, e)
	}
	if isMapping(n) {
		r.complete(d, entries)
	}
	if !d.cond.empty() {
		d.When = d.cond
	}
	return d.Rule
}

// complete refuses what is only wrong about a rule as a whole.
func (r *reader) complete(d draft, entries []entry) {
	has := func(key string) bool {
		return slices.ContainsFunc(entries, func(e entry) bool { return e.key == key })
	}
	switch {
	case !has("effect"):
		r.bad(d.at, "a rule has no effect", "what it means would have to be guessed", "give it effect: allow, ask or deny")
	case d.CoversRisk && d.Effect != approvals.Allow:
		r.bad(d.at, "covers_risk stands in a rule that does not allow", "it says what a rule that allows may reach", "take it out")
	}
}

// field sets what one key says.
func (r *reader) field(d *draft, e entry) {
	f := fields[slices.IndexFunc(fields, func(f field) bool { return f.name == e.key })]
	switch f.name {
	case "name":
		d.Name = r.short(e)
	case "reason":
		d.Reason = r.short(e)
	case "agents":
		d.Principals = r.patterns(e)
	case "servers":
		d.Servers = r.patterns(e)
	case "tools":
		d.Tools = r.patterns(e)
	case "classes":
		d.Classes = typed[approvals.Class](r.listed(e, f.words))
	case "workspace":
		d.Modes = typed[sandbox.WorkspaceMode](r.listed(e, f.words))
	case "sensitive":
		yes := r.flag(e)
		d.Sensitive = &yes
	case "when":
		d.cond.cel = r.expression(e)
	case "hours":
		d.cond.hours = r.hours(e)
	case "days":
		d.cond.days = r.listed(e, f.words)
	case "effect":
		d.Effect = approvals.Effect(r.word(e, f.words))
	case "covers_risk":
		d.CoversRisk = r.flag(e)
	}
}

func typed[T ~string](texts []string) []T {
	out := make([]T, 0, len(texts))
	for _, t := range texts {
		out = append(out, T(t))
	}
	return out
}

// scalar is the text of one value that may not be empty.
func (r *reader) scalar(e entry, n ast.Node) (string, bool) {
	s := text(n)
	if s == "" {
		what := e.key + " is " + kindOf(n)
		if kindOf(n) == "a text" {
			what = e.key + " is an empty text"
		}
		at := line(n)
		if at == 0 {
			at = e.at
		}
		r.bad(at, what, "nothing is ever taken to mean everything", "write a text, in quotes where it has signs in it, or take the key out")
		return "", false
	}
	return s, true
}

// list is a value that may be one text or a list of them; never empty.
func (r *reader) list(e entry) []string {
	seq, ok := e.value.(*ast.SequenceNode)
	if !ok {
		if s, ok := r.scalar(e, e.value); ok {
			return []string{s}
		}
		return nil
	}
	if n := len(seq.Values); n == 0 || n > maxList {
		r.bad(e.at, fmt.Sprintf("%s has %d entries", e.key, n), fmt.Sprintf("a list has 1 to %d; an empty one could be read as everything or as nothing", maxList), "take the key out if the rule is for all of them")
		return nil
	}
	out := make([]string, 0, len(seq.Values))
	for _, n := range seq.Values {
		if s, ok := r.scalar(e, n); ok {
			out = append(out, s)
		}
	}
	return out
}

func (r *reader) short(e entry) string {
	s, ok := r.scalar(e, e.value)
	if ok && len(s) > maxText {
		r.bad(e.at, fmt.Sprintf("%s is %d bytes long", e.key, len(s)), fmt.Sprintf("it is shown to people and agents, and has at most %d", maxText), "say it shorter")
	}
	return s
}

func (r *reader) patterns(e entry) []string {
	list := r.list(e)
	for _, p := range list {
		if why := badPattern(p); why != "" {
			r.bad(e.at, fmt.Sprintf("%s: %q is no pattern", e.key, clip(p)), why, "write the name itself, with * for any characters and ? for one")
		}
	}
	return list
}

// badPattern says why p is no pattern. Signs that mean something in other pattern languages are
// refused, for they would not do here what they say.
func badPattern(p string) string {
	switch {
	case len(p) > maxPattern:
		return fmt.Sprintf("it is longer than %d bytes", maxPattern)
	case strings.TrimSpace(p) != p:
		return "it begins or ends with a blank"
	case strings.HasPrefix(p, "!"):
		return "there is no “not”; an earlier rule makes the exception"
	case strings.ContainsAny(p, `[]{}|^\`):
		return `[ ] { } | ^ and \ mean nothing here`
	}
	return ""
}

func (r *reader) listed(e entry, known []string) []string {
	list := r.list(e)
	for _, w := range list {
		r.known(e, w, known)
	}
	return list
}

func (r *reader) word(e entry, known []string) string {
	s, ok := r.scalar(e, e.value)
	if !ok || !r.known(e, s, known) {
		return ""
	}
	return s
}

func (r *reader) known(e entry, w string, known []string) bool {
	if slices.Contains(known, w) {
		return true
	}
	r.bad(e.at, fmt.Sprintf("%s: %q is not known", e.key, clip(w)), "", "it is one of "+strings.Join(known, ", "))
	return false
}

func (r *reader) flag(e entry) bool {
	b, ok := e.value.(*ast.BoolNode)
	if !ok {
		r.bad(e.at, e.key+" is "+kindOf(e.value), "", "write true or false")
		return false
	}
	return b.Value
}
