package daemon

import (
	"context"
	"fmt"

	"github.com/containerd/errdefs"

	"github.com/garita-dev/garita/daemon/api"
	"github.com/garita-dev/garita/daemon/httpapi"
	"github.com/garita-dev/garita/sandbox"
)

// FreezeServer implements httpapi.Backend.
func (d *Daemon) FreezeServer(ctx context.Context, peer httpapi.Peer, name string) error {
	return d.clock(ctx, peer, "freeze", name, d.supervisor.Freeze)
}

// ThawServer implements httpapi.Backend.
func (d *Daemon) ThawServer(ctx context.Context, peer httpapi.Peer, name string) error {
	return d.clock(ctx, peer, "thaw", name, d.supervisor.Thaw)
}

func (d *Daemon) clock(ctx context.Context, peer httpapi.Peer, verb, name string, do func(context.Context, sandbox.ServerName) error) error {
	s, err := d.configured(name)
	if err != nil {
		return err
	}
	if err := d.refuseDescendants(ctx, peer, verb+" "+name); err != nil {
		return err
	}
	err = do(ctx, s.Name)
	switch {
	case errdefs.IsNotFound(err):
		return &api.Problem{Code: "unavailable", Title: fmt.Sprintf("There is nothing to %s", verb), Detail: err.Error(), Next: "garita server show " + name}
	case errdefs.IsUnavailable(err):
		return &api.Problem{Code: "unavailable", Title: "Sandboxes cannot be frozen on this machine", Detail: err.Error(), Next: "garita doctor"}
	}
	return err
}
