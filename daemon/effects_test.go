package daemon

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"

	"github.com/garita-dev/garita/approvals"
	"github.com/garita-dev/garita/sandbox"
	"github.com/garita-dev/garita/store"
)

// overlay stands for the engine's workspaces: every mark sees all changes made after it.
type overlay struct {
	changes []sandbox.Change
	held    []string
	err     error
}

func (o *overlay) MarkWorkspace(context.Context, sandbox.WorkspaceID) (sandbox.Mark, error) {
	return o.now(), o.err
}

func (o *overlay) AdvanceWorkspace(_ context.Context, _ sandbox.WorkspaceID, m sandbox.Mark) ([]sandbox.Change, sandbox.Mark, error) {
	return o.changes[len(m)-1:], o.now(), o.err
}

func (o *overlay) now() sandbox.Mark { return sandbox.Mark(make([]byte, len(o.changes)+1)) }

func (o *overlay) HoldWorkspace(_ context.Context, _ sandbox.WorkspaceID, paths []string, _ string) error {
	o.held = append(o.held, paths...)
	return nil
}

func (o *overlay) write(path string) {
	o.changes = append(o.changes, sandbox.Change{Folder: "/ws", Path: path, Kind: sandbox.Added})
}

type demoted []store.Demotion

func (d *demoted) Demote(_ context.Context, x store.Demotion) error {
	*d = append(*d, x)
	return nil
}

func (d *demoted) Unattributed(_ context.Context, _ approvals.Call, changes []sandbox.Change) error {
	*d = append(*d, store.Demotion{Reason: "unattributed", Tool: changes[0].Path})
	return nil
}

var (
	asRead   = approvals.Decision{Effect: approvals.Allow, Class: approvals.Read}
	approved = approvals.Decision{Effect: approvals.Allow, Class: approvals.Write, Outcome: approvals.Approved}
)

func call(id approvals.CallID) approvals.Call {
	return approvals.Call{ID: id, Tool: "t", Workspace: "w1"}
}

func TestARead(t *testing.T) {
	for name, tt := range map[string]struct {
		during  func(e *effects, o *overlay)
		changes int
		excused bool
	}{
		"alone that writes nothing": {func(*effects, *overlay) {}, 0, false},
		"alone that writes":         {func(_ *effects, o *overlay) { o.write("x") }, 1, false},
		"beside an approved write": {func(e *effects, o *overlay) {
			w, _ := e.Watch(context.Background(), call("c2"), approved)
			o.write("x")
			_, _ = w.Stop(context.Background())
		}, 1, true},
		"beside another read": {func(e *effects, o *overlay) {
			w, _ := e.Watch(context.Background(), call("c2"), asRead)
			o.write("x")
			_, _ = w.Stop(context.Background())
		}, 1, false},
	} {
		t.Run(name, func(t *testing.T) {
			o := &overlay{}
			e := newEffects(o, &demoted{})
			w, err := e.Watch(context.Background(), call("c1"), asRead)
			if err != nil {
				t.Fatal(err)
			}
			tt.during(e, o)
			seen, err := w.Stop(context.Background())
			if err != nil || len(seen.Changes) != tt.changes || seen.Excused != tt.excused {
				t.Errorf("saw %+v, %v; want %d changes, excused %t", seen, err, tt.changes, tt.excused)
			}
			if len(e.under) != 0 {
				t.Errorf("%d workspaces still have calls under way", len(e.under))
			}
		})
	}
}

func TestCallsThatMayWriteTakeTurns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := newEffects(&overlay{}, &demoted{})
		first, err := e.Watch(t.Context(), call("c1"), approved)
		if err != nil {
			t.Fatal(err)
		}
		second := make(chan error, 1)
		go func() {
			w, err := e.Watch(t.Context(), call("c2"), approved)
			if err == nil {
				_, err = w.Stop(t.Context())
			}
			second <- err
		}()
		synctest.Wait()
		select {
		case <-second:
			t.Fatal("the second call did not wait for its turn")
		default:
		}
		if _, err := e.Watch(t.Context(), call("c3"), asRead); err != nil {
			t.Errorf("a read waits for a write: %v", err)
		}
		_, _ = first.Stop(t.Context())
		if err := <-second; err != nil {
			t.Error(err)
		}
	})
}

func TestACallThatGivesUpItsTurnLetsTheNextOneIn(t *testing.T) {
	e := newEffects(&overlay{}, &demoted{})
	first, _ := e.Watch(t.Context(), call("c1"), approved)
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := e.Watch(gone, call("c2"), approved); !errors.Is(err, context.Canceled) {
		t.Fatalf("got %v, want the cancellation", err)
	}
	_, _ = first.Stop(t.Context())
	if _, err := e.Watch(t.Context(), call("c3"), approved); err != nil {
		t.Error(err)
	}
}

func TestWithoutAMarkNothingIsCalled(t *testing.T) {
	e := newEffects(&overlay{err: errors.New("engine gone")}, &demoted{})
	if _, err := e.Watch(t.Context(), call("c1"), approved); err == nil {
		t.Fatal("a call went on though its effects cannot be seen")
	}
	if len(e.under) != 0 {
		t.Error("the call is still counted as under way")
	}
}

func TestWhatIsWrittenAfterTheAnswerIsNobodys(t *testing.T) {
	o, d := &overlay{}, &demoted{}
	e := newEffects(o, d)
	first, _ := e.Watch(t.Context(), call("c1"), asRead)
	if seen, _ := first.Stop(t.Context()); len(seen.Changes) != 0 {
		t.Fatalf("saw %+v in a call that wrote nothing", seen.Changes)
	}
	o.write("late")
	second, err := e.Watch(t.Context(), call("c2"), asRead)
	if err != nil {
		t.Fatal(err)
	}
	if seen, _ := second.Stop(t.Context()); len(seen.Changes) != 0 {
		t.Errorf("the next call is blamed for %+v", seen.Changes)
	}
	if len(o.held) != 1 || len(*d) != 1 || (*d)[0].Tool != "late" {
		t.Errorf("held %v, recorded %v; want the late file", o.held, *d)
	}
}

func TestBlameHoldsAndDemotes(t *testing.T) {
	o, d := &overlay{}, &demoted{}
	e := newEffects(o, d)
	err := e.Blame(t.Context(), call("c1"), []sandbox.Change{{Folder: "/ws", Path: "a/b"}}, "it changed a/b")
	if err != nil || len(o.held) != 1 || o.held[0] != "/ws/a/b" || len(*d) != 1 || (*d)[0].Tool != "t" {
		t.Errorf("held %v, demoted %v, %v", o.held, *d, err)
	}
}
