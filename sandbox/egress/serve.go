package egress

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"os"
	"runtime/debug"

	"github.com/containerd/errdefs"
	"github.com/go-json-experiment/json"
	"github.com/google/go-containerregistry/pkg/authn"

	"github.com/garita-dev/garita/sandbox"
	"github.com/garita-dev/garita/sandbox/egress/wire"
	"github.com/garita-dev/garita/sandbox/handover"
	"github.com/garita-dev/garita/sandbox/image"
)

// registryServer serves packages to one sandbox per request, as long as the request lasts.
type registryServer struct {
	log    *slog.Logger
	bounds bounds
}

// ServeHTTP takes the socket on which listeners arrive, and streams what is fetched.
func (s *registryServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var request wire.Registries
	far, err := s.accept(r, &request)
	if err != nil {
		fail(w, err)
		return
	}
	rs, transport, err := prepare(request)
	var kept *cache
	if err == nil {
		kept, err = openCache(request.Cache)
	}
	if err != nil {
		_ = far.Close()
		fail(w, err)
		return
	}
	defer kept.close()
	defer debug.FreeOSMemory() // an installation is over: nothing of it is needed again
	defer transport.CloseIdleConnections()
	out := newStream(w)
	defer out.close()
	seen := func(f wire.Fetch) { out.send(f) }
	p := newProxy(&upstream{registries: rs, transport: transport}, s.bounds, s.log, seen)
	p.cache, p.before, p.exempt = kept, request.Before, map[string]bool{}
	for _, one := range request.Young {
		p.exempt[one] = true
	}
	defer kept.trim(cacheSize)
	if err := attach(r.Context(), far, answering(p, request), s.log, func() { seen(wire.Fetch{Kind: wire.Attached}) }); err != nil {
		s.log.Warn("a sandbox could not be served", "err", err)
		seen(wire.Fetch{Kind: wire.Refused, Why: err.Error()})
	}
}

// answering is p for the packages that are asked for.
func answering(p *proxy, request wire.Registries) http.Handler {
	if request.Ecosystem == sandbox.PyPI {
		return newIndex(p, request)
	}
	if request.Ecosystem == wire.Git {
		return &repository{proxy: p}
	}
	return p
}

func prepare(request wire.Registries) (*registries, *http.Transport, error) {
	rs, err := newRegistries(request)
	if err != nil {
		return nil, nil, err
	}
	transport, err := newTransport(request.Outside)
	return rs, transport, err
}

// accept reads the request and takes its one file.
func (s *registryServer) accept(r *http.Request, request *wire.Registries) (*os.File, error) {
	if err := decode(r, request); err != nil {
		return nil, err
	}
	files, err := filesOf(r, 1)
	if err != nil {
		return nil, err
	}
	return files[0], nil
}

// filesOf takes the files that came with a request, exactly n.
func filesOf(r *http.Request, n int) ([]*os.File, error) {
	conn, ok := r.Context().Value(connKey{}).(*handover.FileConn)
	if !ok {
		return nil, fmt.Errorf("no socket came with the request: %w", errdefs.ErrInvalidArgument)
	}
	files := conn.Files()
	if len(files) != n {
		closeFiles(files)
		return nil, fmt.Errorf("%d files came with the request, %d are needed: %w", len(files), n, errdefs.ErrInvalidArgument)
	}
	return files, nil
}

// pullServer fetches one image per request.
type pullServer struct{ log *slog.Logger }

// ServeHTTP streams the pull's progress and its end.
func (s *pullServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var request wire.Pull
	if err := decode(r, &request); err != nil {
		fail(w, err)
		return
	}
	out := newStream(w)
	defer out.close()
	l, err := pull(r.Context(), request, func(p sandbox.Progress) { out.send(wire.PullEvent{Progress: &p}) })
	if err != nil {
		s.log.Warn("an image could not be pulled", "err", err)
		out.send(wire.PullEvent{Error: failureOf(err)})
		return
	}
	out.send(wire.PullEvent{Digest: l.Digest, Layout: l.Dir})
}

func pull(ctx context.Context, request wire.Pull, report image.Report) (image.Layout, error) {
	transport, err := newTransport(request.Outside)
	if err != nil {
		return image.Layout{}, err
	}
	defer transport.CloseIdleConnections()
	from := image.Source{Transport: transport}
	if !request.Auth.IsZero() {
		from.Auth = authn.FromConfig(authn.AuthConfig{Auth: request.Auth.Send()})
	}
	return image.Pull(ctx, request.Ref, request.Dir, from, report)
}

func decode(r *http.Request, into any) error {
	body, err := io.ReadAll(http.MaxBytesReader(nil, r.Body, wire.MaxRequest))
	if err != nil {
		return fmt.Errorf("read the request: %v: %w", err, errdefs.ErrInvalidArgument)
	}
	if err := json.Unmarshal(body, into, json.RejectUnknownMembers(true)); err != nil {
		// The error could quote a part of the request, and so of a token.
		return fmt.Errorf("the request cannot be read: %w", errdefs.ErrInvalidArgument)
	}
	return nil
}

// fail answers with an error before anything was streamed.
func fail(w http.ResponseWriter, err error) {
	f := failureOf(err)
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(http.StatusBadRequest)
	_ = json.MarshalWrite(w, f)
}

// failureOf gives an error's kind the name it travels by.
func failureOf(err error) *wire.Failure {
	f := &wire.Failure{Kind: "internal", Message: err.Error()}
	for _, k := range wire.Kinds {
		if k.Is(err) {
			f.Kind = k.Name
			break
		}
	}
	return f
}
