// Package serverlog keeps what servers write to standard error: repeated lines become one with a
// number, and each sandbox has files of its own, within a bound of bytes for each and for all.
package serverlog

import (
	"strings"
	"time"
	"unicode/utf8"
)

const (
	// window is how many of the last different lines a new one is compared with: a loop may be as long.
	window = 16
	// patience is how often a line comes before further ones that differ from it in their digits
	// alone (a time, a port, an attempt) count as the same.
	patience = 10
	// longest is the bytes kept of one line.
	longest = 4 << 10

	// A server that writes one line so often, at such a rate, is in a loop.
	loopTimes   = 200
	loopsPerMin = 60
	// calm is after how long without the line the loop is over.
	calm = 2 * time.Minute
)

// Collapser finds repetitions in one instance's lines. It is plain data: its user holds a lock.
type Collapser struct {
	runs []run // the newest last
	made int64
	told bool
}

// run is one line and how often it has come.
type run struct {
	id          int64
	text, shape string
	times       int64
	first, last time.Time
}

// Verdict is what is to be done about a line.
type Verdict struct {
	Run   int64  // the line it is, or repeats
	Text  string // the line, or the newest of those that count as the same
	Times int64  // how often it has come
	// New: it is a line of its own. Else it repeats the run's.
	New bool
	// Worth says that a repetition is worth showing again: at 10, 100, 1,000 times and so on.
	Worth bool
	// Loop is true once, when the server turns out to be in a loop.
	Loop bool
}

// Add notes a line.
func (c *Collapser) Add(text string, now time.Time) Verdict {
	shape := shapeOf(text)
	for i := len(c.runs) - 1; i >= 0; i-- {
		r := &c.runs[i]
		if r.text != text && (r.shape != shape || r.times < patience) {
			continue
		}
		r.text, r.last = text, now
		r.times++
		return Verdict{Run: r.id, Text: text, Times: r.times, Worth: power(r.times), Loop: c.loops(*r)}
	}
	c.made++
	c.add(run{id: c.made, text: text, shape: shape, times: c.met(shape) + 1, first: now, last: now})
	return Verdict{Run: c.made, Text: text, Times: 1, New: true}
}

// met is how often lines of that shape have come, each as one of its own.
func (c *Collapser) met(shape string) (n int64) {
	for _, r := range c.runs {
		if r.shape == shape {
			n = max(n, r.times)
		}
	}
	return n
}

func (c *Collapser) add(r run) {
	if len(c.runs) == window {
		c.runs = append(c.runs[:0], c.runs[1:]...)
	}
	c.runs = append(c.runs, r)
}

// loops says, once, that r is a loop.
func (c *Collapser) loops(r run) bool {
	if c.told || r.times < loopTimes || float64(r.times) < loopsPerMin*r.last.Sub(r.first).Minutes() {
		return false
	}
	c.told = true
	return true
}

// Loop is the line a server repeats over and over at now, and how often it has; "" when it does not.
func (c *Collapser) Loop(now time.Time) (text string, times int64) {
	for _, r := range c.runs {
		if r.times >= loopTimes && r.times > times && now.Sub(r.last) < calm && float64(r.times) >= loopsPerMin*r.last.Sub(r.first).Minutes() {
			text, times = r.text, r.times
		}
	}
	return text, times
}

// shapeOf is a text with every number in it made the same.
func shapeOf(text string) string {
	var b strings.Builder
	b.Grow(len(text))
	digit := false
	for i := range len(text) {
		is := text[i] >= '0' && text[i] <= '9'
		if !is {
			b.WriteByte(text[i])
		} else if !digit {
			b.WriteByte('0')
		}
		digit = is
	}
	return b.String()
}

// power says whether n is 10, 100, 1,000 and so on.
func power(n int64) bool {
	for n >= 10 && n%10 == 0 {
		n /= 10
	}
	return n == 1
}

// Line is a line as it may be kept and shown: valid UTF-8, without its end, and cut with a mark when it is too long.
func Line(raw []byte, cut bool) string {
	for len(raw) > 0 && (raw[len(raw)-1] == '\n' || raw[len(raw)-1] == '\r') {
		raw = raw[:len(raw)-1]
	}
	if len(raw) > longest {
		raw, cut = raw[:longest], true
	}
	if cut { // not in the middle of a character
		for i := 1; i < utf8.UTFMax && i <= len(raw); i++ {
			if utf8.RuneStart(raw[len(raw)-i]) {
				if !utf8.FullRune(raw[len(raw)-i:]) {
					raw = raw[:len(raw)-i]
				}
				break
			}
		}
	}
	text := strings.ToValidUTF8(string(raw), "\uFFFD")
	if cut {
		text += " … [cut]"
	}
	return text
}
