package policy

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/garita-dev/garita/approvals"
	"github.com/garita-dev/garita/sandbox"
)

// parse reads rules that must be right; the version is added.
func parse(t *testing.T, rules string) approvals.Policy {
	t.Helper()
	p, err := Parse("policy.yaml", []byte("version: 1\nrules:\n"+rules))
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestParse(t *testing.T) {
	p := parse(t, `  - name: no deleting in the afternoon
    agents: [claude-desktop, "token:t1*"]
    servers: files
    tools: ["delete_*", move_file]
    classes: [write, destroy]
    workspace: snapshot
    sensitive: false
    when: args.path.startsWith("/home/ana/")
    hours: "13:00-18:00"
    days: [mon, tue]
    effect: deny
    reason: we lost a folder once

  # a comment
  - {tools: [push], effect: allow, covers_risk: true}
`)
	no := false
	want := []approvals.Rule{{
		Name: "no deleting in the afternoon", Origin: "policy.yaml:3", Principals: []string{"claude-desktop", "token:t1*"},
		Servers: []string{"files"}, Tools: []string{"delete_*", "move_file"},
		Classes: []approvals.Class{approvals.Write, approvals.Destroy}, Modes: []sandbox.WorkspaceMode{sandbox.Snapshot},
		Sensitive: &no, Effect: approvals.Deny, Reason: "we lost a folder once",
	}, {Origin: "policy.yaml:17", Tools: []string{"push"}, Effect: approvals.Allow, CoversRisk: true}}
	if got := p.Rules[0].When.String(); got != `args.path.startsWith("/home/ana/"), between 13:00-18:00, on mon, tue` {
		t.Errorf("condition: %s", got)
	}
	p.Rules[0].When = nil
	if diff := cmp.Diff(want, p.Rules); diff != "" {
		t.Errorf("rules (-want +got):\n%s", diff)
	}
	if p.Digest == "" {
		t.Error("no digest")
	}
}

func TestFilesWithoutRules(t *testing.T) {
	for name, text := range map[string]string{
		"nothing at all": "", "a comment": "# later\n", "only the version": "version: 1\n", "an empty list": "version: 1\nrules: []\n",
	} {
		t.Run(name, func(t *testing.T) {
			p, err := Parse("policy.yaml", []byte(text))
			if err != nil || len(p.Rules) != 0 {
				t.Errorf("got %v, %v", p.Rules, err)
			}
		})
	}
}

// refused are rules with something wrong, and what the message must name.
var refused = map[string]struct {
	rules string // below "rules:"
	line  int
	says  string
}{
	"an unknown key":                  {"  - {tool: x, effect: ask}", 3, `did you mean "tools"?`},
	"a key of nothing known":          {"  - {effect: ask, foo: x}", 3, `no key "foo"`},
	"the same key twice":              {"  - effect: ask\n    effect: allow", 4, "effect"},
	"no effect":                       {"  - {tools: x}", 3, "no effect"},
	"a rule that says nothing":        {"  - {}", 3, "no effect"},
	"an empty effect":                 {"  - {tools: x, effect: \"\"}", 3, "effect is an empty text"},
	"a null effect":                   {"  - tools: x\n    effect:\n", 4, "effect is empty"},
	"an unknown effect":               {"  - {effect: permit}", 3, `"permit" is not known`},
	"an effect in capitals":           {"  - {effect: Allow}", 3, `"Allow" is not known`},
	"an effect that is true":          {"  - {effect: true}", 3, "effect is true or false"},
	"an effect that is a list":        {"  - {effect: [allow]}", 3, "effect is a list"},
	"a class that depends":            {"  - {classes: depends, effect: ask}", 3, "depends"},
	"an empty list":                   {"  - {tools: [], effect: allow}", 3, "0 entries"},
	"a null list":                     {"  - tools:\n    effect: allow", 3, "tools is empty"},
	"an empty pattern":                {"  - {tools: [\"\"], effect: allow}", 3, "empty text"},
	"a pattern with brackets":         {"  - {tools: \"[a-z]*\", effect: allow}", 3, "no pattern"},
	"a pattern that says not":         {"  - {tools: \"!x\", effect: allow}", 3, "no pattern"},
	"a number for a name":             {"  - {servers: 7, effect: allow}", 3, "a number"},
	"CEL that does not parse":         {"  - {when: \"args.path ==\", effect: allow}", 3, "when cannot be read"},
	"CEL with an unknown variable":    {"  - {when: \"user == 'ana'\", effect: allow}", 3, "undeclared reference"},
	"CEL that is a text":              {"  - {when: \"tool\", effect: allow}", 3, "not as true or false"},
	"CEL that is empty":               {"  - {when: \"\", effect: allow}", 3, "empty text"},
	"a sensitive that is a text":      {"  - {sensitive: \"yes\", effect: ask}", 3, "true or false"},
	"hours that are none":             {"  - {hours: \"9-17\", effect: allow}", 3, "09:00-18:00"},
	"an unknown day":                  {"  - {days: [monday], effect: allow}", 3, `"monday" is not known`},
	"a rule that is a text":           {"  - deny everything", 3, "a rule is a text"},
	"a rule that is nothing":          {"  -\n", 3, "a rule is empty"},
	"rules that are a mapping":        {"  effect: allow", 2, "rules is a mapping"},
	"an alias":                        {"  - &a {effect: ask}\n  - *a", 3, "anchor"},
	"covers_risk and no allow":        {"  - {effect: ask, covers_risk: true}", 3, "covers_risk"},
	"a tab":                           {"\t- effect: ask", 3, "not valid YAML"},
	"a second document":               {"  - {effect: deny}\n---\nversion: 1", 5, "second document"},
	"a very long pattern":             {"  - {tools: " + strings.Repeat("a", 300) + ", effect: ask}", 3, "no pattern"},
	"a very deep list":                {"  - {tools: " + strings.Repeat("[", 100) + strings.Repeat("]", 100) + ", effect: ask}", 3, "in each other"},
	"a name that is a mapping":        {"  - {name: {a: b}, effect: ask}", 3, "name is a mapping"},
	"a merge key":                     {"  - {<<: {effect: allow}}", 3, "no key"},
	"a tag":                           {"  - effect: !!str allow", 3, "tagged"},
	"an expression of a whole book":   {"  - {when: \"" + strings.Repeat("true && ", 1000) + "true\", effect: allow}", 3, "longer than"},
	"an expression of very many ors":  {"  - {when: \"" + strings.Repeat("(", 300) + "true" + strings.Repeat(")", 300) + "\", effect: allow}", 3, "when cannot be read"},
	"a time that is a list of spaces": {"  - {hours: [\" \"], effect: allow}", 3, "hours"},
}

func TestParseRefuses(t *testing.T) {
	for name, tt := range refused {
		t.Run(name, func(t *testing.T) {
			p, err := Parse("policy.yaml", []byte("version: 1\nrules:\n"+tt.rules))
			found := Problems(err)
			if len(found) == 0 || len(p.Rules) != 0 {
				t.Fatalf("taken: %+v, %v", p.Rules, err)
			}
			if found[0].Line != tt.line || !strings.Contains(found[0].Error(), tt.says) || found[0].Next == "" {
				t.Errorf("got %+v, want line %d and %q", found[0], tt.line, tt.says)
			}
		})
	}
}

func TestParseRefusesFiles(t *testing.T) {
	for name, tt := range map[string]struct{ text, says string }{
		"no version":          {"rules: []", "no version"},
		"a later version":     {"version: 2\nrules: []", "version"},
		"a version in quotes": {"version: \"1\"", "version"},
		"a list":              {"- effect: allow", "a policy is a list"},
		"not UTF-8":           {"version: 1 # \xff", "UTF-8"},
		"too long":            {"# " + strings.Repeat("x", maxFile), "KiB"},
		"no list of rules":    {"version: 1\nrules:", "rules is empty"},
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := Parse("policy.yaml", []byte(tt.text)); err == nil || !strings.Contains(err.Error(), tt.says) {
				t.Errorf("got %v, want %q", err, tt.says)
			}
		})
	}
}

func TestEveryProblemIsNamed(t *testing.T) {
	_, err := Parse("policy.yaml", []byte("version: 1\nrules:\n  - {effect: no}\n  - {tools: [], effect: ask}\n"))
	if got := Problems(err); len(got) != 2 || got[0].Line != 3 || got[1].Line != 4 {
		t.Errorf("got %+v", got)
	}
}

var noon = time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC) // a Monday

// evening is a call that holds what most conditions look at.
func evening(args string) approvals.Call {
	return approvals.Call{
		Server: "files", Tool: "write_file", Pin: "sha256:1", Class: approvals.Write, Mode: sandbox.Snapshot,
		Principal: approvals.Principal{UID: 1, Client: "cursor"}, Workspace: "w1", Arguments: []byte(args),
	}
}

func TestConditions(t *testing.T) {
	for name, tt := range map[string]struct {
		when, args string
		want       bool
		untold     bool
	}{
		"an argument":                       {`args.path == "/a"`, `{"path":"/a"}`, true, false},
		"a missing argument":                {`args.path == "/a"`, `{}`, false, true},
		"a missing argument, asked for":     {`has(args.path) && args.path == "/a"`, `{}`, false, false},
		"no arguments at all":               {`size(args) == 0`, ``, true, false},
		"an argument of another type":       {`args.path.startsWith("/a")`, `{"path":7}`, false, true},
		"a null argument":                   {`args.path.startsWith("/a")`, `{"path":null}`, false, true},
		"what comes out as a text":          {`args.path`, `{"path":"true"}`, false, true},
		"what comes out as null":            {`args.path`, `{"path":null}`, false, true},
		"arguments that are a list":         {`true`, `[1]`, false, true},
		"arguments said twice":              {`true`, `{"a":1,"a":2}`, false, true},
		"broken arguments":                  {`true`, `{"a":`, false, true},
		"a number":                          {`args.n > 100`, `{"n":101}`, true, false},
		"a fraction":                        {`args.n > 100`, `{"n":100.5}`, true, false},
		"a whole number beyond floats":      {`args.n == 9007199254740993`, `{"n":9007199254740993}`, true, false},
		"a number beyond everything":        {`args.n > 1`, `{"n":1e999}`, false, true},
		"every one of a list":               {`args.paths.all(p, inside(p, "/src"))`, `{"paths":["/src/a","/src/b/c"]}`, true, false},
		"not every one of a list":           {`args.paths.all(p, inside(p, "/src"))`, `{"paths":["/src/a","/srcs"]}`, false, false},
		"a nested argument":                 {`args.a.b[1].c`, `{"a":{"b":[1,{"c":true}]}}`, true, false},
		"the rest of the call":              {`server == "files" && tool == "write_file" && class == "write" && agent == "cursor" && mode == "snapshot" && workspace == "w1" && !sensitive`, ``, true, false},
		"the time":                          {`now.getHours("UTC") == 12 && now.getDayOfWeek("UTC") == 1`, ``, true, false},
		"a folder itself":                   {`inside(args.p, "/src/")`, `{"p":"/src"}`, true, false},
		"a path that climbs":                {`inside(args.p, "/src")`, `{"p":"/src/../etc/passwd"}`, false, true},
		"a path that is relative":           {`inside(args.p, "/src")`, `{"p":"src/a"}`, false, true},
		"a host":                            {`host(args.url) == "example.com"`, `{"url":"https://Example.com:443/x"}`, true, false},
		"a host that only begins so":        {`host(args.url) == "example.com"`, `{"url":"https://example.com.evil.org/"}`, false, false},
		"a host behind a user":              {`host(args.url) == "example.com"`, `{"url":"https://example.com@evil.org/"}`, false, false},
		"a host behind a backslash":         {`host(args.url) == "example.com"`, `{"url":"https://evil.org\\@example.com/"}`, false, true},
		"a host in letters that are folded": {`host(args.url) == "example.com"`, `{"url":"https://ｅxample。com/"}`, true, false},
		"a host with an underscore":         {`host(args.url) == "my_host.example.com"`, `{"url":"https://my_host.example.com/"}`, true, false},
		"a host that is an address":         {`host(args.url) == "::1"`, `{"url":"http://[::1]:80/"}`, true, false},
		"arguments once more in capitals":   {`args.path == "/a"`, `{"path":"/a","Path":"/b"}`, false, true},
		"the same further in":               {`args.x.path == "/a"`, `{"x":{"PATH":"/b","path":"/a"}}`, false, true},
		"no URL":                            {`host(args.url) == "example.com"`, `{"url":"example.com"}`, false, true},
		"a pattern":                         {`args.q.matches("(?i)^select ")`, `{"q":"SELECT 1"}`, true, false},
		"a pattern out of the arguments":    {`"a".matches(args.q)`, `{"q":"((a{1000}){1000}){1000}"}`, false, true},
		"an argument that is named so":      {`args["file-name"] == "x"`, `{"file-name":"x"}`, true, false},
		"an argument that looks like a key": {`args.__proto__ == "x"`, `{}`, false, true},
	} {
		t.Run(name, func(t *testing.T) {
			x, err := compile(tt.when)
			if err != nil {
				t.Fatal(err)
			}
			got, err := x.holds(evening(tt.args), noon)
			if got != tt.want || (err != nil) != tt.untold {
				t.Errorf("got %v, %v; want %v, untold %v", got, err, tt.want, tt.untold)
			}
		})
	}
}

// TestNastyConditionsAreBounded has expressions whose cost explodes; each ends as untold.
func TestNastyConditionsAreBounded(t *testing.T) {
	big := `{"l":[` + strings.TrimSuffix(strings.Repeat("1,", 2000), ",") + `],"s":"` + strings.Repeat("a", 200_000) + `"}`
	for name, when := range map[string]string{
		"loops in loops":         `args.l.all(a, args.l.all(b, args.l.all(c, args.l.all(d, a == b && c == d))))`,
		"a text that doubles":    `[1,2,3].all(x, (args.s+args.s+args.s+args.s+args.s+args.s+args.s+args.s+args.s+args.s).size() > 0) && args.l.exists(x, (args.s + args.s).contains("b"))`,
		"a text looked at often": `args.l.exists(x, args.s.contains("b") || args.s.matches("(a|aa)+b$"))`,
		"lists of lists":         `args.l.map(a, args.l.map(b, args.l.map(c, [a, b, c]))).size() > 0`,
	} {
		t.Run(name, func(t *testing.T) {
			x, err := compile(when)
			if err != nil {
				t.Fatal(err)
			}
			if got, err := x.holds(evening(big), noon); err == nil {
				t.Errorf("got %v and no error", got)
			}
		})
	}
	x, err := compile("true")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := x.holds(evening(`{"s":"`+strings.Repeat("a", maxArguments)+`"}`), noon); err == nil {
		t.Error("very large arguments were looked into")
	}
}

func TestHours(t *testing.T) {
	berlin := time.FixedZone("CET", 3600)
	at := func(day, hour, minute int) time.Time {
		return time.Date(2026, 11, day, hour, minute, 0, 0, berlin).UTC()
	}
	for name, tt := range map[string]struct {
		rule string
		now  time.Time
		want bool
	}{
		"in the hours":                 {`hours: "09:00-18:00"`, at(30, 9, 0), true},
		"the end is not included":      {`hours: "09:00-18:00"`, at(30, 18, 0), false},
		"before":                       {`hours: "09:00-18:00"`, at(30, 8, 59), false},
		"past midnight, late":          {`hours: "22:00-06:00"`, at(30, 23, 0), true},
		"past midnight, early":         {`hours: "22:00-06:00"`, at(30, 5, 59), true},
		"past midnight, by day":        {`hours: "22:00-06:00"`, at(30, 12, 0), false},
		"to the end of the day":        {`hours: "18:00-24:00"`, at(30, 23, 59), true},
		"the second of two":            {`hours: ["09:00-10:00", "12:00-13:00"]`, at(30, 12, 30), true},
		"the day":                      {`days: [mon]`, at(30, 0, 30), true},
		"another day":                  {`days: [sat, sun]`, at(30, 0, 30), false},
		"the day in our zone, not UTC": {`days: [sun]`, at(30, 0, 30), false},
		"both":                         {"days: mon\n    hours: \"00:00-01:00\"", at(30, 0, 30), true},
	} {
		t.Run(name, func(t *testing.T) {
			r := parse(t, "  - effect: allow\n    "+tt.rule+"\n").Rules[0]
			c, ok := r.When.(conditions)
			if !ok {
				t.Fatal("no condition")
			}
			c.zone = berlin
			if got, err := c.Holds(approvals.Call{}, tt.now); got != tt.want || err != nil {
				t.Errorf("got %v, %v; want %v", got, err, tt.want)
			}
		})
	}
}

// FuzzParse: nothing panics; what is taken has an effect in every rule and an origin; what is not is a Problem.
func FuzzParse(f *testing.F) {
	for _, r := range refused {
		f.Add("version: 1\nrules:\n" + r.rules)
	}
	f.Add("version: 1\nrules: [{effect: allow, when: 'args.a', hours: '22:00-06:00', days: [mon]}]")
	f.Fuzz(func(t *testing.T, text string) {
		p, err := Parse("p", []byte(text))
		if err != nil {
			if len(Problems(err)) == 0 || len(p.Rules) != 0 {
				t.Fatalf("%v with %d rules", err, len(p.Rules))
			}
			return
		}
		for _, r := range p.Rules {
			if r.Effect != approvals.Allow && r.Effect != approvals.Ask && r.Effect != approvals.Deny || r.Origin == "" {
				t.Fatalf("%+v", r)
			}
		}
	})
}
