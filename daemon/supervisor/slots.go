package supervisor

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/containerd/errdefs"

	"github.com/garita-dev/garita/sandbox"
)

const (
	// perAgent is how many sandboxes one agent may have at a time, of all servers.
	perAgent = 32
	// maxQueue is how many starts of one agent may wait for another sandbox's end.
	maxQueue = 64
	// queueTime is how long one of them waits.
	queueTime = 30 * time.Second
)

// share is what a limit counts: one agent's sandboxes of one server.
type share struct {
	group  string
	server sandbox.ServerName
}

// slots bound how many sandboxes there are. What comes too much waits its turn, first come first
// served, and not for ever.
type slots struct {
	mu      sync.Mutex // guards the fields below
	used    map[share]int
	total   map[string]int // by group
	waiting []*waiter
}

type waiter struct {
	share
	limit int
	turn  chan struct{} // closed when it has its slot
}

func newSlots() *slots { return &slots{used: map[share]int{}, total: map[string]int{}} }

// take waits for a slot; limit is how many the share may have. release gives it back, once.
// ResourceExhausted: too many wait, or it waited too long.
func (s *slots) take(ctx context.Context, sh share, limit int) (release func(), err error) {
	w, err := s.enter(sh, limit)
	if err != nil {
		return nil, err
	}
	late := time.NewTimer(queueTime)
	defer late.Stop()
	select {
	case <-w.turn:
		return sync.OnceFunc(func() { s.give(sh) }), nil
	case <-ctx.Done():
		err = ctx.Err()
	case <-late.C:
		err = exhausted(sh, limit, fmt.Sprintf("none ended within %s", queueTime))
	}
	s.leave(w)
	return nil, err
}

func (s *slots) enter(sh share, limit int) (*waiter, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	w := &waiter{share: sh, limit: limit, turn: make(chan struct{})}
	ahead := 0
	for _, other := range s.waiting {
		if other.group == sh.group {
			ahead++
		}
	}
	if ahead >= maxQueue {
		return nil, exhausted(sh, limit, fmt.Sprintf("%d starts wait already", ahead))
	}
	s.waiting = append(s.waiting, w)
	s.serve()
	return w, nil
}

// serve gives free slots to those who wait for them. s.mu is held.
func (s *slots) serve() {
	s.waiting = slices.DeleteFunc(s.waiting, func(w *waiter) bool {
		if s.used[w.share] >= w.limit || s.total[w.group] >= perAgent {
			return false
		}
		s.used[w.share]++
		s.total[w.group]++
		close(w.turn)
		return true
	})
}

// leave gives up waiting; a slot that was given meanwhile goes back.
func (s *slots) leave(w *waiter) {
	s.mu.Lock()
	n := len(s.waiting)
	s.waiting = slices.DeleteFunc(s.waiting, func(other *waiter) bool { return other == w })
	had := len(s.waiting) == n
	s.mu.Unlock()
	if had {
		s.give(w.share)
	}
}

func (s *slots) give(sh share) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.used[sh]--; s.used[sh] == 0 {
		delete(s.used, sh)
	}
	if s.total[sh.group]--; s.total[sh.group] == 0 {
		delete(s.total, sh.group)
	}
	s.serve()
}

func exhausted(sh share, limit int, why string) error {
	return fmt.Errorf("this agent has as many sandboxes as it may (%d of %s, %d of all servers), and %s; end a session, or raise limits.instances in servers.yaml: %w",
		limit, sh.server, perAgent, why, errdefs.ErrResourceExhausted)
}
