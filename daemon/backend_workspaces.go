package daemon

import (
	"context"
	"fmt"

	"github.com/containerd/errdefs"

	"github.com/garita-dev/garita/approvals"
	"github.com/garita-dev/garita/daemon/api"
	"github.com/garita-dev/garita/daemon/httpapi"
	"github.com/garita-dev/garita/sandbox"
	"github.com/garita-dev/garita/store"
)

// Workspaces implements httpapi.Backend.
func (d *Daemon) Workspaces(ctx context.Context) ([]api.Workspace, error) {
	all, err := d.db.Workspaces(ctx, "")
	if err != nil {
		return nil, err
	}
	out := make([]api.Workspace, 0, len(all))
	for _, w := range all {
		changes, err := d.engine.WorkspaceChanges(ctx, w.ID)
		if err != nil {
			return nil, err
		}
		out = append(out, d.apiWorkspace(w, changes))
	}
	return out, nil
}

func (d *Daemon) apiWorkspace(w store.Workspace, changes []sandbox.Change) api.Workspace {
	out := api.Workspace{ID: string(w.ID), Server: string(w.Server), Agent: d.agentName(w.Principal), Folders: notNil(w.Folders)}
	for _, c := range changes {
		switch c.Kind {
		case sandbox.Added:
			out.Added++
		case sandbox.Modified:
			out.Changed++
		case sandbox.Deleted:
			out.Deleted++
		}
		if c.Held != "" {
			out.Held++
		}
	}
	return out
}

// workspace is a server's only workspace, or the one of that agent.
func (d *Daemon) workspace(ctx context.Context, server, agent string) (store.Workspace, error) {
	s, err := d.configured(server)
	if err != nil {
		return store.Workspace{}, err
	}
	all, err := d.db.Workspaces(ctx, s.Name)
	if err != nil {
		return store.Workspace{}, err
	}
	var found []store.Workspace
	for _, w := range all {
		if agent == "" || d.agentName(w.Principal) == agent {
			found = append(found, w)
		}
	}
	w, err := d.theOne(ctx, s, agent, found)
	if err != nil {
		return w, err
	}
	return w, d.effects.Settle(ctx, approvals.Call{Workspace: w.ID, Server: w.Server, Principal: w.Principal})
}

// theOne chooses among workspaces: one alone, or else the only one in which something has changed.
func (d *Daemon) theOne(ctx context.Context, s sandbox.Server, agent string, found []store.Workspace) (store.Workspace, error) {
	if len(found) > 1 {
		found = d.changed(ctx, found)
	}
	switch len(found) {
	case 1:
		return found[0], nil
	case 0:
		return store.Workspace{}, &api.Problem{
			Code: "not_found", Title: fmt.Sprintf("%s has no workspace %s", s.Name, agent),
			Detail: "An agent gets one when it first uses the server.", Next: "garita workspace list",
		}
	}
	return store.Workspace{}, &api.Problem{
		Code: "invalid", Title: fmt.Sprintf("%s has %d workspaces with changes", s.Name, len(found)),
		Detail: "Each agent has its own.", Next: "garita workspace list, then choose with --agent",
	}
}

func (d *Daemon) changed(ctx context.Context, all []store.Workspace) []store.Workspace {
	var out []store.Workspace
	for _, w := range all {
		if c, err := d.engine.WorkspaceChanges(ctx, w.ID); err != nil || len(c) > 0 {
			out = append(out, w)
		}
	}
	if len(out) == 0 {
		return all[:1]
	}
	return out
}

// WorkspaceDiff implements httpapi.Backend.
func (d *Daemon) WorkspaceDiff(ctx context.Context, server, agent string) (api.WorkspaceDiff, error) {
	w, err := d.workspace(ctx, server, agent)
	if err != nil {
		return api.WorkspaceDiff{}, err
	}
	seen, err := d.engine.MarkWorkspace(ctx, w.ID) // before the diff: what comes after was not seen
	if err != nil {
		return api.WorkspaceDiff{}, err
	}
	diffs, err := d.engine.WorkspaceDiff(ctx, w.ID)
	if err != nil {
		return api.WorkspaceDiff{}, err
	}
	changes := make([]sandbox.Change, 0, len(diffs))
	for _, f := range diffs {
		changes = append(changes, f.Change)
	}
	return api.WorkspaceDiff{Workspace: d.apiWorkspace(w, changes), Files: apiFileDiffs(diffs), Seen: string(seen)}, nil
}

// ApplyWorkspace implements httpapi.Backend: it changes the person's files, so who may not answer
// may not do this either.
func (d *Daemon) ApplyWorkspace(ctx context.Context, peer httpapi.Peer, server string, r api.ApplyRequest) (api.ApplyResult, error) {
	return d.settle(ctx, peer, server, r, store.WorkspaceApplied, func(ctx context.Context, id sandbox.WorkspaceID, paths []string) (done, left []sandbox.Change, err error) {
		return d.engine.ApplyWorkspace(ctx, id, paths, sandbox.Mark(r.Seen))
	})
}

// DiscardWorkspace implements httpapi.Backend.
func (d *Daemon) DiscardWorkspace(ctx context.Context, peer httpapi.Peer, server string, r api.ApplyRequest) (api.ApplyResult, error) {
	return d.settle(ctx, peer, server, r, store.WorkspaceDiscarded, d.engine.DiscardWorkspace)
}

type settling func(ctx context.Context, id sandbox.WorkspaceID, paths []string) (done, left []sandbox.Change, err error)

// settle applies or discards: recorded before, with what it is about, and after, with what it did.
func (d *Daemon) settle(ctx context.Context, peer httpapi.Peer, server string, r api.ApplyRequest, kind store.Kind, act settling) (api.ApplyResult, error) {
	if err := d.mayDecide(ctx, peer, string(kind)); err != nil {
		return api.ApplyResult{}, err
	}
	w, err := d.workspace(ctx, server, r.Agent)
	if err != nil {
		return api.ApplyResult{}, err
	}
	if kind == store.WorkspaceApplied && d.effects.busy(w.ID) {
		return api.ApplyResult{}, &api.Problem{
			Code: "conflict", Title: "A call is under way in this workspace",
			Detail: "What it does cannot be judged before it ends.", Next: "wait for it, or garita server stop " + string(w.Server),
		}
	}
	who := approvals.Principal{UID: peer.UID}
	intent := event(kind, who, map[string]any{
		"workspace": w.ID, "agent": d.agentName(w.Principal), "paths": notNil(r.Paths), "phase": "begin", "binding": applied(who, w, r).Binding(),
	})
	intent.Server = w.Server
	if _, err := d.db.AppendDurable(ctx, intent); err != nil {
		return api.ApplyResult{}, fmt.Errorf("nothing is changed without a record: %w: %w", err, errdefs.ErrUnavailable)
	}
	done, left, err := act(ctx, w.ID, r.Paths)
	result := event(kind, who, map[string]any{"workspace": w.ID, "agent": d.agentName(w.Principal), "done": done, "left": left, "error": text(err), "phase": "end"})
	result.Server = w.Server
	if _, recErr := d.db.AppendDurable(context.WithoutCancel(ctx), result); err == nil {
		err = recErr
	}
	d.events.Publish("workspace", string(w.ID), nil)
	return api.ApplyResult{Done: apiChanges(done), Left: apiChanges(left)}, err
}

// applied is the question that a person answers by applying, or discarding, what they were shown.
func applied(who approvals.Principal, w store.Workspace, r api.ApplyRequest) approvals.Question {
	return approvals.Question{
		About:   approvals.Call{Principal: who, Server: w.Server, Workspace: w.ID},
		Subject: approvals.Subject{Apply: &approvals.Application{Workspace: w.ID, Seen: sandbox.Mark(r.Seen), Paths: r.Paths}},
	}
}

// mayDecide says whether a peer may do what only the person may.
func (d *Daemon) mayDecide(ctx context.Context, peer httpapi.Peer, what string) error {
	if err := d.refuseDescendants(ctx, peer, what); err != nil {
		return err
	}
	if peer.Page || d.config.Settings().Approvals.Script || terminal(peer.PID) {
		return nil
	}
	return d.refusePeer(ctx, peer, what, &api.Problem{
		Code: "denied", Title: "A script may not do this", Next: "garita ui, or run it at a terminal",
		Detail: "What only the person may do is done from the page, the window or a terminal. approvals.script is off in config.yaml.",
	})
}

// workspaceFor is the workspace of this agent, server and folders, remembered across runs.
func (d *Daemon) workspaceFor(ctx context.Context, v visit) (sandbox.WorkspaceID, error) {
	w := store.Workspace{ID: workspaceID(v), Server: v.server.Name, Principal: v.principal, Folders: v.server.Spec.Folders}
	kept, err := d.db.KeepWorkspace(ctx, w)
	if err != nil {
		return "", fmt.Errorf("remember the workspace: %w", err)
	}
	return kept.ID, nil
}

func text(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}
