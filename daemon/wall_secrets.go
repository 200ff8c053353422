package daemon

import (
	"context"
	"time"

	"github.com/garita-dev/garita/daemon/gateway"
	"github.com/garita-dev/garita/sandbox"
)

// expected is whose the sandbox id will be.
func (w *ways) expected(id sandbox.InstanceID) gateway.Options {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.whose[id]
}

// swap tells the wall which placeholders are in force now; connections on which one was sent that is
// not any more have ended when it returns.
func (w *ways) swap(ctx context.Context) {
	for _, o := range w.all() {
		o.swap(ctx)
	}
}

// swap tells the wall of one sandbox's. A wall that is gone has forgotten all, and the next one is told
// anew.
func (o *way) swap(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, swapTime)
	defer cancel()
	authority, placeholders := o.all.d.secrets.placeholders(o.launch.ID)
	if authority.Cert == "" {
		return
	}
	if err := o.current().SetSecrets(ctx, placeholders); err != nil && ctx.Err() == nil {
		o.all.d.log.Warn("the wall was not told of a change of secrets", "server", o.launch.Server, "err", err)
	}
}

// swapTime bounds how long the wall may take.
const swapTime = 10 * time.Second

// reach is what a server may reach as it is declared now.
func (d *Daemon) reach(s sandbox.Server) sandbox.Allowlist { return s.Spec.Reach(time.Now()) }

// secretsSettled brings a sandbox that has just been started to what has changed meanwhile; an error says
// that it must not be used.
func (d *Daemon) secretsSettled(ctx context.Context, id sandbox.InstanceID) error {
	if err := d.secrets.settle(ctx, id); err != nil {
		return err
	}
	if o := d.ways.of(id); o != nil {
		o.swap(ctx)
	}
	return nil
}
