package httpapi

import (
	"context"
	"fmt"
	"net/http"
	"sync"
	"time"

	"github.com/garita-dev/garita/daemon/api"
)

// The rate at which refused requests are recorded: a burst, then one each refusalPause.
const (
	refusalBurst = 10
	refusalPause = 5 * time.Second
)

// refusals keeps a flood of refused requests from flooding the record.
type refusals struct {
	now func() time.Time

	mu     sync.Mutex // guards the fields below
	budget int        // how many may still be recorded
	since  time.Time  // when budget was last topped up
	unsaid int        // refusals since the last recorded one
}

func newRefusals(now func() time.Time) *refusals {
	return &refusals{now: now, budget: refusalBurst, since: now()}
}

// take says whether this refusal is to be recorded, and how many before it were not.
func (f *refusals) take() (unsaid int, ok bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if n := int(f.now().Sub(f.since) / refusalPause); n > 0 {
		f.budget = min(refusalBurst, f.budget+n)
		f.since = f.since.Add(time.Duration(n) * refusalPause)
	}
	if f.budget == 0 {
		f.unsaid++
		return 0, false
	}
	f.budget--
	unsaid, f.unsaid = f.unsaid, 0
	return unsaid, true
}

// refuse turns a request away at the door and has it recorded.
func (s *Server) refuse(w http.ResponseWriter, r *http.Request, status int, why string) {
	if unsaid, ok := s.refusals.take(); ok {
		s.record(r, why, unsaid)
	}
	p := &api.Problem{Status: status, Code: "denied", Title: "This is not allowed", Detail: why}
	if status == http.StatusUnauthorized {
		p.Title, p.Next = "This browser has no session", "garita ui"
	}
	w.Header().Set("Connection", "close")
	writeProblem(w, p)
}

// record tells the backend, even when the caller has gone away.
func (s *Server) record(r *http.Request, why string, unsaid int) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(r.Context()), 5*time.Second)
	defer cancel()
	text := fmt.Sprintf("%s: %s %q, host %q, origin %q, from %s",
		why, cut(r.Method), cut(r.URL.Path), cut(r.Host), cut(r.Header.Get("Origin")), r.RemoteAddr)
	if unsaid > 0 {
		text += fmt.Sprintf("; %d more before it were not recorded", unsaid)
	}
	s.backend.AccessRefused(ctx, text)
}

// cut bounds foreign text.
func cut(text string) string { return text[:min(len(text), 120)] }
