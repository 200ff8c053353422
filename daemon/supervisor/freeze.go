package supervisor

import (
	"context"
	"errors"
	"fmt"
	"net"

	"github.com/containerd/errdefs"

	"github.com/garita-dev/garita/sandbox"
)

// Freeze stops its processes' clocks without ending them, until something is sent to it, or Thaw.
// Kinds: FailedPrecondition while it is sent something, and in any state but ready; Unavailable where no
// freezer is in force.
func (i *Instance) Freeze(ctx context.Context) error {
	if !i.ice.TryLock() {
		return fmt.Errorf("freeze %s: it is being sent something: %w", i.server, errdefs.ErrFailedPrecondition)
	}
	defer i.ice.Unlock()
	if s := i.state(); s != sandbox.Ready {
		return fmt.Errorf("freeze %s: it is %s: %w", i.server, s, errdefs.ErrFailedPrecondition)
	}
	if err := i.running.Freeze(ctx); err != nil {
		return fmt.Errorf("freeze %s: %w", i.server, err)
	}
	i.to(sandbox.Frozen, "")
	return nil
}

// Thaw undoes Freeze. Kinds: FailedPrecondition where it is not frozen.
func (i *Instance) Thaw(ctx context.Context) error {
	i.ice.Lock()
	defer i.ice.Unlock()
	if s := i.state(); s != sandbox.Frozen {
		return fmt.Errorf("thaw %s: it is %s: %w", i.server, s, errdefs.ErrFailedPrecondition)
	}
	if err := i.running.Thaw(ctx); err != nil {
		return fmt.Errorf("thaw %s: %w", i.server, err)
	}
	i.to(sandbox.Ready, "")
	return nil
}

func (i *Instance) state() sandbox.State {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.machine.state
}

// awake returns with i.ice read-held and the instance not frozen: it stays so until that is given up.
func (i *Instance) awake() error {
	for {
		i.ice.RLock()
		if i.state() != sandbox.Frozen {
			return nil
		}
		i.ice.RUnlock()
		if err := i.Thaw(context.Background()); err != nil && !errdefs.IsFailedPrecondition(err) {
			return err
		}
	}
}

// thawing is a connection to a port inside, which thaws the sandbox for what is sent.
type thawing struct {
	net.Conn
	i *Instance
}

func (t thawing) Write(p []byte) (int, error) {
	if err := t.i.awake(); err != nil {
		return 0, err
	}
	defer t.i.ice.RUnlock()
	return t.Conn.Write(p)
}

// Freeze stops the clocks of a server's instances that are ready. The next thing that a client sends to one
// lets it go on. Kinds: NotFound where none is ready; Unavailable where no freezer is in force.
func (s *Supervisor) Freeze(ctx context.Context, name sandbox.ServerName) error {
	return s.each(name, sandbox.Ready, func(i *Instance) error { return i.Freeze(ctx) })
}

// Thaw lets a server's frozen instances go on. Kinds: NotFound where none is frozen.
func (s *Supervisor) Thaw(ctx context.Context, name sandbox.ServerName) error {
	return s.each(name, sandbox.Frozen, func(i *Instance) error { return i.Thaw(ctx) })
}

func (s *Supervisor) each(name sandbox.ServerName, in sandbox.State, do func(*Instance) error) error {
	all := s.which(func(i *Instance) bool { return i.server == name && i.state() == in })
	if len(all) == 0 {
		return fmt.Errorf("%s: no sandbox of it is %s: %w", name, in, errdefs.ErrNotFound)
	}
	var errs []error
	for _, i := range all {
		if err := do(i); err != nil && !errdefs.IsFailedPrecondition(err) { // it is something else by now
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}
