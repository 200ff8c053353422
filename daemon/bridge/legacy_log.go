package bridge

import (
	"fmt"
	"slices"
	"time"

	"github.com/garita-dev/garita/daemon/protocol"
)

// logging is what a legacy server logs for a client that says how much with each request.
type logging struct {
	level   int      // the one the server was told last, of levels; -1 for none
	telling int      // logging/setLevel requests that it has not answered
	waiting []func() // calls that want to be logged, and wait for these
}

// levelWithin is how long calls wait for a server that does not answer logging/setLevel.
const levelWithin = 5 * time.Second

// wanted is the lowest level that a call in flight asked for; -1 when none did.
func (t *toLegacy) wanted() int {
	lowest := -1
	for _, c := range t.calls {
		if c.level >= 0 && (lowest < 0 || c.level < lowest) {
			lowest = c.level
		}
	}
	return lowest
}

// tellLevel tells the server when a call wants another level than it was told.
func (t *toLegacy) tellLevel() {
	level := t.wanted()
	if level < 0 || level == t.level || at(t.offered, "logging") == nil {
		return
	}
	t.level = level
	t.telling++
	t.askWithin(levelWithin, t.newID(), methodSetLevel, fmt.Appendf(nil, `{"level":%s}`, protocol.Quote(levels[level])), t.levelTold)
}

// levelTold is the server's answer, whatever it is.
func (t *toLegacy) levelTold(protocol.Message) {
	if t.telling--; t.telling > 0 {
		return
	}
	waited := t.logging.waiting
	t.logging.waiting = nil
	for _, f := range waited {
		f()
	}
}

// whenTold calls send now, or, for a call that wants to be logged, once the server knows how much:
// servers take requests in at the same time, and would log the call at the level before.
func (t *toLegacy) whenTold(c *legacyCall, send func()) {
	if c.level < 0 || t.telling == 0 {
		send()
		return
	}
	t.logging.waiting = append(t.logging.waiting, func() {
		if t.calls[c.id] == c { // else it was cancelled meanwhile
			send()
		}
	})
}

// message passes a log message on while a call is in flight that asked for its level.
func (t *toLegacy) message(m protocol.Message) {
	level := slices.Index(levels, protocol.Text(members(m.Params)["level"]))
	if wanted := t.wanted(); wanted >= 0 && level >= wanted {
		t.tell(m)
	}
}
