package gateway

import (
	"errors"
	"fmt"

	"github.com/garita-dev/garita/sandbox"
)

var errRenewed = errors.New("the server is started anew")

// LetGo lets go of the server's life in a sandbox that is about to be stopped: what comes next starts
// another, and what is under way is answered with why. Of another life it does nothing.
func (s *Session) LetGo(id sandbox.InstanceID, why string) {
	if way := s.current(); way != nil && way.runs() == id {
		way.fail(fmt.Errorf("%w: %s", errRenewed, why))
	}
}
