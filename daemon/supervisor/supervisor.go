// Package supervisor starts and ends the sandboxes of servers: it installs what a server runs
// from, lowers the declared walls to a launch, keeps the pipes, and knows each instance's state.
package supervisor

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"log/slog"
	"os"
	"slices"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/garita-dev/garita/sandbox"
)

// Options is what a Supervisor works with. All are required.
type Options struct {
	Runtime   sandbox.Runtime
	Installer sandbox.Installer
	Lock      Lock
	Host      Host
	// Changed is told that a server's state has changed; Progress, that its installation goes on.
	// Neither may call back.
	Changed  func(sandbox.ServerName)
	Progress func(sandbox.ServerName, sandbox.Progress)
	// Ended is told how an instance ended.
	Ended  func(Status, sandbox.Exit)
	Logger *slog.Logger
}

// Lock remembers which package a server runs from, exactly.
type Lock interface {
	// Locked returns the entry for a server, if it is for this reference.
	Locked(server sandbox.ServerName, ref sandbox.PackageRef) (sandbox.Package, bool)
	SetLocked(server sandbox.ServerName, ref sandbox.PackageRef, p sandbox.Package) error
}

// Owner is whose instance it is.
type Owner struct {
	Group     string              // trust domain: one agent
	Session   string              // for listings
	Agent     string              // for listings
	Workspace sandbox.WorkspaceID // of its folders, in snapshot mode
	Volume    string              // its HOME for this server
}

// Supervisor holds every instance that runs. Its methods may overlap.
type Supervisor struct {
	Options

	mu        sync.Mutex // guards the fields below
	instances map[sandbox.InstanceID]*Instance
	logs      map[sandbox.ServerName]*ring
	failures  map[sandbox.ServerName]string // why the last start failed; none after one that did not
	starting  map[sandbox.ServerName]int
	watching  sync.WaitGroup
}

// New returns a Supervisor that runs nothing yet.
func New(o Options) *Supervisor {
	return &Supervisor{
		Options: o, instances: map[sandbox.InstanceID]*Instance{}, logs: map[sandbox.ServerName]*ring{},
		failures: map[sandbox.ServerName]string{}, starting: map[sandbox.ServerName]int{},
	}
}

// NewInstanceID returns a name no instance has had.
func NewInstanceID() sandbox.InstanceID {
	var b [8]byte
	_, _ = rand.Read(b[:])
	return sandbox.InstanceID("i" + hex.EncodeToString(b[:]))
}

// Start installs what the server runs from if need be, and starts an instance. The caller stops
// it. When Start returns an error, nothing runs.
func (s *Supervisor) Start(ctx context.Context, server sandbox.Server, id sandbox.InstanceID, o Owner) (*Instance, error) {
	s.begin(server.Name)
	i, err := s.start(ctx, server, id, o)
	s.began(server.Name, err)
	if err != nil {
		return nil, fmt.Errorf("start %s: %w", server.Name, err)
	}
	return i, nil
}

func (s *Supervisor) start(ctx context.Context, server sandbox.Server, id sandbox.InstanceID, o Owner) (*Instance, error) {
	pkg, args, err := s.install(ctx, server)
	if err != nil {
		return nil, err
	}
	launch, err := lower(ctx, server, id, o, pkg, args, s.Host)
	if err != nil {
		return nil, err
	}
	return s.launch(ctx, launch, o)
}

// install returns the package a server runs from, nil when it is no package.
func (s *Supervisor) install(ctx context.Context, server sandbox.Server) (*sandbox.Package, []string, error) {
	ref, args, ok, err := sandbox.ParsePackageCommand(server.Source.Command)
	if err != nil || !ok {
		return nil, nil, err
	}
	var want *sandbox.Package
	if p, ok := s.Lock.Locked(server.Name, ref); ok {
		want = &p
	}
	p, err := s.Installer.Install(ctx, ref, want, func(p sandbox.Progress) { s.Progress(server.Name, p) })
	if err != nil {
		return nil, nil, err
	}
	if want == nil {
		if err := s.Lock.SetLocked(server.Name, ref, p); err != nil {
			return nil, nil, fmt.Errorf("remember the package in garita.lock: %w", err)
		}
	}
	return &p, args, nil
}

func (s *Supervisor) launch(ctx context.Context, l sandbox.Launch, o Owner) (*Instance, error) {
	ours, theirs, err := openStdio()
	if err != nil {
		return nil, err
	}
	defer theirs.close()
	running, err := s.Runtime.Start(ctx, l, theirs.stdio())
	if err != nil {
		ours.close()
		return nil, err
	}
	i := &Instance{
		Status:  Status{ID: l.ID, Server: l.Server, Owner: o, State: sandbox.Ready, Info: running.Info()},
		running: running, pipes: ours, ended: make(chan struct{}), changed: s.Changed,
	}
	s.watch(i)
	return i, nil
}

// watch drains stderr and notices the end, for as long as the instance runs.
func (s *Supervisor) watch(i *Instance) {
	s.mu.Lock()
	s.instances[i.ID] = i
	lines := s.logOf(i.Server)
	s.mu.Unlock()
	s.watching.Go(func() { lines.drain(i.pipes.err) })
	s.watching.Go(func() {
		exit, err := i.running.Wait(context.Background())
		if err != nil {
			exit = sandbox.Exit{Code: -1, Reason: "engine gone", At: time.Now()}
		}
		i.end(exit)
		s.mu.Lock()
		delete(s.instances, i.ID)
		s.mu.Unlock()
		s.Ended(i.Now(), exit)
		s.Changed(i.Server)
	})
}

func (s *Supervisor) logOf(name sandbox.ServerName) *ring {
	if s.logs[name] == nil {
		s.logs[name] = &ring{}
	}
	return s.logs[name]
}

func (s *Supervisor) begin(name sandbox.ServerName) {
	s.mu.Lock()
	s.starting[name]++
	s.mu.Unlock()
	s.Changed(name)
}

func (s *Supervisor) began(name sandbox.ServerName, err error) {
	s.mu.Lock()
	s.starting[name]--
	delete(s.failures, name)
	if err != nil {
		s.failures[name] = err.Error()
	}
	s.mu.Unlock()
	s.Changed(name)
}

// State is a server's, over all its instances, and the reason that goes with it.
func (s *Supervisor) State(name sandbox.ServerName) (sandbox.State, string) {
	running := s.Instances(name)
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case len(running) > 0:
		return running[len(running)-1].State, ""
	case s.starting[name] > 0:
		return sandbox.Starting, ""
	case s.failures[name] != "":
		return sandbox.Failed, s.failures[name]
	}
	return sandbox.Stopped, ""
}

// Instances are a server's, oldest first; of all servers when name is "".
func (s *Supervisor) Instances(name sandbox.ServerName) []Status {
	s.mu.Lock()
	defer s.mu.Unlock()
	var all []Status
	for _, i := range s.instances {
		if name == "" || i.Server == name {
			all = append(all, i.Now())
		}
	}
	slices.SortFunc(all, func(a, b Status) int { return a.Info.Started.Compare(b.Info.Started) })
	return all
}

// Log is the last stderr lines of a server's instances, oldest first; hostile text.
func (s *Supervisor) Log(name sandbox.ServerName) []string {
	s.mu.Lock()
	lines := s.logOf(name)
	s.mu.Unlock()
	return lines.lines()
}

// Stop ends every instance of a server.
func (s *Supervisor) Stop(ctx context.Context, name sandbox.ServerName) error {
	return s.stopAll(ctx, func(i *Instance) bool { return i.Server == name })
}

// Close ends every instance and waits until nothing of them is left.
func (s *Supervisor) Close(ctx context.Context) error {
	err := s.stopAll(ctx, func(*Instance) bool { return true })
	s.watching.Wait()
	return err
}

func (s *Supervisor) stopAll(ctx context.Context, which func(*Instance) bool) error {
	s.mu.Lock()
	var stop []*Instance
	for _, i := range s.instances {
		if which(i) {
			stop = append(stop, i)
		}
	}
	s.mu.Unlock()
	errs := make([]error, len(stop))
	var stopping sync.WaitGroup
	for n, i := range stop {
		stopping.Go(func() { errs[n] = i.Stop(ctx) })
	}
	stopping.Wait()
	return firstOf(errs)
}

func firstOf(errs []error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// ends is one side of an instance's pipes and lifeline.
type ends struct{ in, out, err, life *os.File }

func (e ends) stdio() sandbox.Stdio {
	return sandbox.Stdio{In: e.in, Out: e.out, Err: e.err, Lifeline: e.life}
}

func (e ends) close() {
	for _, f := range []*os.File{e.in, e.out, e.err, e.life} {
		if f != nil {
			_ = f.Close()
		}
	}
}

// openStdio makes real pipes, so that no process stands between the gateway and the server.
func openStdio() (ours, theirs ends, err error) {
	defer func() {
		if err != nil {
			ours.close()
			theirs.close()
			err = fmt.Errorf("make pipes: %w", err)
		}
	}()
	if theirs.in, ours.in, err = os.Pipe(); err != nil {
		return ours, theirs, err
	}
	if ours.out, theirs.out, err = os.Pipe(); err != nil {
		return ours, theirs, err
	}
	if ours.err, theirs.err, err = os.Pipe(); err != nil {
		return ours, theirs, err
	}
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return ours, theirs, err
	}
	ours.life, theirs.life = os.NewFile(uintptr(fds[0]), "lifeline"), os.NewFile(uintptr(fds[1]), "lifeline")
	return ours, theirs, nil
}
