package daemon

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"

	"github.com/containerd/errdefs"

	"github.com/garita-dev/garita/approvals"
	"github.com/garita-dev/garita/daemon/api"
	"github.com/garita-dev/garita/daemon/clientconfig"
	"github.com/garita-dev/garita/daemon/httpapi"
	"github.com/garita-dev/garita/sandbox"
	"github.com/garita-dev/garita/store"
)

// Import implements httpapi.Backend. A dry run changes nothing; else the servers are declared and,
// if asked for, the client's entries repointed. Only the person may do that.
func (d *Daemon) Import(ctx context.Context, peer httpapi.Peer, r api.ImportRequest) (api.ImportPlan, error) {
	plan, err := d.planOf(ctx, r)
	if err != nil {
		return api.ImportPlan{}, err
	}
	if r.DryRun {
		_, err := d.storeMoved(ctx, peer, &plan, true)
		return apiPlan(plan), err
	}
	if err := d.mayDecide(ctx, peer, "import "+plan.File); err != nil {
		return api.ImportPlan{}, err
	}
	stored, err := d.storeMoved(ctx, peer, &plan, false)
	if err != nil {
		return api.ImportPlan{}, err
	}
	out := apiPlan(plan)
	err = d.recordImport(ctx, peer, store.ConfigImported, map[string]any{"file": plan.File, "client": plan.Client, "rewire": r.Rewire, "servers": names(plan.Servers())})
	if err == nil {
		err = d.config.Put(plan.Servers()...)
	}
	if err != nil {
		d.unstore(ctx, peer, stored)
		return api.ImportPlan{}, err
	}
	out.Done = true
	if r.Rewire && r.Add == nil {
		rewired, err := d.importer.Rewire(ctx, plan, r.Garita)
		if err != nil {
			return out, err
		}
		out.Rewired, out.Backup = true, rewired.Backup
	}
	d.events.Publish("server", "", nil)
	return out, nil
}

// newSecrets refuses names that a secret, or a grant, has got since the plan was made: nothing that is there
// is replaced, and no settings file is given what it names.
func (d *Daemon) newSecrets(ctx context.Context, all []clientconfig.Secret) error {
	granted := d.secretGrants()
	for _, s := range all {
		_, err := d.db.Secret(ctx, s.Name)
		switch {
		case err == nil || len(granted[s.Name]) > 0:
			return fmt.Errorf("there is a secret %s meanwhile; import again", s.Name)
		case !errdefs.IsNotFound(err):
			return fmt.Errorf("whether there is a secret %s cannot be told: %w", s.Name, err)
		}
	}
	return nil
}

func names(servers []sandbox.Server) []sandbox.ServerName {
	out := make([]sandbox.ServerName, 0, len(servers))
	for _, s := range servers {
		out = append(out, s.Name)
	}
	return out
}

func apiPlan(p clientconfig.Plan) api.ImportPlan {
	out := api.ImportPlan{File: p.File, Client: p.Client, Servers: []api.ImportServer{}, Notices: notNil(p.Notices)}
	for _, e := range p.Entries {
		s := api.ImportServer{
			Name: string(e.Server.Name), Entry: e.Name, Command: notNil(e.Command),
			Grants: notNil(e.Grants), Warnings: notNil(slices.Concat(e.Warnings, packageWarnings(e.Command))), Skipped: e.Skipped,
		}
		if e.Ours != "" {
			s.Name, s.Skipped = string(e.Ours), "it goes through Garita already"
		}
		out.Servers = append(out.Servers, s)
	}
	return out
}

// Restore implements httpapi.Backend.
func (d *Daemon) Restore(ctx context.Context, peer httpapi.Peer, r api.RestoreRequest) ([]api.Restored, error) {
	if err := d.mayDecide(ctx, peer, "restore "+r.Client); err != nil {
		return nil, err
	}
	done, err := d.importer.Restore(ctx, r.Client)
	if err != nil {
		return nil, err
	}
	out := []api.Restored{}
	for _, x := range done {
		out = append(out, api.Restored{File: x.File, Client: x.Client, Done: x.Done, Note: x.Note})
	}
	return out, d.recordImport(ctx, peer, store.ConfigRestored, map[string]any{"restored": out})
}

func (d *Daemon) recordImport(ctx context.Context, peer httpapi.Peer, kind store.Kind, body map[string]any) error {
	if _, err := d.db.AppendDurable(ctx, event(kind, approvals.Principal{UID: peer.UID}, body)); err != nil {
		return fmt.Errorf("record it: %w: %w", err, errdefs.ErrUnavailable)
	}
	return nil
}

// clientsOf are the settings files whose entries lead to a server.
func (d *Daemon) clientsOf(name sandbox.ServerName) []string {
	all, err := d.importer.Clients()
	if err != nil {
		d.log.Warn("cannot tell which clients are rewired", "err", err)
	}
	return all[name]
}

// adHoc is a server made up for `garita run -- COMMAND`: what the command needs, and the folders
// the person named or the command itself does.
func (d *Daemon) adHoc(a api.Attach) (sandbox.Server, error) {
	name, err := sandbox.ParseServerName("run-" + hashed(a.Command...)[:6])
	if err != nil {
		return sandbox.Server{}, err
	}
	entry, err := d.importer.Command(name, a.Command, a.Dir)
	if err != nil {
		return sandbox.Server{}, err
	}
	server := entry.Server
	server.Name = name
	if len(a.Workspace) > 0 {
		if server.Spec.Folders, err = d.checkedFolders(a.Workspace); err != nil {
			return sandbox.Server{}, err
		}
	}
	if a.Mode != "" {
		server.Spec.Workspace, err = modeOf(a.Mode)
	}
	return server, err
}

func modeOf(s string) (sandbox.WorkspaceMode, error) {
	switch m := sandbox.WorkspaceMode(s); m {
	case sandbox.Snapshot, sandbox.ReadOnly, sandbox.Direct, sandbox.None:
		return m, nil
	}
	return "", fmt.Errorf("%q is not a workspace mode (snapshot, read-only, direct, none): %w", s, errdefs.ErrInvalidArgument)
}

// within says whether path lies in one of folders.
func within(path string, folders []string) (folder, rel string, ok bool) {
	for _, f := range folders {
		r, err := filepath.Rel(f, path)
		if err == nil && filepath.IsLocal(r) {
			return f, r, true
		}
	}
	return "", "", false
}
