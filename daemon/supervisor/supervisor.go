// Package supervisor starts and ends the sandboxes of servers: it installs what a server runs
// from, lowers the declared walls to a launch, keeps the pipes, and knows each instance's state.
package supervisor

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/containerd/errdefs"

	"github.com/garita-dev/garita/daemon/serverlog"
	"github.com/garita-dev/garita/sandbox"
)

// Options is what a Supervisor works with. All but Secrets, Looping, Unhealthy, Redact and Logs are required.
type Options struct {
	Runtime   sandbox.Runtime
	Installer sandbox.Installer
	Lock      Lock
	Host      Host
	Consent   Consent
	Secrets   Secrets // nil where no server has any
	// Changed is told that a server's state has changed; Progress, that its installation goes on.
	// Neither may call back.
	Changed  func(sandbox.ServerName)
	Progress func(sandbox.ServerName, sandbox.Progress)
	// Ended is told how an instance ended.
	Ended func(Status, sandbox.Exit)
	// Looping is told, once per loop, that a server is crash-looping and is not started again for a
	// while. It may be nil, and may not call back.
	Looping func(*Trouble)
	// Unhealthy is told, once for an instance, that it writes the same over and over. It may be nil,
	// and may not call back.
	Unhealthy func(Status)
	// Redact takes the secrets out of a server's line before it is kept anywhere; cut says that the line went
	// on, so that a secret may begin at its end. Nil leaves it as it is.
	Redact func(server sandbox.ServerName, line string, cut bool) string
	// Logs begins an instance's log on disk; nil keeps none.
	Logs   func(sandbox.ServerName, sandbox.InstanceID) LogSink
	Logger *slog.Logger
}

// Secrets gives servers what they may use. Its methods may overlap.
type Secrets interface {
	// Missing says why a server cannot be started for want of a secret, and what to do; nil when none is
	// wanting. Nothing is installed for one that cannot be started.
	Missing(ctx context.Context, srv sandbox.Server) error
	// Equip adds to a launch what its server may use. frame is a handoff frame with what the engine is not
	// to see, nil for none; it is sent by the lifeline and cleared.
	Equip(ctx context.Context, srv sandbox.Server, l *sandbox.Launch) (frame []byte, err error)
}

// LogSink keeps one instance's lines on disk.
type LogSink interface {
	Add(v serverlog.Verdict, skipped int64, now time.Time) error
	Close() error
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
	slots    *slots
	watching sync.WaitGroup

	mu        sync.Mutex // guards the fields below
	instances map[sandbox.InstanceID]*Instance
	servers   map[sandbox.ServerName]*server
}

// server is what is known of one server over all its instances. Supervisor.mu guards it.
type server struct {
	health
	log      *ring
	starting int           // starts under way
	trial    chan struct{} // closed when the start that tries whether it works again is over; nil when none is
}

// New returns a Supervisor that runs nothing yet.
func New(o Options) *Supervisor {
	return &Supervisor{
		Options: o, slots: newSlots(), instances: map[sandbox.InstanceID]*Instance{}, servers: map[sandbox.ServerName]*server{},
	}
}

// NewInstanceID returns a name no instance has had.
func NewInstanceID() sandbox.InstanceID {
	var b [8]byte
	_, _ = rand.Read(b[:])
	return sandbox.InstanceID("i" + hex.EncodeToString(b[:]))
}

// Start installs what the server runs from if need be, and starts an instance, in state starting: the
// caller makes the handshake within StartLimit and then calls Ready, or Fail. The caller stops it.
// When Start returns an error, nothing runs. Installation has all the time ctx gives it.
//
// An agent that has as many sandboxes as it may waits for one to end; after a failure the next start
// waits for the backoff, and what comes meanwhile for its outcome. Kinds: a *Trouble when the server
// is crash-looping, ResourceExhausted when too many wait, InvalidArgument for an external server.
func (s *Supervisor) Start(ctx context.Context, srv sandbox.Server, id sandbox.InstanceID, o Owner) (*Instance, error) {
	if srv.Source.External() {
		return nil, fmt.Errorf("start %s: it runs elsewhere: %w", srv.Name, errdefs.ErrInvalidArgument)
	}
	if t := s.standing(srv.Name); t != nil {
		return nil, t
	}
	if s.Secrets != nil {
		if err := s.Secrets.Missing(ctx, srv); err != nil {
			return nil, err
		}
	}
	release, err := s.slots.take(ctx, share{o.Group, srv.Name}, instancesOf(srv.Spec.Limits))
	if err != nil {
		return nil, fmt.Errorf("start %s: %w", srv.Name, err)
	}
	i, err := s.startNow(ctx, srv, id, o, release)
	if err != nil {
		release()
		return nil, err
	}
	return i, nil
}

func instancesOf(l sandbox.Limits) int {
	if l.Instances == 0 {
		return sandbox.DefaultInstances
	}
	return l.Instances
}

// startNow starts an instance once it is the server's turn. release is called when it has ended.
func (s *Supervisor) startNow(ctx context.Context, srv sandbox.Server, id sandbox.InstanceID, o Owner, release func()) (*Instance, error) {
	turn, decided, err := s.admit(ctx, srv.Name)
	if err != nil {
		return nil, fmt.Errorf("start %s: %w", srv.Name, err)
	}
	s.Changed(srv.Name)
	launch, err := s.prepare(ctx, srv, id, o)
	var frame []byte
	if err == nil && s.Secrets != nil {
		if frame, err = s.Secrets.Equip(ctx, srv, &launch); err != nil { // no fault of the server's: it waits for nothing
			decided()
			return nil, fmt.Errorf("start %s: %w", srv.Name, err)
		}
	}
	var i *Instance
	if err == nil {
		i, err = s.launch(ctx, launch, frame, o)
	}
	if err != nil {
		s.stumbled(ctx, srv.Name, err)
		decided()
		return nil, fmt.Errorf("start %s: %w", srv.Name, err)
	}
	i.turn, i.limit, i.decided = turn, startLimit(srv.Spec.Lifecycle), decided
	i.listens = srv.Source.Listen.Port != 0
	s.watch(i, release)
	s.bound(i, srv.Spec.Lifecycle.Hard)
	return i, nil
}

func startLimit(l sandbox.Lifecycle) time.Duration {
	if l.Start == 0 {
		return sandbox.DefaultStart
	}
	return l.Start
}

// prepare installs and lowers.
func (s *Supervisor) prepare(ctx context.Context, srv sandbox.Server, id sandbox.InstanceID, o Owner) (sandbox.Launch, error) {
	in, err := s.install(ctx, srv)
	if err != nil {
		return sandbox.Launch{}, err
	}
	return lower(ctx, srv, id, o, in, s.Host)
}

// Prepare installs what a server runs from, ahead of its first start, and closes its breaker.
func (s *Supervisor) Prepare(ctx context.Context, srv sandbox.Server) error {
	s.Reset(srv.Name)
	if srv.Source.External() {
		return nil
	}
	_, err := s.prepare(ctx, srv, "", Owner{})
	if err != nil {
		return fmt.Errorf("install %s: %w", srv.Name, err)
	}
	return nil
}

func (s *Supervisor) launch(ctx context.Context, l sandbox.Launch, frame []byte, o Owner) (*Instance, error) {
	defer clear(frame)
	ours, theirs, err := openStdio()
	if err != nil {
		return nil, err
	}
	sent := ours.send(frame)
	running, err := s.Runtime.Start(ctx, l, theirs.stdio())
	theirs.close() // if nobody reads the frame, its sending ends here
	if sendErr := <-sent; err == nil && sendErr != nil {
		err = errors.Join(sendErr, running.Stop(context.WithoutCancel(ctx), 0))
	}
	if err != nil {
		ours.close()
		return nil, err
	}
	return &Instance{
		id: l.ID, server: l.Server, owner: o, info: running.Info(), running: running, pipes: ours,
		log: newRing(instanceLines), ended: make(chan struct{}), stopped: make(chan struct{}), keeper: s, machine: machine{state: sandbox.Starting},
	}, nil
}

// Instances are a server's, oldest first; of all servers when name is "".
func (s *Supervisor) Instances(name sandbox.ServerName) []Status {
	var all []Status
	for _, i := range s.which(func(i *Instance) bool { return name == "" || i.server == name }) {
		all = append(all, i.Now())
	}
	slices.SortFunc(all, func(a, b Status) int { return a.Info.Started.Compare(b.Info.Started) })
	return all
}

// Log is the last stderr lines of a server's instances, oldest first; hostile text.
func (s *Supervisor) Log(name sandbox.ServerName) []string { return s.logOf(name).last(serverLines) }

// LogAfter is the kept lines of a server's instances behind seq, oldest first. Where there is none it
// waits for one until ctx ends. A Seq that is more than one ahead of seq says that lines were lost.
func (s *Supervisor) LogAfter(ctx context.Context, name sandbox.ServerName, seq int64) []Line {
	return s.logOf(name).await(ctx, seq)
}

func (s *Supervisor) logOf(name sandbox.ServerName) *ring {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.of(name).log
}

// Stop ends every instance of a server.
func (s *Supervisor) Stop(ctx context.Context, name sandbox.ServerName) error {
	return stopAll(ctx, s.which(func(i *Instance) bool { return i.server == name }))
}

// Kill ends one instance with no time to end by itself; one that is not there is ended already.
func (s *Supervisor) Kill(ctx context.Context, id sandbox.InstanceID) error {
	for _, i := range s.which(func(i *Instance) bool { return i.id == id }) {
		return i.Kill(ctx)
	}
	return nil
}

// StopOne ends one instance; one that is not there is ended already.
func (s *Supervisor) StopOne(ctx context.Context, id sandbox.InstanceID) error {
	return stopAll(ctx, s.which(func(i *Instance) bool { return i.id == id }))
}

// Restart ends every instance of a server and closes its breaker: the next call starts it anew.
func (s *Supervisor) Restart(ctx context.Context, name sandbox.ServerName) error {
	err := s.Stop(ctx, name)
	s.Reset(name)
	return err
}

// Close ends every instance and waits until nothing of them is left.
func (s *Supervisor) Close(ctx context.Context) error {
	err := stopAll(ctx, s.which(func(*Instance) bool { return true }))
	s.watching.Wait()
	return err
}

func (s *Supervisor) which(wanted func(*Instance) bool) []*Instance {
	s.mu.Lock()
	defer s.mu.Unlock()
	var all []*Instance
	for _, i := range s.instances {
		if wanted(i) {
			all = append(all, i)
		}
	}
	return all
}

func stopAll(ctx context.Context, instances []*Instance) error {
	errs := make([]error, len(instances))
	var stopping sync.WaitGroup
	for n, i := range instances {
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
