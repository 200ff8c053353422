package door

import (
	"context"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/garita-dev/garita/daemon/protocol"
)

// writeTime bounds one write to a client; one that takes longer has a dead peer.
const writeTime = 30 * time.Second

// primeAfter is how long a request of a revision with priming events may wait for its answer before
// its stream begins, so that the client can come back for it.
const primeAfter = 40 * time.Millisecond

// comeBack is how long a client that lost its stream is to wait before it comes back.
const comeBack = time.Second

// manner is how a stream is sent.
type manner struct {
	status func(raw []byte) int // of an answer that comes first and alone; nil means 200
	ids    bool                 // events have ids, and can be asked for again
	prime  bool                 // the stream begins with an event without data, once it waits
	listen bool                 // it begins at once, and is never one JSON body
	prefer bool                 // its client would rather have events than a JSON body
}

// response writes one stream to one HTTP response.
type response struct {
	w       http.ResponseWriter
	c       *http.ResponseController
	s       *stream
	m       manner
	next    int // the number of the next event
	started bool
}

// seat is a reader's place at a stream, from event number next on.
type seat struct {
	s     *stream
	taken chan struct{}
	next  int
}

// take makes the caller the reader of s, from where the last one came to.
func take(s *stream) seat {
	taken, next := s.attach()
	return seat{s, taken, next}
}

// send writes what comes on a stream, until it is done (then it returns true), the client or the
// session is gone, or another reader takes over. An answer that comes first and alone is one JSON
// body, all else server-sent events.
func (d *Door) send(v visit, at seat, m manner) bool {
	defer at.s.detach(at.taken)
	x := &response{w: v.w, c: http.NewResponseController(v.w), s: at.s, m: m, next: at.next}
	defer func() { _ = x.c.SetWriteDeadline(time.Time{}) }()
	return x.run(v.r.Context(), at.taken, d.KeepAlive)
}

func (x *response) run(ctx context.Context, taken <-chan struct{}, keepAlive time.Duration) bool {
	tick := time.NewTimer(x.patience(keepAlive))
	defer tick.Stop()
	for {
		events, first, done, wake := x.s.from(x.next)
		x.next = first
		if ended, ok := x.write(events, done); ended || !ok {
			return ok
		}
		if len(events) > 0 {
			tick.Reset(keepAlive)
			continue
		}
		select {
		case <-wake:
		case <-tick.C:
			if !x.alive() {
				return false
			}
			tick.Reset(keepAlive)
		case <-taken:
			return false
		case <-ctx.Done():
			return false
		}
	}
}

// patience is how long nothing may be sent at first.
func (x *response) patience(keepAlive time.Duration) time.Duration {
	switch {
	case x.m.listen:
		return 0
	case x.m.prime:
		return min(primeAfter, keepAlive)
	}
	return keepAlive
}

// write sends events; ended is that the response is complete, ok that the client takes it.
func (x *response) write(events []event, done bool) (ended, ok bool) {
	if !x.started && !x.m.listen && done && len(events) == 1 && events[0].last && x.body(events[0].raw) {
		return true, true
	}
	if len(events) > 0 && !x.flush(x.frames(events)) {
		return false, false
	}
	if done && !x.started {
		x.start() // it ended without an answer
	}
	return done, true
}

// body sends an answer as JSON; false when it is to be an event.
func (x *response) body(raw []byte) bool {
	status := http.StatusOK
	if x.m.status != nil {
		status = x.m.status(raw)
	}
	if status == http.StatusOK && x.m.prefer {
		return false
	}
	_ = x.c.SetWriteDeadline(time.Now().Add(writeTime + time.Duration(len(raw)>>20)*time.Second))
	jsonBody(x.w, status, raw)
	return true
}

// frames is events as they are sent.
func (x *response) frames(events []event) []byte {
	var b []byte
	for _, e := range events {
		x.next++
		b = protocol.AppendMessage(b, x.eventID(), e.raw)
	}
	return b
}

// eventID names what was sent so far: the stream, and how many events of it.
func (x *response) eventID() string {
	if !x.m.ids {
		return ""
	}
	return x.s.id + "_" + strconv.Itoa(x.next)
}

// parseEventID is eventID read back.
func parseEventID(id string) (stream string, next int, ok bool) {
	stream, n, _ := strings.Cut(id, "_")
	next, err := strconv.Atoi(n)
	return stream, next, err == nil && next >= 0
}

// alive sends a sign of life: the first event where the stream has not begun, else a comment.
func (x *response) alive() bool {
	if !x.started && x.m.prime {
		return x.flush(protocol.AppendEvent(nil, protocol.Event{ID: x.eventID(), Data: []byte{}, Retry: comeBack}))
	}
	return x.flush([]byte(protocol.KeepAlive))
}

// flush sends b, which begins the stream where it has not begun, and tells whether the client took it.
func (x *response) flush(b []byte) bool {
	x.start()
	_ = x.c.SetWriteDeadline(time.Now().Add(writeTime + time.Duration(len(b)>>20)*time.Second))
	if _, err := x.w.Write(b); err != nil {
		return false
	}
	if x.c.Flush() != nil {
		return false
	}
	x.s.markSent(x.next)
	return true
}

func (x *response) start() {
	if x.started {
		return
	}
	x.started = true
	h := x.w.Header()
	h.Set("Content-Type", "text/event-stream")
	h.Set("Cache-Control", "no-store")
	h.Set("X-Accel-Buffering", "no")
	h.Set("X-Content-Type-Options", "nosniff")
	x.w.WriteHeader(http.StatusOK)
}
