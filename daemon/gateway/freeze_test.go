package gateway

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/containerd/errdefs"

	"github.com/garita-dev/garita/daemon/protocol"
)

// icy is an upstream whose clock can be stopped, and which goes on when it is sent something.
type icy struct {
	Upstream

	mu     sync.Mutex // guards the fields below
	none   bool       // it cannot
	before func()     // what happens while it is being frozen
	frozen bool
	times  int
}

func (i *icy) Freeze(context.Context) error {
	i.mu.Lock()
	if i.none {
		i.times++
		i.mu.Unlock()
		return fmt.Errorf("no freezer: %w", errdefs.ErrUnavailable)
	}
	if i.frozen {
		i.mu.Unlock()
		return errdefs.ErrFailedPrecondition
	}
	i.frozen = true
	i.times++
	before := i.before
	i.mu.Unlock()
	if before != nil {
		before()
	}
	return nil
}

func (i *icy) Thaw(context.Context) error {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.frozen = false
	return nil
}

func (i *icy) Write(raw []byte) error {
	_ = i.Thaw(context.Background())
	return i.Upstream.Write(raw)
}

func (i *icy) set(f func()) {
	i.mu.Lock()
	defer i.mu.Unlock()
	f()
}

func (i *icy) now() (frozen bool, times int) {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.frozen, i.times
}

// frozenAfter is a session with an icy server that stands still after that much silence.
func frozenAfter(d time.Duration, more func(*Options)) (*world, *icy) {
	i := &icy{}
	w := newModelWorld(legacyModel(tools("append"), appending), "append approved", func(o *Options) {
		o.Server.Spec.Lifecycle.Freeze = d
		open := o.Open
		o.Open = func(ctx context.Context) (Upstream, error) {
			u, err := open(ctx)
			i.Upstream = u
			return i, err
		}
		if more != nil {
			more(o)
		}
	})
	w.say(legacyHello)
	synctest.Wait()
	return w, i
}

func TestServersThatNobodyUsesAreFrozen(t *testing.T) {
	call := func(id, delay int) string {
		return fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"append","arguments":{"delay":%d}}}`+"\n", id, delay)
	}
	want := func(t *testing.T, i *icy, when string, frozen bool, times int) {
		t.Helper()
		if f, n := i.now(); f != frozen || n != times {
			t.Errorf("%s: frozen %t, %d times; want %t, %d", when, f, n, frozen, times)
		}
	}
	bubble(t, "after its silence, until the next message", func(t *testing.T) {
		w, i := frozenAfter(time.Minute, nil)
		after(59 * time.Second)
		want(t, i, "59 s", false, 0)
		after(2 * time.Second)
		want(t, i, "61 s", true, 1)
		w.say(call(1, 0))
		after(time.Second)
		want(t, i, "a call", false, 1)
		if got := answersTo(w.client.seen(), "1"); len(got) != 1 {
			t.Errorf("the call has %d answers", len(got))
		}
		after(2 * time.Minute)
		want(t, i, "silence again", true, 2)
		w.wantRuns(t, "all the time", 1, true)
		w.over(t)
	})
	bubble(t, "a call that takes long is no silence", func(t *testing.T) {
		w, i := frozenAfter(time.Minute, nil)
		w.say(call(1, 240_000))
		after(4 * time.Minute)
		want(t, i, "during the call", false, 0)
		after(2 * time.Minute)
		want(t, i, "after it", true, 1)
		w.over(t)
	})
	bubble(t, "what comes at the same moment is answered", func(t *testing.T) {
		w, i := frozenAfter(time.Minute, nil)
		i.set(func() {
			i.before = func() { w.say(call(1, 0)); <-time.After(time.Millisecond); i.set(func() { i.frozen = true }) } // it was sent just before
		})
		after(61 * time.Second)
		want(t, i, "then", false, 1)
		w.over(t)
	})
	bubble(t, "frozen first, then stopped", func(t *testing.T) {
		w, i := frozenAfter(time.Minute, func(o *Options) { o.Server.Spec.Lifecycle.Idle = 10 * time.Minute })
		after(5 * time.Minute)
		want(t, i, "5 min", true, 1)
		after(6 * time.Minute)
		w.wantRuns(t, "11 min", 1, false)
		w.over(t)
	})
	bubble(t, "where there is no freezer it goes on running, and is not tried again", func(t *testing.T) {
		w, i := frozenAfter(time.Minute, nil)
		i.set(func() { i.none = true })
		after(10 * time.Minute)
		want(t, i, "10 min", false, 1)
		w.say(fmt.Sprintf(`{"jsonrpc":"2.0","id":9,"method":%q}`+"\n", protocol.MethodPing))
		w.over(t)
	})
}
