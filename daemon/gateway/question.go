package gateway

import (
	"context"
	"sync"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/garita-dev/garita/approvals"
	"github.com/garita-dev/garita/daemon/protocol"
	"github.com/garita-dev/garita/sandbox"
	"github.com/garita-dev/garita/store"
)

// question is one call before the gate. It can outlive the call that asked it: then an identical
// call of the session claims it, once.
type question struct {
	call     approvals.Call
	withdraw context.CancelFunc
	done     chan struct{} // closed once the fields below are set
	decision approvals.Decision
	err      error
	timer    *time.Timer // ends the wait for a claim
}

// authorize has the gate decide about a call, or takes over what it decided about the same call
// before. The client is kept alive meanwhile; one that would give up is told to call again.
func (s *Session) authorize(ctx context.Context, req protocol.Message, call approvals.Call) (approvals.Call, approvals.Decision, error) {
	q := s.claim(call)
	if q == nil {
		if d, settled, err := s.Gate.Settle(ctx, call); settled {
			return call, d, err
		}
		q = s.put(call)
	}
	token := progressToken(req)
	defer s.keepAlive(token)()
	patience, stop := s.patience(token)
	defer stop()
	select {
	case <-q.done:
	case <-ctx.Done():
		q.withdraw()
		<-q.done
	case <-patience:
		s.leave(q)
		return q.call, approvals.Decision{Effect: approvals.Deny, Class: call.Class, Outcome: approvals.Pending}, nil
	}
	q.withdraw()
	return q.call, q.decision, q.err
}

// put puts a call before the gate, for as long as the session lives.
func (s *Session) put(call approvals.Call) *question {
	ctx, cancel := context.WithCancel(s.life)
	q := &question{call: call, withdraw: cancel, done: make(chan struct{})}
	go func() {
		defer close(q.done)
		q.decision, q.err = s.Gate.Authorize(ctx, call)
	}()
	return q
}

// claim takes over the question that an identical call left open, nil when there is none. The call
// that was asked about is the one that will run.
func (s *Session) claim(call approvals.Call) *question {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.open) == 0 {
		return nil
	}
	key := call.Binding()
	q := s.open[key]
	if q == nil || !q.timer.Stop() {
		return nil
	}
	delete(s.open, key)
	s.unsettled.Done()
	q.call.Instance = call.Instance // the server may have been started anew
	return q
}

// leave leaves a question open for an identical call to claim.
func (s *Session) leave(q *question) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.unsettled.Add(1)
	key := q.call.Binding()
	s.open[key] = q
	q.timer = time.AfterFunc(claimable, func() { s.unclaimed(key, q) })
	if s.closing {
		q.timer.Reset(0)
	}
}

// unclaimed ends a question that nobody came back for, and writes its one record.
func (s *Session) unclaimed(key sandbox.Digest, q *question) {
	s.mu.Lock()
	if s.open[key] == q {
		delete(s.open, key)
	}
	s.mu.Unlock()
	q.withdraw()
	<-q.done
	d := q.decision
	if d.Allowed() {
		d.Effect, d.Outcome, d.Reason = approvals.Deny, approvals.Expired, "The call was not made again after it had been approved."
	}
	s.recordRefused(s.life, q.call, d)
	s.unsettled.Done()
}

// endQuestions ends, when the session does, what waits for a claim, and waits until that is on record.
func (s *Session) endQuestions() {
	s.mu.Lock()
	for _, q := range s.open {
		q.timer.Reset(0)
	}
	s.mu.Unlock()
	s.unsettled.Wait()
}

// patience fires when a client would stop waiting for its answer.
func (s *Session) patience(token jsontext.Value) (<-chan time.Time, func() bool) {
	limit := s.Patience
	if limit == 0 {
		return nil, func() bool { return true }
	}
	if token != nil {
		limit = max(limit, patientPatience)
	}
	timer := time.NewTimer(limit)
	return timer.C, timer.Stop
}

func progressToken(req protocol.Message) jsontext.Value {
	tc, err := protocol.ParseToolCall(req.Params)
	if err != nil {
		return nil
	}
	return tc.ProgressToken
}

// keepAlive tells a client that gave a progress token that its call still waits, until the
// returned function is called.
func (s *Session) keepAlive(token jsontext.Value) func() {
	if token == nil {
		return func() {}
	}
	stop := make(chan struct{})
	var ticking sync.WaitGroup
	ticking.Go(func() {
		tick := time.NewTicker(aliveEvery)
		defer tick.Stop()
		for step := 1; ; step++ {
			select {
			case <-tick.C:
				s.say(protocol.NewProgress(token, step, "waiting for a person to approve this call"))
			case <-stop:
				return
			}
		}
	})
	return func() { close(stop); ticking.Wait() }
}

// recordRefused writes the one record of a call that did not run.
func (s *Session) recordRefused(ctx context.Context, call approvals.Call, d approvals.Decision) {
	record := store.CallRecord{Call: call, Decision: d, Outcome: store.CallRefused}
	if err := s.Log.Record(context.WithoutCancel(ctx), record); err != nil {
		s.refuseFurtherCalls(err)
	}
}
