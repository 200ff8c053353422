package gateway

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/garita-dev/garita/approvals"
	"github.com/garita-dev/garita/daemon/protocol"
	"github.com/garita-dev/garita/sandbox"
)

// decidingGate allows every call by one decision, and answers questions that are no calls.
type decidingGate struct {
	decision approvals.Decision
	yes      bool

	mu      sync.Mutex
	revoked bool
	asked   []approvals.Question
}

func (g *decidingGate) Settle(context.Context, approvals.Call) (approvals.Decision, bool, error) {
	return g.decision, true, nil
}

func (g *decidingGate) Authorize(context.Context, approvals.Call) (approvals.Decision, error) {
	return g.decision, nil
}

func (g *decidingGate) Stands(d approvals.Decision) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return d.Grants == "" || !g.revoked
}

func (g *decidingGate) Ask(_ context.Context, q approvals.Question) (approvals.Decision, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.asked = append(g.asked, q)
	if g.yes {
		return approvals.Decision{Effect: approvals.Allow, Outcome: approvals.Approved}, nil
	}
	return approvals.Decision{Effect: approvals.Deny, Outcome: approvals.Denied}, nil
}

// seenEffects says of every call what it did, and revokes what allowed it while it waits for its turn.
type seenEffects struct {
	seen  Seen
	err   error
	watch func()
}

func (e *seenEffects) Watch(context.Context, approvals.Call, approvals.Decision) (Watch, error) {
	if e.watch != nil {
		e.watch()
	}
	return e, nil
}
func (e *seenEffects) Stop(context.Context) (Seen, error) { return e.seen, e.err }

func (e *seenEffects) Blame(context.Context, approvals.Call, []sandbox.Change, string) error {
	return nil
}

// calling is one call of a write by that gate, and what came of it.
func calling(t *testing.T, g *decidingGate, e Effects) (w *world, answer string) {
	t.Helper()
	w = newModelWorld(legacyModel(tools("write_a"), func(s *stub, m protocol.Message) { s.reply(m, `{"content":[{"type":"text","text":"secret plan"}]}`) }), "",
		func(o *Options) { o.Gate, o.Effects = g, e })
	w.say(legacyHello)
	synctest.Wait()
	w.say(`{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"write_a","arguments":{}}}` + "\n")
	synctest.Wait()
	return w, strings.Join(answersTo(w.over(t), "7"), "\n")
}

func TestCollectedChangesStayInTheirWorkspace(t *testing.T) {
	collected := approvals.Decision{Effect: approvals.Allow, Class: approvals.Write, Rule: "grant g1", Grants: "g1", Collect: true}
	for _, tc := range []struct {
		name    string
		effects seenEffects
		yes     bool
		passes  bool
		asked   int
	}{
		{"files of its workspace", seenEffects{}, false, true, 0},
		{"a host, and the person minds", seenEffects{seen: Seen{Hosts: []string{"evil.example:443"}}}, false, false, 1},
		{"a host, and the person does not mind", seenEffects{seen: Seen{Hosts: []string{"api.example:443"}}}, true, true, 1},
		{"nobody knows what", seenEffects{err: errors.New("no mark")}, true, false, 0},
	} {
		bubble(t, tc.name, func(t *testing.T) {
			g := &decidingGate{decision: collected, yes: tc.yes}
			w, got := calling(t, g, &tc.effects)
			if passes := strings.Contains(got, "secret plan"); passes != tc.passes {
				t.Errorf("answered %s", got)
			}
			want := "[ done]"
			if !tc.passes {
				want = "[ withheld]"
			}
			if outcome := fmt.Sprint(w.recorded("write_a")); outcome != want {
				t.Errorf("recorded as %s, want %s", outcome, want)
			}
			if len(g.asked) != tc.asked {
				t.Fatalf("asked %+v", g.asked)
			}
			for _, q := range g.asked {
				if q.Subject.Network == nil || !q.Subject.Network.After || q.About.Tool != "" || q.About.ID != "" || q.About.Server == "" {
					t.Errorf("asked %+v", q)
				}
			}
		})
	}
}

func TestWhatWasRevokedMeanwhileIsNotSent(t *testing.T) {
	bubble(t, "while it waited for its turn", func(t *testing.T) {
		g := &decidingGate{decision: approvals.Decision{Effect: approvals.Allow, Class: approvals.Write, Rule: "grant g1", Grants: "g1"}}
		w, got := calling(t, g, &seenEffects{watch: func() {
			g.mu.Lock()
			defer g.mu.Unlock()
			g.revoked = true
		}})
		if !strings.Contains(got, "was revoked") || strings.Contains(w.seenByServer(), "write_a") {
			t.Errorf("answered %s; the server got %s", got, w.seenByServer())
		}
	})
}

// What the model is told tells denied, expired, withdrawn and refused by a rule apart.
func TestReportA08(t *testing.T) {
	t.Run("report_A08", func(t *testing.T) {
		c := approvals.Call{Tool: "write_a"}
		seen := map[string]approvals.Outcome{}
		for _, d := range []approvals.Decision{
			{Outcome: approvals.Denied},
			{Outcome: approvals.Expired},
			{Outcome: approvals.Withdrawn},
			{Outcome: approvals.Pending},
			{Outcome: approvals.Overruled, Rule: "rule policy.yaml:3", Reason: "No deploys."},
			{Rule: "question limit", Reason: "Too many."},
		} {
			text := string(refused(c, d).result)
			if other, twice := seen[text]; twice {
				t.Errorf("%q and %q are told alike: %s", other, d.Outcome, text)
			}
			seen[text] = d.Outcome
			if said := strings.Contains(text, "denied this call"); said != (d.Outcome == approvals.Denied) {
				t.Errorf("%q: %s", d.Outcome, text)
			}
			if d.Rule != "" && (!strings.Contains(text, d.Rule) || !strings.Contains(text, d.Reason)) {
				t.Errorf("the rule is not named: %s", text)
			}
		}
	})
}
