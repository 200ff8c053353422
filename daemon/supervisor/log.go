package supervisor

import (
	"bufio"
	"context"
	"errors"
	"io"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/garita-dev/garita/daemon/serverlog"
	"github.com/garita-dev/garita/sandbox"
)

const (
	serverLines   = 400      // lines kept of one server's stderr, over all its instances
	instanceLines = 50       // lines kept of one instance's
	lineBytes     = 16 << 10 // bytes read of one line, of which the first 4 KiB are kept: secrets are found past the cut

	// What a log takes in: so many lines at once and, on average, so many a second. The pipe is drained
	// whatever comes; lines beyond are counted and let go.
	lineBurst, lineRate = 1000, 200
)

// Line is one line of a server's stderr; hostile text.
type Line struct {
	Seq      int64 // from 1, per server, without gaps
	At       time.Time
	Instance sandbox.InstanceID
	Text     string // at most 4 KiB, valid UTF-8, without its line end; "… [cut]" ends one that was longer
	Skipped  int64  // lines let go right before this one, because too many came
	Times    int64  // how often it has come, 1 at least
	First    bool   // of its instance

	run int64 // the lines that count as the same
}

// String is the line as it is shown: "ECONNREFUSED (x 48,000)".
func (l Line) String() string {
	if l.Times < 2 {
		return l.Text
	}
	return l.Text + " (x " + thousands(l.Times) + ")"
}

// thousands writes n with its digits in groups.
func thousands(n int64) string {
	text := strconv.FormatInt(n, 10)
	for i := len(text) - 3; i > 0; i -= 3 {
		text = text[:i] + "," + text[i:]
	}
	return text
}

// ring keeps the last lines written to stderr, of one instance or of a server's. Its methods may overlap.
type ring struct {
	keep int

	mu      sync.Mutex // guards the fields below
	kept    []Line
	same    serverlog.Collapser
	seq     int64
	skipped int64         // since the last line kept
	tokens  float64       // lines that may come now
	filled  time.Time     // when tokens was reckoned
	wake    chan struct{} // closed at the next line; nil while nobody waits
}

func newRing(keep int) *ring { return &ring{keep: keep, tokens: lineBurst} }

// drain reads r to its end, so that a server never blocks on a full pipe.
func drain(from io.Reader, redact func(line string, cut bool) string, line func(text string)) {
	b := bufio.NewReaderSize(from, lineBytes)
	for {
		text, err := b.ReadSlice('\n')
		if len(text) > 0 {
			line(clean(text, errors.Is(err, bufio.ErrBufferFull), redact))
		}
		for errors.Is(err, bufio.ErrBufferFull) { // the rest of a long line is dropped
			_, err = b.ReadSlice('\n')
		}
		if err != nil {
			return
		}
	}
}

// clean is a line as it is kept: its secrets taken out before it is cut. redact may be nil.
func clean(raw []byte, cut bool, redact func(line string, cut bool) string) string {
	if redact != nil {
		raw = []byte(redact(string(raw), cut))
	}
	return serverlog.Line(raw, cut)
}

// add keeps a line, and says what it is to those before it and how many were let go right before it.
// One that repeats another is counted with it, and kept again at 10, 100, 1,000 times and so on.
func (r *ring) add(id sandbox.InstanceID, text string, now time.Time) (v serverlog.Verdict, skipped int64, kept bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	v = r.same.Add(text, now)
	if !v.New && !v.Worth && r.count(v, now) {
		return v, 0, true
	}
	if !r.admit(now) {
		r.skipped++
		return v, 0, false
	}
	r.seq++
	skipped, r.skipped = r.skipped, 0
	first := !slices.ContainsFunc(r.kept, func(l Line) bool { return l.Instance == id })
	r.kept = append(r.kept, Line{Seq: r.seq, At: now, Instance: id, Text: v.Text, Skipped: skipped, Times: v.Times, First: first, run: v.Run})
	if len(r.kept) > r.keep {
		r.kept = append(r.kept[:0], r.kept[len(r.kept)-r.keep:]...)
	}
	if r.wake != nil {
		close(r.wake)
		r.wake = nil
	}
	return v, skipped, true
}

// count counts a repetition with the line it repeats, if that is still kept. r.mu is held.
func (r *ring) count(v serverlog.Verdict, now time.Time) bool {
	for i := len(r.kept) - 1; i >= 0; i-- {
		if l := &r.kept[i]; l.run == v.Run {
			l.Text, l.Times, l.At = v.Text, v.Times, now
			return true
		}
	}
	return false
}

// loop is the line that is repeated over and over at now; "" when none is.
func (r *ring) loop(now time.Time) string {
	r.mu.Lock()
	defer r.mu.Unlock()
	text, times := r.same.Loop(now)
	if text == "" {
		return ""
	}
	return Line{Text: text, Times: times}.String()
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
		out[i] = l.String()
	}
	return out
}
