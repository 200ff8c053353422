package supervisor

import (
	"math/rand/v2"
	"time"
)

const (
	// maxStrikes is after how many failures of the server itself, in a row, it counts as crash-looping.
	maxStrikes = 5
	// sustained is how long an instance has to be ready before what went wrong before it is forgotten.
	// A start that succeeds forgets nothing: servers that start well and die soon would loop for ever.
	sustained = 5 * time.Minute
	// stale is after how long without any failure the old ones no longer count as "in a row".
	stale = time.Hour

	// The pause before the start after a failure, and before the one that tries a crash-looping
	// server again; each doubles up to its bound.
	firstPause, longestPause       = 500 * time.Millisecond, 30 * time.Second
	firstCoolDown, longestCoolDown = 5 * time.Minute, 30 * time.Minute
)

// health is what a server's starts came to: the backoff between them and the breaker. It is plain
// data; whoever uses it holds a lock and says what time it is.
type health struct {
	failed  int       // starts in a row that came to nothing, however: the backoff's exponent
	strikes int       // of them, failures of the server itself
	last    time.Time // of the last failure
	until   time.Time // no start before
	reason  string    // of the last failure; "" after a start that was none
	words   []string  // the last stderr lines that went with it
	looping bool      // the breaker is open
	turn    int       // strikes ever
}

// stumble notes a start that came to nothing before there was a process: the registry, the engine or
// the declaration are at fault, and the breaker is not for them.
func (h *health) stumble(now time.Time, reason string) {
	h.settle(now)
	h.failed++
	h.last, h.reason, h.words = now, reason, nil
	h.until = now.Add(jitter(doubled(firstPause, longestPause, h.failed-1)))
}

// strike notes a failure of the server itself, and says whether that has opened the breaker. An
// instance that was started before the last strike, at turn, adds none: one fault that ends eight
// instances is one fault.
func (h *health) strike(now time.Time, turn int, reason string, words []string) (opened bool) {
	h.settle(now)
	h.reason, h.words = reason, words
	if turn != h.turn {
		return false
	}
	h.failed++
	h.strikes++
	h.turn++
	h.last = now
	pause := doubled(firstPause, longestPause, h.failed-1)
	if h.strikes >= maxStrikes {
		opened, h.looping = !h.looping, true
		pause = doubled(firstCoolDown, longestCoolDown, h.strikes-maxStrikes)
	}
	h.until = now.Add(jitter(pause))
	return opened
}

// forgive takes the last strike back.
func (h *health) forgive() {
	h.failed, h.strikes = max(0, h.failed-1), max(0, h.strikes-1)
	h.reason, h.words, h.until = "", nil, time.Time{}
	h.looping = h.looping && h.strikes >= maxStrikes
}

// reset forgets every failure: the server has lasted, or a person wants it tried.
func (h *health) reset() { *h = health{turn: h.turn} }

// settle forgets failures that are too old to be of the same row.
func (h *health) settle(now time.Time) {
	if h.failed > 0 && now.Sub(h.last) > stale {
		h.reset()
	}
}

// wait is how long a start has to wait at now.
func (h *health) wait(now time.Time) time.Duration { return max(0, h.until.Sub(now)) }

// doubled is first, doubled n times, up to longest.
func doubled(first, longest time.Duration, n int) time.Duration {
	for ; n > 0 && first < longest; n-- {
		first *= 2
	}
	return min(first, longest)
}

// jitter is between half of d and d, so that what failed together does not try again together.
func jitter(d time.Duration) time.Duration {
	return d/2 + rand.N(d/2+1) //nolint:gosec // spreading load needs no unpredictable numbers
}
