package engine

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"time"

	"github.com/containerd/errdefs"

	"github.com/garita-dev/garita/sandbox"
	"github.com/garita-dev/garita/sandbox/engine/wire"
	"github.com/garita-dev/garita/sandbox/handover"
	"github.com/garita-dev/garita/sandbox/init/handoff"
)

type connKey struct{}

func withConn(ctx context.Context, c net.Conn) context.Context {
	return context.WithValue(ctx, connKey{}, c)
}

// filesOf takes the files that came with the request's connection; the caller closes them.
func filesOf(r *http.Request, want int) ([]*os.File, error) {
	c, ok := r.Context().Value(connKey{}).(*handover.FileConn)
	if !ok {
		return nil, fmt.Errorf("the connection carries no files: %w", errdefs.ErrInvalidArgument)
	}
	files := c.Files()
	if len(files) != want {
		closeFiles(files)
		return nil, fmt.Errorf("%d files came with the request instead of %d: %w", len(files), want, errdefs.ErrInvalidArgument)
	}
	return files, nil
}

// anyFilesOf takes whatever files came, none on a connection that is kept.
func anyFilesOf(r *http.Request) []*os.File {
	if c, ok := r.Context().Value(connKey{}).(*handover.FileConn); ok {
		return c.Files()
	}
	return nil
}

func closeFiles(files []*os.File) {
	for _, f := range files {
		_ = f.Close()
	}
}

// handler answers a request with a value or an error.
type handler func(r *http.Request) (any, error)

func (h handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	value, err := h(r)
	status := http.StatusOK
	if err != nil {
		status, value = encodeError(err)
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(value) // the daemon is gone if this fails
}

func encodeError(err error) (int, any) {
	status, body := wire.Encode(err)
	return status, body
}

// maxBody bounds a request's body, in bytes.
const maxBody = 8 << 20

func decode[T any](r *http.Request) (T, error) {
	var v T
	dec := json.NewDecoder(http.MaxBytesReader(nil, r.Body, maxBody))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&v); err != nil {
		return v, fmt.Errorf("read the request: %w: %w", err, errdefs.ErrInvalidArgument)
	}
	// Only behind the body's end does the server notice that the client has gone.
	_, _ = io.Copy(io.Discard, r.Body)
	return v, nil
}

// routes is every request the engine answers. Only the daemon can reach it.
func (e *Engine) routes() http.Handler {
	mux := http.NewServeMux()
	for route, h := range map[string]handler{
		"GET /v1/status":                  e.getStatus,
		"GET /v1/sweep":                   e.getSweep,
		"POST /v1/instances":              e.postInstance,
		"GET /v1/instances":               e.getInstances,
		"GET /v1/instances/{id}":          e.withBox(e.getInstance),
		"GET /v1/instances/{id}/wait":     e.withBox(e.waitInstance),
		"GET /v1/instances/{id}/seen":     e.withBox(e.getSightings),
		"POST /v1/instances/{id}/execs":   e.withBox(e.answerExec),
		"POST /v1/instances/{id}/stop":    e.withBox(e.stopInstance),
		"POST /v1/instances/{id}/freeze":  e.withBox(e.freezeInstance),
		"POST /v1/instances/{id}/thaw":    e.withBox(e.thawInstance),
		"POST /v1/instances/{id}/dial":    e.withBox(e.dialInstance),
		"POST /v1/instances/{id}/network": e.withBox(e.reconnect),
		"POST /v1/images":                 e.postImage,
		"POST /v1/images/about":           e.aboutImage,
	} {
		mux.Handle(route, h)
	}
	e.workspaceRoutes(mux)
	e.packageRoutes(mux)
	return mux
}

type done struct{}

func (e *Engine) withBox(h func(*http.Request, *box) (any, error)) handler {
	return func(r *http.Request) (any, error) {
		b, err := e.find(sandbox.InstanceID(r.PathValue("id")))
		if err != nil {
			return nil, err
		}
		return h(r, b)
	}
}

func (e *Engine) getStatus(*http.Request) (any, error) {
	return wire.Status{PID: os.Getpid(), Root: e.cfg.Root, Snapshotter: e.ct.snapshotter, Instances: len(e.all())}, nil
}

func (e *Engine) postInstance(r *http.Request) (any, error) {
	files := anyFilesOf(r)
	defer closeFiles(files)
	if len(files) < handoff.Stdio || len(files) > handoff.Stdio+2 {
		return nil, fmt.Errorf("%d files came with the request instead of %d: %w", len(files), handoff.Stdio, errdefs.ErrInvalidArgument)
	}
	l, err := decode[sandbox.Launch](r)
	if err != nil {
		return nil, err
	}
	var x extras
	if len(files) > handoff.Stdio {
		x.network = files[handoff.Stdio]
	}
	if len(files) > handoff.Stdio+1 {
		x.agent = files[handoff.Stdio+1]
	}
	b, err := e.start(r.Context(), l, [handoff.Stdio]*os.File(files[:handoff.Stdio]), x)
	if err != nil {
		return nil, err
	}
	return b.describe(), nil
}

func (e *Engine) getInstances(*http.Request) (any, error) {
	all := []sandbox.InstanceInfo{}
	for _, b := range e.all() {
		all = append(all, b.describe())
	}
	return all, nil
}

func (e *Engine) getInstance(_ *http.Request, b *box) (any, error) { return b.describe(), nil }

func (e *Engine) waitInstance(r *http.Request, b *box) (any, error) { return b.wait(r.Context()) }

func (e *Engine) stopInstance(r *http.Request, b *box) (any, error) {
	req, err := decode[wire.Stop](r)
	if err != nil {
		return nil, err
	}
	return done{}, e.stop(r.Context(), b, time.Duration(req.DrainMS)*time.Millisecond)
}

func (e *Engine) freezeInstance(r *http.Request, b *box) (any, error) {
	return done{}, e.freeze(r.Context(), b)
}

func (e *Engine) thawInstance(r *http.Request, b *box) (any, error) {
	return done{}, e.thaw(r.Context(), b)
}

// dialInstance sends the connected socket over the one that came with the request.
func (e *Engine) dialInstance(r *http.Request, b *box) (any, error) {
	files, err := filesOf(r, 1)
	if err != nil {
		return nil, err
	}
	back, err := handover.Conn(files[0])
	if err != nil {
		return nil, err
	}
	defer back.Close()
	req, err := decode[wire.Dial](r)
	if err != nil {
		return nil, err
	}
	inside, listening, err := e.dial(b, req.Port)
	if err != nil || inside == nil {
		return wire.Dialed{Listening: listening}, err
	}
	defer inside.Close()
	if err := handover.Send(back, []byte{1}, inside); err != nil {
		return nil, fmt.Errorf("hand over a connection: %w", err)
	}
	return wire.Dialed{Connected: true, Listening: listening}, nil
}

func (e *Engine) postImage(r *http.Request) (any, error) {
	req, err := decode[wire.Import](r)
	if err != nil {
		return nil, err
	}
	d, err := e.importImage(r.Context(), req.Path)
	return wire.Imported{Digest: d}, err
}
