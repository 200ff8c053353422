package daemon

import (
	"fmt"
	"sync"
	"time"

	"github.com/containerd/errdefs"

	"github.com/garita-dev/garita/approvals"
	"github.com/garita-dev/garita/daemon/api"
	"github.com/garita-dev/garita/daemon/hooks"
	"github.com/garita-dev/garita/daemon/httpapi"
	"github.com/garita-dev/garita/daemon/protocol"
	"github.com/garita-dev/garita/sandbox"
)

// What is kept of sessions that hooks tell of is bounded: whoever can run a hook can name any session.
const (
	maxHookSessions = 256
	maxHookRunning  = 256 // uses of one session that are under way
)

// hookUse is one use of a client's own tool: whose, and in which session.
type hookUse struct {
	api.HookUse
	client    httpapi.Process
	principal approvals.Principal
	session   approvals.SessionID
}

// hookRun is a use that was let through and has not been said to have ended.
type hookRun struct {
	call     approvals.Call
	decision approvals.Decision
	at       time.Time
}

// hookSession is one session of a client, as its hooks tell of it. It ends with the client's process.
type hookSession struct {
	id        approvals.SessionID
	name      string // as the client calls it
	client    httpapi.Process
	principal approvals.Principal
	running   map[string]hookRun // by what the client calls the use
}

// hooked is the sessions that hooks tell of, and which servers each client has attached itself to. The
// zero hooked is empty; it is safe for concurrent use.
type hooked struct {
	mu       sync.Mutex // guards the fields below
	sessions map[approvals.SessionID]*hookSession
	servers  map[int]map[sandbox.ServerName]int // by the client's process: sessions through Garita
}

// attach notes that a client has a session at a server through Garita, until the returned function is called.
func (h *hooked) attach(pid int, server sandbox.ServerName) (detach func()) {
	h.count(pid, server, 1)
	return func() { h.count(pid, server, -1) }
}

func (h *hooked) count(pid int, server sandbox.ServerName, by int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.servers == nil {
		h.servers = map[int]map[sandbox.ServerName]int{}
	}
	if h.servers[pid] == nil {
		h.servers[pid] = map[sandbox.ServerName]int{}
	}
	if h.servers[pid][server] += by; h.servers[pid][server] == 0 {
		delete(h.servers[pid], server)
	}
	if len(h.servers[pid]) == 0 {
		delete(h.servers, pid)
	}
}

// asksItself says whether a tool is one of a server that this client reaches through Garita.
func (h *hooked) asksItself(pid int, tool string) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	for server := range h.servers[pid] {
		if hooks.Through(tool, string(server)) {
			return true
		}
	}
	return false
}

// meet takes a use's session in; fresh says that it was not known.
func (h *hooked) meet(u hookUse) (fresh bool, err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	switch {
	case h.sessions[u.session] != nil:
		return false, nil
	case len(h.sessions) >= maxHookSessions:
		return false, fmt.Errorf("%d sessions are told of by hooks, and no more are taken: %w", maxHookSessions, errdefs.ErrResourceExhausted)
	case h.sessions == nil:
		h.sessions = map[approvals.SessionID]*hookSession{}
	}
	h.sessions[u.session] = &hookSession{id: u.session, name: u.Session, client: u.client, principal: u.principal, running: map[string]hookRun{}}
	return true, nil
}

func (h *hooked) forget(id approvals.SessionID) {
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.sessions, id)
}

// over takes out the sessions whose client has ended.
func (h *hooked) over(clients *attached) (ended []*hookSession) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for id, s := range h.sessions {
		if clients.among(httpapi.Opener{s.client}) == 0 {
			ended = append(ended, s)
			delete(h.sessions, id)
		}
	}
	return ended
}

// begin keeps a use that was let through until it is said to have ended.
func (h *hooked) begin(u hookUse, c approvals.Call, d approvals.Decision) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	s := h.sessions[u.session]
	if s == nil {
		return fmt.Errorf("the session has ended: %w", errdefs.ErrFailedPrecondition)
	}
	for len(s.running) >= maxHookRunning { // the oldest was never said to have ended
		s.dropOldest()
	}
	s.running[u.Use] = hookRun{c, d, time.Now()}
	return nil
}

// dropOldest forgets a use; the record has it as one whose end is unknown.
func (s *hookSession) dropOldest() {
	oldest := ""
	for use, run := range s.running {
		if oldest == "" || run.at.Before(s.running[oldest].at) {
			oldest = use
		}
	}
	delete(s.running, oldest)
}

// end takes out a use that has ended. A client may run its hooks by way of different processes: what it
// calls the session and the use is what counts.
func (h *hooked) end(u hookUse) (run hookRun, ok bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, s := range h.sessions {
		if s.principal != u.principal || s.name != u.Session {
			continue
		}
		if run, ok = s.running[u.Use]; ok {
			delete(s.running, u.Use)
			return run, true
		}
	}
	return hookRun{}, false
}

// hookedTool is all that is known of a tool that Garita has not seen listed.
func hookedTool(name string) protocol.ToolDefinition { return protocol.ToolDefinition{Name: name} }
