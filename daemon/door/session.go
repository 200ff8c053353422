package door

import (
	"crypto/rand"
	"errors"
	"net/http"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/garita-dev/garita/daemon/protocol"
)

// session is one legacy session: what its client has asked and was not answered, and the streams
// that the answers go into.
type session struct {
	d        *Door
	id       string
	access   Access
	server   string
	pipe     *pipe
	begin    protocol.ID // of initialize
	listened *stream     // for what belongs to no request
	lease    *lease

	mu       sync.Mutex
	version  protocol.Revision // as negotiated; "" before
	waiting  map[protocol.ID]*asked
	flight   []*stream // with requests in flight, oldest first
	finished []*stream // all answered, for clients that come back; oldest first
	held     map[protocol.ID]*time.Timer
	streams  int
	ended    bool
	err      error // why, then
}

// asked is one request in flight.
type asked struct {
	id     protocol.ID
	method string
	token  string // its progress token as JSON; "" without
	stream *stream
}

var errTooMany = errors.New("this token has too many sessions in use")

// What is kept of answered streams, for clients that come back: so many, of so many bytes together;
// of one that was sent whole, only if it is small.
const (
	maxFinished      = 8
	maxFinishedBytes = 64 << 20
	maxResent        = 1 << 20
)

// newSession is a session under an id that nobody can guess. Its lease is taken.
func newSession(d *Door, v visit, begin protocol.ID) *session {
	s := &session{
		d: d, id: rand.Text() + rand.Text(), access: v.access, server: v.server, begin: begin,
		listened: newStream("0"),
		waiting:  map[protocol.ID]*asked{}, held: map[protocol.ID]*time.Timer{},
	}
	s.pipe = newPipe(s.out)
	s.lease = newLease(d.Idle, func() { _ = s.pipe.Close() })
	return s
}

// enter begins an HTTP request, which s.lease.release ends; false when the session has ended. One
// that never began tells why by its answer to initialize.
func (s *session) enter() bool {
	s.lease.take()
	if s.pipe.isGone() && s.revision() != "" {
		s.lease.release()
		return false
	}
	return true
}

// over is called when what stands behind the session has ended: whoever still waits is told.
func (s *session) over(err error) {
	s.d.mu.Lock()
	delete(s.d.sessions, s.id)
	s.d.mu.Unlock()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ended, s.err = true, err
	s.lease.end()
	for _, t := range s.held {
		t.Stop()
	}
	for _, a := range s.waiting {
		s.answered(a, protocol.NewError(a.id, protocol.CodeInternal, why(err)))
	}
	s.listened.finish()
}

func why(err error) string {
	if err == nil {
		err = errGone
	}
	return err.Error()
}

func (s *session) revision() protocol.Revision {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.version
}

// asked is the requests in m, which came under a version header that says revision. The error is a
// *protocol.ParseError.
func (s *session) asked(m protocol.Message, revision protocol.Revision) ([]*asked, error) {
	switch m.Kind {
	case protocol.Request:
		return []*asked{newAsked(m)}, nil
	case protocol.Batch:
		if s.revision() != protocol.V20250326 || revision != protocol.V20250326 {
			return nil, &protocol.ParseError{Code: protocol.CodeInvalidRequest, Why: "batches are of revision 2025-03-26 alone"}
		}
		return askedTogether(m)
	default:
		return nil, nil
	}
}

func newAsked(m protocol.Message) *asked {
	return &asked{id: m.ID, method: m.Method, token: string(progressToken(m.Params))}
}

// askedTogether is the requests of a batch. One with broken elements and no request has nobody to
// tell, and is refused whole.
func askedTogether(m protocol.Message) (all []*asked, err error) {
	messages, errs, err := m.Batch()
	if err != nil {
		return nil, err
	}
	for _, one := range messages {
		if one.Method == protocol.MethodInitialize {
			return nil, &protocol.ParseError{Code: protocol.CodeInvalidRequest, Why: "initialize in a batch"}
		}
		if one.Kind == protocol.Request {
			all = append(all, newAsked(one))
		}
	}
	if len(all) > 0 {
		return all, nil
	}
	for _, err := range errs {
		if err != nil {
			return nil, err
		}
	}
	return nil, nil
}

func progressToken(params jsontext.Value) jsontext.Value {
	meta, err := protocol.Meta(params)
	if err != nil {
		return nil
	}
	return meta["progressToken"]
}

// expect opens the stream that all will be answered in. An id that waits already is refused.
func (s *session) expect(all []*asked) (*stream, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ended {
		return nil, &protocol.ParseError{Code: protocol.CodeInternal, Why: why(s.err), ID: all[0].id}
	}
	for i, a := range all {
		same := func(b *asked) bool { return a.id == b.id }
		if s.waiting[a.id] != nil || slices.ContainsFunc(all[:i], same) {
			return nil, &protocol.ParseError{Code: protocol.CodeInvalidRequest, Why: "a request of this id is in flight", ID: a.id}
		}
	}
	s.streams++
	st := newStream(strconv.Itoa(s.streams))
	for _, a := range all {
		a.stream = st
		s.waiting[a.id] = a
	}
	s.flight = append(s.flight, st)
	return st, nil
}

// mannerOf is how the answer to m is sent to a client of that revision.
func mannerOf(r *http.Request, m protocol.Message, revision protocol.Revision) manner {
	begins := m.Method == protocol.MethodInitialize
	return manner{ids: true, prime: revision >= protocol.V20251125 && !begins, prefer: prefersEvents(r)}
}

// sent is called when a response has ended. A stream that its client cannot come back for is gone;
// the requests go on all the same, and may be answered late: who hangs up does not cancel.
func (s *session) sent(st *stream, complete bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	_, begun := st.state()
	if st == s.listened || (!complete && begun) {
		return
	}
	if !complete {
		s.drop(st)
	}
	if !begun || st.size() > maxResent {
		s.finished = slices.DeleteFunc(s.finished, func(f *stream) bool { return f == st })
	}
}

// drop ends a stream that nobody will read.
func (s *session) drop(st *stream) {
	st.finish()
	s.flight = slices.DeleteFunc(s.flight, func(f *stream) bool { return f == st })
}

// withdraw takes back what expect did, when nothing was asked.
func (s *session) withdraw(st *stream) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for id, a := range s.waiting {
		if a.stream == st {
			delete(s.waiting, id)
		}
	}
	s.drop(st)
}

// seat is the place that a listening client takes: at the stream for the rest, or where it lost
// the connection; false when that is not to be had any more.
func (s *session) seat(lastEvent string) (seat, bool) {
	if lastEvent == "" {
		return take(s.listened), true
	}
	id, next, ok := parseEventID(lastEvent)
	if !ok {
		return seat{}, false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, st := range append(append([]*stream{s.listened}, s.flight...), s.finished...) {
		if st.id == id {
			at := take(st)
			at.next = next
			return at, true
		}
	}
	return seat{}, false
}

// before looks at what a client tells before it is passed on: an answer ends its question's time.
func (s *session) before(m protocol.Message) {
	if m.Kind != protocol.Response {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.unhold(m.ID)
}

// after looks at what a client told when it was passed on: nobody waits for what was cancelled.
func (s *session) after(m protocol.Message) {
	if m.Kind == protocol.Batch {
		all, _, _ := m.Batch() // the door has read it
		for _, one := range all {
			s.after(one)
		}
		return
	}
	if m.Method != protocol.MethodCancelled {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if a := s.waiting[protocol.Cancelled(m.Params)]; a != nil && a.id != s.begin {
		s.answered(a, nil)
	}
}

func (s *session) unhold(id protocol.ID) {
	if t := s.held[id]; t != nil {
		t.Stop()
		delete(s.held, id)
	}
}
