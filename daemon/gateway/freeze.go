package gateway

import (
	"context"
	"time"

	"github.com/containerd/errdefs"
)

// freezer is an Upstream whose processes' clocks can be stopped. What is sent to one that stands still
// lets it go on.
type freezer interface {
	Freeze(ctx context.Context) error
	Thaw(ctx context.Context) error
}

// watchSilence freezes the server whenever nobody has used it for as long as its owner says, until the
// returned function is called.
func (s *Session) watchSilence(way *link, server Upstream) (unwatch func()) {
	f, ok := server.(freezer)
	if !ok || s.Server.Spec.Lifecycle.Freeze <= 0 {
		return func() {}
	}
	ctx, cancel := context.WithCancel(s.life)
	s.touch()
	s.background.Go(func() { s.freezeIdle(ctx, way, f) })
	return cancel
}

func (s *Session) freezeIdle(ctx context.Context, way *link, f freezer) {
	timer := time.NewTimer(s.Server.Spec.Lifecycle.Freeze)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-timer.C:
		}
		wait, silent := s.silent(way)
		if silent {
			if err := s.freezeNow(ctx, way, f); errdefs.IsUnavailable(err) {
				s.Logger.Warn("a server that nobody uses goes on running: it cannot be frozen here", "server", s.Server.Name, "err", err)
				return
			}
		}
		timer.Reset(wait)
	}
}

// freezeNow freezes the server. What came at the same moment has not been answered, and is to be: then it
// goes on at once.
func (s *Session) freezeNow(ctx context.Context, way *link, f freezer) error {
	err := f.Freeze(ctx)
	if err != nil {
		return err // it stands still already, or there is something to do
	}
	if _, silent := s.silent(way); !silent {
		return f.Thaw(context.WithoutCancel(ctx))
	}
	return nil
}

// silent says whether the server has been of no use for long enough and is not awaited; else when to look again.
func (s *Session) silent(way *link) (wait time.Duration, silent bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	after := s.Server.Spec.Lifecycle.Freeze
	if left := after - time.Since(s.used); left > 0 {
		return left, false
	}
	return after, !s.inUseLocked(way) && way.unused()
}

// unused says whether nothing is under way: no request, and no subscription.
func (l *link) unused() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.err == nil && len(l.requests) == 0
}
