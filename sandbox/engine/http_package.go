package engine

import (
	"net/http"
	"os"

	"encoding/json"

	"github.com/containerd/errdefs"

	"github.com/garita-dev/garita/sandbox"
	"github.com/garita-dev/garita/sandbox/engine/wire"
	"github.com/garita-dev/garita/sandbox/handover"
)

// packageRoutes installs packages.
func (e *Engine) packageRoutes(mux *http.ServeMux) {
	mux.Handle("POST /v1/packages", &packageServer{installer: &installer{engine: e}})
}

type packageServer struct{ installer *installer }

// ServeHTTP streams an installation: progress, then the package or the error. Without the wall's
// socket it only looks for what is installed. The daemon ends it by closing the connection.
func (s *packageServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	wall, err := wallOf(r)
	if err == nil && wall != nil {
		defer wall.Close()
	}
	var req wire.Install
	if err == nil {
		req, err = decode[wire.Install](r)
	}
	w.Header().Set("Content-Type", "application/x-ndjson")
	out := json.NewEncoder(w)
	send := func(v wire.InstallEvent) {
		_ = out.Encode(v) // the daemon is gone if this fails, and with it the request's context
		_ = http.NewResponseController(w).Flush()
	}
	var p sandbox.Package
	if err == nil {
		p, err = s.installer.install(r.Context(), req, wall, func(p sandbox.Progress) { send(wire.InstallEvent{Progress: &p}) })
	}
	if err != nil {
		_, body := wire.Encode(err)
		send(wire.InstallEvent{Error: &body})
		return
	}
	send(wire.InstallEvent{Package: &p})
}

// wallOf takes the wall's socket, if one came.
func wallOf(r *http.Request) (*os.File, error) {
	c, ok := r.Context().Value(connKey{}).(*handover.FileConn)
	if !ok {
		return nil, errdefs.ErrInvalidArgument
	}
	files := c.Files()
	switch len(files) {
	case 0:
		return nil, nil
	case 1:
		return files[0], nil
	}
	closeFiles(files)
	return nil, errdefs.ErrInvalidArgument
}
