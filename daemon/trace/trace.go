// Package trace keeps the last messages of each session for a person who looks for a fault: as they
// passed, redacted, bounded, in memory only, and not at all until it is switched on.
//
// It is also the list of sessions, since whoever reads a trace has to find its session first.
package trace

import (
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

const (
	// ringMessages and ringBytes bound what one session keeps.
	ringMessages = 500
	ringBytes    = 1 << 20
	// textBytes bounds what is kept of one message.
	textBytes = 16 << 10
	// redactBytes bounds what is redacted: of a longer message its beginning alone would be kept, and
	// what is cut anywhere cannot be redacted by the names in it. Its size stands for it.
	redactBytes = 256 << 10
	// endedSessions is how many sessions that have ended are kept.
	endedSessions = 32
)

// Direction says which way a message went.
type Direction string

// The directions. Where nothing is changed on the way a message is seen twice, as it came and as it went.
const (
	FromClient Direction = "from-client"
	ToClient   Direction = "to-client"
	FromServer Direction = "from-server"
	ToServer   Direction = "to-server"
)

// Session is one client attached to one server, or to several.
type Session struct {
	ID      string
	Agent   string // for people
	Server  string // "" for the door to all of them
	Door    string // stdio | http | call
	Started time.Time
	Ended   time.Time // zero while it has not
}

// Line is one message as it passed.
type Line struct {
	Seq  int64 // from 1, per session, without gaps
	At   time.Time
	Dir  Direction
	Size int    // of the message, in bytes
	Text string // redacted JSON, at most 16 KiB of it; "" where the message was too long to be redacted
}

// Log is the sessions there are and were lately. Its methods may overlap.
type Log struct {
	redact func([]byte) []byte
	on     atomic.Bool

	mu       sync.Mutex // guards the fields below
	sessions []*Ring    // in the order they were opened
}

// New returns a Log that is switched off. redact takes secrets out of a JSON text.
func New(redact func([]byte) []byte) *Log { return &Log{redact: redact} }

// Switch turns recording on or off. Turning it off forgets every message.
func (l *Log) Switch(on bool) {
	l.on.Store(on)
	if on {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, r := range l.sessions {
		r.forget()
	}
}

// On says whether messages are recorded.
func (l *Log) On() bool { return l.on.Load() }

// Open lists a session. The caller calls End when it is over.
func (l *Log) Open(s Session) *Ring {
	r := &Ring{log: l, session: s}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.sessions = append(l.sessions, r)
	l.prune()
	return r
}

// prune forgets the oldest of the sessions that have ended. mu is held.
func (l *Log) prune() {
	ended := 0
	for _, r := range l.sessions {
		if r.ended() {
			ended++
		}
	}
	l.sessions = slices.DeleteFunc(l.sessions, func(r *Ring) bool {
		if ended <= endedSessions || !r.ended() {
			return false
		}
		ended--
		return true
	})
}

// Sessions lists those that run and those that ended lately, newest first.
func (l *Log) Sessions() []Session {
	l.mu.Lock()
	defer l.mu.Unlock()
	out := make([]Session, 0, len(l.sessions))
	for _, r := range slices.Backward(l.sessions) {
		out = append(out, r.Now())
	}
	return out
}

// Session finds one by its id.
func (l *Log) Session(id string) (*Ring, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	i := slices.IndexFunc(l.sessions, func(r *Ring) bool { return r.session.ID == id })
	if i < 0 {
		return nil, false
	}
	return l.sessions[i], true
}
