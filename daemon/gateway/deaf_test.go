package gateway

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/garita-dev/garita/daemon/protocol"
)

// deaf is a server that reads nothing after its handshake.
type deaf struct {
	Upstream
	once    sync.Once
	stopped chan struct{}
}

func (d *deaf) Write(raw []byte) error {
	if strings.Contains(string(raw), `"initialize"`) {
		return d.Upstream.Write(raw)
	}
	<-d.stopped
	return context.Canceled
}

func (d *deaf) Stop(ctx context.Context) error {
	d.once.Do(func() { close(d.stopped) })
	return d.Upstream.Stop(ctx)
}

func TestAServerThatReadsNothingHoldsNobodyUp(t *testing.T) {
	world := func() *world {
		return newModelWorld(func(s *stub, m protocol.Message) {
			s.reply(m, agreed)
			s.print(`{"jsonrpc":"2.0","id":"q","method":"roots/list"}`) // its answer is never read
		}, "", func(o *Options) {
			o.Server.Spec.Lifecycle.Call = 200 * time.Millisecond
			open := o.Open
			o.Open = func(ctx context.Context) (Upstream, error) {
				u, err := open(ctx)
				return &deaf{Upstream: u, stopped: make(chan struct{})}, err
			}
		})
	}
	// In real time: who waits for another's turn to send is not asleep to synctest.
	w := world()
	w.say(legacyHello)
	waitFor(t, func() bool { return len(answersTo(w.client.seen(), "0")) == 1 })
	w.say(`{"jsonrpc":"2.0","id":1,"method":"ping"}` + "\n" + `{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"read_a"}}` + "\n")
	waitFor(t, func() bool {
		return len(answersTo(w.client.seen(), "1")) == 1 && len(answersTo(w.client.seen(), "2")) == 1
	})
	w.hangUp()
	select {
	case <-w.ended:
	case <-time.After(10 * time.Second):
		t.Error("the session does not end with its client")
	}
}

func TestInitializeIsAnsweredWheneverItComes(t *testing.T) {
	for _, first := range []string{"ping", "tools/list", "vendor/other"} {
		bubble(t, "after "+first, func(t *testing.T) {
			w := newModelWorld(legacyModel(tools("read_a"), func(s *stub, m protocol.Message) { s.reply(m, `{}`) }), "", nil)
			w.say(fmt.Sprintf(`{"jsonrpc":"2.0","id":"f","method":%q}`, first) + "\n")
			synctest.Wait()
			w.say(legacyHello)
			seen := w.over(t)
			for _, id := range []string{`"f"`, "0"} {
				if got := answersTo(seen, id); len(got) != 1 || !strings.Contains(got[0], `"result"`) {
					t.Errorf("request %s was answered with %s", id, got)
				}
			}
		})
	}
	bubble(t, "after an error", func(t *testing.T) {
		tries := 0
		w := newModelWorld(func(s *stub, m protocol.Message) {
			if tries++; tries == 1 {
				s.print(`{"jsonrpc":"2.0","id":1,"error":{"code":-32602,"message":"not so"}}`)
				return
			}
			s.reply(m, agreed)
		}, "", nil)
		w.say(legacyHello)
		synctest.Wait()
		w.say(legacyHello)
		if got := answersTo(w.over(t), "0"); len(got) != 2 || !strings.Contains(got[1], `"result"`) {
			t.Errorf("answered with %s", got)
		}
	})
}
