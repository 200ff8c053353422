package daemon

import "testing"

// TestTheWallStartsWhenItIsNeeded: an idle daemon has none, and all who need one get the same.
func TestTheWallStartsWhenItIsNeeded(t *testing.T) {
	w := newWalled(t)
	if _, err := w.engine.get(t.Context()); err != nil {
		t.Fatal(err)
	}
	w.engine.mu.Lock()
	early := w.engine.wall
	w.engine.mu.Unlock()
	if early != nil {
		t.Error("there is a wall that nobody needs")
	}
	w.engine.wake()
	_, first, err := w.engine.both(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, second, err := w.engine.both(t.Context()); err != nil || second != first {
		t.Errorf("another wall, or %v", err)
	}
	if err := first.Kill(); err != nil {
		t.Fatal(err)
	}
	if !w.engine.crashed(t.Context(), first) {
		t.Error("the wall died, and there is no other")
	}
}
