package daemon

import (
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/containerd/errdefs"

	"github.com/garita-dev/garita/approvals"
	"github.com/garita-dev/garita/approvals/pins"
	"github.com/garita-dev/garita/daemon/api"
	"github.com/garita-dev/garita/daemon/config"
	"github.com/garita-dev/garita/daemon/httpapi"
	"github.com/garita-dev/garita/daemon/observe"
	"github.com/garita-dev/garita/sandbox"
	"github.com/garita-dev/garita/store"
)

const (
	// observeTime is how long a server is watched where nothing else is said, and observeMost the longest.
	observeTime = 30 * time.Minute
	observeMost = 24 * time.Hour
	// gatherTime bounds how long the last of what was seen is waited for.
	gatherTime = 10 * time.Second
)

// Observe implements httpapi.Backend: the server's sandboxes end, so that the next ones can be looked into.
func (d *Daemon) Observe(ctx context.Context, peer httpapi.Peer, name string, r api.ObserveRequest) (api.Observation, error) {
	s, err := d.configured(name)
	if err != nil {
		return api.Observation{}, err
	}
	if err := d.mayDecide(ctx, peer, "observe "+name); err != nil {
		return api.Observation{}, err
	}
	length := time.Duration(r.Minutes) * time.Minute
	switch {
	case s.Source.External():
		return api.Observation{}, fmt.Errorf("observe %s: it runs elsewhere, where nobody sees what it does: %w", name, errdefs.ErrFailedPrecondition)
	case length == 0:
		length = observeTime
	case length < 0 || length > observeMost:
		return api.Observation{}, fmt.Errorf("observe %s: for a day at most: %w", name, errdefs.ErrInvalidArgument)
	}
	folders, err := d.checkedFolders(r.Workspace)
	if err != nil {
		return api.Observation{}, err
	}
	if err := d.recordObserved(ctx, observeStarted, s.Name, map[string]any{"minutes": length.Minutes(), "folders": folders, "by": deciderOf(peer)}); err != nil {
		return api.Observation{}, err
	}
	if err := d.observed.begin(s.Name, folders, length); err != nil {
		return api.Observation{}, err
	}
	if err := d.supervisor.Restart(ctx, s.Name); err != nil {
		return api.Observation{}, err
	}
	return d.Observation(ctx, name, 0, 0)
}

func (d *Daemon) recordObserved(ctx context.Context, kind store.Kind, server sandbox.ServerName, body map[string]any) error {
	e := event(kind, approvals.Principal{UID: d.uid}, body)
	e.Server = server
	if _, err := d.db.AppendDurable(ctx, e); err != nil {
		return fmt.Errorf("record it: %w: %w", err, errdefs.ErrUnavailable)
	}
	return nil
}

// begin watches a server from now on. FailedPrecondition when it is watched already.
func (s *observations) begin(server sandbox.ServerName, folders []string, length time.Duration) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if o := s.of[server]; o != nil && o.ended.IsZero() {
		return fmt.Errorf("observe %s: it is observed already; to end that: garita server observe %s --stop: %w", server, server, errdefs.ErrFailedPrecondition)
	}
	ctx, stop := context.WithTimeout(s.d.running, length)
	now := time.Now().UTC()
	o := &observation{
		server: server, folders: folders, since: now, until: now.Add(length), stop: stop,
		more: make(chan struct{}), over: make(chan struct{}),
	}
	s.of[server] = o
	s.running.Go(func() {
		<-ctx.Done()
		stop()
		if err := s.finish(context.WithoutCancel(ctx), o, "its time was over"); err != nil {
			s.d.log.Error("the end of an observation", "server", server, "err", err)
		}
	})
	return nil
}

// EndObservation implements httpapi.Backend.
func (d *Daemon) EndObservation(ctx context.Context, peer httpapi.Peer, name string) (api.Observation, error) {
	s, err := d.configured(name)
	if err != nil {
		return api.Observation{}, err
	}
	if err := d.mayDecide(ctx, peer, "end the observation of "+name); err != nil {
		return api.Observation{}, err
	}
	d.observed.mu.Lock()
	o := d.observed.of[s.Name]
	d.observed.mu.Unlock()
	if o != nil {
		if err := d.observed.finish(ctx, o, deciderOf(peer)); err != nil {
			return api.Observation{}, err
		}
	}
	return d.Observation(ctx, name, 0, 0)
}

// finish ends an observation: its sandboxes end with it. It returns once all that was seen is there.
func (s *observations) finish(ctx context.Context, o *observation, why string) error {
	s.mu.Lock()
	if o.ending {
		s.mu.Unlock()
		return o.await(ctx)
	}
	o.ending = true
	s.mu.Unlock()
	stopErr := s.d.supervisor.Restart(ctx, o.server)
	o.gather()
	s.mu.Lock()
	o.ended = time.Now().UTC()
	seen := len(o.log.Things())
	o.tell()
	s.mu.Unlock()
	close(o.over)
	o.stop()
	s.d.events.Publish("observation", string(o.server), nil)
	if err := s.d.recordObserved(ctx, observeEnded, o.server, map[string]any{"why": why, "seen": seen}); err != nil {
		return err
	}
	return stopErr
}

// await returns once the observation has ended.
func (o *observation) await(ctx context.Context) error {
	select {
	case <-o.over:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// gather waits for the last of what was seen in its sandboxes.
func (o *observation) gather() {
	gathered := make(chan struct{})
	go func() { o.follows.Wait(); close(gathered) }()
	select {
	case <-gathered:
	case <-time.After(gatherTime):
	}
}

// Observations implements httpapi.Backend.
func (d *Daemon) Observations(context.Context) ([]api.ObservationSummary, error) {
	d.observed.mu.Lock()
	names := slices.Sorted(maps.Keys(d.observed.of))
	d.observed.mu.Unlock()
	out := []api.ObservationSummary{}
	for _, name := range names {
		server, err := d.configured(string(name))
		if err != nil { // it was removed meanwhile
			continue
		}
		if o := d.observed.show(server); o.State != "none" {
			out = append(out, api.ObservationSummary{
				Server: o.Server, State: o.State, Since: *o.Since, Until: *o.Until, Ended: o.Ended, Seen: len(o.Seen),
				Changes: o.Proposal != nil && o.Proposal.Binding != "",
			})
		}
	}
	return out, nil
}

// Observation implements httpapi.Backend.
func (d *Daemon) Observation(ctx context.Context, name string, after int64, wait time.Duration) (api.Observation, error) {
	s, err := d.configured(name)
	if err != nil {
		return api.Observation{}, err
	}
	if wait > 0 {
		d.observed.beyond(ctx, s.Name, after, wait)
	}
	return d.observed.show(s), nil
}

// beyond waits until more is seen than at after.
func (s *observations) beyond(ctx context.Context, server sandbox.ServerName, after int64, wait time.Duration) {
	ctx, cancel := context.WithTimeout(ctx, wait)
	defer cancel()
	for {
		s.mu.Lock()
		o := s.of[server]
		if o == nil || o.seq > after || !o.ended.IsZero() {
			s.mu.Unlock()
			return
		}
		more := o.more
		s.mu.Unlock()
		select {
		case <-more:
		case <-ctx.Done():
			return
		case <-s.d.running.Done():
			return
		}
	}
}

// show is how a server is or was observed.
func (s *observations) show(server sandbox.Server) api.Observation {
	out := api.Observation{Server: string(server.Name), State: "none", Seen: []api.Observed{}, Notes: []string{}}
	s.mu.Lock()
	o := s.of[server.Name]
	if o == nil {
		s.mu.Unlock()
		return out
	}
	things, facts := o.log.Things(), observe.Facts{Blind: o.blind, Lost: o.lost + o.log.Lost, Mounts: slices.Clone(o.mounts)}
	out.State, out.Seq = "observing", o.seq
	since, until, ended := o.since, o.until, o.ended
	s.mu.Unlock()
	out.Since, out.Until = &since, &until
	for _, t := range things {
		out.Seen = append(out.Seen, api.Observed{
			Kind: string(t.Kind), What: t.What, Write: t.Write, Count: t.Count, Denied: t.Denied, In: notNil(t.In), Alone: t.Alone, First: t.First, Last: t.Last,
		})
	}
	if facts.Blind != "" {
		out.Notes = append(out.Notes, "Commands and files are not seen. "+facts.Blind)
	}
	if !ended.IsZero() {
		out.State, out.Ended = "ended", &ended
		least, _ := s.d.least(server, things, facts)
		out.Proposal = &least
	}
	return out
}

// least is what a server would be if it were to do again just what it did, as it is shown.
func (d *Daemon) least(s sandbox.Server, things []observe.Thing, f observe.Facts) (api.LeastSpec, sandbox.Server) {
	guard := d.config.Paths().Guard()
	f.Home, f.Look = guard.Home, func(path string) observe.Place { return placeOf(guard, path) }
	f.Profile, f.Tools, f.Log = d.profileOf(s), d.listed(s.Name), d.lately(s.Name)
	p := observe.Propose(s, things, f)
	out := api.LeastSpec{Before: config.Block(s), After: config.Block(p.Server), Lines: []api.LeastLine{}, Notes: notNil(p.Notes)}
	for _, l := range p.Lines {
		out.Lines = append(out.Lines, api.LeastLine{
			Part: l.Part, Change: string(l.Verb), What: l.What, Why: l.Why, Count: l.Count, In: notNil(l.In), Mount: l.Mount,
		})
	}
	if out.Before != out.After {
		out.Diff = unified("servers.yaml", out.Before, out.After)
		out.Binding = string(pins.Digest(fmt.Appendf(nil, "observe 1 %q %q %q", s.Name, out.Before, out.After)))
	}
	return out, p.Server
}

// lately is what a server wrote to its log last.
func (d *Daemon) lately(server sandbox.ServerName) (lines []string) {
	ctx, cancel := context.WithCancel(d.running)
	cancel() // what is there already
	for _, l := range d.supervisor.LogAfter(ctx, server, 0) {
		lines = append(lines, l.String())
	}
	return lines
}

// listed are the names of a server's tools, where it has listed them.
func (d *Daemon) listed(server sandbox.ServerName) (names []string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, t := range d.tools[server] {
		names = append(names, t.Name)
	}
	return names
}

// profileOf is what we know of a server's tools; nil for nothing.
func (d *Daemon) profileOf(s sandbox.Server) map[string]string {
	known := profiles().Of(s.Source, d.config.Package(s.Name))
	if known == nil {
		return nil
	}
	out := map[string]string{}
	for name, t := range known.Tools {
		out[name] = string(t.Class)
	}
	return out
}

// farAway are places where looking for a name may ask another machine.
var farAway = []string{"/net", "/afs", "/misc", "/proc", "/sys"}

// placeOf looks for a path that a server wanted, without opening anything.
func placeOf(guard config.Guard, path string) observe.Place {
	if guard.Credential(path) {
		return observe.Place{Credential: true}
	}
	for _, dir := range farAway {
		if path == dir || strings.HasPrefix(path, dir+"/") {
			return observe.Place{}
		}
	}
	real, err := filepath.EvalSymlinks(path)
	if err != nil {
		return observe.Place{}
	}
	info, err := os.Lstat(real)
	if err != nil || !info.IsDir() && !info.Mode().IsRegular() {
		return observe.Place{}
	}
	why := guard.Refuse(path)
	if why == "" {
		why = guard.Refuse(real)
	}
	return observe.Place{Exists: true, Real: real, Refused: why, Credential: guard.Credential(real)}
}

// proposal is the observation whose proposal can be answered; FailedPrecondition while there is none.
func (s *observations) proposal(server sandbox.ServerName) (*observation, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch o := s.of[server]; {
	case o == nil:
		return nil, fmt.Errorf("%s was not observed: garita server observe %s: %w", server, server, errdefs.ErrFailedPrecondition)
	case o.ended.IsZero():
		return nil, fmt.Errorf("%s is still observed: garita server observe %s --stop: %w", server, server, errdefs.ErrFailedPrecondition)
	default:
		return o, nil
	}
}

// ChooseMounts implements httpapi.Backend.
func (d *Daemon) ChooseMounts(ctx context.Context, peer httpapi.Peer, name string, m api.MountChoice) (api.Observation, error) {
	s, err := d.configured(name)
	if err != nil {
		return api.Observation{}, err
	}
	if err := d.mayDecide(ctx, peer, "choose what "+name+" is given"); err != nil {
		return api.Observation{}, err
	}
	o, err := d.observed.proposal(s.Name)
	if err != nil {
		return api.Observation{}, err
	}
	suggested := map[string]bool{}
	for _, l := range d.observed.show(s).Proposal.Lines {
		suggested[l.Mount] = true
	}
	for _, path := range m.Mounts {
		if path == "" || !suggested[path] {
			return api.Observation{}, fmt.Errorf("%s is not among the mounts that are suggested for %s: %w", path, name, errdefs.ErrInvalidArgument)
		}
	}
	d.observed.mu.Lock()
	o.mounts = slices.Clone(m.Mounts)
	o.tell()
	d.observed.mu.Unlock()
	return d.observed.show(s), nil
}

// AcceptObservation implements httpapi.Backend: servers.yaml says from now on what was proposed. The
// agent cannot answer for the person: see mayReply.
func (d *Daemon) AcceptObservation(ctx context.Context, peer httpapi.Peer, name string, a api.LeastAnswer) (api.Observation, error) {
	s, err := d.configured(name)
	if err != nil {
		return api.Observation{}, err
	}
	by, err := d.mayReply(ctx, peer, "accept what was observed of "+name, a.TTY && a.Code != "" && a.Code == api.AnswerCode(a.Binding))
	if err != nil {
		return api.Observation{}, err
	}
	o, err := d.observed.proposal(s.Name)
	if err != nil {
		return api.Observation{}, err
	}
	shown := d.observed.show(s)
	d.observed.mu.Lock()
	things, facts := o.log.Things(), observe.Facts{Mounts: slices.Clone(o.mounts)}
	d.observed.mu.Unlock()
	least, next := d.least(s, things, facts)
	other := fmt.Errorf("accept what was observed of %s: this is not what was shown last; look at it again: %w", name, errdefs.ErrInvalidArgument)
	if a.Binding == "" || a.Binding != least.Binding {
		return api.Observation{}, other
	}
	if err := d.recordObserved(ctx, observeAccepted, s.Name, map[string]any{"before": least.Before, "after": least.After, "by": by}); err != nil {
		return api.Observation{}, err
	}
	err = d.config.Update(s.Name, func(now *sandbox.Server) error {
		if config.Block(*now) != least.Before { // it was changed meanwhile
			return other
		}
		*now = next
		return nil
	})
	if err != nil {
		return api.Observation{}, err
	}
	d.observed.forget(s.Name)
	d.noteSettings(nil) // it is in force at once
	return shown, d.supervisor.Restart(ctx, s.Name)
}

// ForgetObservation implements httpapi.Backend.
func (d *Daemon) ForgetObservation(ctx context.Context, peer httpapi.Peer, name string) error {
	s, err := d.configured(name)
	if err != nil {
		return err
	}
	if err := d.mayDecide(ctx, peer, "forget what was observed of "+name); err != nil {
		return err
	}
	if _, err := d.observed.proposal(s.Name); err != nil {
		return err
	}
	d.observed.forget(s.Name)
	return nil
}

// forget lets go of an observation that has ended.
func (s *observations) forget(server sandbox.ServerName) {
	s.mu.Lock()
	delete(s.of, server)
	s.mu.Unlock()
	s.d.events.Publish("observation", string(server), nil)
}
