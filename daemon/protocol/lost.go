package protocol

import (
	"fmt"
	"slices"
)

// LostError ends a Stream whose peer has forgotten the session: it can be begun anew, and the
// requests it names were certainly not executed.
type LostError struct {
	Unsent []ID
	Err    error
}

func (e *LostError) Error() string { return fmt.Sprintf("the session was lost: %v", e.Err) }
func (e *LostError) Unwrap() error { return e.Err }

// Has says whether the request of that id was certainly not executed.
func (e *LostError) Has(id ID) bool { return slices.Contains(e.Unsent, id) }
