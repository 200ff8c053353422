package trace

import (
	"context"
	"strings"
	"sync"
	"time"
)

// Ring is the last messages of one session. Its methods may overlap; those of a nil Ring do nothing.
type Ring struct {
	log *Log

	mu      sync.Mutex // guards the fields below
	session Session    // but for ID, which never changes
	lines   []Line
	bytes   int // of the lines' texts
	seq     int64
	wake    chan struct{} // closed at the next line, and at the end; nil while nobody waits
}

// Record notes a message. It costs next to nothing while recording is off, and keeps none of raw.
func (r *Ring) Record(dir Direction, raw []byte) {
	if r == nil || !r.log.On() {
		return
	}
	l := Line{At: time.Now(), Dir: dir, Size: len(raw), Text: r.log.text(raw)}
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.log.On() { // switched off meanwhile
		return
	}
	r.seq++
	l.Seq = r.seq
	r.lines, r.bytes = append(r.lines, l), r.bytes+len(l.Text)
	r.trim()
	r.call()
}

// text is what is kept of a message.
func (l *Log) text(raw []byte) string {
	if len(raw) > redactBytes {
		return ""
	}
	text := string(l.redact(raw))
	if len(text) > textBytes {
		text = strings.ToValidUTF8(text[:textBytes], "") + "…"
	}
	return text
}

// trim lets the oldest lines go. mu is held.
func (r *Ring) trim() {
	from := 0
	for ; len(r.lines)-from > ringMessages || r.bytes > ringBytes; from++ {
		r.bytes -= len(r.lines[from].Text)
	}
	if from > 0 {
		r.lines = append(r.lines[:0], r.lines[from:]...)
	}
}

// call wakes who waits. mu is held.
func (r *Ring) call() {
	if r.wake != nil {
		close(r.wake)
		r.wake = nil
	}
}

// Lines are the messages kept behind seq, oldest first. Where there are none it waits for one until
// ctx or the session ends.
func (r *Ring) Lines(ctx context.Context, seq int64) []Line {
	if r == nil {
		return nil
	}
	for {
		lines, more := r.after(seq)
		if len(lines) > 0 || more == nil {
			return lines
		}
		select {
		case <-more:
		case <-ctx.Done():
			return nil
		}
	}
}

// after is the lines behind seq, and a channel closed when there are more; nil when there never will be.
func (r *Ring) after(seq int64) ([]Line, <-chan struct{}) {
	r.mu.Lock()
	defer r.mu.Unlock()
	from := len(r.lines)
	for from > 0 && r.lines[from-1].Seq > seq {
		from--
	}
	if !r.session.Ended.IsZero() {
		return append([]Line{}, r.lines[from:]...), nil
	}
	if r.wake == nil {
		r.wake = make(chan struct{})
	}
	return append([]Line{}, r.lines[from:]...), r.wake
}

// End says that the session is over. Its messages stay for a while.
func (r *Ring) End() {
	if r == nil {
		return
	}
	r.mu.Lock()
	if r.session.Ended.IsZero() {
		r.session.Ended = time.Now()
	}
	r.call()
	r.mu.Unlock()
	r.log.mu.Lock()
	defer r.log.mu.Unlock()
	r.log.prune()
}

func (r *Ring) ended() bool { return !r.Now().Ended.IsZero() }

// Now is the session as it is now.
func (r *Ring) Now() Session {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.session
}

func (r *Ring) forget() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.lines, r.bytes = nil, 0
}
