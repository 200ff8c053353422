package sqlite_test

import (
	"testing"
	"time"

	"github.com/containerd/errdefs"
	"github.com/google/go-cmp/cmp"

	"github.com/garita-dev/garita/approvals"
	"github.com/garita-dev/garita/store"
)

func aRequest(id string) approvals.Request {
	c := aCall("c-"+id, approvals.Write)
	now := time.Now().Truncate(time.Microsecond).UTC()
	return approvals.Request{
		Kind: approvals.KindCall,
		ID:   approvals.RequestID(id), Binding: c.Binding(), Call: c, Asked: now, Expires: now.Add(time.Minute),
		Why:     approvals.Decision{Effect: approvals.Ask, Class: approvals.Write, Rule: approvals.RuleAsk, Reason: "It may change something."},
		Outcome: approvals.Pending,
	}
}

func TestARequestIsFoundAsItEnded(t *testing.T) {
	s := newPlace(t).open(t)
	r := aRequest("r1")
	if err := s.RecordAsked(t.Context(), r); err != nil {
		t.Fatal(err)
	}
	if got, err := s.Call(t.Context(), r.Call.ID); err != nil || got.Outcome != store.CallWaiting {
		t.Errorf("its call: %+v, %v; want it waiting", got, err)
	}
	ended, err := r.Approve("page", r.Asked.Add(time.Second))
	if err != nil {
		t.Fatal(err)
	}
	if err := s.RecordAnswered(t.Context(), ended, ended.Decision()); err != nil {
		t.Fatal(err)
	}
	got, err := s.Request(t.Context(), "r1")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(ended, got); diff != "" {
		t.Errorf("request (-recorded +found):\n%s", diff)
	}
	if err := s.RecordAnswered(t.Context(), ended, ended.Decision()); err == nil {
		t.Error("it ended twice")
	}
	events, err := s.Events(t.Context(), 0, 10, r.Call.ID)
	var kinds []store.Kind
	for _, e := range events {
		kinds = append(kinds, e.Kind)
	}
	if diff := cmp.Diff([]store.Kind{store.ApprovalAsked, store.ApprovalAnswered, store.CallDecided}, kinds); diff != "" || err != nil {
		t.Errorf("events (-want +got):\n%s%v", diff, err)
	}
	if _, err := s.Request(t.Context(), "r9"); !errdefs.IsNotFound(err) {
		t.Errorf("an unknown request: %v", err)
	}
}

func TestOpenSettlesWhatWasUnderWay(t *testing.T) {
	p := newPlace(t)
	s := p.open(t)
	r := aRequest("r1")
	if err := s.RecordAsked(t.Context(), r); err != nil {
		t.Fatal(err)
	}
	running, done, denied := aCall("c-running", approvals.Read), aCall("c-done", approvals.Read), aCall("c-denied", approvals.Read)
	for c, d := range map[string]approvals.Decision{"c-running": allowed, "c-done": allowed, "c-denied": {Effect: approvals.Deny, Class: approvals.Read}} {
		if err := s.RecordDecision(t.Context(), aCall(c, approvals.Read), d); err != nil {
			t.Fatal(err)
		}
	}
	record(t, s, store.CallRecord{Call: done, Decision: allowed, Outcome: store.CallDone})
	if err := s.Close(); err != nil { // as a crash leaves it: Close settles nothing
		t.Fatal(err)
	}

	for range 2 { // and the second time finds nothing to settle
		s = p.open(t)
		for id, want := range map[approvals.CallID]store.CallOutcome{
			running.ID: store.CallUnknown, done.ID: store.CallDone, denied.ID: store.CallRefused, r.Call.ID: store.CallRefused,
		} {
			got, err := s.Call(t.Context(), id)
			if err != nil || got.Outcome != want || got.Call.Tool != "read_text_file" || string(got.Call.Arguments) == "" {
				t.Errorf("%s: %+v, %v; want it %s", id, got, err, want)
			}
		}
		got, err := s.Request(t.Context(), "r1")
		if err != nil || got.Outcome != approvals.Expired || got.Decision().Allowed() {
			t.Errorf("request: %+v, %v; want it expired", got, err)
		}
		if n := s.LastSeq(); n != 1+3+1+2+3 {
			t.Errorf("%d events", n)
		}
		if v := verify(t, s); !v.OK {
			t.Errorf("%+v", v)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
}
