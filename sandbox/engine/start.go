package engine

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"github.com/containerd/containerd/api/types/runc/options"
	"github.com/containerd/containerd/v2/client"
	"github.com/containerd/containerd/v2/pkg/cio"
	"github.com/containerd/errdefs"
	specs "github.com/opencontainers/runtime-spec/specs-go"
	"golang.org/x/sys/unix"

	"github.com/garita-dev/garita/sandbox"
	"github.com/garita-dev/garita/sandbox/init/handoff"
	"github.com/garita-dev/garita/sandbox/ocispec"
	"github.com/garita-dev/garita/sandbox/rootless"
)

// extras are what a sandbox of the engine's own (an install) has besides its Launch.
type extras struct {
	mounts []ocispec.Bind
	wall   *os.File // receives the listening sockets; nil when listen is empty
	listen []string // 127.0.0.1:PORT, opened inside before the server starts
	// network is where the wall waits for the sandbox's network; nil leaves it with loopback alone.
	network *os.File
	// agent is a socket of the daemon's that becomes the ssh agent's inside; nil for none.
	agent *os.File
}

var idPattern = regexp.MustCompile(`^i[0-9a-f]{16}$`)

// start raises a sandbox and returns once its server has been executed. stdio stays the caller's.
// When it returns an error, nothing is left. Where programs cannot be observed, one that was to be
// is started all the same, and says so.
func (e *Engine) start(ctx context.Context, l sandbox.Launch, stdio [handoff.Stdio]*os.File, x extras) (*box, error) {
	b, err := e.startOnce(ctx, l, nil, stdio, x)
	if !cannotObserve(l, err) {
		return b, err
	}
	seen := newSightings()
	seen.end("This machine's runc or kernel cannot be asked about them: " + err.Error() + ".")
	l.Observe = false
	return e.startOnce(ctx, l, seen, stdio, x)
}

func (e *Engine) startOnce(ctx context.Context, l sandbox.Launch, seen *sightings, stdio [handoff.Stdio]*os.File, x extras) (*box, error) {
	if !idPattern.MatchString(string(l.ID)) {
		return nil, fmt.Errorf("instance id %q: %w", l.ID, errdefs.ErrInvalidArgument)
	}
	if len(l.Argv) == 0 && l.Root.Image == "" {
		return nil, fmt.Errorf("start %s: no program to run: %w", l.Server, errdefs.ErrInvalidArgument)
	}
	if l.Exec != nil && len(calls) == 0 {
		return nil, notHeld(l, nil, errors.New("seccomp: system calls of this architecture are not known"))
	}
	if l.Observe || l.Exec != nil {
		seen = newSightings()
		seen.rolls = !l.Observe
	}
	b, err := e.reserve(l, seen)
	if err != nil {
		return nil, err
	}
	if err := e.raise(inNamespace(ctx), b, stdio, x); err != nil {
		left := e.teardown(ctx, b)
		e.forget(b)
		return nil, errors.Join(notHeld(l, b, fmt.Errorf("start %s: %w", l.Server, err)), left)
	}
	go e.supervise(b)
	return b, nil
}

// raise does everything up to the running server; whatever it did stands in b.undo.
func (e *Engine) raise(ctx context.Context, b *box, stdio [handoff.Stdio]*os.File, x extras) error {
	dir := filepath.Join("/run/garita/i", string(b.launch.ID))
	if err := os.Mkdir(dir, 0o700); err != nil {
		return err
	}
	b.onUndo(func() error { return os.RemoveAll(dir) })
	in, snapshot, err := e.lowerable(ctx, b, dir, x)
	if err != nil {
		return err
	}
	if x.agent != nil {
		in.Agent = filepath.Join(dir, "agent")
		if err := listenAt(x.agent, in.Agent); err != nil {
			return err
		}
	}
	private, err := listenPrivately(in.Socket)
	if err != nil {
		return err
	}
	defer private.Close()
	spec, request := ocispec.Lower(in)
	bound := letBurst(spec.Linux.Resources)
	if err := e.create(ctx, b, spec, snapshot, x.network); err != nil {
		return err
	}
	files := stdio[:]
	if x.wall != nil {
		files = append(files, x.wall)
	}
	if b.init, err = private.handOver(ctx, b, request, files); err != nil {
		return err
	}
	b.endBurst(bound)
	e.fillInfo(b)
	b.inspectFolders(ctx)
	return nil
}

// create makes the container, its task and its network, and starts garita-init.
func (e *Engine) create(ctx context.Context, b *box, spec *specs.Spec, snapshot string, wall *os.File) error {
	id := string(b.launch.ID)
	runtime := &options.Options{BinaryName: e.cfg.Runc, Root: runcRoot}
	opts := []client.NewContainerOpts{
		client.WithRuntime(e.cfg.Shim, runtime),
		client.WithSpec(spec),
		client.WithContainerLabels(map[string]string{"garita.dev/server": string(b.launch.Server)}),
	}
	if snapshot != "" {
		opts = append(opts, client.WithSnapshotter(e.ct.snapshotter), client.WithSnapshot(snapshot))
	}
	c, err := e.ct.client.NewContainer(ctx, id, opts...)
	if err != nil {
		return fmt.Errorf("create the container: %w", err)
	}
	b.container = c
	b.onUndo(func() error { return e.deleteContainer(ctx, c) })
	if b.task, err = newTask(ctx, c); err != nil {
		return fmt.Errorf("create the task: %w", err)
	}
	// Waiting begins before the start, or a short life would be missed.
	if err := b.awaitTask(ctx); err != nil {
		return fmt.Errorf("wait for the task: %w", err)
	}
	fd, err := unix.PidfdOpen(int(b.task.Pid()), 0)
	if err != nil {
		return fmt.Errorf("hold on to the task: %w", err)
	}
	b.mu.Lock()
	b.pidfd = fd
	b.mu.Unlock()
	b.onUndo(b.letGo)
	if wall != nil {
		if err := e.connect(b, wall); err != nil {
			return err
		}
	}
	if err := b.task.Start(ctx); err != nil {
		return fmt.Errorf("start the task: %w", err)
	}
	return nil
}

const (
	shimTries = 20                    // a dying shim is gone within a few of them
	shimWait  = 25 * time.Millisecond // between tries
)

// newTask creates a task. The shim of its group may be about to end with the group's last task and
// still be met by its socket: then the task is created again, in a new shim.
func newTask(ctx context.Context, c client.Container) (client.Task, error) {
	for try := 1; ; try++ {
		task, err := c.NewTask(ctx, cio.NullIO)
		if err == nil || try == shimTries || !shimEnded(err) {
			return task, err
		}
		select {
		case <-time.After(shimWait):
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// shimEnded says whether err is a shim's that ended under the request. Containerd hands on only
// the words of ttrpc and of the connection.
func shimEnded(err error) bool {
	if errdefs.IsUnavailable(err) {
		return true
	}
	if strings.HasSuffix(err.Error(), ": shutdown") { // runc was stopped under it, with the shim
		return true
	}
	for _, words := range []string{"ttrpc: closed", "connection refused", "connection reset", "broken pipe"} {
		if strings.Contains(err.Error(), words) {
			return true
		}
	}
	return false
}

// awaitTask makes b.dead close, with b.status set, once containerd says that the task has ended.
func (b *box) awaitTask(ctx context.Context) error {
	ctx, cancel := context.WithCancel(inNamespace(context.WithoutCancel(ctx))) // it outlives the request
	exited, err := b.task.Wait(ctx)
	if err != nil {
		cancel()
		return err
	}
	b.dead = make(chan struct{})
	go func() {
		b.status = <-exited
		close(b.dead)
	}()
	b.onUndo(func() error { cancel(); <-b.dead; return nil })
	return nil
}

func (e *Engine) deleteContainer(ctx context.Context, c client.Container) error {
	ctx, cancel := cleanup(ctx)
	defer cancel()
	if err := c.Delete(ctx); err != nil {
		return fmt.Errorf("delete the container: %w", err)
	}
	return nil
}

func (e *Engine) fillInfo(b *box) {
	limits, notices := rootless.InForce(b.launch.Limits.OrDefaults(), e.cfg.Cgroups, e.cfg.Root)
	b.mu.Lock()
	defer b.mu.Unlock()
	b.info = sandbox.InstanceInfo{
		ID: b.launch.ID, Server: b.launch.Server, PID: int(b.task.Pid()),
		Limits: limits, Notices: notices, Started: time.Now(),
	}
}
