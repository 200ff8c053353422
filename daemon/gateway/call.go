package gateway

import (
	"context"
	"errors"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/garita-dev/garita/approvals"
	"github.com/garita-dev/garita/daemon/protocol"
	"github.com/garita-dev/garita/store"
)

// callTool is the life of one tool call, from the client's request to the client's answer. The
// decision is on disk before the server sees the call; what the call did is on disk, or further
// calls are refused.
func (s *Session) callTool(ctx context.Context, req protocol.Message) (answer, error) {
	call, err := s.describe(ctx, req) // who, which server, which tool, which pin, which argument bytes
	if err != nil {
		return answer{}, err
	}

	decision, err := s.keepAlive(ctx, req, func(ctx context.Context) (approvals.Decision, error) {
		return s.Gate.Authorize(ctx, call) // pin, policy, person; recorded before it returns
	})
	if err != nil {
		return answer{}, err
	}
	if !decision.Allowed() {
		return s.refuse(ctx, call, decision)
	}

	watch, err := s.Effects.Watch(ctx, call, decision) // in turn, when it may write; files from here on
	if err != nil {
		return s.fail(ctx, call, decision, err)
	}
	began := time.Now()
	raw, callErr := s.forward(ctx, call, req) // if the tool is still the one that was decided about
	took := time.Since(began)
	seen, seenErr := watch.Stop(context.WithoutCancel(ctx))

	// The call has happened: judge and record it even if the client has gone away.
	ctx = context.WithoutCancel(ctx)
	result, findings := s.judge(ctx, call, decision, raw, seen, seenErr) // effects within what was allowed?
	record := finished(call, decision, took, raw, seen, findings, callErr)
	if err := s.Log.Record(ctx, record); err != nil {
		s.refuseFurtherCalls(err) // the result is the client's; the next call is not
	}
	return result, callErr
}

// answer is what goes back to the client: a result or an error object, as bytes.
type answer struct {
	result, fault jsontext.Value
}

// judge compares what a call did with what it was allowed to do. A read that changed files has
// its result withheld; the tool is demoted and the changes are held back from apply.
func (s *Session) judge(ctx context.Context, call approvals.Call, d approvals.Decision, raw answer, seen Seen, seenErr error) (answer, []string) {
	passedAsRead := d.Class == approvals.Read && d.Outcome == ""
	switch {
	case !passedAsRead:
		return raw, nil
	case seenErr != nil: // what it did cannot be told, and nobody said it may do anything
		return withheld("what it did could not be checked"), []string{"effects not checked: " + seenErr.Error()}
	case len(seen.Changes) == 0 || seen.Excused:
		return raw, nil
	}
	finding := "allowed as a read, but it changed " + list(seen.Changes)
	if err := s.Effects.Blame(ctx, call, seen.Changes, finding); err != nil {
		s.refuseFurtherCalls(err)
	}
	return withheld(finding), []string{finding}
}

// refuse answers a call that was not allowed: one record, and words that tell the model what happened.
func (s *Session) refuse(ctx context.Context, call approvals.Call, d approvals.Decision) (answer, error) {
	record := store.CallRecord{Call: call, Decision: d, Outcome: store.CallRefused}
	if err := s.Log.Record(context.WithoutCancel(ctx), record); err != nil {
		s.refuseFurtherCalls(err)
	}
	return refused(call, d), nil
}

// fail answers an allowed call that could not be sent.
func (s *Session) fail(ctx context.Context, call approvals.Call, d approvals.Decision, cause error) (answer, error) {
	record := store.CallRecord{Call: call, Decision: d, Outcome: store.CallFailed, Error: cause.Error()}
	if err := s.Log.Record(context.WithoutCancel(ctx), record); err != nil {
		s.refuseFurtherCalls(err)
	}
	return answer{}, cause
}

func finished(call approvals.Call, d approvals.Decision, took time.Duration, raw answer, seen Seen, findings []string, callErr error) store.CallRecord {
	r := store.CallRecord{
		Call: call, Decision: d, Duration: took, Changes: seen.Changes, Shared: seen.Shared, Findings: findings,
		Outcome: outcome(raw, findings, callErr), Result: digest(raw.result),
	}
	switch {
	case callErr != nil:
		r.Error = callErr.Error()
	case raw.fault != nil:
		r.Error = bounded(string(raw.fault))
	}
	return r
}

func outcome(raw answer, findings []string, callErr error) store.CallOutcome {
	switch {
	case errors.Is(callErr, errUnsent):
		return store.CallFailed
	case callErr != nil:
		return store.CallUnknown
	case len(findings) > 0:
		return store.CallWithheld
	case raw.fault != nil || isToolError(raw.result):
		return store.CallFailed
	}
	return store.CallDone
}
