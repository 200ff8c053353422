package egress

import (
	"net/http"
	"sync"

	"github.com/go-json-experiment/json"
)

// stream writes one JSON value a line. A reader that is gone is no error: the request's context
// ends then too. Calls may overlap.
type stream struct {
	order  sync.Mutex // held from the numbering of an event until it is sent
	mu     sync.Mutex // one line at a time
	w      http.ResponseWriter
	c      *http.ResponseController
	closed bool
}

// newStream sends the header, so that the client knows the request was taken.
func newStream(w http.ResponseWriter) *stream {
	s := unbegun(w)
	s.begin()
	return s
}

// unbegun is a stream whose header is not sent yet.
func unbegun(w http.ResponseWriter) *stream {
	w.Header().Set("Content-Type", "application/x-ndjson")
	return &stream{w: w, c: http.NewResponseController(w)}
}

// begin sends the header.
func (s *stream) begin() {
	s.mu.Lock()
	defer s.mu.Unlock()
	_ = s.c.Flush()
}

func (s *stream) send(v any) {
	line, err := json.Marshal(v)
	if err != nil {
		return // our own types; a test marshals each
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return
	}
	_, _ = s.w.Write(append(line, '\n'))
	_ = s.c.Flush()
}

// close ends the stream; what is sent later is lost. The request's handler calls it before it returns.
func (s *stream) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
}
