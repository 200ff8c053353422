// Package events tells watchers that something changed, by cursor.
//
// An Event names what changed and carries no state: readers fetch that anew. The last events are
// kept in a ring; a reader that fell behind, or holds a cursor of another run of the daemon, gets
// one Reset instead of what it missed.
package events

import (
	"context"
	"sync"
	"time"
)

// Reset is the kind of the one event that stands for all that a reader missed.
const Reset = "reset"

// Event is one change. Seq grows by one with each; it never repeats, across restarts either.
type Event struct {
	Seq    int64
	Kind   string
	ID     string
	Detail any // what Publish was given; never changed afterwards
}

// Log keeps the last events and wakes those who wait for more. Its methods may be called at the same time.
type Log struct {
	mu    sync.Mutex // guards the fields below
	ring  []Event    // the events up to next, oldest first; at most size
	size  int
	next  int64
	woken chan struct{} // closed by the next Publish, when somebody waits
}

// New returns a Log that keeps size events. It numbers from the time of day in microseconds, so
// that a cursor of an earlier run lies below the first number, and all stay exact in JavaScript.
func New(size int) *Log {
	return &Log{size: size, next: time.Now().UnixMicro()}
}

// Publish tells that what kind and id name has changed. Detail, which may be nil, goes along as it is.
func (l *Log) Publish(kind, id string, detail any) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.ring) == l.size {
		l.ring = append(l.ring[:0], l.ring[l.size/4+1:]...)
	}
	l.ring = append(l.ring, Event{Seq: l.next, Kind: kind, ID: id, Detail: detail})
	l.next++
	if l.woken != nil {
		close(l.woken)
		l.woken = nil
	}
}

// After returns the events after the cursor since, waiting for at least one. A cursor that is 0,
// from another run, or of an event no longer followed here without a gap, gets one Reset at once,
// whose Seq is the cursor to go on from. The error is ctx's.
func (l *Log) After(ctx context.Context, since int64) ([]Event, error) {
	for {
		found, wait := l.after(since)
		if len(found) > 0 {
			return found, nil
		}
		select {
		case <-wait:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// after returns what is there, or what to wait for.
func (l *Log) after(since int64) ([]Event, <-chan struct{}) {
	l.mu.Lock()
	defer l.mu.Unlock()
	oldest := l.next - int64(len(l.ring))
	if since < oldest-1 || since >= l.next {
		return []Event{{Seq: l.next - 1, Kind: Reset}}, nil
	}
	if missed := l.next - 1 - since; missed > 0 {
		return append([]Event(nil), l.ring[int64(len(l.ring))-missed:]...), nil
	}
	if l.woken == nil {
		l.woken = make(chan struct{})
	}
	return nil, l.woken
}
