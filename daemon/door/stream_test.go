package door

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"
)

func TestAStreamHoldsABoundedPart(t *testing.T) {
	for name, raw := range map[string][]byte{"many": []byte("x"), "large": make([]byte, 1<<20)} {
		t.Run(name, func(t *testing.T) {
			s := newStream("1")
			s.put(event{raw: []byte("question"), must: true})
			for range 3 * maxEvents {
				s.put(event{raw: raw})
			}
			if len(s.events) > maxEvents || s.bytes > maxBytes {
				t.Errorf("%d events, %d bytes", len(s.events), s.bytes)
			}
			s.put(event{raw: []byte("answer"), must: true, last: true})
			events, first, done, _ := s.from(0)
			if string(events[0].raw) != "question" || string(events[len(events)-1].raw) != "answer" || first != 0 || !done {
				t.Errorf("from %d, done %v: %s … %s", first, done, events[0].raw, events[len(events)-1].raw)
			}
			if s.put(event{raw: []byte("late")}) {
				t.Error("it took something after its end")
			}
		})
	}
}

func TestWhatWasSentMakesRoomFirst(t *testing.T) {
	s := newStream("1")
	for n := range 2 * maxEvents {
		if !s.put(event{raw: fmt.Appendf(nil, "%d", n), must: true}) {
			t.Fatalf("no room for %d", n)
		}
		s.markSent(n + 1)
	}
	events, first, _, _ := s.from(0)
	if first != maxEvents || string(events[0].raw) != fmt.Sprint(first) {
		t.Errorf("from %d: %s", first, events[0].raw)
	}
	if events, first, _, _ := s.from(2*maxEvents - 1); len(events) != 1 || first != 2*maxEvents-1 {
		t.Errorf("%d events from %d", len(events), first)
	}
	if events, first, _, _ := s.from(1 << 30); len(events) != 0 || first != 2*maxEvents {
		t.Errorf("%d events from %d", len(events), first)
	}
}

func TestABigAnswerPasses(t *testing.T) {
	s := newStream("1")
	if !s.put(event{raw: make([]byte, 64<<20), must: true, last: true}) {
		t.Error("it was not taken")
	}
}

// What a client needs to come back for a slow answer: an id, and when.
func TestAStreamThatWaitsBeginsWithAdvice(t *testing.T) {
	w := httptest.NewRecorder()
	x := response{w: w, c: http.NewResponseController(w), s: newStream("1"), m: manner{ids: true, prime: true}}
	if !x.alive() || w.Body.String() != "id: 1_0\nretry: 1000\ndata: \n\n" {
		t.Errorf("it began with %q", w.Body)
	}
}
