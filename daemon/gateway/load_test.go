package gateway

import (
	"testing"
	"testing/synctest"

	"github.com/garita-dev/garita/daemon/protocol"
)

func TestWhatAClientHasUnderWayIsBounded(t *testing.T) {
	var l load
	big := protocol.Message{Raw: make([]byte, maxUnderWayBytes/2+1)}
	answered := 0
	first, ok := l.take(big, func([]byte) { answered++ })
	if !ok {
		t.Fatal("one was refused")
	}
	if _, ok := l.take(big, nil); ok {
		t.Error("two that are too large together were taken")
	}
	first(nil)
	first(nil)
	if again, ok := l.take(big, func([]byte) {}); !ok || l.requests != 1 || answered != 2 {
		t.Errorf("after its answer: taken %t, %d under way", ok, l.requests)
	} else {
		again(nil)
	}
}

func TestAClientThatHasSaidAllGetsItsInitializeAnswered(t *testing.T) {
	bubble(t, "its server starts slowly", func(t *testing.T) {
		w := newModelWorld(legacyModel(tools("read_a"), nil), "", nil)
		w.say(legacyHello)
		w.hangUp() // as "garita connect NAME < file" does
		if err := <-w.ended; err != nil {
			t.Errorf("ended with %v", err)
		}
		synctest.Wait()
		if n := len(answersTo(w.client.seen(), "0")); n != 1 {
			t.Errorf("initialize has %d answers: %s", n, w.client.seen())
		}
	})
}
