package door

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/garita-dev/garita/daemon/protocol"
)

// out puts what the session writes where the client will read it.
func (s *session) out(m protocol.Message) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ended {
		return
	}
	switch m.Kind {
	case protocol.Response:
		s.answer(m)
	case protocol.Batch:
		s.answerBatch(m)
	case protocol.Request:
		s.question(m)
	case protocol.Notification:
		if !s.related(m).put(event{raw: m.Raw}) {
			s.d.Log.Debug("a notification was dropped: nobody reads", "server", s.server, "method", m.Method)
		}
	}
}

func (s *session) answer(m protocol.Message) {
	a := s.waiting[m.ID]
	if a == nil {
		s.d.Log.Debug("an answer was dropped: nobody asked", "server", s.server)
		return
	}
	if a.id == s.begin && m.Result != nil {
		s.version = negotiated(m)
	}
	s.answered(a, m.Raw)
}

// negotiated is the revision that an answer to initialize names.
func negotiated(m protocol.Message) protocol.Revision {
	members, err := protocol.Members(m.Result, "protocolVersion")
	if err != nil || protocol.Text(members["protocolVersion"]) == "" {
		return protocol.V20250326
	}
	return protocol.Revision(protocol.Text(members["protocolVersion"]))
}

// answered gives a its answer (nil for none), and ends its stream when it was the last there.
func (s *session) answered(a *asked, raw []byte) {
	delete(s.waiting, a.id)
	last := true
	for _, other := range s.waiting {
		last = last && other.stream != a.stream
	}
	if raw != nil {
		a.stream.put(event{raw: raw, must: true, last: last})
	}
	if last {
		a.stream.finish()
		s.flight = slices.DeleteFunc(s.flight, func(st *stream) bool { return st == a.stream })
		s.keep(a.stream)
	}
}

// keep adds an answered stream to those that clients may come back for. Old ones make room.
func (s *session) keep(st *stream) {
	if st.size() == 0 {
		return // its client had left it
	}
	s.finished = append(s.finished, st)
	bytes := 0
	for _, f := range s.finished {
		bytes += f.size()
	}
	for len(s.finished) > 1 && (len(s.finished) > maxFinished || bytes > maxFinishedBytes) {
		bytes -= s.finished[0].size()
		s.finished = s.finished[1:]
	}
}

// answerBatch gives a batch its one answer.
func (s *session) answerBatch(m protocol.Message) {
	messages, _, err := m.Batch()
	if err != nil {
		return
	}
	var all []*asked
	for _, one := range messages {
		if a := s.waiting[one.ID]; a != nil && one.Kind == protocol.Response {
			all = append(all, a)
		}
	}
	for i, a := range all {
		raw := m.Raw
		if i < len(all)-1 {
			raw = nil
		}
		s.answered(a, raw)
	}
}

// question is a request of the server. One that nobody reads in time is answered by us.
func (s *session) question(m protocol.Message) {
	if !s.related(m).put(event{raw: m.Raw, must: true}) {
		s.d.runs.Go(func() { s.unread(m.ID) }) // the session runs, so the door is not closed yet
		return
	}
	s.unhold(m.ID)
	s.held[m.ID] = time.AfterFunc(s.d.Hold, func() { s.unreadYet(m) })
}

// related is the stream that a message of the server's own belongs into: that of the request it is
// about, where that shows; else that of a request that may be its cause, else the one for the rest.
func (s *session) related(m protocol.Message) *stream {
	if m.Method == protocol.MethodProgress {
		if st := s.progressing(m); st != nil {
			return st
		}
	}
	read, _ := s.listened.state()
	if read && aboutNoRequest(m.Method) {
		return s.listened
	}
	best, rank := s.listened, 0
	if read {
		rank = 1
	}
	for _, a := range s.waiting {
		if r := s.rank(a); r > rank || (r == rank && r > 1 && later(a.stream, best)) {
			best, rank = a.stream, r
		}
	}
	return best
}

// rank says how likely a request is the cause of what a server sends meanwhile.
func (s *session) rank(a *asked) int {
	if read, _ := a.stream.state(); !read {
		return 0
	}
	switch a.method {
	case protocol.MethodToolsCall, "prompts/get", "resources/read", "completion/complete":
		return 3
	}
	return 2
}

// later tells whether a was opened after b.
func later(a, b *stream) bool {
	return len(a.id) > len(b.id) || (len(a.id) == len(b.id) && a.id > b.id)
}

func aboutNoRequest(method string) bool {
	return strings.HasSuffix(method, "/list_changed") || method == "notifications/resources/updated"
}

func (s *session) progressing(m protocol.Message) *stream {
	members, err := protocol.Members(m.Params, "progressToken")
	if err != nil || members["progressToken"] == nil {
		return nil
	}
	for _, a := range s.waiting {
		if a.token == string(members["progressToken"]) {
			return a.stream
		}
	}
	return nil
}

// unreadYet looks after a question whose time is over: while somebody reads, it goes on waiting.
func (s *session) unreadYet(m protocol.Message) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ended || s.held[m.ID] == nil {
		return
	}
	if s.somebodyReads() {
		s.held[m.ID].Reset(s.d.Hold)
		return
	}
	delete(s.held, m.ID)
	s.d.runs.Go(func() { s.unread(m.ID) }) // the session runs, so the door is not closed yet
}

func (s *session) somebodyReads() bool {
	if read, _ := s.listened.state(); read {
		return true
	}
	return slices.ContainsFunc(s.flight, func(st *stream) bool { read, _ := st.state(); return read })
}

// unread answers a question for a client that does not listen.
func (s *session) unread(id protocol.ID) {
	m, err := protocol.Parse(protocol.NewError(id, protocol.CodeNoMethod, "the client has no stream open to be asked on"))
	if err == nil {
		_ = s.pipe.send(context.Background(), m) // ends with the session
	}
}

// makeRoom ends the session of a that was unused for the longest time, when there are too many. d.mu
// is held.
func (d *Door) makeRoom(a Access) error {
	n := 0
	var unused *session
	for _, s := range d.sessions {
		if s.access.ID != a.ID {
			continue
		}
		n++
		if since := s.lease.unusedSince(); !since.IsZero() && (unused == nil || since.Before(unused.lease.unusedSince())) {
			unused = s
		}
	}
	switch {
	case n < d.Sessions:
		return nil
	case unused == nil:
		return errTooMany
	}
	delete(d.sessions, unused.id)
	return unused.pipe.Close()
}
