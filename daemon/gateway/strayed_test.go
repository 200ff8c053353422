package gateway

import (
	"context"
	"strings"
	"testing"

	"github.com/garita-dev/garita/approvals"
	"github.com/garita-dev/garita/sandbox"
)

// TestAReadThatReachedWhatItMayNotIsWithheld: whoever let a read run said nothing of other hosts.
func TestAReadThatReachedWhatItMayNotIsWithheld(t *testing.T) {
	read := approvals.Decision{Effect: approvals.Allow, Class: approvals.Read, Rule: "reads pass"}
	approved := read
	approved.Outcome, approved.By = approvals.Approved, "a test"
	strayed := Seen{Hosts: []string{"api.example:443", "evil.example:443"}, Strayed: []string{"evil.example:443"}}
	for _, tc := range []struct {
		name     string
		decision approvals.Decision
		seen     Seen
		passes   bool
	}{
		{"hosts it may reach", read, Seen{Hosts: []string{"api.example:443"}}, true},
		{"a host it may not", read, strayed, false},
		{"a host it may not, in a call that a person approved", approved, strayed, true},
	} {
		bubble(t, tc.name, func(t *testing.T) {
			e := &blamedEffects{seenEffects: seenEffects{seen: tc.seen}}
			_, got := calling(t, &decidingGate{decision: tc.decision}, e)
			if passes := strings.Contains(got, "secret plan"); passes != tc.passes {
				t.Errorf("answered %s", got)
			}
			if !tc.passes && (!strings.Contains(got, "reached evil.example:443") || len(e.blamed) != 1) {
				t.Errorf("answered %s, blamed %v", got, e.blamed)
			}
			if tc.passes && len(e.blamed) > 0 {
				t.Errorf("blamed %v", e.blamed)
			}
		})
	}
}

// blamedEffects notes who is blamed.
type blamedEffects struct {
	seenEffects
	blamed []string
}

func (e *blamedEffects) Watch(context.Context, approvals.Call, approvals.Decision) (Watch, error) {
	return e, nil
}

func (e *blamedEffects) Blame(_ context.Context, c approvals.Call, _ []sandbox.Change, why string) error {
	e.blamed = append(e.blamed, c.Tool+": "+why)
	return nil
}
