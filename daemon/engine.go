package daemon

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/containerd/errdefs"

	"github.com/garita-dev/garita/sandbox"
	"github.com/garita-dev/garita/sandbox/engine/client"
)

// The states of the engine, as people see them.
const (
	engineStarting = "starting"
	engineReady    = "ready"
	engineFailed   = "failed"
)

// restartAfter is how long a dead engine or wall is left down at first; it doubles up to a minute.
const restartAfter = 200 * time.Millisecond

// engine keeps the two children alive: the engine and the wall. It is a sandbox.Runtime and a
// sandbox.Installer for as long as they are there, and says why when they are not.
type engine struct {
	config  client.Config
	home    string // the user's
	log     *slog.Logger
	changed func() // told when there is an engine, or none any more

	age     func() time.Duration                    // how long versions have to be out
	through func(own client.Outside) client.Outside // how packages and images are fetched, now, where their tools' settings say own
	fetched func(sandbox.PackageRef, []client.Fetch)
	ways    *ways
	ending  sync.WaitGroup // sandboxes with a way out, until they have ended
	needed  chan struct{}  // holds one word while somebody needs a wall that may not be there yet

	mu      sync.Mutex // guards the fields below
	current *client.Engine
	wall    *client.Wall
	err     error
	ready   chan struct{}             // closed while there is an engine, or it has failed
	another chan struct{}             // closed and replaced when the engine or the wall is another one, or none
	images  map[string]sandbox.Digest // by reference
	// young are "name@version"s that a person allows whatever their age.
	young map[sandbox.Ecosystem][]string
}

type engineState struct {
	name    string
	err     error
	notices []string
}

func newEngine(config client.Config, home string, log *slog.Logger, changed func()) *engine {
	return &engine{
		config: config, home: home, log: log, changed: changed, needed: make(chan struct{}, 1),
		through: func(own client.Outside) client.Outside { return own },
		ready:   make(chan struct{}), another: make(chan struct{}), images: map[string]sandbox.Digest{},
	}
}

// Run starts the children, and again when one has died, until ctx ends. Then it ends them.
func (e *engine) Run(ctx context.Context) error {
	wait := restartAfter
	for ctx.Err() == nil {
		began := time.Now()
		err := e.once(ctx)
		if ctx.Err() != nil {
			return nil
		}
		if time.Since(began) > time.Minute {
			wait = restartAfter
		}
		e.log.Error("the engine has ended", "err", err)
		select {
		case <-time.After(wait):
		case <-ctx.Done():
		}
		wait = min(2*wait, time.Minute)
	}
	return nil
}

// once is one life of the engine. The wall is started when somebody needs it, for an idle daemon is
// to be small. One that dies is started again; sandboxes live on.
func (e *engine) once(ctx context.Context) error {
	var wall *client.Wall
	defer func() { closeWall(wall) }()
	running, err := client.StartEngine(ctx, e.config)
	if err != nil {
		e.set(nil, nil, fmt.Errorf("start the engine: %w", err))
		return err
	}
	defer e.ending.Wait()
	defer running.Close()
	e.set(running, nil, nil)
	for {
		select {
		case <-running.Done():
			err = fmt.Errorf("garita-engine has died: %w", orUnknown(running.Err()))
			e.set(nil, nil, err)
			return err
		case <-e.needed:
			if wall != nil {
				continue
			}
			if wall, err = e.startWall(ctx); err != nil {
				return err
			}
			e.set(running, wall, nil)
		case <-deathOf(wall):
			if wall, err = e.anotherWall(ctx, wall); err != nil {
				return err
			}
			e.set(running, wall, nil) // first: who starts now uses this one
			e.ways.reconnect(ctx, running, wall)
		case <-ctx.Done():
			return nil
		}
	}
}

func closeWall(w *client.Wall) {
	if w != nil {
		_ = w.Close()
	}
}

// deathOf is closed when w has ended; never, where there is none.
func deathOf(w *client.Wall) <-chan struct{} {
	if w == nil {
		return nil
	}
	return w.Done()
}

func (e *engine) startWall(ctx context.Context) (*client.Wall, error) {
	wall, err := client.StartWall(ctx, e.config)
	if err != nil {
		e.set(nil, nil, fmt.Errorf("start the wall: %w", err))
	}
	return wall, err
}

// anotherWall starts a wall where one has died.
func (e *engine) anotherWall(ctx context.Context, dead *client.Wall) (*client.Wall, error) {
	e.log.Error("the wall has ended", "err", orUnknown(dead.Err()))
	select {
	case <-time.After(restartAfter):
	case <-ctx.Done():
		return dead, ctx.Err()
	}
	return e.startWall(ctx)
}

func orUnknown(err error) error {
	if err == nil {
		return errors.New("it gave no reason")
	}
	return err
}

func (e *engine) set(running *client.Engine, wall *client.Wall, err error) {
	e.mu.Lock()
	if e.current != running || e.wall != wall {
		close(e.another)
		e.another = make(chan struct{})
	}
	e.current, e.wall, e.err = running, wall, err
	select {
	case <-e.ready:
		if running == nil && err == nil {
			e.ready = make(chan struct{})
		}
	default:
		close(e.ready)
	}
	e.mu.Unlock()
	e.changed()
}

// wake sees to it that there will be a wall. It does not wait.
func (e *engine) wake() {
	select {
	case e.needed <- struct{}{}:
	default: // somebody has just said so
	}
}

// both waits for the engine and the wall, which is started if it is not there, and returns them, or
// why there are none.
func (e *engine) both(ctx context.Context) (*client.Engine, *client.Wall, error) {
	for {
		running, err := e.get(ctx)
		if err != nil {
			return nil, nil, err
		}
		e.mu.Lock()
		wall, another := e.wall, e.another
		e.mu.Unlock()
		if wall != nil {
			return running, wall, nil
		}
		e.wake()
		select {
		case <-another:
		case <-ctx.Done():
			return nil, nil, ctx.Err()
		}
	}
}

// get waits for the engine's start and returns it, or why there is none.
func (e *engine) get(ctx context.Context) (*client.Engine, error) {
	e.mu.Lock()
	ready := e.ready
	e.mu.Unlock()
	select {
	case <-ready:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.current == nil {
		return nil, fmt.Errorf("%w; see garita doctor: %w", e.err, errdefs.ErrFailedPrecondition)
	}
	return e.current, nil
}

func (e *engine) state() engineState {
	e.mu.Lock()
	defer e.mu.Unlock()
	switch {
	case e.current != nil:
		return engineState{name: engineReady, notices: e.current.Notices()}
	case e.err != nil:
		return engineState{name: engineFailed, err: e.err}
	}
	return engineState{name: engineStarting}
}

// Start implements sandbox.Runtime. A wall that dies in the middle of it costs the start time, and
// nothing else.
func (e *engine) Start(ctx context.Context, l sandbox.Launch, io sandbox.Stdio) (sandbox.Instance, error) {
	i, wall, err := e.start(ctx, l, io)
	if err != nil && wall != nil && e.crashed(ctx, wall) {
		i, _, err = e.start(ctx, l, io)
	}
	return i, err
}

// start starts a sandbox by the wall of this moment, which is returned where it has to do with it.
func (e *engine) start(ctx context.Context, l sandbox.Launch, io sandbox.Stdio) (sandbox.Instance, *client.Wall, error) {
	if l.Network.Empty() {
		running, err := e.get(ctx)
		if err != nil {
			return nil, nil, err
		}
		i, err := running.Start(ctx, l, io)
		return i, nil, err
	}
	running, wall, err := e.both(ctx)
	if err != nil {
		return nil, nil, err
	}
	way, err := e.ways.begin(ctx, wall, l)
	if err != nil {
		return nil, wall, err
	}
	i, err := way.startIn(ctx, running, io)
	if err != nil {
		way.close()
		return nil, wall, err
	}
	e.ending.Go(func() {
		defer way.close()
		_, _ = i.Wait(context.Background()) // it ends with the engine at the latest
	})
	return i, wall, nil
}

// crashTime is how long the end of a process may take to be known, and anotherTime its successor.
const (
	crashTime   = 200 * time.Millisecond
	anotherTime = 5 * time.Second
)

// crashed says that wall has died, and returns once there is another one.
func (e *engine) crashed(ctx context.Context, wall *client.Wall) bool {
	select {
	case <-wall.Done():
	case <-time.After(crashTime):
		return false
	}
	ctx, cancel := context.WithTimeout(ctx, anotherTime)
	defer cancel()
	for {
		e.mu.Lock()
		now, another := e.wall, e.another
		e.mu.Unlock()
		if now != wall {
			return now != nil
		}
		select {
		case <-another:
		case <-ctx.Done():
			return false
		}
	}
}

// Install implements sandbox.Installer: the engine installs in a sandbox whose only neighbor is
// the wall's registry proxy.
func (e *engine) Install(ctx context.Context, ref sandbox.PackageRef, want *sandbox.Package, progress func(sandbox.Progress)) (sandbox.Package, error) {
	return e.installing(ctx, ref, want, false, progress)
}

// renewed is ref as it would be installed today.
func (e *engine) renewed(ctx context.Context, ref sandbox.PackageRef, progress func(sandbox.Progress)) (sandbox.Package, error) {
	return e.installing(ctx, ref, nil, true, progress)
}

// contents is all that an installed package consists of.
func (e *engine) contents(ctx context.Context, p sandbox.Package) ([]string, error) {
	running, err := e.get(ctx)
	if err != nil {
		return nil, err
	}
	return running.PackageContents(ctx, p)
}

func (e *engine) installing(ctx context.Context, ref sandbox.PackageRef, want *sandbox.Package, renew bool, progress func(sandbox.Progress)) (sandbox.Package, error) {
	running, wall, err := e.both(ctx)
	if err != nil {
		return sandbox.Package{}, err
	}
	var fetched []client.Fetch
	in := client.Installer{
		Engine: running, Wall: wall, Registries: e.registries, Toolchain: e.toolchain, Index: e.index, Python: e.python, Renew: renew,
		Repository: func(address string) (client.RegistryConfig, error) {
			c, err := client.HostRepository(e.home, os.LookupEnv, address)
			c.Outside = e.through(c.Outside)
			return c, err
		},
		Fetched: func(_ sandbox.PackageRef, f client.Fetch) { fetched = append(fetched, f) },
	}
	p, err := in.Install(ctx, ref, want, progress)
	if len(fetched) > 0 {
		e.fetched(ref, fetched)
	}
	return p, err
}

// allow lets one version be installed whatever its age.
func (e *engine) allow(from sandbox.Ecosystem, name, version string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.young == nil {
		e.young = map[sandbox.Ecosystem][]string{}
	}
	e.young[from] = append(e.young[from], name+"@"+version)
}

// registries is npm's own configuration on this machine; its tokens stay with the wall.
func (e *engine) registries() (client.RegistryConfig, error) {
	c, notices, err := client.HostRegistries(e.home, os.LookupEnv)
	for _, n := range notices {
		e.log.Warn("npm's configuration is not followed in full", "err", n)
	}
	return e.aged(c, sandbox.NPM), err
}

// index is uv's or pip's own configuration on this machine; its password stays with the wall.
func (e *engine) index() (client.RegistryConfig, error) {
	c, notices, err := client.HostIndex(e.home, os.LookupEnv)
	for _, n := range notices {
		e.log.Warn("the configuration of Python's packages is not followed in full", "err", n)
	}
	return e.aged(c, sandbox.PyPI), err
}

// aged is c with how old versions have to be, and what is kept.
func (e *engine) aged(c client.RegistryConfig, from sandbox.Ecosystem) client.RegistryConfig {
	c.Before, c.Cache = time.Now().Add(-e.age()), filepath.Join(e.config.Data, "packages")
	c.Outside = e.through(c.Outside)
	e.mu.Lock()
	defer e.mu.Unlock()
	c.Young = slices.Clone(e.young[from])
	return c
}

func (e *engine) toolchain() (string, error) { return client.FindToolchain(e.home, os.Getenv("PATH")) }

func (e *engine) python(version string) (string, error) {
	return client.FindPythonToolchain(e.home, os.Getenv("PATH"), version)
}

// image pulls an image through the wall and imports it, once in the daemon's life: a tag that moves
// meanwhile does not change what runs.
func (e *engine) image(ctx context.Context, reference string, progress func(sandbox.Progress)) (sandbox.Digest, error) {
	e.mu.Lock()
	known := e.images[reference]
	e.mu.Unlock()
	if known != "" {
		return known, nil
	}
	digest, err := e.fetchImage(ctx, reference, progress)
	if err == nil {
		e.mu.Lock()
		e.images[reference] = digest
		e.mu.Unlock()
	}
	return digest, err
}

func (e *engine) fetchImage(ctx context.Context, reference string, progress func(sandbox.Progress)) (sandbox.Digest, error) {
	if filepath.IsAbs(reference) { // a layout or an archive on this machine
		running, err := e.get(ctx)
		if err != nil {
			return "", err
		}
		return running.ImportImage(ctx, reference)
	}
	running, wall, err := e.both(ctx)
	if err != nil {
		return "", err
	}
	pulled, err := wall.PullImage(ctx, client.Pull{Ref: reference, Dir: filepath.Join(e.config.Data, "images"), Outside: e.through(client.Outside{})}, progress)
	if err != nil {
		return "", err
	}
	return running.ImportImage(ctx, pulled.Layout)
}

// renewedImage is what reference names today. What is pulled stays; what runs does not change.
func (e *engine) renewedImage(ctx context.Context, reference string, progress func(sandbox.Progress)) (sandbox.Digest, error) {
	digest, err := e.fetchImage(ctx, reference, progress)
	if err == nil && !filepath.IsAbs(reference) {
		e.mu.Lock()
		e.images[byDigest(reference, digest)] = digest
		e.mu.Unlock()
	}
	return digest, err
}

// aboutImage is what an image that is there says of itself, by words for people.
func (e *engine) aboutImage(ctx context.Context, digest sandbox.Digest) (map[string]string, error) {
	running, err := e.get(ctx)
	if err != nil {
		return nil, err
	}
	return running.ImageAbout(ctx, digest)
}

// The engine's side of workspaces, each asked of the engine that is there.

func (e *engine) MarkWorkspace(ctx context.Context, id sandbox.WorkspaceID) (sandbox.Mark, error) {
	running, err := e.get(ctx)
	if err != nil {
		return "", err
	}
	return running.MarkWorkspace(ctx, id)
}

func (e *engine) AdvanceWorkspace(ctx context.Context, id sandbox.WorkspaceID, from sandbox.Mark) ([]sandbox.Change, sandbox.Mark, error) {
	running, err := e.get(ctx)
	if err != nil {
		return nil, "", err
	}
	return running.AdvanceWorkspace(ctx, id, from)
}

func (e *engine) HoldWorkspace(ctx context.Context, id sandbox.WorkspaceID, paths []string, reason string) error {
	running, err := e.get(ctx)
	if err != nil {
		return err
	}
	return running.HoldWorkspace(ctx, id, paths, reason)
}

func (e *engine) WorkspaceChanges(ctx context.Context, id sandbox.WorkspaceID) ([]sandbox.Change, error) {
	running, err := e.get(ctx)
	if err != nil {
		return nil, err
	}
	return running.WorkspaceChanges(ctx, id)
}

func (e *engine) WorkspaceDiff(ctx context.Context, id sandbox.WorkspaceID) ([]sandbox.FileDiff, error) {
	running, err := e.get(ctx)
	if err != nil {
		return nil, err
	}
	return running.WorkspaceDiff(ctx, id)
}

func (e *engine) ApplyWorkspace(ctx context.Context, id sandbox.WorkspaceID, paths []string, seen sandbox.Mark) (done, left []sandbox.Change, err error) {
	running, err := e.get(ctx)
	if err != nil {
		return nil, nil, err
	}
	return running.ApplyWorkspaceSeen(ctx, id, paths, seen)
}

func (e *engine) DiscardWorkspace(ctx context.Context, id sandbox.WorkspaceID, paths []string) (done, left []sandbox.Change, err error) {
	running, err := e.get(ctx)
	if err != nil {
		return nil, nil, err
	}
	return running.DiscardWorkspace(ctx, id, paths)
}

// upper is where an agent's changed files of a folder lie (DESIGN: data/workspaces/ID/N/upper).
func (e *engine) upper(ctx context.Context, id sandbox.WorkspaceID, folder string) (string, error) {
	running, err := e.get(ctx)
	if err != nil {
		return "", err
	}
	folders, err := running.WorkspaceFolders(ctx, id)
	if err != nil {
		return "", err
	}
	n := slices.Index(folders, folder)
	if n < 0 {
		return "", fmt.Errorf("folder %s of workspace %s: %w", folder, id, errdefs.ErrNotFound)
	}
	return filepath.Join(e.config.Data, "workspaces", string(id), strconv.Itoa(n), "upper"), nil
}
