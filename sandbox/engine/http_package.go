package engine

import (
	"encoding/json"
	"errors"
	"net/http"
	"sync"

	"github.com/garita-dev/garita/sandbox"
	"github.com/garita-dev/garita/sandbox/engine/wire"
)

// packageRoutes installs packages. With no file it only looks for an installed one; with the wall's
// socket it installs what is missing. The answer is a stream of wire.InstallEvent.
func (e *Engine) packageRoutes(mux *http.ServeMux) {
	in := &installer{engine: e}
	mux.HandleFunc("POST /v1/packages/contents", func(w http.ResponseWriter, r *http.Request) {
		out := &events{w: w, enc: json.NewEncoder(w)}
		p, err := decode[sandbox.Package](r)
		var contents []string
		if err == nil {
			contents, err = in.contents(r.Context(), p)
		}
		if err != nil {
			_, body := wire.Encode(err)
			out.send(wire.InstallEvent{Error: &body})
			return
		}
		out.send(wire.InstallEvent{Package: &p, Contents: contents})
	})
	mux.HandleFunc("POST /v1/packages", func(w http.ResponseWriter, r *http.Request) {
		out := &events{w: w, enc: json.NewEncoder(w)}
		p, err := in.serve(r, out.progress)
		if err != nil {
			_, body := wire.Encode(err)
			out.send(wire.InstallEvent{Error: &body, Build: buildOf(err)})
			return
		}
		out.send(wire.InstallEvent{Package: &p})
	})
}

// buildOf is what err says has to be built; nil for another error, or where it cannot be shown here.
func buildOf(err error) *sandbox.InstallScript {
	var needs *sandbox.NeedsBuild
	if !errors.As(err, &needs) || needs.Script.Text == "" {
		return nil
	}
	return &needs.Script
}

func (in *installer) serve(r *http.Request, progress func(sandbox.Progress)) (sandbox.Package, error) {
	req, err := decode[wire.Install](r)
	if err != nil {
		return sandbox.Package{}, err
	}
	files := anyFilesOf(r)
	defer closeFiles(files)
	return in.install(r.Context(), req, files, progress)
}

// events writes an answer line by line, each sent at once.
type events struct {
	mu  sync.Mutex // an installation and what follows its words both tell
	w   http.ResponseWriter
	enc *json.Encoder
}

func (o *events) progress(p sandbox.Progress) { o.send(wire.InstallEvent{Progress: &p}) }

func (o *events) send(e wire.InstallEvent) {
	o.mu.Lock()
	defer o.mu.Unlock()
	_ = o.enc.Encode(e) // the daemon is gone if this fails, and the request's context says so
	if f, ok := o.w.(http.Flusher); ok {
		f.Flush()
	}
}
