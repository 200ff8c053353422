package supervisor

import (
	"fmt"
	"strings"
	"time"

	"github.com/containerd/errdefs"

	"github.com/garita-dev/garita/sandbox"
)

// shownLines is how many of a server's last stderr lines go with an error.
const shownLines = 5

// Trouble is why a server is not started, with everything a person needs to go on. It is Unavailable.
type Trouble struct {
	Server  sandbox.ServerName
	State   sandbox.State
	Reason  string    // "crash-looping: exited (1) before handshake"
	Strikes int       // how often in a row
	Last    []string  // its last stderr lines; hostile text
	Again   time.Time // when it may be tried again
	wait    time.Duration
}

// Error names server, state, reason, last words, when it is tried again and the next step.
func (t *Trouble) Error() string { return t.What() + ". " + t.Detail() + " Next: " + t.Next() }

// What names server, state and reason: "files is failed: crash-looping: exited (1) before handshake,
// 3 times in a row".
func (t *Trouble) What() string {
	return fmt.Sprintf("%s is %s: %s, %d times in a row", t.Server, t.State, t.Reason, t.Strikes)
}

// Detail is the server's last words, and when it is tried again.
func (t *Trouble) Detail() string {
	return fmt.Sprintf("%s It may be tried again at %s, in %s.", LastWords(t.Last), t.Again.Local().Format("15:04:05"), t.wait.Round(time.Second))
}

// LastWords is what a server wrote to stderr last, as a sentence; the lines are hostile text.
func LastWords(lines []string) string {
	if len(lines) == 0 {
		return "It wrote nothing to stderr."
	}
	return fmt.Sprintf("Its last words: %s.", strings.Join(lines[max(0, len(lines)-shownLines):], " | "))
}

// Next is what to do about it.
func (t *Trouble) Next() string {
	return fmt.Sprintf("garita server logs %s; once it is mended: garita server restart %s", t.Server, t.Server)
}

// Unwrap makes every Trouble an Unavailable.
func (*Trouble) Unwrap() error { return errdefs.ErrUnavailable }

// trouble is what stands in the way of a start at now; nil when nothing does.
func (h *health) trouble(name sandbox.ServerName, now time.Time) *Trouble {
	h.settle(now)
	if !h.looping || h.wait(now) == 0 {
		return nil
	}
	return &Trouble{
		Server: name, State: sandbox.Failed, Reason: crashLooping + ": " + h.reason, Strikes: h.strikes,
		Last: h.words, Again: h.until, wait: h.wait(now),
	}
}

// crashLooping is the state a server is in while the breaker is open.
const crashLooping = "crash-looping"
