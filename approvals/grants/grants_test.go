package grants_test

import (
	"strings"
	"testing"
	"time"

	"github.com/containerd/errdefs"

	"github.com/garita-dev/garita/approvals"
	"github.com/garita-dev/garita/approvals/grants"
	"github.com/garita-dev/garita/sandbox"
)

var now = time.Unix(1_800_000_000, 0)

// aCall is a write by an agent in a snapshot workspace.
func aCall(arguments string) approvals.Call {
	return approvals.Call{
		ID: "c1", Session: "s1", Principal: approvals.Principal{UID: 1000, Client: "claude"}, Server: "files", Spec: "sha256:spec",
		Workspace: "w1", Mode: sandbox.Snapshot, Tool: "write_file", Pin: "sha256:pin", Class: approvals.Write, Arguments: []byte(arguments),
	}
}

func asked(c approvals.Call) approvals.Request {
	return approvals.Request{
		ID: "r1", Kind: c.Kind(), Binding: c.Binding(), Call: c, Outcome: approvals.Pending,
		Why: approvals.Decision{Effect: approvals.Ask, Class: c.Class, Rule: approvals.RuleAsk},
	}
}

// granted is a set with what was permitted as the answer to c.
func granted(t *testing.T, c approvals.Call, p approvals.Permission) (*grants.Set, approvals.Grant) {
	t.Helper()
	g, err := grants.Make(asked(c), p, "page", now)
	if err != nil {
		t.Fatal(err)
	}
	set := &grants.Set{}
	set.Add(g)
	return set, g
}

func covers(set *grants.Set, c approvals.Call) bool { return set.Cover(c, now).Grants != "" }

func in(path, prefix string) []approvals.Argument {
	return []approvals.Argument{{Path: path, Prefix: prefix}}
}

func TestAGrantReachesNoFurther(t *testing.T) {
	set, _ := granted(t, aCall(`{"path":"src/a.txt"}`), approvals.Permission{Scope: approvals.ScopeAlways, Arguments: in("/path", "src/")})
	if !covers(set, aCall(`{"path":"src/b/c.txt","content":"x"}`)) {
		t.Error("it does not cover what it was given for")
	}
	for name, change := range map[string]func(*approvals.Call){
		"another agent":      func(c *approvals.Call) { c.Principal.Client = "cursor" },
		"another user":       func(c *approvals.Call) { c.Principal.UID = 1001 },
		"a token":            func(c *approvals.Call) { c.Principal.Token = "t1" },
		"another server":     func(c *approvals.Call) { c.Server = "files2" },
		"another definition": func(c *approvals.Call) { c.Spec = "sha256:other" },
		"another tool":       func(c *approvals.Call) { c.Tool = "edit_file" },
		"another pin":        func(c *approvals.Call) { c.Pin = "sha256:other" },
		"another class":      func(c *approvals.Call) { c.Class = approvals.Destroy },
		"a sensitive call":   func(c *approvals.Call) { c.Sensitive = "it returns tokens" },
	} {
		c := aCall(`{"path":"src/a.txt"}`)
		change(&c)
		if covers(set, c) {
			t.Errorf("%s is covered", name)
		}
	}
}

func TestArgumentsThatAreNotAsTheyLook(t *testing.T) {
	set, _ := granted(t, aCall(`{"path":"src/a.txt"}`), approvals.Permission{Scope: approvals.ScopeAlways, Arguments: in("/path", "src/")})
	for _, arguments := range []string{
		`{"path":"src"}`,
		`{"path":"/src/a"}`,
		`{"path":"src/../etc/passwd"}`,
		`{"path":"src/..\\x"}`,
		`{"path":"src/%2e%2e/x"}`,
		`{"path":"src/\u2024\u2024/../x"}`,
		`{"path":"src/\u2025/x"}`,
		`{"path":"src/．．/x"}`,
		`{"path":"src/．．／x"}`,
		`{"path":"src/a","file":"/etc/passwd"}`,
		`{"path":"src/a","paths":["src/b","/etc/passwd"]}`,
		`{"path":"src/a","Destination":"/etc/passwd"}`,
		`{"path":"src/a","to":{"path":"/etc/passwd"}}`,
		`{"path":"src/a\u0000"}`,
		`{"path":"src/a\u202etxt"}`,
		`{"path":["src/a","/etc/passwd"]}`,
		`{"path":[]}`,
		`{"path":{"x":"src/a"}}`,
		`{"path":null}`,
		`{}`,
		``,
		`{"Path":"src/a"}`,
		`{"path":"src/a","PATH":"/etc/passwd"}`,
		`{"path":"/etc/passwd","path":"src/a"}`,
		`{"p\u0061th":"src/a","path":"/etc/passwd"}`,
		`{"path":"src/a"`,
		`{"path":"src/a"}{"path":"/etc/passwd"}`,
		`["src/a"]`,
		"{\"path\":\"src/\xff\"}",
	} {
		if covers(set, aCall(arguments)) {
			t.Errorf("%s is covered", arguments)
		}
	}
	for _, arguments := range []string{`{"path":"src/a","to":"src/b","file":null,"paths":[]}`, `{"path":["src/a","src/b"]}`, `{ "path" : "src\/a" }`, `{"p\u0061th":"src/a"}`} {
		if !covers(set, aCall(arguments)) {
			t.Errorf("%s is not covered", arguments)
		}
	}
}

func TestExactArguments(t *testing.T) {
	whole := []approvals.Argument{{Equals: `{"b":[1,2.50],"a":"x"}`}}
	set, _ := granted(t, aCall(`{"a":"x","b":[1,2.50]}`), approvals.Permission{Scope: approvals.ScopeAlways, Arguments: whole})
	for arguments, want := range map[string]bool{
		`{"a":"x","b":[1,2.50]}`:          true,
		` {"b": [1, 2.50], "a":"\u0078"}`: true,
		`{"a":"x","b":[1,2.5]}`:           false, // numbers as they are written
		`{"a":"x","b":[2.50,1]}`:          false,
		`{"a":"x","b":[1,2.50],"c":1}`:    false,
		`{"a":"X","b":[1,2.50]}`:          false,
	} {
		if got := covers(set, aCall(arguments)); got != want {
			t.Errorf("%s: covered %v, want %v", arguments, got, want)
		}
	}
}

func TestScopesEnd(t *testing.T) {
	c := aCall(`{"path":"src/a.txt"}`)
	set, _ := granted(t, c, approvals.Permission{Scope: approvals.ScopeUntil, Until: now.Add(time.Hour)})
	if !covers(set, c) || set.Cover(c, now.Add(time.Hour)).Grants != "" {
		t.Error("until an hour from now is not until then")
	}
	set, g := granted(t, c, approvals.Permission{Scope: approvals.ScopeSession})
	other := c
	other.Session = "s2"
	d := approvals.Decision{Grants: approvals.GrantIDs(g.ID)}
	if !covers(set, c) || covers(set, other) || !set.Stands(d, now) {
		t.Error("for a session is not for that session")
	}
	set.EndSession("s1")
	if covers(set, c) || set.Stands(d, now) {
		t.Error("it outlives its session")
	}
	set.Add(g)
	if !set.Remove(g.ID) || set.Remove(g.ID) || covers(set, c) || set.Stands(d, now) {
		t.Error("a removed grant permits")
	}
}

func TestMakeRefuses(t *testing.T) {
	write, destroy, execute := aCall(`{"path":"src/a.txt"}`), aCall(`{"branch":"main"}`), aCall(`{"command":"cd /w"}`)
	destroy.Class, execute.Class = approvals.Destroy, approvals.Execute
	direct, external := write, write
	direct.Mode, external.External = sandbox.Direct, true
	always := func(a ...approvals.Argument) approvals.Permission {
		return approvals.Permission{Scope: approvals.ScopeAlways, Arguments: a}
	}
	for _, tc := range []struct {
		name string
		call approvals.Call
		p    approvals.Permission
		says string
	}{
		{"no scope", write, approvals.Permission{}, "is no scope"},
		{"a time that is over", write, approvals.Permission{Scope: approvals.ScopeUntil, Until: now}, "ended already"},
		{"a folder that is not the call's", write, always(approvals.Argument{Path: "/path", Prefix: "doc/"}), "would not cover"},
		{"a beginning without a slash", write, always(approvals.Argument{Path: "/path", Prefix: "sr"}), "ends in a slash"},
		{"a beginning that climbs", write, always(approvals.Argument{Path: "/path", Prefix: "src/../"}), "no .."},
		{"the whole disk", write, always(approvals.Argument{Path: "/path", Prefix: "/"}), "every place"},
		{"two ways at once", write, always(approvals.Argument{Path: "/path", Prefix: "src/", Equals: `"src/a.txt"`}), "want one of"},
		{"a pointer that is none", write, always(approvals.Argument{Path: "path", Prefix: "src/"}), "JSON pointer"},
		{"a value that is no JSON", write, always(approvals.Argument{Path: "/path", Equals: "src"}), "no JSON"},
		{"a command for a write", write, always(approvals.Argument{Path: "/path", Command: "cd"}), "no command"},
		{"destroying always, whatever", destroy, always(), "exact arguments"},
		{"destroying always, by folder", destroy, always(approvals.Argument{Path: "/branch", Prefix: "main/"}), "exact arguments"},
		{"running anything", execute, approvals.Permission{Scope: approvals.ScopeSession}, "only as they are"},
		{"running what begins so", execute, always(approvals.Argument{Path: "/command", Prefix: "cd /"}), "not compared by their beginning"},
		{"a command that is a line", execute, always(approvals.Argument{Path: "/command", Command: "cd && rm"}), "no simple command"},
		{"collecting in direct mode", direct, approvals.Permission{Scope: approvals.ScopeCollect}, "snapshot"},
		{"collecting elsewhere", external, approvals.Permission{Scope: approvals.ScopeCollect}, "snapshot"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			_, err := grants.Make(asked(tc.call), tc.p, "page", now)
			if !errdefs.IsInvalidArgument(err) || !strings.Contains(err.Error(), tc.says) {
				t.Errorf("got %v, want %q", err, tc.says)
			}
		})
	}
	r := asked(write)
	r.Kind = approvals.KindTool
	if _, err := grants.Make(r, always(), "page", now); !errdefs.IsInvalidArgument(err) {
		t.Errorf("a permission for a question that is no call: %v", err)
	}
}

func TestCollect(t *testing.T) {
	set, _ := granted(t, aCall(`{}`), approvals.Permission{Scope: approvals.ScopeCollect})
	evaluate := func(change func(*approvals.Call)) approvals.Decision {
		c := aCall(`{"path":"a"}`)
		change(&c)
		return approvals.Evaluate(c, approvals.Standing{}, approvals.Policy{}, set, now)
	}
	for name, change := range map[string]func(*approvals.Call){
		"a write":       func(*approvals.Call) {},
		"a deletion":    func(c *approvals.Call) { c.Class = approvals.Destroy },
		"another tool":  func(c *approvals.Call) { c.Tool = "edit_file" },
		"another pin":   func(c *approvals.Call) { c.Pin = "sha256:other" },
		"a later visit": func(c *approvals.Call) { c.Session = "s2" },
	} {
		if d := evaluate(change); !d.Allowed() || !d.Collect {
			t.Errorf("%s is not collected: %+v", name, d)
		}
	}
	for name, change := range map[string]func(*approvals.Call){
		"a command":               func(c *approvals.Call) { c.Class = approvals.Execute },
		"a sensitive write":       func(c *approvals.Call) { c.Sensitive = "it returns tokens" },
		"a credential":            func(c *approvals.Call) { c.Arguments = []byte(`{"password":"hunter2x"}`) },
		"another workspace":       func(c *approvals.Call) { c.Workspace = "w2" },
		"no snapshot":             func(c *approvals.Call) { c.Mode = sandbox.Direct },
		"a server elsewhere":      func(c *approvals.Call) { c.External = true },
		"another server":          func(c *approvals.Call) { c.Server = "git" },
		"a changed definition":    func(c *approvals.Call) { c.Spec = "sha256:other" },
		"a tool that is unlisted": func(c *approvals.Call) { c.Pin = "" },
	} {
		if d := evaluate(change); d.Allowed() {
			t.Errorf("%s is collected", name)
		}
	}
}

func TestOffers(t *testing.T) {
	lately := []approvals.Call{aCall(`{"path":"src/b.txt"}`), aCall(`{"path":"doc/c.txt"}`)}
	offers := grants.Offers(asked(aCall(`{"path":"src/a.txt","content":"x"}`)), lately, now)
	if len(offers) == 0 || offers[0].Permission.Scope != approvals.ScopeOnce || offers[len(offers)-1].Permission.Scope != approvals.ScopeCollect {
		t.Fatalf("offers begin and end otherwise: %+v", offers)
	}
	for _, o := range offers[1:] {
		if o.Words == "" || strings.HasSuffix(o.Words, ".") {
			t.Errorf("words %q", o.Words)
		}
		if len(o.Permission.Arguments) > 0 && (len(o.Matches) != 1 || !strings.Contains(o.Words, "path in src/")) {
			t.Errorf("%s: matches %d", o.Words, len(o.Matches))
		}
		if o.Permission.Scope == approvals.ScopeCollect && len(o.Matches) != 2 {
			t.Errorf("collecting matches %d", len(o.Matches))
		}
	}
	destroy := aCall(`{"branch":"main"}`)
	destroy.Class = approvals.Destroy
	for _, o := range grants.Offers(asked(destroy), nil, now) {
		if o.Permission.Scope == approvals.ScopeAlways && o.Permission.Arguments[0].Equals == "" {
			t.Errorf("always is offered for more than these arguments: %s", o.Words)
		}
	}
	r := asked(aCall(`{}`))
	r.Kind = approvals.KindTool
	if offers := grants.Offers(r, nil, now); len(offers) != 1 {
		t.Errorf("more than once is offered for a tool's definition: %+v", offers)
	}
}

func TestGroups(t *testing.T) {
	at := func(id, arguments string, change func(*approvals.Call)) approvals.Request {
		c := aCall(arguments)
		change(&c)
		r := asked(c)
		r.ID = approvals.RequestID(id)
		return r
	}
	same := func(*approvals.Call) {}
	pending := []approvals.Request{
		at("r1", `{"path":"/w/src/a/x.ts"}`, same),
		at("r2", `{"path":"/w/src/b/y.ts"}`, func(c *approvals.Call) { c.Tool = "edit_file" }),
		at("r3", `{"path":"/w/src/z.ts"}`, func(c *approvals.Call) { c.Session = "s2" }),
		at("r4", `{}`, func(c *approvals.Call) { c.Class = approvals.Execute }),
		at("r5", `{}`, func(c *approvals.Call) { c.Class = approvals.Execute }),
	}
	groups := grants.Groups(pending)
	if len(groups) != 1 || len(groups[0].Members) != 2 || groups[0].Members[0].ID != "r1" || groups[0].Place != "/w/src/" {
		t.Fatalf("groups %+v", groups)
	}
	more := grants.Groups(append(pending, at("r6", `{"path":"/etc/passwd"}`, same)))
	if len(more) != 1 || more[0].ID == groups[0].ID || more[0].Place != "" || len(more[0].Members) != 3 {
		t.Errorf("a new member joins unseen: %+v", more)
	}
}

func TestLookingUpNothingAllocatesNothing(t *testing.T) {
	set, _ := granted(t, aCall(`{"path":"src/a.txt"}`), approvals.Permission{Scope: approvals.ScopeSession})
	c := aCall(`{"path":"src/a.txt"}`)
	c.Principal.Client = "cursor"
	if n := testing.AllocsPerRun(100, func() { set.Cover(c, now) }); n > 0 {
		t.Errorf("%v allocations", n)
	}
}

func FuzzCover(f *testing.F) {
	f.Add(`{"path":"src/a.txt"}`, "cd src && ls")
	f.Add(`{"path":["src/a"],"x":{"y":1}}`, "a | b; c\nd")
	f.Fuzz(func(t *testing.T, arguments, line string) {
		set := &grants.Set{}
		set.Add(approvals.Grant{
			ID: "g1", Scope: approvals.ScopeAlways, Principal: approvals.Principal{UID: 1000, Client: "claude"}, Server: "files", Spec: "sha256:spec",
			Tool: "write_file", Pin: "sha256:pin", Class: approvals.Write, Arguments: in("/path", "src/"),
		})
		c := aCall(arguments)
		if covers(set, c) && (strings.Contains(arguments, "..") || !strings.Contains(arguments, "src")) {
			t.Errorf("%q is covered", arguments)
		}
		for _, o := range grants.Offers(asked(c), []approvals.Call{c}, now) {
			if o.Permission.Scope != approvals.ScopeOnce && o.Permission.Scope != approvals.ScopeCollect && len(o.Matches) != 1 {
				t.Errorf("%q: an offer does not cover its own call: %+v", arguments, o)
			}
		}
		c.Class, c.Arguments = approvals.Execute, []byte(`{"command":`+quoted(line)+`}`)
		for _, o := range grants.Offers(asked(c), []approvals.Call{c}, now) {
			if o.Permission.Scope != approvals.ScopeOnce && len(o.Matches) != 1 {
				t.Errorf("%q: an offer does not cover its own call: %+v", line, o)
			}
		}
	})
}

// BenchmarkEvaluate is the decision about a read that passes, and about a write that a permission
// covers, among a hundred permissions of the agent.
func BenchmarkEvaluate(b *testing.B) {
	set := &grants.Set{}
	for i := range 100 {
		c := aCall(`{"path":"src/a.txt"}`)
		g, err := grants.Make(asked(c), approvals.Permission{Scope: approvals.ScopeAlways, Arguments: in("/path", "src/")}, "page", now)
		if err != nil {
			b.Fatal(err)
		}
		if i > 0 {
			g.Tool = "other"
		}
		set.Add(g)
	}
	policy := approvals.Policy{Rules: make([]approvals.Rule, 20)}
	for i := range policy.Rules {
		policy.Rules[i] = approvals.Rule{Name: "no", Servers: []string{"other*"}, Effect: approvals.Deny}
	}
	read, write := aCall(`{"path":"src/a.txt"}`), aCall(`{"path":"src/a.txt"}`)
	read.Class = approvals.Read
	for name, c := range map[string]approvals.Call{"a read that passes": read, "a write that is covered": write} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if !approvals.Evaluate(c, approvals.Standing{}, policy, set, now).Allowed() {
					b.Fatal("not allowed")
				}
			}
		})
	}
}

// While a server is observed, only what was permitted meanwhile counts.
func TestOnlyWhatWasPermittedSince(t *testing.T) {
	call := aCall(`{"path":"src/a.txt"}`)
	set, g := granted(t, call, approvals.Permission{Scope: approvals.ScopeAlways})
	for name, c := range map[string]struct {
		from time.Time
		want bool
	}{
		"it was given before": {g.Created.Add(time.Second), false},
		"it was given then":   {g.Created, true},
		"it was given since":  {g.Created.Add(-time.Second), true},
	} {
		t.Run(name, func(t *testing.T) {
			if got := set.Since(c.from).Cover(call, now).Grants != ""; got != c.want {
				t.Errorf("covered: %t", got)
			}
		})
	}
}
