package door

import (
	"net/http"

	"github.com/garita-dev/garita/daemon/protocol"
)

// post takes one message, of whichever era.
func (d *Door) post(v visit) {
	m, ok := d.message(v)
	if !ok {
		return
	}
	id := v.r.Header.Get(protocol.HeaderSession)
	s := d.find(v, id)
	switch {
	case s != nil:
		d.postLegacy(v, s, m)
	case isModern(v.r.Header, m):
		d.postModern(v, m)
	case id != "":
		d.noSession(v, id)
	case m.Kind == protocol.Request && m.Method == protocol.MethodInitialize:
		d.postInitialize(v, m)
	default:
		rpcError(v.w, http.StatusBadRequest, m.ID, protocol.CodeInvalidRequest,
			"there is no "+protocol.HeaderSession+" header: initialize comes first")
	}
}

// find is the session of that id, if it is of this token and server.
func (d *Door) find(v visit, id string) *session {
	d.mu.Lock()
	defer d.mu.Unlock()
	s := d.sessions[id]
	if s == nil || s.access.ID != v.access.ID || s.server != v.server {
		return nil
	}
	return s
}

// noSession answers for a session that has ended, never was, or is another's: that is recorded.
func (d *Door) noSession(v visit, id string) {
	d.mu.Lock()
	_, others := d.sessions[id]
	d.mu.Unlock()
	if others {
		d.refuse(v.w, v.r, v.access, "session", http.StatusNotFound)
		return
	}
	plain(v.w, http.StatusNotFound, words[http.StatusNotFound])
}

// postInitialize opens a session.
func (d *Door) postInitialize(v visit, m protocol.Message) {
	s, err := d.open(v, m.ID)
	if err != nil {
		rpcError(v.w, http.StatusServiceUnavailable, m.ID, protocol.CodeInternal, err.Error())
		return
	}
	defer s.lease.release()
	v.w.Header().Set(protocol.HeaderSession, s.id)
	d.postLegacy(v, s, m)
	if s.revision() == "" { // initialize failed, or its sender left
		_ = s.pipe.Close()
	}
}

// open starts a session, whose initialize has the id begin.
func (d *Door) open(v visit, begin protocol.ID) (*session, error) {
	s := newSession(d, v, begin)
	d.mu.Lock()
	defer d.mu.Unlock()
	err := d.makeRoom(v.access)
	if err == nil {
		err = d.run(v.access, v.server, s.pipe, s.over)
	}
	if err != nil {
		return nil, err
	}
	d.sessions[s.id] = s
	return s, nil
}

// postLegacy passes one message of a session on, and answers when it is answered.
func (d *Door) postLegacy(v visit, s *session, m protocol.Message) {
	if !s.enter() {
		plain(v.w, http.StatusNotFound, words[http.StatusNotFound])
		return
	}
	defer s.lease.release()
	revision, ok := legacyRevision(v.r.Header)
	if !ok {
		rpcError(v.w, http.StatusBadRequest, m.ID, protocol.CodeInvalidRequest, protocol.HeaderVersion+" is none that a session speaks")
		return
	}
	asked, err := s.asked(m, revision)
	if err != nil {
		parseError(v.w, err)
		return
	}
	if len(asked) == 0 {
		s.told(v, m)
		return
	}
	st, err := s.expect(asked)
	if err != nil {
		parseError(v.w, err)
		return
	}
	at := take(st) // before it is asked: what comes at once finds a reader
	if s.pipe.send(v.r.Context(), m) != nil && v.r.Context().Err() != nil {
		s.withdraw(st)
		return
	}
	s.after(m) // a batch may cancel what it asks; a session that has ended answers all that wait
	s.sent(st, d.send(v, at, mannerOf(v.r, m, revision)))
}

// told passes on what is not answered: notifications, answers to a server, and batches of these.
func (s *session) told(v visit, m protocol.Message) {
	s.before(m)
	if s.pipe.send(v.r.Context(), m) != nil {
		plain(v.w, http.StatusNotFound, words[http.StatusNotFound])
		return
	}
	s.after(m)
	v.w.WriteHeader(http.StatusAccepted)
}

// get is a client that listens to a session, or comes back for the rest of a stream.
func (d *Door) get(v visit) {
	s := d.visited(v)
	if s == nil {
		return
	}
	if _, events := accepts(v.r); !events {
		plain(v.w, http.StatusNotAcceptable, "Accept must name text/event-stream")
		return
	}
	if !s.enter() {
		plain(v.w, http.StatusNotFound, words[http.StatusNotFound])
		return
	}
	defer s.lease.release()
	at, ok := s.seat(v.r.Header.Get(protocol.HeaderLastEvent))
	if !ok {
		plain(v.w, http.StatusBadRequest, "that stream is not there any more")
		return
	}
	s.sent(at.s, d.send(v, at, manner{ids: true, listen: true}))
}

// delete ends a session.
func (d *Door) delete(v visit) {
	if s := d.visited(v); s != nil {
		d.mu.Lock()
		delete(d.sessions, s.id) // at once: it is 404 from now on
		d.mu.Unlock()
		_ = s.pipe.Close()
		v.w.WriteHeader(http.StatusNoContent)
	}
}

// visited is the session that a GET or DELETE is about. It has answered when it returns nil.
func (d *Door) visited(v visit) *session {
	id := v.r.Header.Get(protocol.HeaderSession)
	_, ok := legacyRevision(v.r.Header)
	switch s := d.find(v, id); {
	case !ok && s == nil:
		methodNotAllowed(v.w, "POST") // the modern era has no streams of this kind
	case !ok:
		plain(v.w, http.StatusBadRequest, protocol.HeaderVersion+" is none that a session speaks")
	case id == "":
		plain(v.w, http.StatusBadRequest, "there is no "+protocol.HeaderSession+" header")
	case s == nil:
		d.noSession(v, id)
	default:
		return s
	}
	return nil
}

// legacyRevision is what the version header of a legacy client says; false when it is none of them.
func legacyRevision(h http.Header) (protocol.Revision, bool) {
	values := h.Values(protocol.HeaderVersion)
	switch len(values) {
	case 0:
		return protocol.V20250326, true
	case 1:
		r := protocol.Revision(values[0])
		return r, r.Era() == protocol.LegacyEra
	}
	return "", false
}
