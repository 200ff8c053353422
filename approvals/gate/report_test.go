package gate

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/containerd/errdefs"
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/garita-dev/garita/approvals"
	"github.com/garita-dev/garita/sandbox/sandboxtest"
)

// happening is one line of a field report's replay.
type happening struct {
	AtMS int    `json:"at_ms"`
	From string `json:"from"`
	Send struct {
		Method string `json:"method"`
		Params struct {
			Name      string         `json:"name"`
			Arguments jsontext.Value `json:"arguments"`
		} `json:"params"`
	} `json:"send"`
}

// calls are the calls of a replay, all as writes, by who makes them.
func calls(t *testing.T, report string) (all []approvals.Call) {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(sandboxtest.Testdata(t), "field-inputs", report+".seq.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	for line := range bytes.Lines(data) {
		var s happening
		if err := json.Unmarshal(line, &s); err != nil {
			t.Fatal(err)
		}
		if s.Send.Method != "tools/call" {
			continue
		}
		c := aCall(approvals.Write)
		c.ID, c.Session = approvals.CallID(fmt.Sprintf("c%d", len(all))), approvals.SessionID("s-"+s.From)
		c.Tool, c.Arguments = s.Send.Params.Name, s.Send.Params.Arguments
		all = append(all, c)
	}
	return all
}

// A newer question never takes the place of the one that is shown, and an answer is to what was seen.
func TestReportA03(t *testing.T) {
	t.Run("report_A03", func(t *testing.T) {
		bubble(t, Options{}, func(t *testing.T, g *Gate, l *log) {
			both := calls(t, "A03")
			first := authorize(t.Context(), g, both[0])
			shown := theOne(t, g)
			pass(3 * time.Second)
			second := authorize(t.Context(), g, both[1])
			synctest.Wait()
			if pending := g.Pending(); len(pending) != 2 || pending[0].ID != shown.ID || pending[1].Call.Tool != "delete_branch" {
				t.Fatalf("the one that is shown gave way: %+v", pending)
			}
			for range 2 { // pressed twice
				if _, err := g.Answer(t.Context(), shown.ID, answer(shown, true)); err != nil {
					t.Error(err)
				}
			}
			next := g.Pending()[0]
			if _, err := g.Answer(t.Context(), next.ID, answer(shown, true)); !errdefs.IsInvalidArgument(err) {
				t.Errorf("an answer to what was not shown: %v", err)
			}
			if d, err := first.wait(); err != nil || !d.Allowed() {
				t.Errorf("%+v, %v", d, err)
			}
			if !waits(second) || l.ended(shown.ID).Binding != shown.Binding {
				t.Error("delete_branch ended, or the record does not have what was seen")
			}
		})
	})
}

// A second click belongs to what the first was about.
func TestReportA05(t *testing.T) {
	t.Run("report_A05", func(t *testing.T) {
		bubble(t, Options{}, func(t *testing.T, g *Gate, l *log) {
			both := calls(t, "A05")
			a := authorize(t.Context(), g, both[0])
			shown := theOne(t, g)
			b := authorize(t.Context(), g, both[1])
			synctest.Wait()
			for range 13 { // a double click, a held key, a browser that sends it again
				if r, err := g.Answer(t.Context(), shown.ID, answer(shown, true)); err != nil || r.Outcome != approvals.Approved {
					t.Errorf("%+v, %v", r, err)
				}
				pass(90 * time.Millisecond)
			}
			if d, err := a.wait(); err != nil || !d.Allowed() || len(l.decided) != 1 {
				t.Errorf("%+v, %v; %d decisions", d, err, len(l.decided))
			}
			if !waits(b) {
				t.Error("B ended")
			}
		})
	})
}

// A yes that comes after its caller has gone is to nothing; the same call again is asked about anew.
func TestReportA06(t *testing.T) {
	for name, wait := range map[string]time.Duration{"cancelled, killed or its stream closed": 10 * time.Minute, "timed out": 30 * time.Second} {
		t.Run("report_A06/"+name, func(t *testing.T) {
			bubble(t, Options{Wait: wait}, func(t *testing.T, g *Gate, l *log) {
				both := calls(t, "A06")
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				first := authorize(ctx, g, both[0])
				shown := theOne(t, g)
				pass(30 * time.Second)
				cancel()
				if d, _ := first.wait(); d.Allowed() {
					t.Fatal("it ran")
				}
				pass(time.Second)
				_, err := g.Answer(t.Context(), shown.ID, answer(shown, true))
				if !errdefs.IsFailedPrecondition(err) || !strings.Contains(err.Error(), "it had ") {
					t.Errorf("a late yes: %v", err)
				}
				pass(time.Second)
				second := authorize(t.Context(), g, both[1])
				again := theOne(t, g)
				if again.ID == shown.ID || !waits(second) {
					t.Fatal("the late yes served the second call")
				}
				if _, err := g.Answer(t.Context(), again.ID, answer(again, true)); err != nil {
					t.Fatal(err)
				}
				if d, err := second.wait(); err != nil || !d.Allowed() || len(l.decided) != 2 {
					t.Errorf("%+v, %v; %d decisions", d, err, len(l.decided))
				}
			})
		})
	}
}

// Denied, expired, withdrawn and refused by a rule are four things, in what is decided and on record.
func TestReportA08(t *testing.T) {
	t.Run("report_A08", func(t *testing.T) {
		var policy approvals.Policy
		o := Options{Wait: time.Minute, Policy: func() approvals.Policy { return policy }}
		bubble(t, o, func(t *testing.T, g *Gate, l *log) {
			ctx, cancel := context.WithCancel(t.Context())
			denied, withdrawn, expired := authorize(t.Context(), g, writing("a")), authorize(ctx, g, writing("b")), authorize(t.Context(), g, writing("c"))
			r := pendingOf(t, g, `"a"`)
			if _, err := g.Answer(t.Context(), r.ID, answer(r, false)); err != nil {
				t.Fatal(err)
			}
			cancel()
			seen := map[string]bool{}
			for want, a := range map[approvals.Outcome]*asking{approvals.Denied: denied, approvals.Withdrawn: withdrawn, approvals.Expired: expired} {
				d, err := a.wait()
				if err != nil || d.Allowed() || d.Outcome != want || l.ended(d.Request).Outcome != want || seen[d.Reason] {
					t.Errorf("%s: %+v, %v", want, d, err)
				}
				seen[d.Reason] = true
			}
			policy.Rules = []approvals.Rule{{Effect: approvals.Deny, Origin: "policy.yaml:3"}}
			if d, err := g.Authorize(t.Context(), writing("d")); err != nil || d.Allowed() || d.Outcome != "" || d.Rule != "rule policy.yaml:3" || seen[d.Reason] {
				t.Errorf("by a rule: %+v, %v", d, err)
			}
		})
	})
}

// What a permission covers is released with it; what it does not is still asked about.
func TestReportA15(t *testing.T) {
	t.Run("report_A15", func(t *testing.T) {
		bubble(t, Options{}, func(t *testing.T, g *Gate, l *log) {
			three := calls(t, "A15")
			a, b, c := authorize(t.Context(), g, three[0]), authorize(t.Context(), g, three[1]), authorize(t.Context(), g, three[2])
			r := pendingOf(t, g, "a.txt")
			p := approvals.Permission{Scope: approvals.ScopeUntil, Until: time.Now().Add(30 * time.Minute), Arguments: inFolder("/w/p/")}
			if _, err := g.Answer(t.Context(), r.ID, permitting(r, p)); err != nil {
				t.Fatal(err)
			}
			if d, err := a.wait(); err != nil || !d.ByPerson() {
				t.Errorf("1: %+v, %v", d, err)
			}
			d, err := b.wait()
			if err != nil || !d.Allowed() || d.ByPerson() || d.Rule != "grant "+string(l.granted[0].ID) || l.ended(d.Request).Outcome != approvals.Covered {
				t.Errorf("2: %+v, %v", d, err)
			}
			if !waits(c) || theOne(t, g).Call.ID != three[2].ID {
				t.Error("3 is no longer asked about, or 2 still is")
			}
			pass(30 * time.Minute)
			if again := authorize(t.Context(), g, three[1]); !waits(again) {
				t.Error("it lasts longer than it was given for")
			}
		})
	})
}

// An approval is used once, and is about one definition of a tool.
func TestAttackH18(t *testing.T) {
	t.Run("attack_H18", func(t *testing.T) {
		bubble(t, Options{}, func(t *testing.T, g *Gate, _ *log) {
			c := writing("a")
			first := authorize(t.Context(), g, c)
			r := theOne(t, g)
			if _, err := g.Answer(t.Context(), r.ID, answer(r, true)); err != nil {
				t.Fatal(err)
			}
			if d, err := first.wait(); err != nil || !d.Allowed() {
				t.Fatalf("%+v, %v", d, err)
			}
			replayed := authorize(t.Context(), g, c)
			if !waits(replayed) {
				t.Error("the same bytes again ran on the same approval")
			}
			swapped := c
			swapped.Pin = "sha256:swapped"
			other := authorize(t.Context(), g, swapped)
			synctest.Wait()
			for _, r := range g.Pending() {
				if r.Call.Pin == "sha256:swapped" && r.Binding == c.Binding() {
					t.Error("another definition has the same binding")
				}
			}
			if !waits(other) {
				t.Error("another definition ran on it")
			}
		})
	})
}

// Who asks too often is refused in words; nothing waits longer than it may, and nobody who is gone.
func TestAttackH63(t *testing.T) {
	t.Run("attack_H63", func(t *testing.T) {
		bubble(t, Options{Wait: 20 * time.Second}, func(t *testing.T, g *Gate, l *log) {
			ctx, gone := context.WithCancel(t.Context())
			defer gone()
			refused, most := 0, 0
			var all []*asking
			for i := range 200 { // within a minute
				c := writing(fmt.Sprintf("src/%03d", i))
				c.Session = approvals.SessionID(fmt.Sprintf("s%d", i%4)) // of one agent
				a := authorize(ctx, g, c)
				pass(300 * time.Millisecond)
				synctest.Wait()
				if !a.waits() && a.d.Rule == rulePace {
					refused++
					if a.err != nil || a.d.Allowed() || !strings.Contains(a.d.Reason, "60 questions") {
						t.Fatalf("%+v, %v", a.d, a.err)
					}
				}
				most = max(most, len(g.Pending()))
				all = append(all, a)
			}
			if asked := len(l.asked); asked > 130 || refused+asked != 200 {
				t.Errorf("%d asked and %d refused of 200", asked, refused)
			}
			if most > defaultMaxPending {
				t.Errorf("%d waited at once", most)
			}
			gone()
			for _, a := range all {
				if d, _ := a.wait(); d.Allowed() {
					t.Errorf("unanswered, and allowed: %+v", d)
				}
			}
			if len(g.Pending()) != 0 {
				t.Error("questions of a client that is gone wait on")
			}
			c := writing("other")
			c.Principal.Client = "cursor"
			if other := authorize(t.Context(), g, c); !waits(other) {
				t.Errorf("another agent is refused for it: %+v", other.d)
			}
		})
		t.Run("one session", func(t *testing.T) {
			bubble(t, Options{Wait: time.Second}, func(t *testing.T, g *Gate, l *log) {
				for i := range 31 {
					a := authorize(t.Context(), g, writing(fmt.Sprint(i)))
					pass(1100 * time.Millisecond)
					if d, _ := a.wait(); i < 30 && d.Rule == rulePace {
						t.Fatalf("refused after %d", i)
					}
				}
			})
		})
	})
}
