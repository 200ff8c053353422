package daemon

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/containerd/errdefs"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/garita-dev/garita/approvals"
	"github.com/garita-dev/garita/approvals/pins"
	"github.com/garita-dev/garita/daemon/api"
	"github.com/garita-dev/garita/daemon/config"
	"github.com/garita-dev/garita/daemon/httpapi"
	"github.com/garita-dev/garita/daemon/protocol"
	"github.com/garita-dev/garita/sandbox"
	"github.com/garita-dev/garita/store"
)

// serverUpdated is what the record says when a server runs from another version by a person's wish.
const serverUpdated store.Kind = "server.updated"

// trialTime bounds the start and the listing of a new version aside.
const trialTime = 2 * time.Minute

// update is a newer version as it was shown, and what is to be accepted with it.
type update struct {
	shown  api.Update
	pkg    sandbox.Package
	image  config.Image // instead of pkg, where it runs from an image
	listed bool         // tools are what the new version lists
	tools  map[itemKey]approvals.Pin
}

// trials are the servers that are started aside, and the updates that were shown.
type trials struct {
	mu      sync.Mutex // guards the fields below
	running map[sandbox.ServerName]*trial
	shown   map[sandbox.ServerName]update
}

// trial is a new version, started aside under a name of its own.
type trial struct {
	pkg   sandbox.Package
	image sandbox.Digest // "" where it is a package

	mu    sync.Mutex // guards tools
	tools []protocol.ToolDefinition
}

func (t *trial) note(tools []protocol.ToolDefinition) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.tools = slices.Clone(tools)
}

func (t *trials) of(name sandbox.ServerName) *trial {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.running[name]
}

func (t *trials) begin(name sandbox.ServerName, u update) (one *trial, end func()) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.running == nil {
		t.running = map[sandbox.ServerName]*trial{}
	}
	one = &trial{pkg: u.pkg, image: u.image.Digest}
	t.running[name] = one
	return one, func() {
		t.mu.Lock()
		defer t.mu.Unlock()
		delete(t.running, name)
	}
}

// Update implements httpapi.Backend. What is installed for it stays, as packages do; the server goes
// on running from what the lock has.
func (d *Daemon) Update(ctx context.Context, peer httpapi.Peer, name string) (api.Update, error) {
	s, err := d.configured(name)
	if err != nil {
		return api.Update{}, err
	}
	if err := d.refuseDescendants(ctx, peer, "update "+name); err != nil {
		return api.Update{}, err
	}
	if s.Source.Image != "" {
		return d.updateImage(ctx, s)
	}
	ref, old, err := d.updatable(s)
	if err != nil {
		return api.Update{}, err
	}
	next, err := d.engine.renewed(ctx, ref, func(p sandbox.Progress) { d.noteProgress(s.Name, p) })
	if err != nil {
		return api.Update{}, err
	}
	next = next.With(func(x sandbox.InstallScript) bool { // the same script of the same bytes was approved
		return slices.Contains(s.Spec.InstallScripts, x.Name) && slices.ContainsFunc(old.Ran(), x.Same)
	})
	u := update{pkg: next, shown: api.Update{
		Server: name, From: old.Name + "@" + old.Version, To: next.Name + "@" + next.Version,
		Packages: []api.PackageChange{}, Scripts: []string{}, Tools: []api.ToolUpdate{}, Notes: []string{},
	}}
	if next.Version == old.Version && next.Tree == old.Tree {
		return u.shown, nil
	}
	if err := d.compare(ctx, s, old, &u); err != nil {
		return api.Update{}, err
	}
	return d.trials.show(s.Name, u), nil
}

// show remembers what is shown, which is all that can be accepted.
func (t *trials) show(name sandbox.ServerName, u update) api.Update {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.shown == nil {
		t.shown = map[sandbox.ServerName]update{}
	}
	t.shown[name] = u
	return u.shown
}

// runsFrom is what a server runs from by the lock, as an Update names it.
func (d *Daemon) runsFrom(s sandbox.Server) (string, error) {
	if s.Source.Image != "" {
		i, err := d.updatableImage(s)
		return i.Reference + "@" + string(i.Digest), err
	}
	_, p, err := d.updatable(s)
	return p.Name + "@" + p.Version, err
}

// updatable is what a server asks for and what the lock has.
func (d *Daemon) updatable(s sandbox.Server) (sandbox.PackageRef, sandbox.Package, error) {
	ref, _, ok, err := sandbox.ParseCommand(s.Source.Command)
	switch {
	case err != nil:
		return ref, sandbox.Package{}, err
	case !ok:
		return ref, sandbox.Package{}, fmt.Errorf("update %s: it does not run from a package: %w", s.Name, errdefs.ErrFailedPrecondition)
	case ref.Exact():
		return ref, sandbox.Package{}, fmt.Errorf("update %s: servers.yaml names exactly %s; name another version, a range or none there: %w", s.Name, ref, errdefs.ErrFailedPrecondition)
	}
	p, ok := packageLock{d}.Locked(s.Name, ref)
	if !ok {
		return ref, p, fmt.Errorf("update %s: nothing is installed for it yet; garita server start %s: %w", s.Name, s.Name, errdefs.ErrFailedPrecondition)
	}
	return ref, p, nil
}

// compare fills u with what would change.
func (d *Daemon) compare(ctx context.Context, s sandbox.Server, old sandbox.Package, u *update) error {
	after, err := d.engine.contents(ctx, u.pkg.With(func(sandbox.InstallScript) bool { return false }))
	if err != nil {
		return err
	}
	before, err := d.engine.contents(ctx, old)
	if err != nil {
		u.shown.Notes = append(u.shown.Notes, "What is installed now cannot be listed, so everything of the new version is shown as new: "+err.Error())
	}
	u.shown.Packages = packageChanges(before, after)
	for _, x := range u.pkg.Idle() {
		u.shown.Scripts = append(u.shown.Scripts, x.Spec()+" does not run: "+pins.Visible(x.Text))
	}
	for _, x := range u.pkg.Ran() {
		u.shown.Scripts = append(u.shown.Scripts, x.Spec()+" runs, as approved before")
	}
	if !u.pkg.FromIndex() && len(u.pkg.Shown) == 0 {
		u.shown.Notes = append(u.shown.Notes, fmt.Sprintf("The repository's commit changes from %s to %s; what differs in its files is not shown here.", old.Version, u.pkg.Version))
	}
	was, is := profiles().Of(s.Source, &old), profiles().Of(s.Source, &u.pkg)
	if was != is {
		u.shown.Notes = append(u.shown.Notes, "What Garita knows of the server is another profile for the new version.")
	}
	d.tryAside(ctx, s, u)
	return nil
}

// tryAside fills u with the tools that the new version lists, and binds it to an answer.
func (d *Daemon) tryAside(ctx context.Context, s sandbox.Server, u *update) {
	definitions, err := d.listAside(ctx, s, *u)
	if err != nil {
		u.shown.Notes = append(u.shown.Notes, "The new version's tools could not be listed; changes are held back when it first lists them: "+err.Error())
	} else {
		d.compareTools(s, definitions, u)
	}
	u.shown.Binding = string(bindingOfUpdate(u.shown, u.pkg))
}

func bindingOfUpdate(u api.Update, p sandbox.Package) sandbox.Digest {
	return pins.Digest(fmt.Appendf(nil, "update 1 %q %q %q %q %q", u.Server, u.From, u.To, p.Tree, fmt.Sprintf("%q", u)))
}

// packageChanges compares two trees, each "name@version" sorted.
func packageChanges(before, after []string) []api.PackageChange {
	was, is := versionsByName(before), versionsByName(after)
	names := slices.Collect(maps.Keys(was))
	names = slices.AppendSeq(names, maps.Keys(is))
	slices.Sort(names)
	out := []api.PackageChange{}
	for _, name := range slices.Compact(names) {
		if was[name] != is[name] {
			out = append(out, api.PackageChange{Name: name, Before: was[name], After: is[name]})
		}
	}
	return out
}

func versionsByName(list []string) map[string]string {
	out := map[string]string{}
	for _, one := range list {
		at := strings.LastIndex(one, "@")
		name, version := one[:max(at, 0)], one[at+1:]
		if out[name] != "" {
			version = out[name] + ", " + version
		}
		out[name] = version
	}
	return out
}

// listAside starts the new version in a sandbox of its own, which sees the server's folders
// read-only and no network, and has its tools listed.
func (d *Daemon) listAside(ctx context.Context, s sandbox.Server, u update) ([]protocol.ToolDefinition, error) {
	ctx, cancel := context.WithTimeout(ctx, trialTime)
	defer cancel()
	aside := s
	aside.Name = sandbox.ServerName("update-" + random())
	aside.Spec.Workspace, aside.Spec.Network, aside.Spec.Tools = sandbox.ReadOnly, sandbox.Allowlist{}, sandbox.ToolFilter{}
	aside.Spec.Mounts = slices.Clone(s.Spec.Mounts)
	for i := range aside.Spec.Mounts {
		aside.Spec.Mounts[i].Writable = false
	}
	one, end := d.trials.begin(aside.Name, u)
	defer end()
	defer d.pins.forget(aside.Name)
	client, caller := newCallClient(ctx)
	over := make(chan error, 1)
	d.sessions.Go(func() {
		err := d.serve(ctx, visit{principal: approvals.Principal{UID: d.uid}, server: aside, door: "update", once: true, trial: true}, client)
		_ = client.Close()
		over <- err
	})
	err := caller.list()
	cancel()
	if cause := <-over; err != nil && cause != nil {
		err = cause
	}
	if err != nil {
		return nil, err
	}
	one.mu.Lock()
	defer one.mu.Unlock()
	return one.tools, nil
}

// list shakes hands, has all tools listed and says goodbye.
func (c *caller) list() error {
	defer c.say.Close()
	refused, err := c.greet("garita update")
	if err != nil {
		return err
	}
	if refused != nil {
		return fmt.Errorf("it refuses the handshake: %s: %w", bounded(string(refused)), errdefs.ErrFailedPrecondition)
	}
	params := jsontext.Value(`{}`)
	for page := 2; page < 100; page++ {
		answer, err := c.ask(protocol.ID(fmt.Sprint(page)), protocol.MethodToolsList, params)
		if err != nil {
			return err
		}
		if answer.Error != nil {
			return fmt.Errorf("it answers tools/list with an error: %w", errdefs.ErrFailedPrecondition)
		}
		members, err := protocol.Members(answer.Result)
		if err != nil || protocol.Text(members["nextCursor"]) == "" {
			return err
		}
		params = fmt.Appendf(nil, `{"cursor":%s}`, members["nextCursor"])
	}
	return fmt.Errorf("it lists tools without end: %w", errdefs.ErrFailedPrecondition)
}

// compareTools fills u with how the new version's tools differ from those accepted.
func (d *Daemon) compareTools(s sandbox.Server, definitions []protocol.ToolDefinition, u *update) {
	classes, profile := map[string]string{}, profiles().Of(s.Source, &u.pkg)
	for _, t := range d.toolsOf(s.Name) {
		classes[t.Name] = t.Class
	}
	d.pins.mu.Lock()
	defer d.pins.mu.Unlock()
	b := d.pins.book(s.Name)
	u.listed, u.tools = true, map[itemKey]approvals.Pin{}
	for _, t := range definitions {
		it := approvals.Item{Kind: approvals.ItemTool, Name: t.Name, Definition: t.Raw}
		r := b.reading(it)
		if r.err != nil {
			u.shown.Notes = append(u.shown.Notes, fmt.Sprintf("The definition of %s cannot be read; it does not exist for clients.", pins.Visible(t.Name)))
			continue
		}
		key := itemKey{it.Kind, it.Name}
		u.tools[key] = r.pin
		if was := b.accepted[key]; was.Digest != r.pin.Digest {
			u.shown.Tools = append(u.shown.Tools, toolUpdate(key, was, r, [2]string{classes[t.Name], string(profile.Prepare(definition(t)).Class)}))
		}
	}
	for key, was := range b.accepted {
		if _, still := u.tools[key]; key.kind == approvals.ItemTool && !still {
			u.shown.Tools = append(u.shown.Tools, api.ToolUpdate{Name: pins.Visible(key.name), Change: "gone", Diff: gone(was), Findings: []string{}})
		}
	}
	slices.SortFunc(u.shown.Tools, func(a, b api.ToolUpdate) int { return cmp.Compare(a.Name, b.Name) })
}

func gone(was approvals.Pin) string {
	var b strings.Builder
	prefixed(&b, "-", readable(was.Definition))
	return b.String()
}

func toolUpdate(key itemKey, was approvals.Pin, now reading, classes [2]string) api.ToolUpdate {
	out := api.ToolUpdate{Name: pins.Visible(key.name), Change: "new", Was: classes[0], Is: classes[1], Findings: []string{}}
	h := heldItem{key: key, shown: shown{now: now.pin}, was: was}
	if was.Digest != "" {
		out.Change = "changed"
		h.verdict.Drift = pins.Compare(key.kind, was.Definition, now.pin.Definition)
	}
	out.Diff = asDiff(h)
	for _, f := range now.found {
		out.Findings = append(out.Findings, fmt.Sprintf("%s: %s: %s", pins.Visible(f.Field), f.Why, f.Excerpt))
	}
	return out
}

// AcceptUpdate implements httpapi.Backend: the lock's package and pins change together. The agent
// cannot answer for the person: see mayReply.
func (d *Daemon) AcceptUpdate(ctx context.Context, peer httpapi.Peer, name string, a api.UpdateAnswer) (api.Update, error) {
	s, err := d.configured(name)
	if err != nil {
		return api.Update{}, err
	}
	by, err := d.mayReply(ctx, peer, "accept an update of "+name, a.TTY && a.Code != "" && a.Code == api.AnswerCode(a.Binding))
	if err != nil {
		return api.Update{}, err
	}
	d.trials.mu.Lock()
	u, ok := d.trials.shown[s.Name]
	d.trials.mu.Unlock()
	if !ok || a.Binding == "" || a.Binding != u.shown.Binding {
		return api.Update{}, fmt.Errorf("update %s: this is not what was shown last; look at it again: %w", name, errdefs.ErrInvalidArgument)
	}
	if from, err := d.runsFrom(s); err != nil || from != u.shown.From {
		return api.Update{}, fmt.Errorf("update %s: what it runs from has changed since it was shown; look at it again: %w", name, errdefs.ErrInvalidArgument)
	}
	e := event(serverUpdated, approvals.Principal{UID: d.uid}, map[string]any{"from": u.shown.From, "to": u.shown.To, "by": by})
	if u.image.Digest == "" {
		e = event(serverUpdated, approvals.Principal{UID: d.uid}, map[string]any{"from": u.shown.From, "to": u.shown.To, "package": u.pkg, "by": by})
	}
	e.Server = s.Name
	if _, err := d.db.AppendDurable(ctx, e); err != nil {
		return api.Update{}, fmt.Errorf("record it: %w: %w", err, errdefs.ErrUnavailable)
	}
	if err := d.pins.update(s.Name, u, by); err != nil {
		return api.Update{}, err
	}
	d.trials.mu.Lock()
	delete(d.trials.shown, s.Name)
	d.trials.mu.Unlock()
	d.pins.reload()
	return u.shown, d.supervisor.Restart(ctx, s.Name)
}

// update writes the new package and what is accepted of it into the lock, together.
func (p *pinned) update(server sandbox.ServerName, u update, by string) error {
	p.writing.Lock()
	defer p.writing.Unlock()
	p.mu.Lock()
	b := p.book(server)
	if !b.known {
		p.mu.Unlock()
		return fmt.Errorf("update %s: garita.lock cannot be read: %w", server, errdefs.ErrFailedPrecondition)
	}
	next := &book{all: p, server: server, accepted: maps.Clone(b.accepted), refused: b.refused, closed: maps.Clone(b.closed)}
	if u.listed {
		next.closed[approvals.ItemTool] = true
		maps.DeleteFunc(next.accepted, func(k itemKey, _ approvals.Pin) bool {
			_, still := u.tools[k]
			return k.kind == approvals.ItemTool && !still
		})
		for key, pin := range u.tools {
			if next.accepted[key].Digest != pin.Digest {
				pin.Accepted, pin.By = time.Now().UTC().Truncate(time.Second), by
				next.accepted[key] = pin
			}
		}
	}
	saved := next.saved()
	p.mu.Unlock()
	if u.image.Digest != "" {
		return p.d.config.SetUpdatedImage(server, u.image, saved)
	}
	return p.d.config.SetUpdated(server, u.pkg, saved)
}
