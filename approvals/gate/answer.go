package gate

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/containerd/errdefs"

	"github.com/garita-dev/garita/approvals"
	"github.com/garita-dev/garita/approvals/grants"
	"github.com/garita-dev/garita/sandbox"
)

// Pending lists the questions that wait for a person, the oldest first.
func (g *Gate) Pending() []approvals.Request {
	g.mu.Lock()
	defer g.mu.Unlock()
	var requests []approvals.Request
	for _, q := range g.inOrder() {
		requests = append(requests, q.r)
	}
	return requests
}

// inOrder is the questions that may be seen, in the order they were asked in. g.mu is held.
func (g *Gate) inOrder() []*question {
	var shown []*question
	for _, q := range g.pending {
		if q.shown {
			shown = append(shown, q)
		}
	}
	slices.SortFunc(shown, func(a, b *question) int { return cmp.Compare(a.place, b.place) })
	return shown
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
// nil the answer, and what it permits beyond the one call, is on record; what else waits and is
// covered by that is then allowed too. Whether that person may answer is the caller's business.
//
// Kinds: NotFound; InvalidArgument when a.Binding is not the question's, or a.Permit cannot be
// given for it; FailedPrecondition, naming what happened, when the question ended otherwise before;
// Unavailable when the answer cannot be recorded (it may then be given again). The same answer twice
// is no error.
func (g *Gate) Answer(ctx context.Context, id approvals.RequestID, a approvals.Answer) (approvals.Request, error) {
	if q, waits := g.waiting(id); waits {
		return g.answer(q, a)
	}
	r, err := g.Request(ctx, id)
	if err != nil {
		return r, err
	}
	if r.Outcome == approvals.Pending { // the log's view of a question that is no more
		return r, fmt.Errorf("answer request %s: nothing waits for it any more: %w", id, errdefs.ErrFailedPrecondition)
	}
	return g.again(r, a)
}

// answer ends q, which waited a moment ago.
func (g *Gate) answer(q *question, a approvals.Answer) (approvals.Request, error) {
	was := g.request(q)
	if was.Outcome != approvals.Pending {
		return g.again(was, a)
	}
	grant, err := permitted(was, a)
	if err != nil {
		return was, err
	}
	fresh := false
	r, err := g.end(q, func(r approvals.Request, at time.Time) (approvals.Request, error) {
		fresh = r.Outcome == approvals.Pending
		return r.Reply(a, at)
	}, grant)
	switch {
	case err != nil:
		return r, answerError(was.ID, err)
	case !fresh:
		return g.again(r, a)
	case grant != nil:
		g.Reconsider()
	}
	return r, nil
}

// permitted is what a permits beyond the one call, nil for nothing.
func permitted(r approvals.Request, a approvals.Answer) (*approvals.Grant, error) {
	if a.Permit == nil || a.Permit.Scope == approvals.ScopeOnce || a.Permit.Scope == "" {
		return nil, nil //nolint:nilnil // nothing is permitted, and that is no error
	}
	if !a.Approve {
		return nil, fmt.Errorf("answer request %s: a no permits nothing: %w", r.ID, errdefs.ErrInvalidArgument)
	}
	grant, err := grants.Make(r, *a.Permit, a.By, time.Now())
	if err != nil {
		return nil, fmt.Errorf("answer request %s: %w", r.ID, err)
	}
	return &grant, nil
}

// again is a reply to a question that has ended. One that would permit more than was permitted is
// another answer.
func (g *Gate) again(r approvals.Request, a approvals.Answer) (approvals.Request, error) {
	same, err := r.Reply(a, time.Now())
	if err != nil || a.Permit == nil || a.Permit.Scope == approvals.ScopeOnce || a.Permit.Scope == "" {
		return same, err
	}
	if slices.ContainsFunc(g.grants.List(), func(o approvals.Grant) bool { return o.Request == r.ID && o.Scope == a.Permit.Scope }) {
		return same, nil
	}
	return r, fmt.Errorf("answer request %s: %s, without more: %w", r.ID, r.Ended(), errdefs.ErrFailedPrecondition)
}

// Named is one question of several, and what the person saw of it.
type Named struct {
	ID      approvals.RequestID
	Binding sandbox.Digest
}

// AnswerAll answers several questions alike: each that is named, with the binding that was seen,
// and no other. Nothing is answered when one of them is not what was seen (InvalidArgument), or
// unknown (NotFound). What a permits belongs to the first that still waits. Questions that ended meanwhile stay as
// they ended; all are returned as they then are, in the order of named.
func (g *Gate) AnswerAll(ctx context.Context, named []Named, a approvals.Answer) ([]approvals.Request, error) {
	all := make([]approvals.Request, len(named))
	for i, n := range named {
		r, err := g.Request(ctx, n.ID)
		if err != nil {
			return nil, fmt.Errorf("answer %d questions together: %w", len(named), err)
		}
		if n.Binding == "" || n.Binding != r.Binding {
			return nil, fmt.Errorf("answer %d questions together: %s is about something else than was shown: %w", len(named), n.ID, errdefs.ErrInvalidArgument)
		}
		all[i] = r
	}
	for i, n := range named {
		a.Binding = n.Binding
		r, err := g.Answer(ctx, n.ID, a)
		if err != nil && !errdefs.IsFailedPrecondition(err) {
			return all, err
		}
		all[i] = r
		if err == nil {
			a.Permit = nil
		}
	}
	return all, nil
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
