package daemon

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/garita-dev/garita/daemon/api"
	"github.com/garita-dev/garita/daemon/httpapi"
	"github.com/garita-dev/garita/daemon/protocol"
	"github.com/garita-dev/garita/daemon/supervisor"
	"github.com/garita-dev/garita/sandbox"
)

// Servers implements httpapi.Backend.
func (d *Daemon) Servers(context.Context) ([]api.Server, error) {
	out := []api.Server{}
	for _, s := range d.config.Servers() {
		out = append(out, d.apiServer(s))
	}
	return out, nil
}

// Server implements httpapi.Backend.
func (d *Daemon) Server(_ context.Context, name string) (api.Server, error) {
	s, err := d.configured(name)
	if err != nil {
		return api.Server{}, err
	}
	return d.apiServer(s), nil
}

func (d *Daemon) apiServer(s sandbox.Server) api.Server {
	state, reason := d.supervisor.State(s.Name)
	mode := s.Spec.Workspace
	if mode == "" {
		mode = sandbox.Snapshot
	}
	out := api.Server{
		Name: string(s.Name), Command: notNil(s.Source.Command), Image: s.Source.Image, URL: s.Source.URL, State: string(state), Reason: reason,
		Workspace: string(mode), Folders: notNil(s.Spec.Folders), Clients: notNil(d.clientsOf(s.Name)),
		Limits: []api.Limit{}, Notices: []string{}, Instances: []api.Instance{}, Tools: d.toolsOf(s.Name),
		Progress: d.progressOf(s.Name), Variables: variables(s.Spec, d.config.Settings().Network.CA != ""),
		Exec: apiExec(s.Spec.Exec), Observed: d.observed.state(s.Name),
	}
	if p := d.config.Package(s.Name); p != nil {
		out.Package = fmt.Sprintf("%s@%s %s", p.Name, p.Version, p.Integrity)
	}
	known := packageNotices(d.config.Package(s.Name))
	for _, i := range d.supervisor.Instances(s.Name) {
		out.Instances = append(out.Instances, apiInstance(i))
		out.Limits, out.Notices = apiLimits(i.Info.Limits), notNil(i.Info.Notices)
	}
	out.Notices = slices.Concat(known, out.Notices)
	return out
}

// variables are those that a server sees, by name; ca says that a company's certificates are trusted.
// Nothing of the daemon's own environment is among them.
func variables(spec sandbox.Spec, ca bool) []string {
	names := slices.Collect(maps.Keys(spec.Env))
	own := slices.Clone(sandbox.OwnVariables)
	placeholder := slices.ContainsFunc(spec.Secrets, func(g sandbox.SecretGrant) bool { return !g.Weaker() && g.InForce(time.Now()) })
	if !spec.Network.Empty() {
		own = append(own, sandbox.WallVariables...)
	}
	if !spec.Network.Empty() && (ca || placeholder) {
		own = append(own, sandbox.TrustVariables...)
	}
	for _, name := range own {
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	for _, g := range spec.Secrets {
		switch {
		case g.Env == "" || !g.InForce(time.Now()):
		case g.Weaker():
			names = append(names, fmt.Sprintf("%s (the secret %s)", g.Env, g.Secret))
		default:
			names = append(names, fmt.Sprintf("%s (a placeholder of the secret %s)", g.Env, g.Secret))
		}
	}
	slices.Sort(names)
	return names
}

func apiInstance(i supervisor.Status) api.Instance {
	return api.Instance{
		ID: string(i.ID), Session: i.Owner.Session, Agent: i.Owner.Agent, State: string(i.State),
		Started: i.Info.Started, Limits: apiLimits(i.Info.Limits),
	}
}

// StopServer implements httpapi.Backend.
func (d *Daemon) StopServer(ctx context.Context, peer httpapi.Peer, name string) error {
	s, err := d.configured(name)
	if err != nil {
		return err
	}
	if err := d.refuseDescendants(ctx, peer, "stop "+name); err != nil {
		return err
	}
	return d.supervisor.Stop(ctx, s.Name)
}

// RemoveServer implements httpapi.Backend.
func (d *Daemon) RemoveServer(ctx context.Context, peer httpapi.Peer, name string) error {
	s, err := d.configured(name)
	if err != nil {
		return err
	}
	if err := d.mayDecide(ctx, peer, "remove "+name); err != nil {
		return err
	}
	if err := d.supervisor.Stop(ctx, s.Name); err != nil {
		return err
	}
	d.pins.forget(s.Name)
	return d.config.Remove(s.Name)
}

// noteTools remembers what a server lists, for people.
func (d *Daemon) noteTools(name sandbox.ServerName, tools []protocol.ToolDefinition) {
	if t := d.trials.of(name); t != nil {
		t.note(tools)
		return
	}
	server, err := d.configured(string(name))
	if err != nil { // it was removed meanwhile, or is of one command only
		server = sandbox.Server{Name: name}
	}
	list := make([]api.Tool, 0, len(tools))
	for _, t := range tools {
		list = append(list, api.Tool{Name: t.Name, Class: string(d.prepared(server, t).Class)})
	}
	slices.SortFunc(list, func(a, b api.Tool) int { return strings.Compare(a.Name, b.Name) })
	d.mu.Lock()
	d.tools[name] = list
	d.mu.Unlock()
	d.policies.noteTools(name, tools)
	d.events.Publish("server", string(name), nil)
}

func (d *Daemon) toolsOf(name sandbox.ServerName) []api.Tool {
	d.mu.Lock()
	list := slices.Clone(d.tools[name])
	d.mu.Unlock()
	for _, x := range d.db.Demotions(name) {
		i := slices.IndexFunc(list, func(t api.Tool) bool { return t.Name == x.Tool })
		if i < 0 {
			list = append(list, api.Tool{Name: x.Tool})
			i = len(list) - 1
		}
		list[i].Demoted = x.Reason
	}
	return notNil(list)
}

// noteProgress tells watchers how an installation goes.
func (d *Daemon) noteProgress(name sandbox.ServerName, p sandbox.Progress) {
	progress := &api.Progress{Server: string(name), Step: p.Step, Message: p.Message, Done: p.Done, Total: p.Total}
	d.mu.Lock()
	d.progress[name] = progress
	d.mu.Unlock()
	d.events.Publish("progress", string(name), progress)
}

func (d *Daemon) progressOf(name sandbox.ServerName) *api.Progress {
	if state, _ := d.supervisor.State(name); state != sandbox.Starting {
		return nil
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.progress[name]
}

// trouble is what to say when a server has died: its last words, those of its last instance if that
// failed, and the next step. i may be nil.
func (d *Daemon) trouble(name sandbox.ServerName, i *supervisor.Instance) string {
	if t := d.supervisor.Standing(name); t != nil {
		return t.Detail() + " Next: " + t.Next()
	}
	lines := d.supervisor.Log(name)
	if i != nil {
		if now := i.Now(); now.State == sandbox.Failed {
			lines = now.Last
		}
	}
	return supervisor.LastWords(lines) + " Next: garita server logs " + string(name)
}

// problemOfTrouble tells a person why a server is not started.
func problemOfTrouble(t *supervisor.Trouble) *api.Problem {
	return &api.Problem{Code: "unavailable", Title: t.What(), Detail: t.Detail(), Next: t.Next()}
}

func apiExec(r *sandbox.ExecRules) *api.ExecRules {
	if r == nil {
		return nil
	}
	return &api.ExecRules{Allow: notNil(r.Allow), Ask: notNil(r.Ask), Deny: notNil(r.Deny)}
}
