package approvals_test

import (
	"strings"
	"testing"
	"time"

	"github.com/garita-dev/garita/approvals"
	"github.com/garita-dev/garita/sandbox"
)

func aRead() approvals.Call {
	return approvals.Call{
		Session: "s1", Principal: approvals.Principal{UID: 1000, Client: "claude"}, Server: "files", Spec: "sha256:spec",
		Tool: "read_file", Pin: "sha256:pin", Class: approvals.Read, ClassWhy: "Its name says that it reads.",
		Arguments: []byte(`{"path":"a.txt"}`),
	}
}

func TestEvaluate(t *testing.T) {
	for _, tc := range []struct {
		name     string
		change   func(*approvals.Call)
		standing approvals.Standing
		want     approvals.Effect
		rule     string
	}{
		{"a read", func(*approvals.Call) {}, approvals.Standing{}, approvals.Allow, approvals.RuleReads},
		{"a read without arguments", func(c *approvals.Call) { c.Arguments = nil }, approvals.Standing{}, approvals.Allow, approvals.RuleReads},
		{"a write", func(c *approvals.Call) { c.Class = approvals.Write }, approvals.Standing{}, approvals.Ask, approvals.RuleAsk},
		{"a deletion", func(c *approvals.Call) { c.Class = approvals.Destroy }, approvals.Standing{}, approvals.Ask, approvals.RuleAsk},
		{"a command", func(c *approvals.Call) { c.Class = approvals.Execute }, approvals.Standing{}, approvals.Ask, approvals.RuleAsk},
		{"no class", func(c *approvals.Call) { c.Class = "" }, approvals.Standing{}, approvals.Ask, approvals.RuleAsk},
		{"a class nobody knows", func(c *approvals.Call) { c.Class = "READ" }, approvals.Standing{}, approvals.Ask, approvals.RuleAsk},
		{"a class still open", func(c *approvals.Call) { c.Class = approvals.Depends }, approvals.Standing{}, approvals.Ask, approvals.RuleAsk},
		{"a tool never listed", func(c *approvals.Call) { c.Pin = "" }, approvals.Standing{}, approvals.Deny, approvals.RuleUnlisted},
		{"a write never listed", func(c *approvals.Call) { c.Pin, c.Class = "", approvals.Write }, approvals.Standing{}, approvals.Deny, approvals.RuleUnlisted},
		{"no tool", func(c *approvals.Call) { c.Tool = "" }, approvals.Standing{}, approvals.Deny, approvals.RuleUnlisted},
		{"a demoted read", func(*approvals.Call) {}, approvals.Standing{Demoted: "it changed a.txt"}, approvals.Ask, approvals.RuleDemoted},
		{"a read in direct mode", func(c *approvals.Call) { c.Mode = sandbox.Direct }, approvals.Standing{}, approvals.Ask, approvals.RuleDirect},
		{"a known read in direct mode", func(c *approvals.Call) { c.Mode, c.Profile = sandbox.Direct, "files" }, approvals.Standing{}, approvals.Allow, approvals.RuleReads},
		{"a known write in direct mode", func(c *approvals.Call) { c.Mode, c.Profile, c.Class = sandbox.Direct, "files", approvals.Write }, approvals.Standing{}, approvals.Ask, approvals.RuleAsk},
		{"a read elsewhere", func(c *approvals.Call) { c.External = true }, approvals.Standing{}, approvals.Ask, approvals.RuleExternal},
		{"a known read elsewhere", func(c *approvals.Call) { c.External, c.Profile = true, "github" }, approvals.Standing{}, approvals.Allow, approvals.RuleReads},
		{"a known read in a mode nobody knows", func(c *approvals.Call) { c.Mode, c.Profile = "wild", "files" }, approvals.Standing{}, approvals.Ask, approvals.RuleDirect},
		{"a read in a mode nobody knows", func(c *approvals.Call) { c.Mode = "wild" }, approvals.Standing{}, approvals.Ask, approvals.RuleDirect},
		{"a read in a snapshot", func(c *approvals.Call) { c.Mode = sandbox.Snapshot }, approvals.Standing{}, approvals.Allow, approvals.RuleReads},
		{"very large arguments", func(c *approvals.Call) { c.Arguments = []byte(`{"q":"` + strings.Repeat("x", 64<<10) + `"}`) }, approvals.Standing{}, approvals.Ask, approvals.RuleArguments},
		{"a read that goes on with answers", func(c *approvals.Call) { c.Input, c.State, c.Continues = answers, []byte(`"s"`), "c1" }, approvals.Standing{}, approvals.Allow, approvals.RuleContinues},
		{"a read with answers to nothing", func(c *approvals.Call) { c.Input = answers }, approvals.Standing{}, approvals.Ask, approvals.RuleInput},
		{"a read with a state of nobody's", func(c *approvals.Call) { c.State = []byte(`"s"`) }, approvals.Standing{}, approvals.Ask, approvals.RuleInput},
		{"a secret in the answers", func(c *approvals.Call) {
			c.Input, c.Continues = []byte(`{"k":{"action":"accept","content":{"password":"hunter2x"}}}`), "c1"
		}, approvals.Standing{}, approvals.Ask, approvals.RuleArguments},
		{"a demoted read that goes on", func(c *approvals.Call) { c.Input, c.Continues = answers, "c1" }, approvals.Standing{Demoted: "it changed a.txt"}, approvals.Ask, approvals.RuleDemoted},
		{"large arguments", func(c *approvals.Call) { c.Arguments = []byte(`{"q":"` + strings.Repeat("x", 63<<10) + `"}`) }, approvals.Standing{}, approvals.Allow, approvals.RuleReads},
	} {
		t.Run(tc.name, func(t *testing.T) {
			c := aRead()
			tc.change(&c)
			d := approvals.Evaluate(c, tc.standing, approvals.Policy{}, nil, time.Now())
			if d.Effect != tc.want || d.Rule != tc.rule {
				t.Errorf("got %s by %q (%s), want %s by %q", d.Effect, d.Rule, d.Reason, tc.want, tc.rule)
			}
			if !strings.HasSuffix(d.Reason, ".") {
				t.Errorf("reason %q is no sentence", d.Reason)
			}
			if d.Class == "" || d.Class == approvals.Depends {
				t.Errorf("the decision's class is %q", d.Class)
			}
		})
	}
}

// answers are what a client says to a question that the server asked in the middle of a call.
var answers = []byte(`{"k":{"action":"accept","content":{"name":"Ada"}}}`)

// No rule and no permission speaks of answers to what nobody asked.
func TestAnswersToNothingAreCoveredByNothing(t *testing.T) {
	c := aRead()
	c.Class, c.Input = approvals.Write, answers
	permitted := covering{Grants: "g1", Words: "everything", Exact: true}
	if d := approvals.Evaluate(c, approvals.Standing{}, approvals.Policy{}, permitted, time.Now()); d.Effect != approvals.Ask || d.Rule != approvals.RuleInput {
		t.Errorf("got %s by %q, want ask by %q", d.Effect, d.Rule, approvals.RuleInput)
	}
	if d := approvals.Evaluate(c.Bare(), approvals.Standing{}, approvals.Policy{}, permitted, time.Now()); d.Effect != approvals.Allow {
		t.Errorf("without them it is %s by %q", d.Effect, d.Rule)
	}
}

// covering is a permission for everything.
type covering approvals.Coverage

func (c covering) Cover(approvals.Call, time.Time) approvals.Coverage { return approvals.Coverage(c) }

// What looks like a credential is put together here so that no scanner takes this file for a leak.
func TestCredentialsAsk(t *testing.T) {
	body := "0123456789abcdefghijklmnopqrstuvwxyzABCD"
	for _, arguments := range []string{
		`{"q":"ghp_` + body + `"}`,
		`{"q":"\u0067hp_` + body + `"}`,
		`{"q":"g\u0068p_` + body + `"}`,
		`{"q":["a",{"b":"AKIA` + "ABCDEFGHIJKLMNOP" + `"}]}`,
		`{"q":"sk-ant-` + body + `"}`,
		`{"q":"xoxb-` + body + `"}`,
		`{"q":"-----BEGIN RSA PRIVATE KEY-----\nMII"}`,
		`{"q":"eyJ` + body + `.` + body + `.` + body + `"}`,
		`{"password":"hunter2x"}`,
		`{"a":[{"Api-Key" : "abc"}]}`,
		`{"p\u0061ssword":"hunter2x"}`,
		`{"ghp_` + body + `":1}`,
		`{"a":1,"a":"ghp_` + body + `"`,
	} {
		c := aRead()
		c.Arguments = []byte(arguments)
		if d := approvals.Evaluate(c, approvals.Standing{}, approvals.Policy{}, nil, time.Now()); d.Effect != approvals.Ask || d.Rule != approvals.RuleArguments {
			t.Errorf("%s: %s by %s", arguments, d.Effect, d.Rule)
		}
	}
	for _, arguments := range []string{
		`{"path":"/home/ana/task-0123456789abcdefghijklmnopqrstuvwxyz.txt"}`,
		`{"nextPageToken":"abc"}`,
		`{"q":"the password is in the safe"}`,
		`{"password":""}`,
		`{"password":null}`,
		`{"q":"eyJ is how a token begins, and this is not one at all, it only goes on and on"}`,
		`{"q":"AKIA"}`,
	} {
		c := aRead()
		c.Arguments = []byte(arguments)
		if d := approvals.Evaluate(c, approvals.Standing{}, approvals.Policy{}, nil, time.Now()); d.Effect != approvals.Allow {
			t.Errorf("%s: %s because %s", arguments, d.Effect, d.Reason)
		}
	}
}

func FuzzEvaluate(f *testing.F) {
	f.Add("read", `{"a":"\ud83d\ude00\u00"}`, "")
	f.Add("", `"\`, "x")
	f.Fuzz(func(t *testing.T, class, arguments, demoted string) {
		c := aRead()
		c.Class, c.Arguments = approvals.Class(class), []byte(arguments)
		d := approvals.Evaluate(c, approvals.Standing{Demoted: demoted}, approvals.Policy{}, nil, time.Now())
		if d.Allowed() && (class != "read" || demoted != "") {
			t.Errorf("%q with %q passes", class, demoted)
		}
		if d.Effect == "" || d.Reason == "" || d.Rule == "" {
			t.Errorf("%+v does not explain itself", d)
		}
	})
}

func BenchmarkEvaluate(b *testing.B) {
	c := aRead()
	for b.Loop() {
		approvals.Evaluate(c, approvals.Standing{}, approvals.Policy{}, nil, time.Now())
	}
}
