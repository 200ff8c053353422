package client

import (
	"context"
	"fmt"
	"net/http"
	"time"

	"github.com/garita-dev/garita/sandbox"
	"github.com/garita-dev/garita/sandbox/engine/wire"
)

// Sightings is what was seen in an observed sandbox behind a Seq; while there is nothing new it waits
// that long for something. What a sandbox that has ended did can be asked for some time.
//
// Errors: NotFound, FailedPrecondition for a sandbox that is not observed, Unavailable.
func (e *Engine) Sightings(ctx context.Context, id sandbox.InstanceID, after int64, wait time.Duration) (sandbox.Sightings, error) {
	path := fmt.Sprintf("/v1/instances/%s/seen?after=%d&wait=%d", id, after, wait.Milliseconds())
	return call[sandbox.Sightings](ctx, e, http.MethodGet, path, nil)
}

// AnswerExec answers a question about a program (sandbox.SawAsked); why is in a clause, of a no. Nobody may
// wait for it any more: that is no error.
//
// Errors: NotFound, FailedPrecondition for a sandbox without rules for commands, Unavailable.
func (e *Engine) AnswerExec(ctx context.Context, id sandbox.InstanceID, ask uint64, allow bool, why string) error {
	_, err := call[struct{}](ctx, e, http.MethodPost, fmt.Sprintf("/v1/instances/%s/execs", id), wire.ExecAnswer{Ask: ask, Allow: allow, Why: why})
	return err
}
