package gate

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/containerd/errdefs"

	"github.com/garita-dev/garita/approvals"
	"github.com/garita-dev/garita/sandbox"
)

// writing is a write to path.
func writing(path string) approvals.Call {
	c := aCall(approvals.Write)
	c.ID = approvals.CallID("c " + path)
	c.Arguments = fmt.Appendf(nil, `{"path":%q}`, path)
	return c
}

// permitting is a yes to r that reaches further.
func permitting(r approvals.Request, p approvals.Permission) approvals.Answer {
	a := answer(r, true)
	a.Permit = &p
	return a
}

func inFolder(folder string) []approvals.Argument {
	return []approvals.Argument{{Path: "/path", Prefix: folder}}
}

// pendingOf waits until everything has settled and finds the question about path.
func pendingOf(t *testing.T, g *Gate, path string) approvals.Request {
	t.Helper()
	synctest.Wait()
	for _, r := range g.Pending() {
		if strings.Contains(string(r.Call.Arguments), path) {
			return r
		}
	}
	t.Fatalf("nothing waits about %s", path)
	return approvals.Request{}
}

func TestAPermissionLetsLaterCallsThrough(t *testing.T) {
	bubble(t, Options{}, func(t *testing.T, g *Gate, l *log) {
		a := authorize(t.Context(), g, writing("src/a"))
		r := pendingOf(t, g, "src/a")
		if _, err := g.Answer(t.Context(), r.ID, permitting(r, approvals.Permission{Scope: approvals.ScopeSession, Arguments: inFolder("src/")})); err != nil {
			t.Fatal(err)
		}
		if d, err := a.wait(); err != nil || !d.ByPerson() {
			t.Errorf("the call that was answered: %+v, %v", d, err)
		}
		d, err := g.Authorize(t.Context(), writing("src/b"))
		if err != nil || !d.Allowed() || d.ByPerson() || d.Grants != approvals.GrantIDs(l.granted[0].ID) || d.Rule != "grant "+string(d.Grants) || l.last() != d {
			t.Errorf("a call that is covered: %+v, %v", d, err)
		}
		if !g.Stands(d) {
			t.Error("what allowed it does not stand")
		}
		other := writing("src/c")
		other.Session = "s2"
		authorize(t.Context(), g, other)
		if r := pendingOf(t, g, "src/c"); r.Call.Session != "s2" {
			t.Error("another session's call is not asked about")
		}
		g.EndSession("s1")
		if g.Stands(d) || len(g.Grants()) != 0 {
			t.Error("the permission outlives its session")
		}
	})
}

func TestRevocationIsImmediate(t *testing.T) {
	bubble(t, Options{}, func(t *testing.T, g *Gate, l *log) {
		authorize(t.Context(), g, writing("src/a"))
		r := pendingOf(t, g, "src/a")
		if _, err := g.Answer(t.Context(), r.ID, permitting(r, approvals.Permission{Scope: approvals.ScopeAlways, Arguments: inFolder("src/")})); err != nil {
			t.Fatal(err)
		}
		d, err := g.Authorize(t.Context(), writing("src/b"))
		if err != nil || !d.Allowed() {
			t.Fatalf("%+v, %v", d, err)
		}
		id := l.granted[0].ID
		if err := g.Revoke(t.Context(), id, "page"); err != nil || len(l.revoked) != 1 {
			t.Fatal(err)
		}
		if g.Stands(d) {
			t.Error("a call that waits may still be sent")
		}
		authorize(t.Context(), g, writing("src/c"))
		pendingOf(t, g, "src/c")
		if err := g.Revoke(t.Context(), id, "page"); !errdefs.IsNotFound(err) {
			t.Errorf("again: %v", err)
		}
	})
}

func TestAPermissionThatCannotBeRecordedIsNone(t *testing.T) {
	bubble(t, Options{}, func(t *testing.T, g *Gate, l *log) {
		a := authorize(t.Context(), g, writing("src/a"))
		r := pendingOf(t, g, "src/a")
		l.setFail(errors.New("disk full"))
		p := approvals.Permission{Scope: approvals.ScopeAlways, Arguments: inFolder("src/")}
		if _, err := g.Answer(t.Context(), r.ID, permitting(r, p)); !errdefs.IsUnavailable(err) || len(g.Grants()) != 0 || !a.waits() {
			t.Errorf("%v; %d grants", err, len(g.Grants()))
		}
		l.setFail(nil)
		p.Arguments = inFolder("doc/")
		if _, err := g.Answer(t.Context(), r.ID, permitting(r, p)); !errdefs.IsInvalidArgument(err) || !a.waits() {
			t.Errorf("a permission that does not cover its call: %v", err)
		}
		no := permitting(r, p)
		no.Approve = false
		if _, err := g.Answer(t.Context(), r.ID, no); !errdefs.IsInvalidArgument(err) || !a.waits() {
			t.Errorf("a no that permits: %v", err)
		}
	})
}

func TestTheSameAnswerTwiceGrantsOnce(t *testing.T) {
	bubble(t, Options{}, func(t *testing.T, g *Gate, l *log) {
		authorize(t.Context(), g, writing("src/a"))
		r := pendingOf(t, g, "src/a")
		p := approvals.Permission{Scope: approvals.ScopeAlways, Arguments: inFolder("src/")}
		for range 3 {
			if _, err := g.Answer(t.Context(), r.ID, permitting(r, p)); err != nil {
				t.Error(err)
			}
		}
		if len(l.granted) != 1 || len(g.Grants()) != 1 {
			t.Errorf("%d grants", len(l.granted))
		}
		authorize(t.Context(), g, writing("doc/a"))
		r = pendingOf(t, g, "doc/a")
		if _, err := g.Answer(t.Context(), r.ID, answer(r, true)); err != nil {
			t.Fatal(err)
		}
		if _, err := g.Answer(t.Context(), r.ID, permitting(r, p)); !errdefs.IsFailedPrecondition(err) {
			t.Errorf("a permission after a plain yes: %v", err)
		}
	})
}

func TestAPolicyThatChangesAnswersWhatWaits(t *testing.T) {
	var policy approvals.Policy
	o := Options{Policy: func() approvals.Policy { return policy }}
	bubble(t, o, func(t *testing.T, g *Gate, l *log) {
		allowed, refused, waiting := authorize(t.Context(), g, writing("src/a")), authorize(t.Context(), g, deploying()), authorize(t.Context(), g, running())
		synctest.Wait()
		policy.Rules = []approvals.Rule{
			{Name: "writes", Classes: []approvals.Class{approvals.Write}, Effect: approvals.Allow},
			{Name: "no deploys", Classes: []approvals.Class{approvals.Destroy}, Effect: approvals.Deny},
		}
		g.Reconsider()
		if d, err := allowed.wait(); err != nil || !d.Allowed() || d.ByPerson() || d.Outcome != approvals.Covered || !strings.Contains(d.Rule, "writes") {
			t.Errorf("%+v, %v", d, err)
		}
		if d, err := refused.wait(); err != nil || d.Allowed() || d.Outcome != approvals.Overruled || !strings.Contains(d.Rule, "no deploys") {
			t.Errorf("%+v, %v", d, err)
		}
		if !waiting.waits() || len(l.decided) != 2 {
			t.Error("what still asks has ended")
		}
	})
}

func deploying() approvals.Call {
	c := aCall(approvals.Destroy)
	c.ID, c.Tool, c.Arguments = "c deploy", "deploy", []byte(`{"env":"prod"}`)
	return c
}

func running() approvals.Call {
	c := aCall(approvals.Execute)
	c.ID, c.Tool, c.Arguments = "c run", "run", []byte(`{"command":"ls"}`)
	return c
}

func TestDenyRulesBeatGrants(t *testing.T) {
	var policy approvals.Policy
	o := Options{Policy: func() approvals.Policy { return policy }}
	bubble(t, o, func(t *testing.T, g *Gate, _ *log) {
		authorize(t.Context(), g, writing("src/a"))
		r := pendingOf(t, g, "src/a")
		if _, err := g.Answer(t.Context(), r.ID, permitting(r, approvals.Permission{Scope: approvals.ScopeAlways})); err != nil {
			t.Fatal(err)
		}
		policy.Rules = []approvals.Rule{{Name: "hands off", Effect: approvals.Deny}}
		if d, err := g.Authorize(t.Context(), writing("src/b")); err != nil || d.Allowed() || !strings.Contains(d.Rule, "hands off") {
			t.Errorf("%+v, %v", d, err)
		}
		policy.Rules[0].Effect = approvals.Ask
		if d, err := g.Authorize(t.Context(), writing("src/b")); err != nil || !d.Allowed() {
			t.Errorf("a rule that asks is answered by what was permitted: %+v, %v", d, err)
		}
		secret := writing("src/b")
		secret.Arguments = []byte(`{"path":"src/b","password":"hunter2x"}`)
		if a := authorize(t.Context(), g, secret); !waits(a) {
			t.Error("what looks like a secret passes by a permission that does not name it")
		}
	})
}

func waits(a *asking) bool {
	synctest.Wait()
	return a.waits()
}

func TestAnsweringSeveralNamesEach(t *testing.T) {
	bubble(t, Options{}, func(t *testing.T, g *Gate, l *log) {
		var calls []*asking
		for i := range 12 {
			calls = append(calls, authorize(t.Context(), g, writing(fmt.Sprintf("src/%02d", i))))
			synctest.Wait()
		}
		groups := g.Groups()
		if len(groups) != 1 || len(groups[0].Members) != 12 || groups[0].Place != "src/" {
			t.Fatalf("groups %+v", groups)
		}
		var named []Named
		for _, r := range groups[0].Members {
			named = append(named, Named{r.ID, r.Binding})
		}
		late := authorize(t.Context(), g, writing("src/late")) // joins while the person reads
		synctest.Wait()
		if g.Groups()[0].ID == groups[0].ID {
			t.Error("a new member leaves the group's name as it was")
		}
		wrong := append([]Named{}, named...)
		wrong[3].Binding = "sha256:00"
		if _, err := g.AnswerAll(t.Context(), wrong, approvals.Answer{Approve: true, By: "page"}); !errdefs.IsInvalidArgument(err) || len(l.decided) != 0 {
			t.Errorf("with one that was not seen: %v; %d decided", err, len(l.decided))
		}
		done, err := g.AnswerAll(t.Context(), named, approvals.Answer{Approve: true, By: "page"})
		if err != nil || len(done) != 12 {
			t.Fatalf("%d answered, %v", len(done), err)
		}
		for i, a := range calls {
			if d, err := a.wait(); err != nil || !d.ByPerson() || done[i].Outcome != approvals.Approved {
				t.Errorf("%d: %+v, %v", i, d, err)
			}
		}
		if !waits(late) {
			t.Error("one that was not named was answered")
		}
	})
}

func TestQuestionsThatAreNoCalls(t *testing.T) {
	bubble(t, Options{}, func(t *testing.T, g *Gate, l *log) {
		q := approvals.Question{
			About:   approvals.Call{Principal: approvals.Principal{UID: 1000}, Server: "files", Sentence: "list write_file otherwise"},
			Subject: approvals.Subject{Tool: &approvals.ToolChange{Tool: "write_file", Before: "sha256:a", After: "sha256:b"}},
			Why:     approvals.Decision{Rule: "changed definitions are held back"},
		}
		ask := func(ctx context.Context) *asking {
			a := &asking{done: make(chan struct{})}
			go func() {
				defer close(a.done)
				a.d, a.err = g.Ask(ctx, q)
			}()
			synctest.Wait()
			return a
		}
		ctx, cancel := context.WithCancel(t.Context())
		first, second := ask(ctx), ask(t.Context())
		if r := theOne(t, g); r.Kind != approvals.KindTool || r.Binding != q.Binding() {
			t.Errorf("asked %+v", r)
		}
		cancel() // who asked first goes away: the other still wants to know
		if d, err := first.wait(); err != nil || d.Outcome != approvals.Withdrawn {
			t.Errorf("%+v, %v", d, err)
		}
		r := theOne(t, g)
		if _, err := g.Answer(t.Context(), r.ID, permitting(r, approvals.Permission{Scope: approvals.ScopeAlways})); !errdefs.IsInvalidArgument(err) {
			t.Errorf("a permission for a definition: %v", err)
		}
		if _, err := g.Answer(t.Context(), r.ID, answer(r, true)); err != nil {
			t.Fatal(err)
		}
		if d, err := second.wait(); err != nil || !d.Allowed() || len(l.decided) != 2 {
			t.Errorf("%+v, %v", d, err)
		}
		if again := ask(t.Context()); !waits(again) {
			t.Error("an answer serves twice")
		}
		if _, err := g.Ask(t.Context(), approvals.Question{About: aCall(approvals.Write)}); !errdefs.IsInvalidArgument(err) {
			t.Errorf("a question about nothing: %v", err)
		}
	})
}

func TestBindingsOfQuestionsTellThemApart(t *testing.T) {
	q := func(s approvals.Subject) sandbox.Digest {
		return approvals.Question{About: approvals.Call{Server: "files"}, Subject: s}.Binding()
	}
	seen := map[sandbox.Digest]int{}
	for i, s := range []approvals.Subject{
		{Tool: &approvals.ToolChange{Tool: "a", Before: "b"}},
		{Tool: &approvals.ToolChange{Tool: "a", After: "b"}},
		{Tool: &approvals.ToolChange{Tool: "a", Before: "b", Diff: "-x"}},
		{Apply: &approvals.Application{Workspace: "a", Seen: "b"}},
		{Apply: &approvals.Application{Workspace: "a", Seen: "b", Paths: []string{""}}},
		{Apply: &approvals.Application{Workspace: "a", Seen: "b", Paths: []string{"", ""}}},
		{Network: &approvals.NetworkAccess{Hosts: []string{"a:1"}}},
		{Network: &approvals.NetworkAccess{Hosts: []string{"a:1"}, After: true}},
		{Install: &approvals.Installation{Package: "a"}},
		{Secret: &approvals.SecretUse{Secret: "a"}},
		{Secret: &approvals.SecretUse{Secret: "a", Hosts: []string{"a:1"}}},
	} {
		if other, known := seen[q(s)]; known {
			t.Errorf("%d is bound as %d is", i, other)
		}
		seen[q(s)] = i
	}
}

func TestWhatWaitsKeepsItsOrder(t *testing.T) {
	bubble(t, Options{}, func(t *testing.T, g *Gate, _ *log) {
		for i := range 15 { // at one moment of the bubble's clock
			authorize(t.Context(), g, writing(fmt.Sprintf("src/%02d", i)))
			synctest.Wait()
		}
		for range 20 {
			for i, r := range g.Pending() {
				if want := fmt.Sprintf(`{"path":"src/%02d"}`, i); string(r.Call.Arguments) != want {
					t.Fatalf("place %d has %s", i, r.Call.Arguments)
				}
			}
		}
	})
}

func TestOffersArePreviewed(t *testing.T) {
	bubble(t, Options{}, func(t *testing.T, g *Gate, _ *log) {
		for _, path := range []string{"src/a", "src/b", "doc/c"} {
			authorize(t.Context(), g, writing(path))
			synctest.Wait()
		}
		r := pendingOf(t, g, "src/a")
		o, err := g.Preview(r, approvals.Permission{Scope: approvals.ScopeUntil, Until: time.Now().Add(time.Hour), Arguments: inFolder("src/")})
		if err != nil || len(o.Matches) != 2 {
			t.Errorf("%+v, %v", o, err)
		}
		if offers := g.Offers(r); len(offers) < 3 {
			t.Errorf("offers %+v", offers)
		}
		if _, err := g.Preview(r, approvals.Permission{Scope: "for ever"}); !errdefs.IsInvalidArgument(err) {
			t.Errorf("%v", err)
		}
	})
}
