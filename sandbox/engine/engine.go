// Package engine is the child process that runs sandboxes: containerd embedded, in namespaces of
// its own where it is root and the host's user at once. It is PID 1 of its pid namespace, so that
// every shim and every task dies with it. It holds no secret and parses nothing hostile but
// layers and tarballs.
//
// The daemon reaches it by plain HTTP over connections handed over on one socket pair (package
// handover); when that pair ends, the daemon is gone and the engine ends everything and itself.
package engine

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/garita-dev/garita/sandbox"
	"github.com/garita-dev/garita/sandbox/ocispec"
	"github.com/garita-dev/garita/sandbox/trim"
	"github.com/garita-dev/garita/sandbox/workspace"
)

// Engine runs sandboxes. Its methods may be called concurrently.
type Engine struct {
	cfg  Config
	ct   *containerd
	ws   *workspace.Store
	host ocispec.Host
	java javaStores

	settle  *time.Timer // gives memory back some time after the last start or end
	mu      sync.Mutex  // guards what follows
	boxes   map[sandbox.InstanceID]*box
	ended   []*box         // the last ones, oldest first
	closing bool           // no sandbox starts any more
	wg      sync.WaitGroup // boxes that are not forgotten yet
}

// Open starts containerd, clears what an earlier life has left and reads the host's facts.
func Open(ctx context.Context, cfg Config) (*Engine, error) {
	for _, dir := range []string{"/run/garita/i", "/run/garita/ws", filepath.Join(cfg.Data, "volumes")} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return nil, fmt.Errorf("open the engine: %w", err)
		}
	}
	ct, err := openContainerd(ctx, containerdRoot(cfg.Data))
	if err != nil {
		return nil, err
	}
	e := &Engine{cfg: cfg, ct: ct, boxes: map[sandbox.InstanceID]*box{}}
	e.settle = trim.Settle()
	if err := e.prepare(ctx); err != nil {
		ct.Close()
		return nil, err
	}
	return e, nil
}

func (e *Engine) prepare(ctx context.Context) (err error) {
	if err := e.reconcile(ctx); err != nil {
		return err
	}
	if e.ws, err = workspace.Open(filepath.Join(e.cfg.Data, "workspaces")); err != nil {
		return err
	}
	e.host, err = findHost(e.cfg)
	return err
}

// Serve answers the daemon's requests until it is gone (l returns io.EOF), then lets every sandbox
// end by its lifeline, ends what is left, and returns nil.
func (e *Engine) Serve(ctx context.Context, l net.Listener) error {
	srv := &http.Server{Handler: e.routes(), ConnContext: withConn, ReadHeaderTimeout: 10 * time.Second}
	err := srv.Serve(l)
	if errors.Is(err, io.EOF) {
		err = nil
	}
	e.shutDown(ctx)
	_ = srv.Close()
	return err
}

// shutDown gives sandboxes the drain time to end by themselves, then ends them.
func (e *Engine) shutDown(ctx context.Context) {
	drain := time.Duration(e.cfg.DrainSeconds) * time.Second
	e.settle.Stop()
	e.mu.Lock()
	e.closing = true
	e.mu.Unlock()
	e.thawAll(ctx)
	ended := make(chan struct{})
	go func() { e.wg.Wait(); close(ended) }()
	select {
	case <-ended:
	case <-time.After(drain):
		slog.Warn("sandboxes outlived the daemon's lifelines; ending them")
	}
	for _, b := range e.all() {
		if err := e.stop(ctx, b, 0); err != nil {
			slog.Error("end a sandbox", "err", err)
		}
	}
	<-ended
	if err := e.cfg.Cgroups.RemoveAll(); err != nil {
		slog.Error("remove control groups", "err", err)
	}
	e.ct.Close()
}

func (e *Engine) all() []*box {
	e.mu.Lock()
	defer e.mu.Unlock()
	var all []*box
	for _, b := range e.boxes {
		all = append(all, b)
	}
	return all
}
