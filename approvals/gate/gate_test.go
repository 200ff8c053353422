package gate

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/containerd/errdefs"

	"github.com/garita-dev/garita/approvals"
)

// log is a record in memory that can be made to fail.
type log struct {
	mu       sync.Mutex
	fail     error
	decided  []approvals.Decision
	asked    map[approvals.RequestID]approvals.Request
	answered map[approvals.RequestID]approvals.Request
	granted  []approvals.Grant
	revoked  []approvals.GrantID
	slow     time.Duration // of every write
}

func newLog() *log {
	return &log{asked: map[approvals.RequestID]approvals.Request{}, answered: map[approvals.RequestID]approvals.Request{}}
}

func (l *log) setFail(err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.fail = err
}

func (l *log) write(do func()) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.slow > 0 {
		pass(l.slow)
	}
	if l.fail == nil {
		do()
	}
	return l.fail
}

func (l *log) RecordDecision(_ context.Context, _ approvals.Call, d approvals.Decision) error {
	return l.write(func() { l.decided = append(l.decided, d) })
}

func (l *log) RecordAsked(_ context.Context, r approvals.Request) error {
	return l.write(func() { l.asked[r.ID] = r })
}

func (l *log) RecordAnswered(_ context.Context, r approvals.Request, d approvals.Decision) error {
	return l.write(func() { l.answered[r.ID], l.decided = r, append(l.decided, d) })
}

func (l *log) RecordGranted(ctx context.Context, r approvals.Request, d approvals.Decision, g approvals.Grant) error {
	if err := l.RecordAnswered(ctx, r, d); err != nil {
		return err
	}
	return l.write(func() { l.granted = append(l.granted, g) })
}

func (l *log) RecordRevoked(_ context.Context, id approvals.GrantID, _ string, _ time.Time) error {
	return l.write(func() { l.revoked = append(l.revoked, id) })
}

func (l *log) Request(_ context.Context, id approvals.RequestID) (approvals.Request, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if r, ok := l.answered[id]; ok {
		return r, nil
	}
	return approvals.Request{}, errdefs.ErrNotFound
}

// ended is how a question ended, as it was recorded.
func (l *log) ended(id approvals.RequestID) approvals.Request {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.answered[id]
}

// last is the decision recorded last.
func (l *log) last() approvals.Decision {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.decided) == 0 {
		return approvals.Decision{}
	}
	return l.decided[len(l.decided)-1]
}

type standing struct {
	is  approvals.Standing
	err error
}

func (s standing) Standing(context.Context, approvals.Call) (approvals.Standing, error) {
	return s.is, s.err
}

func aCall(class approvals.Class) approvals.Call {
	return approvals.Call{
		ID: "c1", Session: "s1", Principal: approvals.Principal{UID: 1000}, Server: "files", Spec: "sha256:spec", Tool: "write_file", Pin: "sha256:pin",
		Class: class, Arguments: []byte(`{"path":"a.txt"}`),
	}
}

// asking is an Authorize under way.
type asking struct {
	done chan struct{}
	d    approvals.Decision
	err  error
}

func authorize(ctx context.Context, g *Gate, c approvals.Call) *asking {
	a := &asking{done: make(chan struct{})}
	go func() {
		defer close(a.done)
		a.d, a.err = g.Authorize(ctx, c)
	}()
	return a
}

func (a *asking) wait() (approvals.Decision, error) {
	<-a.done
	return a.d, a.err
}

func (a *asking) waits() bool {
	select {
	case <-a.done:
		return false
	default:
		return true
	}
}

// bubble runs a test on a fake clock with a gate over a log, and closes the gate at its end.
func bubble(t *testing.T, o Options, test func(t *testing.T, g *Gate, l *log)) {
	synctest.Test(t, func(t *testing.T) {
		l := newLog()
		o.Log = l
		if o.Standings == nil {
			o.Standings = standing{}
		}
		g := New(o)
		test(t, g, l)
		if err := g.Close(); err != nil {
			t.Error(err)
		}
	})
}

// theOne is the only request that waits.
func theOne(t *testing.T, g *Gate) approvals.Request {
	t.Helper()
	synctest.Wait()
	pending := g.Pending()
	if len(pending) != 1 {
		t.Fatalf("%d requests wait, want 1", len(pending))
	}
	return pending[0]
}

func answer(r approvals.Request, approve bool) approvals.Answer {
	return approvals.Answer{Approve: approve, By: "page", Binding: r.Binding}
}

func TestReadsPassAndAreRecorded(t *testing.T) {
	bubble(t, Options{}, func(t *testing.T, g *Gate, l *log) {
		d, err := g.Authorize(t.Context(), aCall(approvals.Read))
		if err != nil || !d.Allowed() || l.last() != d {
			t.Errorf("got %+v, %v; recorded %+v", d, err, l.last())
		}
	})
}

func TestWhatNobodyIsAskedAboutIsSettledAndRecorded(t *testing.T) {
	bubble(t, Options{}, func(t *testing.T, g *Gate, l *log) {
		d, settled, err := g.Settle(t.Context(), aCall(approvals.Read))
		if err != nil || !settled || !d.Allowed() || l.last() != d {
			t.Errorf("a read: %+v, %v, %v; recorded %+v", d, settled, err, l.last())
		}
		unlisted := aCall(approvals.Read)
		unlisted.Pin = ""
		if d, settled, err := g.Settle(t.Context(), unlisted); err != nil || !settled || d.Effect != approvals.Deny || l.last() != d {
			t.Errorf("an unlisted tool: %+v, %v, %v", d, settled, err)
		}
		if d, settled, err := g.Settle(t.Context(), aCall(approvals.Write)); err != nil || settled || d.Allowed() || len(l.decided) != 2 || len(l.asked) != 0 {
			t.Errorf("a write: %+v, %v, %v; %d decisions, %d questions", d, settled, err, len(l.decided), len(l.asked))
		}
		l.setFail(errors.New("disk full"))
		if d, settled, err := g.Settle(t.Context(), aCall(approvals.Read)); !errdefs.IsUnavailable(err) || !settled || d.Allowed() {
			t.Errorf("without a record: %+v, %v, %v", d, settled, err)
		}
		if err := g.Close(); err != nil {
			t.Fatal(err)
		}
		if d, settled, err := g.Settle(t.Context(), aCall(approvals.Write)); !errdefs.IsUnavailable(err) || !settled || d.Allowed() {
			t.Errorf("after Close: %+v, %v, %v", d, settled, err)
		}
	})
}

func TestUnlistedToolsAreRefusedAndRecorded(t *testing.T) {
	bubble(t, Options{}, func(t *testing.T, g *Gate, l *log) {
		c := aCall(approvals.Read)
		c.Pin = ""
		d, err := g.Authorize(t.Context(), c)
		if err != nil || d.Effect != approvals.Deny || l.last() != d {
			t.Errorf("got %+v, %v; recorded %+v", d, err, l.last())
		}
	})
}

func TestDemotedReadsAsk(t *testing.T) {
	o := Options{Standings: standing{is: approvals.Standing{Demoted: "it changed a.txt"}}}
	bubble(t, o, func(t *testing.T, g *Gate, _ *log) {
		authorize(t.Context(), g, aCall(approvals.Read))
		if r := theOne(t, g); r.Why.Rule != approvals.RuleDemoted {
			t.Errorf("asked by %q", r.Why.Rule)
		}
	})
}

func TestAWriteWaitsForItsAnswer(t *testing.T) {
	for _, approve := range []bool{true, false} {
		t.Run(fmt.Sprintf("approve %v", approve), func(t *testing.T) {
			bubble(t, Options{}, func(t *testing.T, g *Gate, l *log) {
				a := authorize(t.Context(), g, aCall(approvals.Write))
				r := theOne(t, g)
				if _, known := l.asked[r.ID]; !known || string(r.Call.Arguments) != `{"path":"a.txt"}` || r.Expires.Sub(r.Asked) != 10*time.Minute {
					t.Errorf("request %+v, on record: %v", r, known)
				}
				pass(9 * time.Minute)
				synctest.Wait()
				if !a.waits() {
					t.Fatal("it did not wait")
				}
				ended, err := g.Answer(t.Context(), r.ID, answer(r, approve))
				if err != nil {
					t.Fatal(err)
				}
				d, err := a.wait()
				if err != nil || d.Allowed() != approve || d != ended.Decision() || l.last() != d || d.Waited != 9*time.Minute || d.By != "page" {
					t.Errorf("got %+v, %v; recorded %+v", d, err, l.last())
				}
				if len(g.Pending()) != 0 {
					t.Error("it still waits")
				}
			})
		})
	}
}

func TestNobodyAnswers(t *testing.T) {
	bubble(t, Options{Wait: time.Minute}, func(t *testing.T, g *Gate, l *log) {
		a := authorize(t.Context(), g, aCall(approvals.Write))
		r := theOne(t, g)
		d, err := a.wait()
		if err != nil || d.Effect != approvals.Deny || d.Outcome != approvals.Expired || l.last() != d {
			t.Errorf("got %+v, %v", d, err)
		}
		if time.Since(r.Asked) != time.Minute {
			t.Errorf("it took %v", time.Since(r.Asked))
		}
		_, err = g.Answer(t.Context(), r.ID, answer(r, true))
		if !errdefs.IsFailedPrecondition(err) || !strings.Contains(err.Error(), "expired") {
			t.Errorf("an answer afterwards: %v", err)
		}
	})
}

func TestTheCallerGoesAway(t *testing.T) {
	bubble(t, Options{}, func(t *testing.T, g *Gate, l *log) {
		ctx, cancel := context.WithCancel(t.Context())
		a := authorize(ctx, g, aCall(approvals.Write))
		r := theOne(t, g)
		cancel()
		d, err := a.wait()
		if err != nil || d.Effect != approvals.Deny || d.Outcome != approvals.Withdrawn || l.last() != d {
			t.Errorf("got %+v, %v", d, err)
		}
		if _, err := g.Answer(t.Context(), r.ID, answer(r, true)); !errdefs.IsFailedPrecondition(err) {
			t.Errorf("an answer afterwards: %v", err)
		}
	})
}

func TestCloseWithdraws(t *testing.T) {
	bubble(t, Options{}, func(t *testing.T, g *Gate, l *log) {
		a := authorize(t.Context(), g, aCall(approvals.Write))
		theOne(t, g)
		if err := g.Close(); err != nil {
			t.Fatal(err)
		}
		if l.last().Outcome != approvals.Withdrawn {
			t.Error("Close did not wait for it")
		}
		if d, _ := a.wait(); d.Outcome != approvals.Withdrawn || l.last() != d {
			t.Errorf("got %+v", d)
		}
		for _, c := range []approvals.Class{approvals.Read, approvals.Write} {
			if d, err := g.Authorize(t.Context(), aCall(c)); d.Allowed() || !errdefs.IsUnavailable(err) {
				t.Errorf("a %s afterwards: %+v, %v", c, d, err)
			}
		}
		if _, err := g.Await(t.Context()); !errdefs.IsUnavailable(err) {
			t.Errorf("Await afterwards: %v", err)
		}
	})
}

func TestAnAnswerCountsOnce(t *testing.T) {
	bubble(t, Options{}, func(t *testing.T, g *Gate, l *log) {
		a := authorize(t.Context(), g, aCall(approvals.Write))
		r := theOne(t, g)
		for _, wrong := range []approvals.Answer{{Approve: true}, {Approve: true, Binding: "sha256:00"}} {
			if _, err := g.Answer(t.Context(), r.ID, wrong); !errdefs.IsInvalidArgument(err) || !a.waits() {
				t.Errorf("an answer about something else: %v", err)
			}
		}
		if _, err := g.Answer(t.Context(), "r0", answer(r, true)); !errdefs.IsNotFound(err) {
			t.Errorf("an answer to nothing: %v", err)
		}
		for range 3 { // the same answer changes nothing
			ended, err := g.Answer(t.Context(), r.ID, answer(r, true))
			if err != nil || ended.Outcome != approvals.Approved {
				t.Errorf("%+v, %v", ended, err)
			}
		}
		_, err := g.Answer(t.Context(), r.ID, answer(r, false))
		if !errdefs.IsFailedPrecondition(err) || !strings.Contains(err.Error(), "approved by page") {
			t.Errorf("a different answer: %v", err)
		}
		if d, _ := a.wait(); !d.Allowed() || len(l.decided) != 1 {
			t.Errorf("got %+v; %d decisions on record", d, len(l.decided))
		}
		again := authorize(t.Context(), g, aCall(approvals.Write)) // approved once is not approved twice
		if second := theOne(t, g); second.ID == r.ID || !again.waits() {
			t.Error("a second call went through on the first one's approval")
		}
	})
}

func TestAnswersFoundInTheLogOnly(t *testing.T) {
	bubble(t, Options{}, func(t *testing.T, g *Gate, l *log) {
		r := approvals.Request{ID: "r-old", Binding: "sha256:b", Outcome: approvals.Approved, By: "cli"}
		l.answered[r.ID] = r
		if _, err := g.Answer(t.Context(), r.ID, answer(r, true)); err != nil {
			t.Errorf("the same answer: %v", err)
		}
		if _, err := g.Answer(t.Context(), r.ID, answer(r, false)); !errdefs.IsFailedPrecondition(err) {
			t.Errorf("another answer: %v", err)
		}
	})
}

func TestTheQueueIsBounded(t *testing.T) {
	bubble(t, Options{MaxPending: 5, MaxSession: 3}, func(t *testing.T, g *Gate, l *log) {
		ask := func(session approvals.SessionID) *asking {
			c := aCall(approvals.Write)
			c.Session = session
			a := authorize(t.Context(), g, c)
			synctest.Wait()
			return a
		}
		var waiting []*asking
		for range 3 {
			waiting = append(waiting, ask("s1"))
		}
		d, err := ask("s1").wait()
		if err != nil || d.Allowed() || d.Rule != "queue limit" || !strings.Contains(d.Reason, "this session") || l.last() != d {
			t.Errorf("the fourth of a session: %+v, %v", d, err)
		}
		waiting = append(waiting, ask("s2"), ask("s3"))
		if d, err := ask("s4").wait(); err != nil || d.Allowed() || !strings.Contains(d.Reason, "5 questions") {
			t.Errorf("the sixth of all: %+v, %v", d, err)
		}
		for _, a := range waiting {
			if !a.waits() {
				t.Error("one that was in the queue has ended")
			}
		}
		pending := g.Pending()
		if _, err := g.Answer(t.Context(), pending[0].ID, answer(pending[0], false)); err != nil {
			t.Fatal(err)
		}
		if a := ask("s4"); !a.waits() {
			t.Error("an answered question still takes a place")
		}
	})
}

func TestNothingPassesUnrecorded(t *testing.T) {
	broken := errors.New("disk full")
	t.Run("a read", func(t *testing.T) {
		bubble(t, Options{}, func(t *testing.T, g *Gate, l *log) {
			l.setFail(broken)
			if d, err := g.Authorize(t.Context(), aCall(approvals.Read)); d.Allowed() || !errdefs.IsUnavailable(err) || !errors.Is(err, broken) {
				t.Errorf("%+v, %v", d, err)
			}
		})
	})
	t.Run("a question", func(t *testing.T) {
		bubble(t, Options{}, func(t *testing.T, g *Gate, l *log) {
			l.setFail(broken)
			if d, err := g.Authorize(t.Context(), aCall(approvals.Write)); d.Allowed() || !errdefs.IsUnavailable(err) {
				t.Errorf("%+v, %v", d, err)
			}
			if len(g.Pending()) != 0 {
				t.Error("it waits unrecorded")
			}
		})
	})
	t.Run("an approval, which may be given again", func(t *testing.T) {
		bubble(t, Options{}, func(t *testing.T, g *Gate, l *log) {
			a := authorize(t.Context(), g, aCall(approvals.Write))
			r := theOne(t, g)
			l.setFail(broken)
			if _, err := g.Answer(t.Context(), r.ID, answer(r, true)); !errdefs.IsUnavailable(err) {
				t.Errorf("answer: %v", err)
			}
			synctest.Wait()
			if !a.waits() {
				t.Fatal("it went on without a record")
			}
			l.setFail(nil)
			if _, err := g.Answer(t.Context(), r.ID, answer(r, true)); err != nil {
				t.Errorf("answer again: %v", err)
			}
			if d, err := a.wait(); err != nil || !d.Allowed() {
				t.Errorf("%+v, %v", d, err)
			}
		})
	})
	t.Run("an expiry", func(t *testing.T) {
		bubble(t, Options{}, func(t *testing.T, g *Gate, l *log) {
			a := authorize(t.Context(), g, aCall(approvals.Write))
			theOne(t, g)
			l.setFail(broken)
			if d, err := a.wait(); d.Allowed() || !errdefs.IsUnavailable(err) {
				t.Errorf("%+v, %v", d, err)
			}
			if len(g.Pending()) != 0 {
				t.Error("it still waits")
			}
		})
	})
	t.Run("without knowing the tool's standing", func(t *testing.T) {
		bubble(t, Options{Standings: standing{err: broken}}, func(t *testing.T, g *Gate, _ *log) {
			if d, err := g.Authorize(t.Context(), aCall(approvals.Read)); d.Allowed() || !errdefs.IsUnavailable(err) {
				t.Errorf("%+v, %v", d, err)
			}
		})
	})
}

func TestApprovedMeansOnRecord(t *testing.T) {
	bubble(t, Options{}, func(t *testing.T, g *Gate, l *log) {
		a := authorize(t.Context(), g, aCall(approvals.Write))
		r := theOne(t, g)
		l.mu.Lock()
		l.slow = time.Second
		l.mu.Unlock()
		answered := make(chan error)
		go func() {
			_, err := g.Answer(context.Background(), r.ID, answer(r, true))
			answered <- err
		}()
		pass(500 * time.Millisecond)
		synctest.Wait()
		if !a.waits() {
			t.Error("the call went on before its approval was on record")
		}
		if err := <-answered; err != nil {
			t.Error(err)
		}
		if d, err := a.wait(); err != nil || !d.Allowed() {
			t.Errorf("%+v, %v", d, err)
		}
	})
}

func TestACallThatChangesWhileItWaitsIsRefused(t *testing.T) {
	bubble(t, Options{}, func(t *testing.T, g *Gate, _ *log) {
		c := aCall(approvals.Write)
		a := authorize(t.Context(), g, c)
		r := theOne(t, g)
		copy(c.Arguments, `{"path":"b.txt"}`) // the caller's own bytes
		if string(r.Call.Arguments) != `{"path":"a.txt"}` {
			t.Error("what the person sees changed too")
		}
		if _, err := g.Answer(t.Context(), r.ID, answer(r, true)); err != nil {
			t.Fatal(err)
		}
		if d, err := a.wait(); d.Allowed() || !errdefs.IsFailedPrecondition(err) {
			t.Errorf("%+v, %v", d, err)
		}
	})
}

func TestAwaitAndChanged(t *testing.T) {
	var mu sync.Mutex
	changes := map[approvals.RequestID]int{}
	o := Options{Changed: func(id approvals.RequestID) {
		mu.Lock()
		defer mu.Unlock()
		changes[id]++
	}}
	bubble(t, o, func(t *testing.T, g *Gate, _ *log) {
		got := make(chan []approvals.Request)
		go func() {
			r, err := g.Await(t.Context())
			if err != nil {
				t.Error(err)
			}
			got <- r
		}()
		synctest.Wait()
		a := authorize(t.Context(), g, aCall(approvals.Write))
		r := (<-got)[0]
		if again, err := g.Await(t.Context()); err != nil || again[0].ID != r.ID {
			t.Errorf("while one waits: %v, %v", again, err)
		}
		found, err := g.Request(t.Context(), r.ID)
		if err != nil || found.Outcome != approvals.Pending {
			t.Errorf("%+v, %v", found, err)
		}
		if _, err := g.Answer(t.Context(), r.ID, answer(r, false)); err != nil {
			t.Fatal(err)
		}
		a.wait()
		synctest.Wait()
		mu.Lock()
		defer mu.Unlock()
		if changes[r.ID] != 2 {
			t.Errorf("%d changes told, want 2", changes[r.ID])
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := g.Await(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("Await with nothing to come: %v", err)
		}
	})
}

// TestEverythingAtOnce races answers, cancels and expiry over many questions: each ends once, and
// what was allowed is what is on record as approved.
func TestEverythingAtOnce(t *testing.T) {
	bubble(t, Options{Wait: 50 * time.Millisecond, MaxPending: 1000, MaxSession: 1000, PerSession: 1000, PerAgent: 1000}, func(t *testing.T, g *Gate, l *log) {
		var calls []*asking
		var racers sync.WaitGroup
		for i := range 200 {
			ctx, cancel := context.WithCancel(t.Context())
			calls = append(calls, authorize(ctx, g, aCall(approvals.Write)))
			racers.Go(func() {
				pass(time.Duration(i%7) * 10 * time.Millisecond)
				cancel()
			})
		}
		synctest.Wait()
		for i, r := range g.Pending() {
			for _, approve := range []bool{i%2 == 0, i%3 == 0} {
				racers.Go(func() {
					pass(time.Duration(i%6) * 10 * time.Millisecond)
					_, _ = g.Answer(context.Background(), r.ID, answer(r, approve)) // may come too late
				})
			}
		}
		racers.Wait()
		allowed := 0
		for _, a := range calls {
			d, err := a.wait()
			if err != nil {
				t.Error(err)
			}
			if d.Allowed() {
				allowed++
				if l.ended(d.Request).Outcome != approvals.Approved {
					t.Errorf("%s ran, and is on record as %s", d.Request, l.ended(d.Request).Outcome)
				}
			}
		}
		approved := 0
		for _, d := range l.decided {
			if d.Allowed() {
				approved++
			}
		}
		if allowed != approved || len(l.decided) != len(calls) {
			t.Errorf("%d ran, %d approvals and %d decisions on record for %d calls", allowed, approved, len(l.decided), len(calls))
		}
	})
}

// pass lets time go by on a bubble's clock.
func pass(d time.Duration) { <-time.After(d) }
