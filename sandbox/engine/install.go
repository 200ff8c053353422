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

// install returns the package that ref names, installing it when it is not there. Without walls it
// only looks; the second one is a repository's. When it fails nothing is left.
func (in *installer) install(ctx context.Context, req wire.Install, walls []*os.File, report func(sandbox.Progress)) (sandbox.Package, error) {
	if err := req.Ref.Valid(); err != nil {
		return sandbox.Package{}, err
	}
	leave, err := in.turns.take(ctx, string(req.Ref.Ecosystem)+" "+req.Ref.String()+" "+req.Toolchain)
	if err != nil {
		return sandbox.Package{}, err
	}
	defer leave()
	if req.Ref.Ecosystem == sandbox.PyPI {
		return in.python(ctx, req, walls, report)
	}
	var wall *os.File
	if len(walls) > 0 {
		wall = walls[0]
	}
	tools, err := packages.FindTools(req.Toolchain)
	if err != nil {
		return sandbox.Package{}, err
	}
	if !req.Renew {
		p, err := in.installed(ctx, req, tools)
		if !isNotFound(err) || wall == nil {
			return p, err
		}
	}
	if req.Want != nil && len(req.Want.Ran()) > 0 {
		return in.scripted(ctx, req, tools, wall, report)
	}
	return in.fresh(ctx, req, tools, wall, report)
}

// fresh runs npm in a sandbox of its own and keeps what it installed.
func (in *installer) fresh(ctx context.Context, req wire.Install, tools packages.Tools, wall *os.File, report func(sandbox.Progress)) (sandbox.Package, error) {
	report(sandbox.Progress{Step: "resolve", Message: "Asking the registry for " + req.Ref.String()})
	key := "install/" + randomHex()
	dir, err := in.engine.prepareSnapshot(ctx, key)
	if err != nil {
		return sandbox.Package{}, err
	}
	defer in.discard(ctx, key) // once it is committed there is none
	output, err := in.run(ctx, life{
		what: "install " + req.Ref.String(), plan: packages.NewPlan(exactly(req), tools, egress.RegistryAddress),
		toolchain: req.Toolchain, dir: dir, wall: wall, within: installTime,
	})
	if err != nil {
		return sandbox.Package{}, err
	}
	p, err := packages.Read(dir, req.Ref, tools)
	if err != nil {
		return sandbox.Package{}, err
	}
	p.Runtime, p.Before, p.Young = "node "+output.Node, req.Before, req.Young
	if err := packages.Check(p, req.Want); err != nil {
		return sandbox.Package{}, err
	}
	return p, in.commit(ctx, key, dir, req.Ref, p, report)
}

// commit keeps what is in dir, without npm's cache.
func (in *installer) commit(ctx context.Context, key, dir string, ref sandbox.PackageRef, p sandbox.Package, report func(sandbox.Progress)) error {
	report(sandbox.Progress{Step: "commit", Message: "Keeping " + ref.String()})
	if err := os.RemoveAll(filepath.Join(dir, packages.CacheDir)); err != nil {
		return fmt.Errorf("clear npm's cache: %w", err)
	}
	return in.keep(ctx, key, ref.String(), p)
}

// discard removes a snapshot that only this call knew. Should it stay, the next start removes it.
func (in *installer) discard(ctx context.Context, key string) {
	if err := in.engine.removeSnapshot(ctx, key); err != nil {
		slog.Error("discard a snapshot", "err", err)
	}
}

// life is one life of npm, or pip.
type life struct {
	what      string // for errors: "install left-pad"
	plan      packages.Plan
	toolchain string
	dir       string   // becomes the package's root
	wall      *os.File // nil: nothing can be reached
	within    time.Duration
	said      func(line string) // may be nil
}

// run is one life of npm, or pip. Its sandbox has no secret, no folder, an empty home and no network but
// the address that the wall answers on.
func (in *installer) run(ctx context.Context, n life) (*packages.Output, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, n.within, fmt.Errorf("it took longer than %v: %w", n.within, errdefs.ErrUnavailable))
	defer cancel()
	stdio, err := openInstallStdio()
	if err != nil {
		return nil, err
	}
	defer stdio.close()
	l := sandbox.Launch{
		ID: sandbox.InstanceID("i" + randomHex()), Server: "package-install", Group: "install",
		Root: sandbox.Root{Toolchain: n.toolchain}, Argv: n.plan.Argv, Env: n.plan.Env, Limits: installLimits,
	}
	x := extras{mounts: []ocispec.Bind{{Source: n.dir, At: sandbox.PackageRoot, Writable: true}}}
	if n.wall != nil {
		x.wall, x.listen = n.wall, []string{egress.RegistryAddress}
	}
	b, err := in.engine.start(ctx, l, stdio.inside(), x)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", n.what, err)
	}
	output := stdio.follow(n.said)
	exit, err := b.wait(ctx)
	if err != nil {
		if ctx.Err() != nil {
			err = context.Cause(ctx)
		}
		stop, cancel := cleanup(ctx)
		defer cancel()
		left := in.engine.stop(stop, b, 0)
		stdio.close()
		output() // nobody is told anything after this
		return nil, errors.Join(fmt.Errorf("%s: %w", n.what, err), left)
	}
	said := output()
	if exit.Code != 0 {
		return nil, said.Err(n.what, exit)
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
	return [handoff.Stdio]*os.File{s.null, s.errOut, s.errOut, s.life} // scripts write to both
}

// follow reads npm's words as they come. What it returns waits for their end.
func (s *installStdio) follow(said func(string)) func() *packages.Output {
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
			if long {
				continue
			}
			output.Line(string(line))
			if said != nil {
				said(string(line))
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
