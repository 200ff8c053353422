package sqlite_test

import (
	"testing"
	"time"

	"github.com/containerd/errdefs"
	"github.com/google/go-cmp/cmp"

	"github.com/garita-dev/garita/approvals"
	"github.com/garita-dev/garita/store"
	"github.com/garita-dev/garita/store/sqlite"
)

func aGrant(r approvals.Request) approvals.Grant {
	return approvals.Grant{
		ID: "g0000000000000001", Scope: approvals.ScopeUntil, Principal: r.Call.Principal, Server: r.Call.Server, Spec: "sha256:spec",
		Tool: "write_file", Pin: "sha256:pin", Class: approvals.Write, Sensitive: true,
		Until:     time.UnixMicro(9_000_000_000_000_000).UTC(),
		Arguments: []approvals.Argument{{Path: "/path", Prefix: "src/"}, {Equals: `{"password":"hunter2x"}`}},
		Request:   r.ID, By: "page", Created: time.UnixMicro(1_700_000_000_000_000).UTC(),
	}
}

// granted is a store in which a question was answered with a grant.
func granted(t *testing.T, p place) (*sqlite.Store, approvals.Grant) {
	t.Helper()
	s := p.open(t)
	r := aRequest("r1")
	if err := s.RecordAsked(t.Context(), r); err != nil {
		t.Fatal(err)
	}
	ended, err := r.Approve("page", r.Asked.Add(time.Second))
	if err != nil {
		t.Fatal(err)
	}
	g := aGrant(r)
	if err := s.RecordGranted(t.Context(), ended, ended.Decision(), g); err != nil {
		t.Fatal(err)
	}
	return s, g
}

func TestAGrantIsFoundAgain(t *testing.T) {
	p := newPlace(t)
	s, g := granted(t, p)
	if err := s.NoteUse(t.Context(), "g0000000000000001 gnone", time.UnixMicro(1_700_000_000_000_001)); err != nil {
		t.Fatal(err)
	}
	g.Uses, g.Used = 1, time.UnixMicro(1_700_000_000_000_001).UTC()
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	s = p.open(t)
	got, err := s.Grants(t.Context())
	if diff := cmp.Diff([]approvals.Grant{g}, got); diff != "" || err != nil {
		t.Errorf("grants (-recorded +found):\n%s%v", diff, err)
	}
	if v, err := s.Verify(t.Context()); err != nil || !v.OK {
		t.Errorf("verify: %+v, %v", v, err)
	}
}

func TestAGrantIsRevokedOnce(t *testing.T) {
	s, g := granted(t, newPlace(t))
	first := time.UnixMicro(1_800_000_000_000_000).UTC()
	for _, at := range []time.Time{first, first.Add(time.Hour)} {
		if err := s.RecordRevoked(t.Context(), g.ID, "page", at); err != nil {
			t.Fatal(err)
		}
	}
	if got, err := s.Grant(t.Context(), g.ID); err != nil || !got.Revoked.Equal(first) {
		t.Errorf("%+v, %v", got, err)
	}
	if err := s.RecordRevoked(t.Context(), "gnone", "page", first); !errdefs.IsNotFound(err) {
		t.Errorf("an unknown grant: %v", err)
	}
	events, err := s.Events(t.Context(), 0, 100, "")
	kinds := map[store.Kind]int{}
	for _, e := range events {
		kinds[e.Kind]++
	}
	if err != nil || kinds[store.GrantCreated] != 1 || kinds[store.GrantRevoked] != 1 {
		t.Errorf("events %v, %v", kinds, err)
	}
}

func TestAGrantWithoutItsAnswerIsNone(t *testing.T) {
	s, g := granted(t, newPlace(t))
	r := aRequest("r1") // which has ended
	ended, err := r.Approve("page", r.Asked)
	if err != nil {
		t.Fatal(err)
	}
	g.ID = "g0000000000000002"
	if err := s.RecordGranted(t.Context(), ended, ended.Decision(), g); err == nil {
		t.Error("a question was answered twice")
	}
	if all, err := s.Grants(t.Context()); err != nil || len(all) != 1 {
		t.Errorf("%d grants, %v", len(all), err)
	}
}

func TestQuestionsThatAreNoCalls(t *testing.T) {
	s := newPlace(t).open(t)
	r := aRequest("r1")
	r.Kind, r.Subject = approvals.KindTool, approvals.Subject{Tool: &approvals.ToolChange{Tool: "t", After: "sha256:a", Findings: []string{"x"}}}
	r.Call = approvals.Call{Principal: r.Call.Principal, Server: r.Call.Server, Sentence: "list t otherwise"}
	if err := s.RecordAsked(t.Context(), r); err != nil {
		t.Fatal(err)
	}
	ended, err := r.Expire(time.Now())
	if err != nil {
		t.Fatal(err)
	}
	if err := s.RecordAnswered(t.Context(), ended, ended.Decision()); err != nil {
		t.Fatal(err)
	}
	unseen, err := s.Unseen(t.Context())
	if err != nil || len(unseen) != 1 || unseen[0].Subject.Tool == nil || unseen[0].Subject.Tool.Tool != "t" || unseen[0].Kind != approvals.KindTool {
		t.Fatalf("unseen: %+v, %v", unseen, err)
	}
	if err := s.See(t.Context(), []approvals.RequestID{"r1"}); err != nil {
		t.Fatal(err)
	}
	if unseen, err := s.Unseen(t.Context()); err != nil || len(unseen) != 0 {
		t.Errorf("unseen after it was seen: %+v, %v", unseen, err)
	}
	if calls, err := s.Calls(t.Context(), "", 10, ""); err != nil || len(calls) != 0 {
		t.Errorf("it is listed as a call: %+v, %v", calls, err)
	}
}
