package supervisor

import (
	"bufio"
	"context"
	"errors"
	"io"
	"sync"
	"time"

	"github.com/garita-dev/garita/sandbox"
)

const (
	serverLines   = 400     // lines kept of one server's stderr, over all its instances
	instanceLines = 50      // lines kept of one instance's
	lineBytes     = 4 << 10 // bytes kept of one line

	// What a log takes in: so many lines at once and, on average, so many a second. The pipe is drained
	// whatever comes; lines beyond are counted and let go.
	lineBurst, lineRate = 1000, 200
)

// Line is one line of a server's stderr; hostile text.
type Line struct {
	Seq      int64 // from 1, per server, without gaps
	At       time.Time
	Instance sandbox.InstanceID
	Text     string // at most 4 KiB, without its line end
	Skipped  int64  // lines let go right before this one, because too many came
}

// ring keeps the last lines written to stderr, of one instance or of a server's. Its methods may overlap.
type ring struct {
	keep int

	mu      sync.Mutex // guards the fields below
	kept    []Line
	seq     int64
	skipped int64         // since the last line kept
	tokens  float64       // lines that may come now
	filled  time.Time     // when tokens was reckoned
	wake    chan struct{} // closed at the next line; nil while nobody waits
}

func newRing(keep int) *ring { return &ring{keep: keep, tokens: lineBurst} }

// drain reads r to its end, so that a server never blocks on a full pipe.
func drain(from io.Reader, line func(text string)) {
	b := bufio.NewReaderSize(from, lineBytes)
	for {
		text, err := b.ReadSlice('\n')
		if len(text) > 0 {
			line(withoutEnd(text))
		}
		for errors.Is(err, bufio.ErrBufferFull) { // the rest of a long line is dropped
			_, err = b.ReadSlice('\n')
		}
		if err != nil {
			return
		}
	}
}

func withoutEnd(line []byte) string {
	for len(line) > 0 && (line[len(line)-1] == '\n' || line[len(line)-1] == '\r') {
		line = line[:len(line)-1]
	}
	return string(line)
}

func (r *ring) add(id sandbox.InstanceID, text string, now time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.admit(now) {
		r.skipped++
		return
	}
	r.seq++
	r.kept = append(r.kept, Line{Seq: r.seq, At: now, Instance: id, Text: text, Skipped: r.skipped})
	r.skipped = 0
	if len(r.kept) > r.keep {
		r.kept = append(r.kept[:0], r.kept[len(r.kept)-r.keep:]...)
	}
	if r.wake != nil {
		close(r.wake)
		r.wake = nil
	}
}

// admit takes one token of the bucket. r.mu is held.
func (r *ring) admit(now time.Time) bool {
	r.tokens = min(lineBurst, r.tokens+now.Sub(r.filled).Seconds()*lineRate)
	r.filled = now
	if r.tokens < 1 {
		return false
	}
	r.tokens--
	return true
}

// after is the kept lines behind seq, oldest first, and a channel that is closed at the next line.
func (r *ring) after(seq int64) ([]Line, <-chan struct{}) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.wake == nil {
		r.wake = make(chan struct{})
	}
	from := len(r.kept)
	for from > 0 && r.kept[from-1].Seq > seq {
		from--
	}
	return append([]Line{}, r.kept[from:]...), r.wake
}

// await is after, waiting for a line if there is none, until ctx ends.
func (r *ring) await(ctx context.Context, seq int64) []Line {
	for {
		lines, more := r.after(seq)
		if len(lines) > 0 {
			return lines
		}
		select {
		case <-more:
		case <-ctx.Done():
			return nil
		}
	}
}

// last is the texts of the last n lines.
func (r *ring) last(n int) []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	lines := r.kept[max(0, len(r.kept)-n):]
	out := make([]string, len(lines))
	for i, l := range lines {
		out[i] = l.Text
	}
	return out
}
