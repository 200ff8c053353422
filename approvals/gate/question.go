package gate

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"sync"
	"time"

	"github.com/containerd/errdefs"

	"github.com/garita-dev/garita/approvals"
)

// question is one request while somebody waits for its answer.
type question struct {
	ctx     context.Context // ends with the caller, or with Close
	cancel  context.CancelFunc
	done    chan struct{} // closed once the end is on record
	session approvals.SessionID
	expires time.Time
	place   uint64 // among all questions; what was asked first is shown first

	ending sync.Mutex // held while an end is written down, so that there is one end

	r     approvals.Request // guarded by Gate.mu
	shown bool              // the question is on record and may be seen and answered; guarded by Gate.mu
}

// ask puts c to a person and waits.
func (g *Gate) ask(ctx context.Context, c approvals.Call, why approvals.Decision) (approvals.Decision, error) {
	asked := c
	asked.Arguments, asked.Input, asked.State = bytes.Clone(c.Arguments), bytes.Clone(c.Input), bytes.Clone(c.State)
	q := g.newQuestion(ctx, approvals.Request{Kind: c.Kind(), Binding: c.Binding(), Call: asked, Why: why})
	defer q.cancel()

	if rule, full := g.admit(q); full != "" {
		why.Effect, why.Rule, why.Reason = approvals.Deny, rule, full
		return g.record(ctx, c, why)
	}
	if err := g.log.RecordAsked(ctx, q.r); err != nil {
		g.drop(q)
		return refusal(c, noRecord), unavailable("record question about", c, err)
	}
	g.publish(q)
	g.reconsider(q) // what was permitted while it was written down covers it too
	if err := g.await(q); err != nil {
		return refusal(c, noRecord), err
	}
	return decided(g.request(q), c)
}

func (g *Gate) newQuestion(ctx context.Context, r approvals.Request) *question {
	now := time.Now()
	q := &question{done: make(chan struct{}), session: r.Call.Session, expires: now.Add(g.wait)}
	q.ctx, q.cancel = context.WithCancel(ctx)
	r.ID, r.Asked, r.Expires, r.Outcome = newRequestID(), now, q.expires, approvals.Pending
	q.r = r
	return q
}

// newRequestID is "r" and 128 random bits in hex.
func newRequestID() approvals.RequestID {
	var b [16]byte
	rand.Read(b[:]) // never fails
	return approvals.RequestID("r" + hex.EncodeToString(b[:]))
}

// The rules by which nobody is asked.
const (
	ruleQueue = "queue limit"
	rulePace  = "question limit"
)

// admit takes a place in the queue for q, or says why there is none, and by which rule.
func (g *Gate) admit(q *question) (rule, full string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.closed {
		return ruleQueue, "Garita is stopping."
	}
	ofSession := 0
	for _, other := range g.pending {
		if other.session == q.session {
			ofSession++
		}
	}
	switch {
	case ofSession >= g.maxSession:
		return ruleQueue, fmt.Sprintf("%d questions of this session already wait for an answer; ask again when some are answered.", ofSession)
	case len(g.pending) >= g.maxPending:
		return ruleQueue, fmt.Sprintf("%d questions already wait for an answer; ask again when some are answered.", len(g.pending))
	}
	if full := g.pace.take(q.r.Call, time.Now()); full != "" {
		return rulePace, full
	}
	g.count++
	q.place = g.count
	g.pending[q.r.ID] = q
	return "", ""
}

// publish lets q be seen and answered.
func (g *Gate) publish(q *question) {
	g.mu.Lock()
	q.shown = true
	id := q.r.ID
	close(g.asked)
	g.asked = make(chan struct{})
	g.mu.Unlock()
	g.changed(id)
}

// drop takes q, whose asking failed, out of the queue.
func (g *Gate) drop(q *question) {
	g.mu.Lock()
	defer g.mu.Unlock()
	delete(g.pending, q.r.ID)
}

// request is q's request as it is now.
func (g *Gate) request(q *question) approvals.Request {
	g.mu.Lock()
	defer g.mu.Unlock()
	return q.r
}

// await waits for q's end, and ends it itself when its time or its caller runs out.
func (g *Gate) await(q *question) error {
	timer := time.NewTimer(time.Until(q.expires))
	defer timer.Stop()

	var err error
	select {
	case <-q.done:
	case <-timer.C:
		_, err = g.end(q, approvals.Request.Expire, nil)
	case <-q.ctx.Done():
		_, err = g.end(q, approvals.Request.Withdraw, nil)
	}
	if err != nil && !errdefs.IsFailedPrecondition(err) {
		return unavailable("record end of question about", g.request(q).Call, err)
	}
	return nil
}

// decided is the decision of an ended question, refused if c is no longer what was approved.
func decided(r approvals.Request, c approvals.Call) (approvals.Decision, error) {
	if c.Binding() != r.Binding {
		return refusal(c, "The call changed after it was put to a person."),
			fmt.Errorf("authorize %s: the call changed after it was asked about: %w", c.Tool, errdefs.ErrFailedPrecondition)
	}
	return r.Decision(), nil
}

// step is a way out of Pending.
type step func(approvals.Request, time.Time) (approvals.Request, error)

// end moves q out of pending by step and writes that down; only then is the end there to be seen.
// When it cannot be written an answer is as if not given, while a question whose caller or time has
// run out is over all the same, and denied. It returns the request as it now is. grant is what was
// permitted with it, nil for nothing.
func (g *Gate) end(q *question, step step, grant *approvals.Grant) (approvals.Request, error) {
	q.ending.Lock()
	defer q.ending.Unlock()

	was := g.request(q)
	r, err := step(was, time.Now())
	if err != nil || r.Outcome == was.Outcome { // it had ended before
		return was, err
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(q.ctx), recordTimeout)
	defer cancel()
	if err := g.recordEnd(ctx, r, grant); err != nil {
		if r.Outcome == approvals.Expired || r.Outcome == approvals.Withdrawn {
			g.settle(q, r)
		}
		return was, err
	}
	if grant != nil {
		g.grants.Add(*grant)
	}
	g.settle(q, r)
	return r, nil
}

func (g *Gate) recordEnd(ctx context.Context, r approvals.Request, grant *approvals.Grant) error {
	if grant != nil {
		return g.log.RecordGranted(ctx, r, r.Decision(), *grant)
	}
	return g.log.RecordAnswered(ctx, r, r.Decision())
}

// settle makes r the end of q. q.ending is held.
func (g *Gate) settle(q *question, r approvals.Request) {
	g.mu.Lock()
	q.r = r
	delete(g.pending, r.ID)
	g.ended.add(r)
	g.mu.Unlock()
	close(q.done)
	g.changed(r.ID)
}
