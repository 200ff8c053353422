package approvals_test

import (
	"strings"
	"testing"
	"time"

	"github.com/containerd/errdefs"

	"github.com/garita-dev/garita/approvals"
)

func aRequest() approvals.Request {
	c := aRead()
	return approvals.Request{
		ID: "r1", Binding: c.Binding(), Call: c, Asked: time.Unix(1000, 0), Expires: time.Unix(1600, 0),
		Why:     approvals.Decision{Effect: approvals.Ask, Class: approvals.Write, Rule: approvals.RuleAsk},
		Outcome: approvals.Pending,
	}
}

func TestARequestEndsOnce(t *testing.T) {
	at := time.Unix(1012, 0)
	ends := map[approvals.Outcome]func(approvals.Request) (approvals.Request, error){
		approvals.Approved:  func(r approvals.Request) (approvals.Request, error) { return r.Approve("page", at) },
		approvals.Denied:    func(r approvals.Request) (approvals.Request, error) { return r.Deny("page", at) },
		approvals.Expired:   func(r approvals.Request) (approvals.Request, error) { return r.Expire(at) },
		approvals.Withdrawn: func(r approvals.Request) (approvals.Request, error) { return r.Withdraw(at) },
	}
	for outcome, end := range ends {
		r, err := end(aRequest())
		if err != nil || r.Outcome != outcome || !r.Answered.Equal(at) {
			t.Errorf("%s: %+v, %v", outcome, r, err)
		}
		d := r.Decision()
		if d.Allowed() != (outcome == approvals.Approved) || d.Waited != 12*time.Second || d.Request != "r1" || !strings.HasSuffix(d.Reason, ".") {
			t.Errorf("%s: decision %+v", outcome, d)
		}
		for second, again := range ends {
			after, err := again(r)
			if !errdefs.IsFailedPrecondition(err) || after.Outcome != outcome {
				t.Errorf("%s after %s: %s, %v", second, outcome, after.Outcome, err)
			}
		}
	}
	if d := aRequest().Decision(); d.Allowed() {
		t.Error("a pending request allows")
	}
}

func TestReply(t *testing.T) {
	r := aRequest()
	yes, no := approvals.Answer{Approve: true, By: "page", Binding: r.Binding}, approvals.Answer{By: "page", Binding: r.Binding}
	for name, wrong := range map[string]approvals.Answer{"no binding": {Approve: true}, "another binding": {Approve: true, Binding: "sha256:00"}} {
		if after, err := r.Reply(wrong, time.Now()); !errdefs.IsInvalidArgument(err) || after.Outcome != approvals.Pending {
			t.Errorf("%s: %s, %v", name, after.Outcome, err)
		}
	}
	approved, err := r.Reply(yes, time.Now())
	if err != nil || approved.Outcome != approvals.Approved {
		t.Fatalf("%s, %v", approved.Outcome, err)
	}
	again, err := approved.Reply(yes, time.Now().Add(time.Hour))
	if err != nil || again.Answered != approved.Answered {
		t.Errorf("the same answer again: %+v, %v", again, err)
	}
	if _, err := approved.Reply(no, time.Now()); !errdefs.IsFailedPrecondition(err) || !strings.Contains(err.Error(), "already approved by page") {
		t.Errorf("another answer: %v", err)
	}
}
