package door

import (
	"sync"
)

// What a stream holds, sent or not, for a client that comes back for it.
const (
	maxEvents = 4096
	maxBytes  = 8 << 20
)

// stream is what a session has to say in one HTTP response: the session puts messages in, whoever
// answers the request takes them out, and no one waits for the other. It holds what was sent, too,
// as far as it fits, so that a client that lost the connection can ask for it again.
type stream struct {
	id string

	mu     sync.Mutex
	events []event
	first  int // the number of events[0]
	sent   int // the number of the first event that was not sent
	bytes  int
	begun  bool          // its reader got its first event or a comment
	done   bool          // nothing will be put in any more
	wake   chan struct{} // closed when something changes
	reader chan struct{} // closed when another reader takes over; nil without reader
}

type event struct {
	raw  []byte
	must bool // an answer or a request: a notification can be missed
	last bool // the answer that ends the stream
}

func newStream(id string) *stream { return &stream{id: id, wake: make(chan struct{})} }

// put adds a message, and tells whether there was room for it. Old ones make room, sent ones first.
func (s *stream) put(e event) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.done {
		return false
	}
	s.trim(len(e.raw))
	over := len(s.events) >= maxEvents || s.bytes+len(e.raw) > maxBytes
	if over && (!e.must || len(s.events) >= 2*maxEvents || s.bytes > 2*maxBytes) && !e.last {
		return false
	}
	s.events = append(s.events, e)
	s.bytes += len(e.raw)
	s.done = e.last
	s.changed()
	return true
}

// trim drops the oldest events until one of size more fits, but none that must still be sent.
func (s *stream) trim(size int) {
	for len(s.events) > 0 && (len(s.events) >= maxEvents || s.bytes+size > maxBytes) {
		if s.events[0].must && s.first >= s.sent {
			return
		}
		s.bytes -= len(s.events[0].raw)
		s.events[0] = event{}
		s.events = s.events[1:]
		s.first++
	}
}

// finish ends the stream without an answer.
func (s *stream) finish() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.done = true
	s.changed()
}

// changed wakes whoever waits. s.mu is held.
func (s *stream) changed() {
	close(s.wake)
	s.wake = make(chan struct{})
}

// from is the events from number n on, the number of the first of them, whether they are the last,
// and what is closed when there are more.
func (s *stream) from(n int) (events []event, first int, done bool, wake <-chan struct{}) {
	s.mu.Lock()
	defer s.mu.Unlock()
	n = max(n, s.first)
	at := min(n-s.first, len(s.events))
	return s.events[at:], s.first + at, s.done, s.wake
}

// markSent says that all events before number n were sent.
func (s *stream) markSent(n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.sent, s.begun = max(s.sent, n), true
}

// attach makes the caller the stream's reader, in place of another, who sees it by the channel.
func (s *stream) attach() (taken chan struct{}, next int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.reader != nil {
		close(s.reader)
	}
	s.reader = make(chan struct{})
	return s.reader, s.sent
}

// detach ends what attach began, if no other has taken over.
func (s *stream) detach(taken chan struct{}) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.reader == taken {
		s.reader = nil
	}
}

// state tells whether somebody reads, and whether a reader ever got anything.
func (s *stream) state() (read, begun bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.reader != nil, s.begun
}

// size is the bytes that it holds.
func (s *stream) size() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.bytes
}
