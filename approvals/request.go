package approvals

import (
	"fmt"
	"time"

	"github.com/containerd/errdefs"
)

// Approve, Deny, Expire, Withdraw and Rule are the only ways out of Pending; each returns the request as
// it is afterwards and leaves r alone. A request that has ended stays as it ended: the error is
// FailedPrecondition and says what happened.

// Approve ends r because by said yes.
func (r Request) Approve(by string, at time.Time) (Request, error) { return r.end(Approved, by, at) }

// Deny ends r because by said no.
func (r Request) Deny(by string, at time.Time) (Request, error) { return r.end(Denied, by, at) }

// Expire ends r because nobody answered in time.
func (r Request) Expire(at time.Time) (Request, error) { return r.end(Expired, "", at) }

// Withdraw ends r because the question is no longer of use: the client canceled or went away, or
// Garita stops.
func (r Request) Withdraw(at time.Time) (Request, error) { return r.end(Withdrawn, "", at) }

// Rule ends r because of d, a decision that no longer asks: it is covered, or overruled.
func (r Request) Rule(d Decision, at time.Time) (Request, error) {
	outcome := Overruled
	switch d.Effect {
	case Allow:
		outcome = Covered
	case Deny:
	case Ask:
		return r, fmt.Errorf("rule on request %s: it is still to be asked: %w", r.ID, errdefs.ErrInvalidArgument)
	}
	ended, err := r.end(outcome, "", at)
	if err == nil {
		ended.Ruling = d
	}
	return ended, err
}

func (r Request) end(o Outcome, by string, at time.Time) (Request, error) {
	if r.Outcome != Pending {
		return r, fmt.Errorf("answer request %s: %s: %w", r.ID, r.Ended(), errdefs.ErrFailedPrecondition)
	}
	r.Outcome, r.By, r.Answered = o, by, at
	return r, nil
}

// Reply ends r by a person's answer. An answer whose Binding is not the request's is refused
// (InvalidArgument): the person saw something else. The same answer again changes nothing and is no
// error; a different one is FailedPrecondition.
func (r Request) Reply(a Answer, at time.Time) (Request, error) {
	if a.Binding == "" || a.Binding != r.Binding {
		return r, fmt.Errorf("answer request %s: the answer is about something else than was asked: %w", r.ID, errdefs.ErrInvalidArgument)
	}
	if r.Outcome == Approved && a.Approve || r.Outcome == Denied && !a.Approve {
		return r, nil
	}
	if a.Approve {
		return r.Approve(a.By, at)
	}
	return r.Deny(a.By, at)
}

// Ended says in a clause how r ended; "it still waits" while it has not.
func (r Request) Ended() string {
	switch r.Outcome {
	case Approved:
		return "it was already approved by " + r.by()
	case Denied:
		return "it was already denied by " + r.by()
	case Expired:
		return "it had expired unanswered"
	case Withdrawn:
		return "it had been withdrawn"
	case Covered:
		return "it was already allowed by " + r.ruler()
	case Overruled:
		return "it was already refused by " + r.ruler()
	default:
		return "it still waits"
	}
}

// Decision is what follows from r for its call: allow if a person approved it, otherwise deny. A
// pending request denies too.
func (r Request) Decision() Decision {
	d := Decision{
		Effect: Deny, Class: r.Why.Class, Rule: r.Why.Rule,
		Request: r.ID, Outcome: r.Outcome, By: r.By,
	}
	if !r.Answered.IsZero() {
		d.Waited = r.Answered.Sub(r.Asked)
	}
	waited := d.Waited.Round(time.Second)
	switch r.Outcome {
	case Approved:
		d.Effect = Allow
		d.Reason = fmt.Sprintf("Approved by %s after %s.", r.by(), waited)
	case Denied:
		d.Reason = fmt.Sprintf("Denied by %s after %s.", r.by(), waited)
	case Expired:
		d.Reason = fmt.Sprintf("Nobody answered within %s.", waited)
	case Withdrawn:
		d.Reason = "The question was withdrawn before anyone answered: the client canceled or went away, or Garita stopped."
	case Covered, Overruled:
		return r.ruled(d)
	default:
		d.Reason = "Nobody has answered yet."
	}
	return d
}

// ruled is d as the ruling has it.
func (r Request) ruled(d Decision) Decision {
	if r.Outcome == Covered && r.Ruling.Effect == Allow {
		d.Effect = Allow
	}
	d.Rule, d.Reason, d.Grants, d.Collect = r.Ruling.Rule, r.Ruling.Reason, r.Ruling.Grants, r.Ruling.Collect
	return d
}

func (r Request) ruler() string {
	if r.Ruling.Rule == "" {
		return "a rule made meanwhile"
	}
	return r.Ruling.Rule
}

func (r Request) by() string {
	if r.By == "" {
		return "a person"
	}
	return r.By
}
