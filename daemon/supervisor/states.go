package supervisor

import (
	"fmt"
	"slices"

	"github.com/garita-dev/garita/sandbox"
)

// transitions are the ways an instance's state may go; it is born starting.
var transitions = map[sandbox.State][]sandbox.State{
	sandbox.Starting: {sandbox.Ready, sandbox.Failed, sandbox.Stopping},
	sandbox.Ready:    {sandbox.Frozen, sandbox.Failed, sandbox.Stopping},
	sandbox.Frozen:   {sandbox.Ready, sandbox.Failed, sandbox.Stopping},
	sandbox.Stopping: {sandbox.Stopped},
}

// machine is the one place an instance's state changes. Its user holds a lock.
type machine struct {
	state  sandbox.State
	reason string // why it failed
}

// to takes the transition, or says that there is none.
func (m *machine) to(next sandbox.State, reason string) bool {
	if !slices.Contains(transitions[m.state], next) {
		return false
	}
	m.state, m.reason = next, reason
	return true
}

// ending is how an instance ended, in words: "exited (0) before handshake".
func ending(exit sandbox.Exit, ready bool) string {
	words := fmt.Sprintf("exited (%d)", exit.Code)
	if exit.Reason != "" {
		words = fmt.Sprintf("%s, exited (%d)", exit.Reason, exit.Code)
	}
	if !ready {
		words += " before handshake"
	}
	return words
}
