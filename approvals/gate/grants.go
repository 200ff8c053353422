package gate

import (
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

// Grants lists what is permitted now, the oldest first. Uses are in the log.
func (g *Gate) Grants() []approvals.Grant { return g.grants.List() }

// Revoke ends a grant at once: for calls to come, and for those it has let through that have not
// been sent yet (see Stands). NotFound; Unavailable when it cannot be recorded: it is out of force
// all the same, until the next start.
func (g *Gate) Revoke(ctx context.Context, id approvals.GrantID, by string) error {
	if !g.grants.Remove(id) {
		return fmt.Errorf("revoke grant %s: %w", id, errdefs.ErrNotFound)
	}
	if err := g.log.RecordRevoked(ctx, id, by, time.Now()); err != nil {
		return fmt.Errorf("record the revocation of grant %s: %w", id, errors.Join(errdefs.ErrUnavailable, err))
	}
	return nil
}

// EndSession lets go what was permitted for a session that has ended.
func (g *Gate) EndSession(id approvals.SessionID) { g.grants.EndSession(id) }

// Stands says whether what d rests on is still in force. It is asked at the last moment before a
// call is sent: a call may have waited since it was decided.
func (g *Gate) Stands(d approvals.Decision) bool { return g.grants.Stands(d, time.Now()) }

// Reconsider decides anew about every call that waits, after a permission was given or the policy
// has changed: what is no longer to be asked ends, allowed or refused by the rule that says so.
func (g *Gate) Reconsider() {
	g.mu.Lock()
	waiting := g.inOrder()
	g.mu.Unlock()
	for _, q := range waiting {
		g.reconsider(q)
	}
}

// reconsider decides anew about q. What cannot be told, or written down, leaves it waiting.
func (g *Gate) reconsider(q *question) {
	r := g.request(q)
	if r.Outcome != approvals.Pending || r.Subject.Kind() != "" {
		return
	}
	d, err := g.judge(q.ctx, r.Call)
	if err != nil || d.Effect == approvals.Ask {
		return
	}
	_, _ = g.end(q, func(r approvals.Request, at time.Time) (approvals.Request, error) { return r.Rule(d, at) }, nil)
}

// Offers are the permissions that can be given with a yes to r, each in words and with what it would
// have covered of the calls that wait or were asked about lately.
func (g *Gate) Offers(r approvals.Request) []grants.Offer {
	return grants.Offers(r, g.lately(), time.Now())
}

// Preview says in words what p would permit with a yes to r, and what it would have covered.
// InvalidArgument, saying why, where it cannot be given.
func (g *Gate) Preview(r approvals.Request, p approvals.Permission) (grants.Offer, error) {
	if p.Scope == approvals.ScopeOnce {
		return grants.Offer{Permission: p, Words: grants.WordsOnce}, nil
	}
	grant, err := grants.Make(r, p, "", time.Now())
	if err != nil {
		return grants.Offer{}, err
	}
	return grants.Offer{Permission: p, Words: grants.Words(grant), Matches: grants.Preview(grant, g.lately(), time.Now())}, nil
}

// lately is the calls that wait or were asked about lately, the oldest first, each classed as it was
// judged.
func (g *Gate) lately() []approvals.Call {
	g.mu.Lock()
	defer g.mu.Unlock()
	requests := g.ended.all()
	for _, q := range g.inOrder() {
		requests = append(requests, q.r)
	}
	requests = slices.DeleteFunc(requests, func(r approvals.Request) bool { return r.Subject.Kind() != "" })
	calls := make([]approvals.Call, 0, len(requests))
	for _, r := range requests {
		r.Call.Class = r.Why.Class
		calls = append(calls, r.Call)
	}
	return calls
}

// Groups puts what waits together where it can be answered at once.
func (g *Gate) Groups() []grants.Group { return grants.Groups(g.Pending()) }

// Ask puts to a person what is not about a call, and waits as Authorize does. A question that
// already waits with the same binding is not asked twice: its answer serves both. Errors as
// Authorize's; InvalidArgument when q has no subject, or names a tool to be called.
func (g *Gate) Ask(ctx context.Context, q approvals.Question) (approvals.Decision, error) {
	if q.Subject.Kind() == "" || q.About.ID != "" || q.About.Tool != "" {
		return refusal(q.About, "It is not a question."), fmt.Errorf("ask a person: no subject: %w", errdefs.ErrInvalidArgument)
	}
	if !g.enter() {
		return stopping(q.About)
	}
	defer g.callers.Done()
	binding := q.Binding()
	for {
		other := g.asking(binding)
		if other == nil {
			return g.put(ctx, q)
		}
		select {
		case <-other.done:
		case <-ctx.Done():
			return refusal(q.About, "It was given up before anyone answered."), fmt.Errorf("ask a person: %w", ctx.Err())
		}
		if r := g.request(other); r.Outcome != approvals.Withdrawn { // by who asked first, not by us
			return r.Decision(), nil
		}
	}
}

// asking is the question with that binding that waits and is not about a call, nil when none does.
func (g *Gate) asking(binding sandbox.Digest) *question {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, q := range g.pending {
		if q.r.Binding == binding && q.r.Subject.Kind() != "" {
			return q
		}
	}
	return nil
}

// put asks q of a person.
func (g *Gate) put(ctx context.Context, q approvals.Question) (approvals.Decision, error) {
	why := q.Why
	why.Effect = approvals.Ask
	asked := g.newQuestion(ctx, approvals.Request{Kind: q.Subject.Kind(), Binding: q.Binding(), Call: q.About, Subject: q.Subject, Why: why})
	defer asked.cancel()
	if rule, full := g.admit(asked); full != "" {
		return approvals.Decision{Effect: approvals.Deny, Class: why.Class, Rule: rule, Reason: full}, nil
	}
	if err := g.log.RecordAsked(ctx, asked.r); err != nil {
		g.drop(asked)
		return refusal(q.About, noRecord), unavailable("record question about", q.About, err)
	}
	g.publish(asked)
	if err := g.await(asked); err != nil {
		return refusal(q.About, noRecord), err
	}
	return g.request(asked).Decision(), nil
}
