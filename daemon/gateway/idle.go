package gateway

import (
	"context"
	"time"

	"github.com/garita-dev/garita/daemon/protocol"
)

// touch begins the silence anew after which an unused server is stopped.
func (s *Session) touch() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.used = time.Now()
}

// stopsIdle says whether the server is one to stop after some silence, and to start again when it
// is needed. Where the session ends with its server, or nothing of ours runs, there is no such.
func (s *Session) stopsIdle() bool {
	return s.Server.Spec.Lifecycle.Idle > 0 && !s.Once && !s.Server.Source.External()
}

// watchIdle stops the server once nobody has used it for as long as its owner says, until the
// returned function is called.
func (s *Session) watchIdle(way *link, server Upstream) (unwatch func()) {
	if !s.stopsIdle() {
		return func() {}
	}
	ctx, cancel := context.WithCancel(s.life)
	s.touch()
	s.background.Go(func() {
		if !s.awaitIdle(ctx, way) {
			return
		}
		s.Logger.Info("a server that nobody uses is stopped", "server", s.Server.Name, "session", s.ID)
		_ = server.CloseWrite()
		if err := server.Stop(context.WithoutCancel(ctx)); err != nil {
			s.Logger.Warn("an idle server did not stop as it should", "server", s.Server.Name, "err", err)
		}
	})
	return cancel
}

// awaitIdle waits for the silence and retires the link; false when ctx ends before.
func (s *Session) awaitIdle(ctx context.Context, way *link) bool {
	timer := time.NewTimer(s.Server.Spec.Lifecycle.Idle)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return false
		case <-timer.C:
		}
		wait, retired := s.retire(way)
		if retired {
			return true
		}
		timer.Reset(wait)
	}
}

// retire takes the link away from the session if the silence has lasted, else it says when to look
// again. What comes from now on opens another one: the two are in order, so that nothing is sent to
// a server that is being stopped.
func (s *Session) retire(way *link) (wait time.Duration, retired bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	idle := s.Server.Spec.Lifecycle.Idle
	if left := idle - time.Since(s.used); left > 0 {
		return left, false
	}
	if s.inUseLocked(way) || !way.retire() {
		return idle, false // whoever uses it begins the silence anew at the end
	}
	return 0, true
}

// inUseLocked says whether something goes on that the server's end would break off: a call, a
// question that is open, here or at the client, or a subscription. The caller holds mu.
func (s *Session) inUseLocked(way *link) bool {
	for _, a := range s.asked {
		if a.way == way {
			return true
		}
	}
	now := time.Now()
	for _, r := range s.resumed {
		if now.Before(r.until) {
			return true
		}
	}
	return len(s.calls) > 0 || len(s.open) > 0 || len(s.kept.subscribed) > 0
}

// retire ends a link that nothing is under way on; false when something is. Modern subscriptions
// are under way as long as they last.
func (l *link) retire() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.err != nil || len(l.requests) > 0 {
		return false
	}
	l.err = errIdle
	close(l.ended)
	return true
}

// over says whether the session takes no more requests.
func (s *Session) over() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.closing
}

// uses says whether a message of the client's is a use of the server. A ping is about the connection.
func uses(m protocol.Message) bool { return m.Method != protocol.MethodPing }
