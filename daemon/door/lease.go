package door

import (
	"sync"
	"time"
)

// lease is how long a session lives without HTTP requests: idle after the last one has ended.
type lease struct {
	idle   time.Duration
	expire func()

	mu     sync.Mutex
	inside int       // requests
	since  time.Time // when the last one ended
	timer  *time.Timer
	over   bool
}

// newLease is taken by whoever makes it. When it has run out, expire is called.
func newLease(idle time.Duration, expire func()) *lease {
	return &lease{idle: idle, expire: expire, inside: 1}
}

// take begins a request.
func (l *lease) take() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.inside++
	if l.timer != nil {
		l.timer.Stop()
	}
}

// release ends a request.
func (l *lease) release() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.since = time.Now()
	if l.inside--; l.inside == 0 && !l.over {
		l.timer = time.AfterFunc(l.idle, l.check)
	}
}

// check calls expire, unless a request came at the last moment.
func (l *lease) check() {
	l.mu.Lock()
	unused := l.inside == 0 && !l.over && time.Since(l.since) >= l.idle
	l.mu.Unlock()
	if unused {
		l.expire()
	}
}

// end keeps the lease from running out.
func (l *lease) end() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.over = true
	if l.timer != nil {
		l.timer.Stop()
	}
}

// unusedSince is when the last request ended; zero while there is one.
func (l *lease) unusedSince() time.Time {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.inside > 0 {
		return time.Time{}
	}
	return l.since
}
