package client

import (
	"context"
	"net/http"
	"os"
	"sync"
	"time"

	"github.com/containerd/errdefs"

	"github.com/garita-dev/garita/sandbox"
	"github.com/garita-dev/garita/sandbox/engine/wire"
)

// Start implements sandbox.Runtime.
func (e *Engine) Start(ctx context.Context, l sandbox.Launch, io sandbox.Stdio) (sandbox.Instance, error) {
	return e.start(ctx, l, io.In, io.Out, io.Err, io.Lifeline)
}

func (e *Engine) start(ctx context.Context, l sandbox.Launch, files ...*os.File) (sandbox.Instance, error) {
	info, err := callWith[sandbox.InstanceInfo](ctx, e, "/v1/instances", l, files...)
	if err != nil {
		return nil, err
	}
	i := &instance{engine: e, id: info.ID, info: info, ended: make(chan struct{})}
	e.waits.Go(i.follow)
	return i, nil
}

// Instances lists what runs.
func (e *Engine) Instances(ctx context.Context) ([]sandbox.InstanceInfo, error) {
	return call[[]sandbox.InstanceInfo](ctx, e, http.MethodGet, "/v1/instances", nil)
}

// instance is one running sandbox, seen from the daemon.
type instance struct {
	engine *Engine
	id     sandbox.InstanceID
	ended  chan struct{}
	exit   sandbox.Exit // read only after ended
	err    error        // what the engine could not take back; read only after ended

	mu   sync.Mutex // guards info
	info sandbox.InstanceInfo
}

// follow asks the engine for the end; when the engine itself ends, that was the end.
func (i *instance) follow() {
	defer close(i.ended)
	exit, err := call[sandbox.Exit](context.Background(), i.engine, http.MethodGet, i.path("/wait"), nil)
	if errdefs.IsUnavailable(err) {
		// Under control groups of version 1 even SIGKILL waits for a frozen process to be thawed, and
		// the engine's end for that process.
		i.engine.cgroups.Thaw()
		<-i.engine.done
		exit, err = sandbox.Exit{Code: 137, Reason: "engine gone", At: time.Now()}, nil
	}
	i.exit, i.err = exit, err
}

func (i *instance) path(verb string) string { return "/v1/instances/" + string(i.id) + verb }

// Info is asked anew while the sandbox runs: notices may come after the start.
func (i *instance) Info() sandbox.InstanceInfo {
	i.mu.Lock()
	defer i.mu.Unlock()
	select {
	case <-i.ended:
		return i.info
	default:
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	if now, err := call[sandbox.InstanceInfo](ctx, i.engine, http.MethodGet, i.path(""), nil); err == nil {
		i.info = now
	}
	return i.info
}

func (i *instance) Wait(ctx context.Context) (sandbox.Exit, error) {
	select {
	case <-i.ended:
		return i.exit, i.err
	case <-ctx.Done():
		return sandbox.Exit{}, ctx.Err()
	}
}

// StopInstance stops an instance by its id, as Instance.Stop does. NotFound.
func (e *Engine) StopInstance(ctx context.Context, id sandbox.InstanceID, drain time.Duration) error {
	_, err := call[struct{}](ctx, e, http.MethodPost, "/v1/instances/"+string(id)+"/stop", wire.Stop{DrainMS: drain.Milliseconds()})
	return err
}

func (i *instance) Stop(ctx context.Context, drain time.Duration) error {
	err := i.engine.StopInstance(ctx, i.id, drain)
	switch {
	case errdefs.IsUnavailable(err):
		select {
		case <-i.ended: // the engine took everything along
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	case errdefs.IsNotFound(err):
		return nil // it ended long ago
	default:
		return err
	}
}

func (i *instance) Freeze(ctx context.Context) error {
	_, err := call[struct{}](ctx, i.engine, http.MethodPost, i.path("/freeze"), nil)
	return err
}

func (i *instance) Thaw(ctx context.Context) error {
	_, err := call[struct{}](ctx, i.engine, http.MethodPost, i.path("/thaw"), nil)
	return err
}
