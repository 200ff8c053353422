package daemon

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/garita-dev/garita/approvals"
	"github.com/garita-dev/garita/daemon/api"
)

// What goes along in answer to the server's own question is part of what a person is shown.
func TestAnswersToTheServersQuestionAreShown(t *testing.T) {
	c := approvals.Call{Arguments: []byte(`{}`), Input: []byte(`{"k":{"content":{"password":"hunter2x"}}}`), State: []byte(`"s1"`)}
	got := (&Daemon{}).apiApproval(approvals.Request{Call: c, Asked: time.Unix(0, 0)}, nil, "")
	if want := `{"inputResponses":{"k":{"content":{"password":"hunter2x"}}},"requestState":"s1"}`; string(got.Call.Input) != want {
		t.Errorf("shown %s, want %s", got.Call.Input, want)
	}
	want := []api.Finding{{Kind: "arguments", Text: `Its answers to the server hold a value named "password".`}}
	if diff := cmp.Diff(want, got.Findings); diff != "" {
		t.Error(diff)
	}
	if plain := (&Daemon{}).apiApproval(approvals.Request{Call: c.Bare()}, nil, ""); plain.Call.Input != nil {
		t.Errorf("a call without answers shows %s", plain.Call.Input)
	}
}
