package daemon

import (
	"context"
	"fmt"

	"github.com/containerd/errdefs"

	"github.com/garita-dev/garita/daemon/api"
	"github.com/garita-dev/garita/daemon/clientconfig"
	"github.com/garita-dev/garita/sandbox"
)

// planOf is what a request would declare: a client's servers, or the one it names itself.
func (d *Daemon) planOf(ctx context.Context, r api.ImportRequest) (clientconfig.Plan, error) {
	if r.Add == nil {
		stored, err := d.db.Secrets(ctx)
		if err != nil {
			return clientconfig.Plan{}, err
		}
		there := clientconfig.Known{Servers: d.config.Servers()}
		for _, ref := range stored {
			there.Secrets = append(there.Secrets, ref.Name)
		}
		return d.importer.Plan(ctx, r.From, there)
	}
	name, err := sandbox.ParseServerName(r.Add.Name)
	if err != nil {
		return clientconfig.Plan{}, err
	}
	if _, there := d.config.Server(name); there {
		return clientconfig.Plan{}, &api.Problem{
			Code: "conflict", Title: fmt.Sprintf("There is a server named %q already", name), Next: "garita server show " + string(name),
		}
	}
	if problem := d.config.Problem(); problem != nil {
		return clientconfig.Plan{}, fmt.Errorf("the settings are not in force as they stand: %w: %w", problem, errdefs.ErrFailedPrecondition)
	}
	entry, err := d.importer.Command(name, r.Add.Command, r.Add.Dir)
	if err != nil {
		return clientconfig.Plan{}, err
	}
	entry.Server.Name = name
	return clientconfig.Plan{File: "command line", Entries: []clientconfig.Entry{entry}}, nil
}
