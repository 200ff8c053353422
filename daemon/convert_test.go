package daemon

import (
	"errors"
	"testing"
	"time"

	"github.com/containerd/errdefs"

	"github.com/garita-dev/garita/approvals"
	"github.com/garita-dev/garita/sandbox"
)

// A question names walls only where they stand.
func TestAQuestionPromisesNoWallAroundAServerElsewhere(t *testing.T) {
	tests := []struct {
		name           string
		call           approvals.Call
		stays, reaches string
	}{
		{
			"behind walls, without folders",
			approvals.Call{Mode: sandbox.None},
			"It stays in the sandbox, which has no files of yours to write and reaches no host.", "no host, no secret",
		},
		{
			"elsewhere",
			approvals.Call{Mode: sandbox.None, External: true},
			"It runs outside of Garita's walls: what it does there cannot be kept back or taken back.",
			"whatever the server reaches where it runs; the arguments are sent there",
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := (&Daemon{}).apiApproval(approvals.Request{Call: tt.call, Asked: time.Unix(0, 0)}, nil, "")
			if got.Stays != tt.stays || got.Reaches != tt.reaches {
				t.Errorf("stays %q, reaches %q; want %q, %q", got.Stays, got.Reaches, tt.stays, tt.reaches)
			}
		})
	}
}

func TestANameThatNothingHasIsSaidWithWhereToLook(t *testing.T) {
	want := "There is no token with the ID \"nix\"\n  garita token list"
	if got := named(errdefs.ErrNotFound, "token with the ID", "nix", "garita token list").Error(); got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	broken := errors.New("disk full")
	if got := named(broken, "token with the ID", "nix", ""); !errors.Is(got, broken) {
		t.Errorf("got %v, want it as it was", got)
	}
}
