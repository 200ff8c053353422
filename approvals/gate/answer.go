package gate

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/containerd/errdefs"

	"github.com/garita-dev/garita/approvals"
)

// Pending lists the questions that wait for a person, the oldest first.
func (g *Gate) Pending() []approvals.Request {
	g.mu.Lock()
	defer g.mu.Unlock()
	var requests []approvals.Request
	for _, q := range g.pending {
		if q.shown {
			requests = append(requests, q.r)
		}
	}
	slices.SortFunc(requests, func(a, b approvals.Request) int { return a.Asked.Compare(b.Asked) })
	return requests
}

// Request finds a question, waiting or ended; NotFound. Those that ended long ago come from the
// log, with their arguments redacted.
func (g *Gate) Request(ctx context.Context, id approvals.RequestID) (approvals.Request, error) {
	if r, known := g.lookUp(id); known {
		return r, nil
	}
	return g.log.Request(ctx, id)
}

// lookUp finds a question that waits or has ended lately.
func (g *Gate) lookUp(id approvals.RequestID) (approvals.Request, bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if q, waits := g.pending[id]; waits && q.shown {
		return q.r, true
	}
	return g.ended.find(id)
}

// waiting is the question id if it waits.
func (g *Gate) waiting(id approvals.RequestID) (*question, bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	q, waits := g.pending[id]
	return q, waits && q.shown
}

// Answer ends question id by a person's answer and returns it as it then is. When Answer returns
// nil the answer is on record. Whether that person may answer is the caller's business.
//
// Kinds: NotFound; InvalidArgument when a.Binding is not the question's; FailedPrecondition, naming
// what happened, when the question ended otherwise before; Unavailable when the answer cannot be
// recorded (it may then be given again). The same answer twice is no error.
func (g *Gate) Answer(ctx context.Context, id approvals.RequestID, a approvals.Answer) (approvals.Request, error) {
	reply := func(r approvals.Request, at time.Time) (approvals.Request, error) { return r.Reply(a, at) }

	if q, waits := g.waiting(id); waits {
		r, err := g.end(q, reply)
		return r, answerError(id, err)
	}
	r, err := g.Request(ctx, id)
	if err != nil {
		return r, err
	}
	if r.Outcome == approvals.Pending { // the log's view of a question that is no more
		return r, fmt.Errorf("answer request %s: nothing waits for it any more: %w", id, errdefs.ErrFailedPrecondition)
	}
	return reply(r, time.Now())
}

// answerError gives a failure to record the kind Unavailable and leaves refusals as they are.
func answerError(id approvals.RequestID, err error) error {
	if err == nil || errdefs.IsFailedPrecondition(err) || errdefs.IsInvalidArgument(err) || errdefs.IsUnavailable(err) {
		return err
	}
	return fmt.Errorf("record answer to request %s: %w", id, errors.Join(errdefs.ErrUnavailable, err))
}

// Await returns as soon as at least one question waits, with all that do, oldest first; or ctx's
// error. A closed Gate has none: Unavailable.
func (g *Gate) Await(ctx context.Context) ([]approvals.Request, error) {
	for {
		g.mu.Lock()
		asked, closed := g.asked, g.closed
		g.mu.Unlock()
		if waiting := g.Pending(); len(waiting) > 0 {
			return waiting, nil
		}
		if closed {
			return nil, fmt.Errorf("await a question: garita is stopping: %w", errdefs.ErrUnavailable)
		}
		select {
		case <-asked:
		case <-ctx.Done():
			return nil, fmt.Errorf("await a question: %w", ctx.Err())
		}
	}
}
