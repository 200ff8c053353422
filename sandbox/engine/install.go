package engine

import (
	"bufio"
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/containerd/errdefs"
	"golang.org/x/sys/unix"

	"github.com/garita-dev/garita/sandbox"
	egress "github.com/garita-dev/garita/sandbox/egress/wire"
	"github.com/garita-dev/garita/sandbox/engine/wire"
	"github.com/garita-dev/garita/sandbox/init/handoff"
	"github.com/garita-dev/garita/sandbox/ocispec"
	"github.com/garita-dev/garita/sandbox/packages"
)

// installLimits are for npm, which unpacks many files at once. Limits of the server itself do not
// apply: it does not run yet.
var installLimits = sandbox.Limits{Memory: 2 << 30, PIDs: 512, CPUs: 2}

// installTime bounds one life of npm. The largest servers seen take two minutes on a slow line.
const installTime = 30 * time.Minute

// installer installs packages, each reference once at a time.
type installer struct {
	engine *Engine
	turns  turns
}

// install returns the package that ref names, installing it when it is not there. Without wall it
// only looks. When it fails nothing is left.
func (in *installer) install(ctx context.Context, req wire.Install, wall *os.File, report func(sandbox.Progress)) (sandbox.Package, error) {
	if _, err := sandbox.ParsePackageSpec(req.Ref.String()); err != nil {
		return sandbox.Package{}, err
	}
	leave, err := in.turns.take(ctx, req.Ref.String()+" "+req.Toolchain)
	if err != nil {
		return sandbox.Package{}, err
	}
	defer leave()
	tools, err := packages.FindTools(req.Toolchain)
	if err != nil {
		return sandbox.Package{}, err
	}
	p, err := in.installed(ctx, req, tools)
	if !isNotFound(err) || wall == nil {
		return p, err
	}
	report(sandbox.Progress{Step: "resolve", Message: "Asking the registry for " + req.Ref.String()})
	return in.fresh(ctx, req, tools, wall, report)
}

// fresh runs npm in a sandbox of its own and keeps what it installed.
func (in *installer) fresh(ctx context.Context, req wire.Install, tools packages.Tools, wall *os.File, report func(sandbox.Progress)) (sandbox.Package, error) {
	key := "install/" + randomHex()
	dir, err := in.engine.prepareSnapshot(ctx, key)
	if err != nil {
		return sandbox.Package{}, err
	}
	defer in.discard(ctx, key) // once it is committed there is none
	output, err := in.run(ctx, req, tools, dir, wall)
	if err != nil {
		return sandbox.Package{}, err
	}
	report(sandbox.Progress{Step: "commit", Message: "Keeping " + req.Ref.String()})
	p, err := packages.Read(dir, req.Ref, tools)
	if err != nil {
		return sandbox.Package{}, err
	}
	p.Runtime = "node " + output.Node
	if err := packages.Check(p, req.Want); err != nil {
		return sandbox.Package{}, err
	}
	if err := os.RemoveAll(filepath.Join(dir, packages.CacheDir)); err != nil {
		return sandbox.Package{}, fmt.Errorf("clear npm's cache: %w", err)
	}
	return p, in.keep(ctx, key, req.Ref, p)
}

// discard removes a snapshot that only this call knew. Should it stay, the next start removes it.
func (in *installer) discard(ctx context.Context, key string) {
	if err := in.engine.removeSnapshot(ctx, key); err != nil {
		slog.Error("discard a snapshot", "err", err)
	}
}

// run is one life of npm. Its sandbox has no secret, no folder, an empty home and no network but
// the address that the wall answers on.
func (in *installer) run(ctx context.Context, req wire.Install, tools packages.Tools, dir string, wall *os.File) (*packages.Output, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, installTime, fmt.Errorf("it took longer than %v: %w", installTime, errdefs.ErrUnavailable))
	defer cancel()
	stdio, err := openInstallStdio()
	if err != nil {
		return nil, err
	}
	defer stdio.close()
	plan := packages.NewPlan(exactly(req), tools, egress.RegistryAddress)
	l := sandbox.Launch{
		ID: sandbox.InstanceID("i" + randomHex()), Server: "npm-install", Group: "install",
		Root: sandbox.Root{Toolchain: req.Toolchain}, Argv: plan.Argv, Env: plan.Env, Limits: installLimits,
	}
	b, err := in.engine.start(ctx, l, stdio.inside(), extras{
		mounts: []ocispec.Bind{{Source: dir, At: sandbox.PackageRoot, Writable: true}},
		wall:   wall,
		listen: []string{egress.RegistryAddress},
	})
	if err != nil {
		return nil, fmt.Errorf("install %s: %w", req.Ref, err)
	}
	output := stdio.follow()
	exit, err := b.wait(ctx)
	if err != nil {
		if ctx.Err() != nil {
			err = context.Cause(ctx)
		}
		stop, cancel := cleanup(ctx)
		defer cancel()
		return nil, errors.Join(fmt.Errorf("install %s: %w", req.Ref, err), in.engine.stop(stop, b, 0))
	}
	said := output()
	if exit.Code != 0 {
		return nil, said.Err(req.Ref, exit)
	}
	return said, nil
}

// exactly is what npm is asked for: the lock's version, whatever the registry calls latest by now.
func exactly(req wire.Install) sandbox.PackageRef {
	ref := req.Ref
	if req.Want != nil {
		ref.Range = req.Want.Version
	}
	return ref
}

// installStdio is npm's standard files, and the lifeline, which the engine itself holds.
type installStdio struct {
	null, errOut, life *os.File // the sandbox's ends
	errIn, hold        *os.File // ours
}

func openInstallStdio() (*installStdio, error) {
	s := &installStdio{}
	var err error
	if s.null, err = os.OpenFile(os.DevNull, os.O_RDWR, 0); err != nil {
		return nil, err
	}
	if s.errIn, s.errOut, err = os.Pipe(); err != nil {
		s.close()
		return nil, err
	}
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		s.close()
		return nil, err
	}
	s.life, s.hold = os.NewFile(uintptr(fds[0]), "lifeline"), os.NewFile(uintptr(fds[1]), "lifeline")
	return s, nil
}

func (s *installStdio) inside() [handoff.Stdio]*os.File {
	return [handoff.Stdio]*os.File{s.null, s.null, s.errOut, s.life}
}

// follow reads npm's words as they come. What it returns waits for their end.
func (s *installStdio) follow() func() *packages.Output {
	_ = s.errOut.Close()
	_ = s.life.Close()
	output := &packages.Output{}
	read := make(chan struct{})
	go func() {
		defer close(read)
		r := bufio.NewReaderSize(s.errIn, 16<<10)
		for {
			line, long, err := r.ReadLine() // the rest of an overlong line passes for another
			if err != nil {
				return
			}
			if !long {
				output.Line(string(line))
			}
		}
	}()
	return func() *packages.Output { <-read; return output }
}

func (s *installStdio) close() {
	for _, f := range []*os.File{s.null, s.errOut, s.life, s.errIn, s.hold} {
		if f != nil {
			_ = f.Close()
		}
	}
}

// turns lets one holder at a time have each name.
type turns struct {
	mu    sync.Mutex
	taken map[string]chan struct{} // closed when the holder leaves
}

// take waits until name is free or ctx ends. The caller calls leave.
func (t *turns) take(ctx context.Context, name string) (leave func(), err error) {
	for {
		t.mu.Lock()
		if t.taken == nil {
			t.taken = map[string]chan struct{}{}
		}
		held := t.taken[name]
		if held == nil {
			mine := make(chan struct{})
			t.taken[name] = mine
			t.mu.Unlock()
			return func() {
				t.mu.Lock()
				delete(t.taken, name)
				t.mu.Unlock()
				close(mine)
			}, nil
		}
		t.mu.Unlock()
		select {
		case <-held:
		case <-ctx.Done():
			return nil, fmt.Errorf("wait for another installation of %s: %w: %w", name, ctx.Err(), errdefs.ErrAborted)
		}
	}
}

func randomHex() string {
	var b [8]byte
	_, _ = rand.Read(b[:]) // never fails, says its documentation
	return hex.EncodeToString(b[:])
}
