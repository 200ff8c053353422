package engine

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime/debug"

	"github.com/garita-dev/garita/sandbox/handover"
	"github.com/garita-dev/garita/sandbox/rootless"
)

// gcPercent keeps the heap small; measured: 20 halves the engine's memory and costs no time that
// shows. A memory limit instead costs time.
const gcPercent = 20

// controlFD is the far end of the daemon's socket pair.
const controlFD = 3

// Main is the engine process, started by the daemon's client in namespaces of its own. It returns
// when the daemon is gone and everything has ended.
func Main(ctx context.Context) error {
	debug.SetGCPercent(gcPercent)
	text, err := rootless.Enter()
	if err != nil {
		return fmt.Errorf("enter the engine's namespaces: %w", err)
	}
	cfg, err := ParseConfig(text)
	if err != nil {
		return err
	}
	// The shim looks for runc and the engine for mount helpers by PATH: ours come first.
	if err := os.Setenv("PATH", filepath.Dir(cfg.Shim)+":"+os.Getenv("PATH")); err != nil {
		return err
	}
	if err := os.Setenv("TMPDIR", "/run/garita/tmp"); err != nil {
		return err
	}
	l, err := handover.Listen(os.NewFile(controlFD, "control"))
	if err != nil {
		return err
	}
	defer l.Close()
	reaper, stop := context.WithCancel(ctx)
	reaped := make(chan struct{})
	go func() { defer close(reaped); Reap(reaper) }()
	defer func() { stop(); <-reaped }()
	e, err := Open(ctx, cfg)
	if err != nil {
		return err
	}
	return e.Serve(ctx, l)
}
