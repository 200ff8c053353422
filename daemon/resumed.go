package daemon

import (
	"context"
	"sync"

	"github.com/garita-dev/garita/approvals"
	"github.com/garita-dev/garita/daemon/gateway"
	"github.com/garita-dev/garita/daemon/supervisor"
	"github.com/garita-dev/garita/sandbox"
)

// live is the sessions under way. The zero live is empty.
type live struct {
	mu       sync.Mutex
	sessions map[approvals.SessionID]*gateway.Session
}

// add takes a session in until the returned function is called.
func (l *live) add(id approvals.SessionID, s *gateway.Session) (remove func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.sessions == nil {
		l.sessions = map[approvals.SessionID]*gateway.Session{}
	}
	l.sessions[id] = s
	return func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		delete(l.sessions, id)
	}
}

// at is the sessions of a server.
func (l *live) at(server sandbox.ServerName) []*gateway.Session {
	l.mu.Lock()
	defer l.mu.Unlock()
	var out []*gateway.Session
	for _, s := range l.sessions {
		if s.Server.Name == server {
			out = append(out, s)
		}
	}
	return out
}

func (l *live) of(id approvals.SessionID) *gateway.Session {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.sessions[id]
}

// watchSleep looks after the servers whenever the machine has slept, until ctx ends.
func (d *Daemon) watchSleep(ctx context.Context) error {
	return supervisor.Resumed(ctx, nil, func() { d.awake(ctx) })
}

// awake asks every server that should be there whether it is. One that does not answer is stopped;
// the next call starts it anew.
func (d *Daemon) awake(ctx context.Context) {
	d.log.Info("the machine has slept; every server is asked whether it is there")
	d.supervisor.Check(ctx, func(ctx context.Context, i *supervisor.Instance) error {
		s := d.live.of(approvals.SessionID(i.Now().Owner.Session))
		if s == nil {
			return nil // its session is ending, and ends it
		}
		return s.Alive(ctx)
	})
}
