// Package rate holds callers to a number of calls in a time.
package rate

import (
	"sync"
	"time"

	"github.com/garita-dev/garita/sandbox"
)

// sweepAt is how many keys are held before those that are of no more use are let go.
const sweepAt = 1024

// Limiter counts by key: a server's name, a token's id. The zero Limiter is ready. Its methods may overlap.
type Limiter struct {
	mu  sync.Mutex           // guards the field below
	due map[string]time.Time // when all that was taken of a key has been made up for
}

// Take takes one call of key, which may make r.Count at once and, after that, r.Count in each r.Per.
// Where there is none to be had, wait is how long until there is; nothing is taken then. The zero
// Rate is no limit.
func (l *Limiter) Take(key string, r sandbox.Rate) (wait time.Duration, ok bool) {
	if r.Count <= 0 || r.Per <= 0 {
		return 0, true
	}
	now, each := time.Now(), r.Per/time.Duration(r.Count)
	l.mu.Lock()
	defer l.mu.Unlock()
	due := l.due[key]
	if due.Before(now) {
		due = now
	}
	due = due.Add(each)
	if wait := due.Sub(now) - each*time.Duration(r.Count); wait > 0 {
		return wait, false
	}
	l.keep(key, due, now)
	return 0, true
}

// keep notes what was taken. mu is held.
func (l *Limiter) keep(key string, due, now time.Time) {
	if l.due == nil {
		l.due = map[string]time.Time{}
	}
	if len(l.due) >= sweepAt {
		for k, d := range l.due {
			if d.Before(now) {
				delete(l.due, k)
			}
		}
	}
	l.due[key] = due
}
