// Package gate lets a call through, refuses it, or has a person decide. Every decision is on disk
// before the call it is about may run; with nowhere to write it down nothing is allowed.
package gate

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/containerd/errdefs"

	"github.com/garita-dev/garita/approvals"
	"github.com/garita-dev/garita/approvals/grants"
)

// recorder writes down what is decided. What it returned nil for must survive the daemon's death,
// and for calls that may write also the machine's. Any error keeps the call from running.
type recorder interface {
	// RecordDecision records what was decided without asking anyone.
	RecordDecision(ctx context.Context, c approvals.Call, d approvals.Decision) error
	// RecordAsked records a question before anyone can see it.
	RecordAsked(ctx context.Context, r approvals.Request) error
	// RecordAnswered records how a question ended and the decision that follows, together.
	RecordAnswered(ctx context.Context, r approvals.Request, d approvals.Decision) error
	// RecordGranted is RecordAnswered for an answer that permits more, with the grant, together.
	RecordGranted(ctx context.Context, r approvals.Request, d approvals.Decision, g approvals.Grant) error
	// RecordRevoked records that a grant is no longer in force; NotFound.
	RecordRevoked(ctx context.Context, id approvals.GrantID, by string, at time.Time) error
	// Request finds a question that ended some time ago; NotFound.
	Request(ctx context.Context, id approvals.RequestID) (approvals.Request, error)
}

// standings knows what is held against a tool. It is asked about every call, so it has the answer
// in memory.
type standings interface {
	Standing(ctx context.Context, c approvals.Call) (approvals.Standing, error)
}

// Options are what a Gate is made of. Log and Standings are required; zero numbers mean the defaults.
type Options struct {
	Log       recorder
	Standings standings
	Policy    func() approvals.Policy // the person's rules, as they are now; nil means none
	Grants    []approvals.Grant       // in force when the Gate begins

	Wait       time.Duration // how long a question waits for its answer; 10 minutes
	MaxPending int           // questions that may wait at once; 100
	MaxSession int           // of one session; 20
	PerSession int           // questions of one session a minute; 30
	PerAgent   int           // of one agent; 60

	// Changed is called after a question was asked or has ended. It must not block, and must not
	// call the Gate. Nil is fine.
	Changed func(approvals.RequestID)
}

// The defaults of Options.
const (
	defaultWait       = 10 * time.Minute
	defaultMaxPending = 100
	defaultMaxSession = 20
	defaultPerSession = 30
	defaultPerAgent   = 60
)

// recordTimeout bounds the writing down of a question's end after its caller has gone.
const recordTimeout = 5 * time.Second

// Gate authorizes calls. It is safe for concurrent use; it starts nothing, and Close ends what waits.
type Gate struct {
	log        recorder
	standings  standings
	policy     func() approvals.Policy
	grants     grants.Set
	pace       pace
	wait       time.Duration
	maxPending int
	maxSession int
	changed    func(approvals.RequestID)

	mu      sync.Mutex // guards the fields below
	closed  bool
	pending map[approvals.RequestID]*question
	ended   history
	count   uint64         // of questions asked, which puts them in order
	asked   chan struct{}  // closed and replaced when a question is asked
	callers sync.WaitGroup // Authorize calls under way
}

// New returns a Gate by o.
func New(o Options) *Gate {
	g := &Gate{
		log: o.Log, standings: o.Standings, policy: o.Policy,
		pace: newPace(orDefault(o.PerSession, defaultPerSession), orDefault(o.PerAgent, defaultPerAgent)),
		wait: o.Wait, maxPending: o.MaxPending, maxSession: o.MaxSession,
		changed: o.Changed,
		pending: make(map[approvals.RequestID]*question),
		asked:   make(chan struct{}),
	}
	if g.wait <= 0 {
		g.wait = defaultWait
	}
	g.maxPending = orDefault(g.maxPending, defaultMaxPending)
	g.maxSession = orDefault(g.maxSession, defaultMaxSession)
	for _, grant := range o.Grants {
		g.grants.Add(grant)
	}
	if g.policy == nil {
		g.policy = func() approvals.Policy { return approvals.Policy{} }
	}
	if g.changed == nil {
		g.changed = func(approvals.RequestID) {}
	}
	return g
}

func orDefault(n, otherwise int) int {
	if n <= 0 {
		return otherwise
	}
	return n
}

// Authorize decides c and records the decision before it returns; where the policy asks, it waits
// for a person until the question expires or ctx ends. The Decision's effect is allow or deny,
// never ask, and is good for one sending of exactly c.
//
// An error always comes with a Decision that denies. Kinds: Unavailable if the log cannot be
// written or the Gate is closed; FailedPrecondition if c changed while it waited.
func (g *Gate) Authorize(ctx context.Context, c approvals.Call) (approvals.Decision, error) {
	if !g.enter() {
		return stopping(c)
	}
	defer g.callers.Done()
	d, err := g.judge(ctx, c)
	switch {
	case err != nil:
		return d, err
	case d.Effect == approvals.Ask:
		return g.ask(ctx, c, d)
	}
	return g.record(ctx, c, d)
}

// Settle is Authorize for a call that nobody is asked about: it waits for nothing but the record.
// settled is false where a person is to be asked; nothing has been recorded then.
func (g *Gate) Settle(ctx context.Context, c approvals.Call) (d approvals.Decision, settled bool, err error) {
	if !g.enter() {
		d, err = stopping(c)
		return d, true, err
	}
	defer g.callers.Done()
	d, err = g.judge(ctx, c)
	switch {
	case err != nil:
		return d, true, err
	case d.Effect == approvals.Ask:
		return approvals.Decision{}, false, nil
	}
	d, err = g.record(ctx, c, d)
	return d, true, err
}

func stopping(c approvals.Call) (approvals.Decision, error) {
	return refusal(c, "Garita is stopping."), fmt.Errorf("authorize %s: garita is stopping: %w", c.Tool, errdefs.ErrUnavailable)
}

// judge says what the policy and what was permitted before make of c.
func (g *Gate) judge(ctx context.Context, c approvals.Call) (approvals.Decision, error) {
	standing, err := g.standings.Standing(ctx, c)
	if err != nil {
		return refusal(c, noRecord), unavailable("look up standing of", c, err)
	}
	var permitted approvals.Grants = &g.grants
	if !standing.Observed.IsZero() {
		permitted = g.grants.Since(standing.Observed)
	}
	return approvals.Evaluate(c, standing, g.policy(), permitted, time.Now()), nil
}

// enter counts a caller in, unless the Gate is closed.
func (g *Gate) enter() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.closed {
		return false
	}
	g.callers.Add(1)
	return true
}

// record makes d durable and returns it; what could not be written down is refused.
func (g *Gate) record(ctx context.Context, c approvals.Call, d approvals.Decision) (approvals.Decision, error) {
	if d.Effect != approvals.Allow {
		d.Effect = approvals.Deny
	}
	if err := g.log.RecordDecision(ctx, c, d); err != nil {
		return refusal(c, noRecord), unavailable("record decision on", c, err)
	}
	return d, nil
}

// noRecord is told to the model when the log refuses us.
const noRecord = "Garita cannot write its record, and lets nothing through that it cannot record."

// refusal denies c outside any rule.
func refusal(c approvals.Call, reason string) approvals.Decision {
	return approvals.Decision{Effect: approvals.Deny, Class: c.Class, Rule: "fail closed", Reason: reason}
}

// unavailable says what could not be done about c. A caller that went away is told so.
func unavailable(doing string, c approvals.Call, err error) error {
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) || errdefs.IsUnavailable(err) {
		return fmt.Errorf("%s call of %s: %w", doing, c.Tool, err)
	}
	return fmt.Errorf("%s call of %s: %w: %w", doing, c.Tool, errdefs.ErrUnavailable, err)
}

// Close withdraws every question and refuses what comes after. It returns once no Authorize is
// under way any more. Idempotent.
func (g *Gate) Close() error {
	g.mu.Lock()
	if !g.closed {
		g.closed = true
		close(g.asked) // wakes Await; nothing is asked any more
		g.asked = make(chan struct{})
	}
	waiting := make([]*question, 0, len(g.pending))
	for _, q := range g.pending {
		waiting = append(waiting, q)
	}
	g.mu.Unlock()

	for _, q := range waiting {
		q.cancel()
	}
	g.callers.Wait()
	return nil
}
