package bridge

import (
	"fmt"
	"slices"

	"github.com/garita-dev/garita/daemon/protocol"
)

// logging is what a legacy server logs for a client that says how much with each request.
type logging struct {
	told int // the level the server was told last, of levels; -1 for none
}

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
	if level < 0 || level == t.logging.told || at(t.offered, "logging") == nil {
		return
	}
	t.logging.told = level
	id := t.newID()
	t.ask(id, protocol.NewRequest(id, methodSetLevel, fmt.Appendf(nil, `{"level":%s}`, protocol.Quote(levels[level]))), nil)
}

// message passes a log message on while a call is in flight that asked for its level.
func (t *toLegacy) message(m protocol.Message) {
	level := slices.Index(levels, protocol.Text(members(m.Params)["level"]))
	if wanted := t.wanted(); wanted >= 0 && level >= wanted {
		t.tell(m)
	}
}
