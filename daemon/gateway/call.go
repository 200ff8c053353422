package gateway

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/containerd/errdefs"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/garita-dev/garita/approvals"
	"github.com/garita-dev/garita/daemon/protocol"
	"github.com/garita-dev/garita/sandbox"
	"github.com/garita-dev/garita/store"
)

// callTool is the life of one tool call, from the client's request to the client's answer. The
// decision is on disk before the server sees the call; what the call did is on disk, or further
// calls are refused.
func (s *Session) callTool(ctx context.Context, req protocol.Message) (answer, error) {
	if err := s.Admit(); err != nil { // too many calls, too fast
		return refusal("limited", "Garita did not run this call: %v.", err), nil
	}
	call, err := s.describe(ctx, req) // who, which server, which tool, which pin, which argument bytes
	if err != nil {
		return answer{}, err
	}

	call, decision, err := s.authorize(ctx, req, call) // pin, policy, person; recorded before it returns
	if err != nil {
		return answer{}, err
	}
	if !decision.Allowed() {
		return s.refuse(ctx, call, decision), nil
	}
	s.shownTo(call, decision)

	watch, err := s.Effects.Watch(ctx, call, decision) // in turn, when it may write; files from here on
	if err != nil {
		return s.fail(ctx, call, decision, err)
	}
	began := time.Now()
	raw, callErr := s.forward(ctx, call, decision, req) // if the tool is still the one that was decided about
	took := time.Since(began)
	seen, seenErr := watch.Stop(context.WithoutCancel(ctx))

	// The call has happened: judge and record it even if the client has gone away.
	ctx = context.WithoutCancel(ctx)
	result, findings := s.judge(ctx, call, decision, req, raw, seen, seenErr) // effects within what was allowed?
	result, found := s.clean(call, result)                                    // secrets out; what would act or is hidden made harmless
	record := finished(call, decision, took, raw, seen, findings, callErr)
	record.Findings = append(record.Findings, found...)
	record.Error = s.redacted(record.Error)
	if err := s.Log.Record(ctx, record); err != nil {
		s.refuseFurtherCalls(err) // the result is the client's; the next call is not
	}
	return result, callErr
}

// answer is what goes back to the client: the server's message, or a result of our own.
type answer struct {
	message protocol.Message
	result  jsontext.Value // of our own; nil when message is the answer
}

// describe tells exactly which call this is.
func (s *Session) describe(ctx context.Context, req protocol.Message) (approvals.Call, error) {
	if broken := s.broken.Load(); broken != nil {
		return approvals.Call{}, fmt.Errorf("calls are refused, the record cannot be written: %w", *broken)
	}
	tc, err := protocol.ParseToolCall(req.Params)
	if err != nil {
		return approvals.Call{}, err
	}
	t, err := s.tool(ctx, tc.Name)
	if err != nil && !errdefs.IsNotFound(err) {
		return approvals.Call{}, err
	}
	call := approvals.Call{
		ID: newCallID(), Session: s.ID, Principal: s.Principal, Label: s.label(), Server: s.Server.Name, Spec: s.Spec,
		Instance: s.link().runs(), Workspace: s.Workspace, Mode: s.mode(), Folders: s.Server.Spec.Folders, External: s.Server.Source.External(), Tool: tc.Name, Arguments: tc.Arguments, Input: tc.Input, State: tc.State,
		Pin: t.pin, // none for a tool that was never listed: that is denied
		At:  time.Now().UTC(), Traceparent: tc.Traceparent,
	}
	told := t.describe(tc.Arguments)
	call.Class, call.ClassWhy, call.Sensitive, call.Sentence = told.Class, told.Why, told.Sensitive, told.Sentence
	call.Profile = told.Profile
	call.Sentence = s.shortened(call.Sentence)
	call.Continues = s.continues(call)
	call.Doubt = s.doubt().Why()
	return call, nil
}

// forward sends a decided call and waits for its answer, if the tool is still defined as it was
// when the call was described: a person may take minutes to answer, and the server may list
// another tool under the name meanwhile. What a server certainly has not begun, because it ended
// before or had forgotten the session, is sent once more, to its next life.
func (s *Session) forward(ctx context.Context, call approvals.Call, d approvals.Decision, req protocol.Message) (protocol.Message, error) {
	way := s.link()
	m, err := s.forwardBy(ctx, way, call, d, req)
	if errors.Is(err, errUnsent) && !way.alive() && ctx.Err() == nil {
		m, err = s.forwardBy(ctx, s.link(), call, d, req)
	}
	return m, err
}

// forwardBy sends a call to one life of the server: the one whose tools were compared, and no other;
// and not when what had allowed it has been revoked.
func (s *Session) forwardBy(ctx context.Context, way *link, call approvals.Call, d approvals.Decision, req protocol.Message) (protocol.Message, error) {
	t, err := s.tool(ctx, call.Tool)
	switch {
	case err != nil:
		return protocol.Message{}, fmt.Errorf("%w: %w", errUnsent, err)
	case t.held != "":
		return protocol.Message{}, fmt.Errorf("%w: %s", errUnsent, t.held)
	case t.pin != call.Pin:
		return protocol.Message{}, fmt.Errorf("%w: %s changed its definition after it was decided about", errUnsent, call.Tool)
	case !s.Gate.Stands(d):
		return protocol.Message{}, fmt.Errorf("%w: what had allowed it (%s) was revoked", errUnsent, d.Rule)
	case s.current() != way:
		return protocol.Message{}, fmt.Errorf("%w: its server was started anew meanwhile", errUnsent)
	}
	return way.call(ctx, s.permitted(req), s.callLimit())
}

// judge compares what a call did with what it was allowed to do. A read that changed files has
// its result withheld; the tool is demoted and the changes are held back from apply.
func (s *Session) judge(ctx context.Context, call approvals.Call, d approvals.Decision, req, raw protocol.Message, seen Seen, seenErr error) (answer, []string) {
	passedAsRead := d.Class == approvals.Read && !d.ByPerson()
	switch asked := s.forbidden(req, raw.Result); {
	case passedAsRead && seenErr != nil: // what it did cannot be told, and nobody said it may do anything
		return withheld("what it did could not be checked"), []string{"effects not checked: " + seenErr.Error()}
	case passedAsRead && len(seen.Changes) > 0 && !seen.Excused:
		return s.blame(ctx, call, seen.Changes, "allowed as a read, but it changed "+list(seen.Changes))
	case passedAsRead && len(seen.Strayed) > 0:
		return s.blame(ctx, call, nil, "allowed as a read, but it reached "+strings.Join(seen.Strayed, ", ")+", which its server may not")
	case asked != "":
		return withheld("the server asks for " + asked + ", which it may not"), []string{"asked for " + asked}
	case raw.Error != nil && s.badPage(raw.Error) != nil:
		return withheld("the server asks to open a page: " + s.badPage(raw.Error).Error()), []string{"asked to open a page: " + s.badPage(raw.Error).Error()}
	}
	if why := s.strayed(ctx, call, d, req, seen, seenErr); why != "" {
		return withheld(why), []string{why}
	}
	s.noteInterrupted(call, raw.Result)
	return answer{message: s.withQuestions(raw)}, nil
}

func (s *Session) blame(ctx context.Context, call approvals.Call, changes []sandbox.Change, finding string) (answer, []string) {
	if err := s.Effects.Blame(ctx, call, changes, finding); err != nil {
		s.refuseFurtherCalls(err)
	}
	return withheld(finding + ". From now on the tool is asked about before it runs"), []string{finding}
}

// refuse answers a call that was not allowed: one record, and words that tell the model what
// happened. A question that is still open has no end to record yet.
func (s *Session) refuse(ctx context.Context, call approvals.Call, d approvals.Decision) answer {
	if d.Outcome != approvals.Pending {
		s.recordRefused(ctx, call, d)
	}
	return refused(call, d)
}

// fail answers an allowed call that could not be sent.
func (s *Session) fail(ctx context.Context, call approvals.Call, d approvals.Decision, cause error) (answer, error) {
	record := store.CallRecord{Call: call, Decision: d, Outcome: store.CallFailed, Error: cause.Error()}
	if err := s.Log.Record(context.WithoutCancel(ctx), record); err != nil {
		s.refuseFurtherCalls(err)
	}
	return answer{}, cause
}

func finished(call approvals.Call, d approvals.Decision, took time.Duration, raw protocol.Message, seen Seen, findings []string, callErr error) store.CallRecord {
	r := store.CallRecord{
		Call: call, Decision: d, Duration: took, Changes: seen.Changes, Hosts: seen.Hosts, Secrets: seen.Secrets, Commands: seen.Commands, Shared: seen.Shared, Findings: findings,
		Outcome: outcome(raw, findings, callErr), Result: digest(raw.Result),
	}
	switch {
	case callErr != nil:
		r.Error = callErr.Error()
	case raw.Error != nil:
		r.Error = bounded(string(raw.Error))
	}
	return r
}

func outcome(raw protocol.Message, findings []string, callErr error) store.CallOutcome {
	switch {
	case errors.Is(callErr, errUnsent):
		return store.CallFailed
	case callErr != nil:
		return store.CallUnknown
	case len(findings) > 0:
		return store.CallWithheld
	case raw.Error != nil || isToolError(raw.Result):
		return store.CallFailed
	}
	return store.CallDone
}
