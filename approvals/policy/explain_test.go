package policy

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/google/jsonschema-go/jsonschema"

	"github.com/goccy/go-yaml"

	"github.com/garita-dev/garita/approvals"
)

func TestExplain(t *testing.T) {
	p := parse(t, `  - {name: never deletes, tools: "delete_*", effect: deny, reason: we lost a folder once}
  - {name: own folder, tools: write_file, when: 'inside(args.path, "/src")', effect: allow}
  - {name: the rest, servers: files, classes: [write, destroy], effect: ask}
  - {name: other servers, servers: git, tools: push, classes: read, effect: deny}
`)
	for name, tt := range map[string]struct {
		call approvals.Call
		s    approvals.Standing
		rule string // of the Decision
		near []string
	}{
		"a rule decides": {
			evening(`{"path":"/src/a"}`),
			approvals.Standing{},
			"rule “own folder” (policy.yaml:4)",
			[]string{
				"the rest: It matches too, but rule “own folder” (policy.yaml:4) comes before it, or is stricter.",
				"never deletes: it is about the tools delete_*, and this is write_file.",
			},
		},
		"a condition that cannot be told": {
			evening(`{}`),
			approvals.Standing{},
			"rule “the rest” (policy.yaml:5)",
			[]string{
				"never deletes: it is about the tools delete_*, and this is write_file.",
				`own folder: whether inside(args.path, "/src") cannot be told (no such key: path), and a rule that allows needs to know.`,
			},
		},
		"a tool that was never listed": {
			func() approvals.Call { c := evening(`{"path":"/src/a"}`); c.Pin = ""; return c }(),
			approvals.Standing{},
			approvals.RuleUnlisted,
			[]string{
				"the rest: It matches too, but rule “own folder” (policy.yaml:4) comes before it, or is stricter.",
				"never deletes: it is about the tools delete_*, and this is write_file.",
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			x := Explain(p, tt.call, tt.s, nil, noon)
			var near []string
			for _, n := range x.Near {
				near = append(near, n.Rule.Name+": "+n.Why)
			}
			if x.Decision.Rule != tt.rule {
				t.Errorf("decided by %s, want %s", x.Decision.Rule, tt.rule)
			}
			if diff := cmp.Diff(tt.near, near); diff != "" {
				t.Errorf("near (-want +got):\n%s", diff)
			}
		})
	}
}

func TestWords(t *testing.T) {
	p := parse(t, `  - {agents: cursor, servers: [a, b], tools: "x_*", classes: [write, destroy], sensitive: true, workspace: direct, when: "args.n > 1", hours: "09:00-10:00", effect: ask}
  - {effect: allow, covers_risk: true}
`)
	want := []string{
		"Ask about sensitive write or destroy calls of the tools x_* of the servers a, b by the agents cursor in workspaces that are direct when args.n > 1, between 09:00-10:00.",
		"Allow every call, even with credentials or very much in the arguments.",
	}
	for i, r := range p.Rules {
		if got := Words(r); got != want[i] {
			t.Errorf("got %s\nwant %s", got, want[i])
		}
	}
}

func TestReview(t *testing.T) {
	for name, tt := range map[string]struct {
		rules string
		want  []string // beginnings
	}{
		"a rule behind one that takes all":  {"  - {effect: ask}\n  - {tools: x, effect: deny}", []string{"It is never reached"}},
		"a rule behind one with conditions": {"  - {when: 'args.a', effect: ask}\n  - {tools: x, effect: deny}", nil},
		"allow everything":                  {"  - {effect: allow}", []string{"It allows everything"}},
		"allow a pattern":                   {"  - {servers: a, tools: 'x_*', effect: allow}", []string{"It names no classes"}},
		"allow one tool":                    {"  - {servers: a, tools: x, effect: allow}", nil},
		"allow risk":                        {"  - {servers: a, tools: x, effect: allow, covers_risk: true}", []string{"It lets arguments through"}},
		"a path by its beginning":           {"  - {tools: x, when: 'args.path.startsWith(\"/a/\")', effect: allow}", []string{"startsWith"}},
	} {
		t.Run(name, func(t *testing.T) {
			got := Review(parse(t, tt.rules))
			if len(got) != len(tt.want) {
				t.Fatalf("got %v, want %v", got, tt.want)
			}
			for i := range got {
				if !strings.HasPrefix(got[i].Text, tt.want[i]) {
					t.Errorf("got %s", got[i].Text)
				}
			}
		})
	}
}

func TestReplay(t *testing.T) {
	p := parse(t, `  - {tools: write_file, when: 'inside(args.path, "/src")', effect: allow}
  - {tools: read_file, effect: ask}
`)
	recorded := func(c approvals.Call, rule string, e approvals.Effect, o approvals.Outcome) Recorded {
		c.At = noon
		return Recorded{c, approvals.Decision{Effect: e, Rule: rule, Outcome: o}}
	}
	read := evening(`{}`)
	read.Tool, read.Class = "read_file", approvals.Read
	other := evening(`{}`)
	other.Tool = "move_file"
	replay := NewReplay(p)
	for _, r := range []Recorded{
		recorded(evening(`{"path":"/src/a"}`), approvals.RuleAsk, approvals.Allow, approvals.Approved),
		recorded(evening(`{"path":"/etc/a"}`), approvals.RuleAsk, approvals.Deny, approvals.Denied),
		recorded(evening(`{"path":"/src/a","content":"[redacted]"}`), approvals.RuleAsk, approvals.Deny, approvals.Denied),
		recorded(evening(`{"path":"/src/a"}`), approvals.RuleArguments, approvals.Allow, approvals.Approved),
		recorded(read, approvals.RuleReads, approvals.Allow, ""),
		recorded(other, "queue limit", approvals.Deny, ""),
		{other, approvals.Decision{Effect: approvals.Allow, Rule: "grant g1", Grants: "g1"}},
	} {
		replay.Add(r)
	}
	got := replay.Result()
	var changes []string
	for _, c := range got.Changes {
		changes = append(changes, c.Call.Tool+": "+string(c.Was)+" → "+string(c.Now.Effect)+" "+c.Unsure)
	}
	want := []string{
		"write_file: ask → allow ", "write_file: ask → allow its arguments were recorded redacted or cut, and a rule looks into them", "read_file: allow → ask ",
	}
	if diff := cmp.Diff(want, changes); diff != "" {
		t.Errorf("changes (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(Replayed{Calls: 7, Apart: 1, Same: 3, Unsure: 1, Counts: []Count{{"ask", "allow", 2}, {"allow", "ask", 1}}}, got, cmpopts.IgnoreFields(Replayed{}, "Changes")); diff != "" {
		t.Errorf("counts (-want +got):\n%s", diff)
	}
}

func TestCases(t *testing.T) {
	cases, err := ParseCases("cases.yaml", []byte(`version: 1
cases:
  - name: in its folder
    agent: cursor
    server: files
    tool: write_file
    class: write
    arguments: {path: /src/a, lines: [1, 2.5, "x", null, true]}
    at: "2026-11-30T12:00:00Z"
    expect: allow
    rule: own folder
  - {server: files, tool: write_file, class: write, arguments: {path: /etc/passwd}, expect: allow}
  - {server: files, tool: read_env, class: read, sensitive: true, external: true, workspace: direct, expect: ask}
  - {server: files, tool: write_file, class: write, arguments: {path: /src/a}, expect: allow, rule: another}
`))
	if err != nil {
		t.Fatal(err)
	}
	if got := string(cases[0].Call.Arguments); got != `{"lines":[1,2.5,"x",null,true],"path":"/src/a"}` {
		t.Errorf("arguments: %s", got)
	}
	p := parse(t, `  - {name: own folder, tools: write_file, when: 'inside(args.path, "/src")', effect: allow}`)
	var wrong []string
	for _, v := range Try(p, cases) {
		wrong = append(wrong, v.Wrong)
	}
	want := []string{"", "expected allow, got ask", "", `expected the rule "another", got rule “own folder” (policy.yaml:3)`}
	if diff := cmp.Diff(want, wrong); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestParseCasesRefuses(t *testing.T) {
	for name, tt := range map[string]struct{ text, says string }{
		"nothing":               {"", "no cases"},
		"no cases":              {"version: 1\ncases: []", "without cases"},
		"no expectation":        {"cases: [{server: a, tool: b}]", "no expect"},
		"an unknown key":        {"cases: [{server: a, tool: b, expect: ask, foo: 1}]", "no key"},
		"a time that is none":   {"cases: [{server: a, tool: b, expect: ask, at: noon}]", "is no time"},
		"arguments that are no": {"cases: [{server: a, tool: b, expect: ask, arguments: 7}]", "arguments"},
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := ParseCases("c", []byte(tt.text)); err == nil || !strings.Contains(err.Error(), tt.says) {
				t.Errorf("got %v, want %q", err, tt.says)
			}
		})
	}
}

// TestTheSchemaAgreesWithTheParser: what the parser takes the schema takes, and what the schema
// refuses the parser refuses. Only the parser can read CEL, look at lines or count documents.
func TestTheSchemaAgreesWithTheParser(t *testing.T) {
	var s jsonschema.Schema
	if err := s.UnmarshalJSON(Schema()); err != nil {
		t.Fatal(err)
	}
	resolved, err := s.Resolve(nil)
	if err != nil {
		t.Fatal(err)
	}
	onlyTheParser := []string{"CEL", "hours", "anchor", "alias", "twice", "tab", "document", "deep", "merge", "tag", "an expression of very many"}
	check := func(t *testing.T, name, text string) {
		var v any
		if yaml.Unmarshal([]byte(text), &v) != nil || v == nil {
			return
		}
		_, parseErr := Parse("p", []byte(text))
		schemaErr := resolved.Validate(v)
		if parseErr == nil && schemaErr != nil {
			t.Errorf("%s: the schema refuses what the parser takes: %v", name, schemaErr)
		}
		if parseErr != nil && schemaErr == nil && !containsAny(name, onlyTheParser) {
			t.Errorf("%s: the schema takes what the parser refuses: %v", name, parseErr)
		}
	}
	for name, r := range refused {
		check(t, name, "version: 1\nrules:\n"+r.rules)
	}
	for name, rules := range map[string]string{
		"all keys": `[{name: a, agents: b, servers: [c], tools: "*", classes: write, workspace: [none], sensitive: true, when: "true", hours: ["01:00-02:00"], days: mon, effect: allow, covers_risk: true, reason: d}]`,
		"no rules": `[]`,
	} {
		check(t, name, "version: 1\nrules: "+rules)
	}
}

func containsAny(s string, of []string) bool {
	for _, o := range of {
		if strings.Contains(s, o) {
			return true
		}
	}
	return false
}

// FuzzEvaluate: no policy, whatever its text, allows a call of a tool that was never listed, or
// lets credentials through without saying so.
func FuzzEvaluate(f *testing.F) {
	f.Add("version: 1\nrules: [{effect: allow}]", "write_file", `{"path":"/a"}`)
	f.Add("version: 1\nrules: [{effect: allow, when: 'true || args.x'}]", "x", `{"x":1}`)
	f.Fuzz(func(t *testing.T, text, tool, args string) {
		p, err := Parse("p", []byte(text))
		if err != nil {
			return
		}
		c := evening(args)
		c.Tool, c.Pin = tool, ""
		if d := approvals.Evaluate(c, approvals.Standing{}, p, nil, noon); d.Effect != approvals.Deny {
			t.Fatalf("unlisted, and %+v", d)
		}
		c.Pin, c.Tool = "sha256:1", "x"+tool
		c.Arguments = []byte(`{"t":"ghp_0123456789012345678901234567890123456789"}`)
		d := approvals.Evaluate(c, approvals.Standing{}, p, nil, time.Time{})
		if r, _ := p.Match(c, time.Time{}); d.Allowed() && !r.CoversRisk {
			t.Fatalf("credentials, and %+v", d)
		}
	})
}
