package daemon

import (
	"context"
	"errors"
	"time"

	"github.com/containerd/errdefs"

	"github.com/garita-dev/garita/daemon/gateway"
	"github.com/garita-dev/garita/sandbox"
	"github.com/garita-dev/garita/sandbox/engine/client"
)

// expected is whose the sandbox id will be.
func (w *ways) expected(id sandbox.InstanceID) gateway.Options {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.whose[id]
}

// swap tells the wall which placeholders are in force now; connections on which one was sent that is
// not any more have ended when it returns. The error says which sandboxes were cut off, as the wall could
// not be told.
func (w *ways) swap(ctx context.Context) error {
	var errs []error
	for _, o := range w.all() {
		errs = append(errs, o.swap(ctx))
	}
	return errors.Join(errs...)
}

// swap tells the wall of one sandbox's.
func (o *way) swap(ctx context.Context) error {
	return o.tell(ctx, func(ctx context.Context, out *client.WayOut) error {
		authority, placeholders := o.all.d.secrets.placeholders(o.launch.ID)
		if authority.Cert == "" {
			return nil
		}
		err := out.SetSecrets(ctx, placeholders)
		if errdefs.IsInvalidArgument(err) { // all others are in force, and these are not
			o.all.d.log.Warn("a secret cannot be sent", "server", o.launch.Server, "err", err)
			return nil
		}
		return err
	})
}

// reach is what a server may reach as it is declared now.
func (d *Daemon) reach(s sandbox.Server) sandbox.Allowlist { return s.Spec.Reach(time.Now()) }

// secretsSettled brings a sandbox that has just been started to what has changed meanwhile; an error says
// that it must not be used.
func (d *Daemon) secretsSettled(ctx context.Context, id sandbox.InstanceID) error {
	if err := d.secrets.settle(ctx, id); err != nil {
		return err
	}
	if o := d.ways.of(id); o != nil {
		return errors.Join(o.refresh(ctx), o.swap(ctx))
	}
	return nil
}
