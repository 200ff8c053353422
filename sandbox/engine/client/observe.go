package client

import (
	"context"
	"fmt"
	"net/http"
	"time"

	"github.com/garita-dev/garita/sandbox"
)

// Sightings is what was seen in an observed sandbox behind a Seq; while there is nothing new it waits
// that long for something. What a sandbox that has ended did can be asked for some time.
//
// Errors: NotFound, FailedPrecondition for a sandbox that is not observed, Unavailable.
func (e *Engine) Sightings(ctx context.Context, id sandbox.InstanceID, after int64, wait time.Duration) (sandbox.Sightings, error) {
	path := fmt.Sprintf("/v1/instances/%s/seen?after=%d&wait=%d", id, after, wait.Milliseconds())
	return call[sandbox.Sightings](ctx, e, http.MethodGet, path, nil)
}
