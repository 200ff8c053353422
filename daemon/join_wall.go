package daemon

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/containerd/errdefs"

	"github.com/garita-dev/garita/approvals"
	"github.com/garita-dev/garita/approvals/grants"
	"github.com/garita-dev/garita/daemon/gateway"
	"github.com/garita-dev/garita/sandbox"
	"github.com/garita-dev/garita/sandbox/engine/client"
	"github.com/garita-dev/garita/store"
)

// The kinds of event of the wall.
const (
	networkOpened store.Kind = "network.opened" // a connection was let through
	networkEnded  store.Kind = "network.ended"  // with the bytes that passed on it
	networkDenied store.Kind = "network.denied" // something was refused
)

// wallWait is how long a connection to a host that is not listed waits for a person.
const wallWait = 30 * time.Second

// ways are the ways out of the sandboxes that run: what each may reach, what it does reach and for
// which calls, and what it was refused.
type ways struct {
	d      *Daemon
	host   client.NetworkHost // zero but in tests
	home   string             // the person's
	asking sync.WaitGroup
	wake   chan struct{} // a permission may end earlier than was thought

	mu    sync.Mutex // guards the fields below
	whose map[sandbox.InstanceID]gateway.Options
	open  map[sandbox.InstanceID]*way
	tried map[sandbox.ServerName][]tried
}

// way is one sandbox's.
type way struct {
	all     *ways
	launch  sandbox.Launch
	session gateway.Options // whose sandbox it is: ID, Principal, Spec
	trusts  string          // the company's certificates that it was started with
	over    chan struct{}   // closed when it has ended
	events  chan store.Event
	told    chan struct{}  // closed when nothing more is told
	written sync.WaitGroup // for the last of events

	wiring sync.Mutex // held while a life of the wall is joined to the sandbox; before telling

	// telling is held from when it is looked up what the wall shall know until the wall knows it, so that
	// it knows the newest. It guards wall.
	telling sync.Mutex
	wall    *client.Wall // that it goes by

	mu      sync.Mutex // guards the fields below
	out     *client.WayOut
	names   []client.GivenName
	live    map[uint64]sandbox.Connection
	calls   map[approvals.CallID]*wallWatch
	asked   map[asking]bool
	refused map[asking]time.Time
	// approved are hosts that a person has allowed at the wall, until one is denied.
	approved map[sandbox.Endpoint]bool
	trusted  map[string]bool // "host:port fingerprint" of hosts whose keys are known without being pinned

	agentTurn    chan struct{} // holds one while a person is asked about the agent
	agentRepeats repeated      // refusals of the agent
}

func newWays(d *Daemon) *ways {
	return &ways{
		d: d, wake: make(chan struct{}, 1), whose: map[sandbox.InstanceID]gateway.Options{}, open: map[sandbox.InstanceID]*way{}, tried: map[sandbox.ServerName][]tried{},
	}
}

// expect says whose the sandbox id will be; forget says that it is none any more.
func (w *ways) expect(id sandbox.InstanceID, o gateway.Options) (forget func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.whose[id] = o
	return func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		delete(w.whose, id)
	}
}

// begin makes the wall ready for a sandbox that is about to start, with the certificates that a person has
// named in what it trusts.
func (w *ways) begin(ctx context.Context, wall *client.Wall, l sandbox.Launch) (*way, error) {
	ca := w.d.outside().CA
	if l.Trust != "" && ca != "" {
		l.Trust += "\n"
	}
	l.Trust += ca
	w.mu.Lock()
	one := &way{
		all: w, trusts: ca, launch: l, session: w.whose[l.ID], over: make(chan struct{}), events: make(chan store.Event, eventsWaiting), told: make(chan struct{}), live: map[uint64]sandbox.Connection{}, calls: map[approvals.CallID]*wallWatch{},
		asked: map[asking]bool{}, refused: map[asking]time.Time{}, approved: map[sandbox.Endpoint]bool{}, agentTurn: make(chan struct{}, 1),
	}
	w.mu.Unlock()
	one.launch.KnownHosts = one.knownInside()
	one.written.Go(one.write)
	if err := one.open(ctx, wall); err != nil {
		return nil, fmt.Errorf("open a way out for %s: %w", l.Server, err)
	}
	return one, nil
}

// open opens the way for the first time. What is listed before the wall dies is given to the next one.
func (o *way) open(ctx context.Context, wall *client.Wall) error {
	o.wiring.Lock()
	defer o.wiring.Unlock()
	if err := o.connect(ctx, wall); err != nil {
		close(o.told)
		return err
	}
	o.all.mu.Lock()
	o.all.open[o.launch.ID] = o
	o.all.mu.Unlock()
	select {
	case <-wall.Done():
		o.close()
		return fmt.Errorf("the wall has crashed: %w", errdefs.ErrUnavailable)
	default:
		return nil
	}
}

// start starts the sandbox behind the way; another wall waits until it runs.
func (o *way) start(start func(network *os.File) (sandbox.Instance, error)) (sandbox.Instance, error) {
	o.wiring.Lock()
	defer o.wiring.Unlock()
	return start(o.current().File)
}

// connect opens the way by one life of the wall. o.wiring is held.
func (o *way) connect(ctx context.Context, wall *client.Wall) error {
	o.telling.Lock() // what changes from here on is told to this one
	defer o.telling.Unlock()
	o.mu.Lock()
	names := slices.Clone(o.names)
	o.mu.Unlock()
	authority, placeholders := o.all.d.secrets.placeholders(o.launch.ID)
	out, err := wall.OpenWayOut(ctx, client.Sandbox{
		ID: o.launch.ID, Rules: o.rules(), Names: names, WaitMS: wallWait.Milliseconds(), Closed: o.all.d.ownPorts(), Host: o.all.host, Outside: o.all.d.outside(),
		Authority: authority, Placeholders: placeholders,
	}, o.see)
	if err != nil {
		return err
	}
	o.wall = wall
	if old := o.take(out); old != nil {
		return old.Close()
	}
	return nil
}

// take puts out in the place of another, which is returned to be closed; it is out itself when the
// sandbox has ended meanwhile.
func (o *way) take(out *client.WayOut) (old *client.WayOut) {
	o.mu.Lock()
	defer o.mu.Unlock()
	select {
	case <-o.over:
		return out
	default:
	}
	old, o.out = o.out, out
	return old
}

// lost records the end of the connections that a dead wall had.
func (o *way) lost() {
	o.mu.Lock()
	had := slices.SortedFunc(maps.Values(o.live), func(a, b sandbox.Connection) int { return cmp.Compare(a.ID, b.ID) })
	o.mu.Unlock()
	for _, c := range had {
		c.Why = "the wall crashed; what passed is not known"
		o.ended(c)
	}
}

// close ends the way, once its sandbox has ended.
func (o *way) close() {
	o.all.mu.Lock()
	delete(o.all.open, o.launch.ID)
	o.all.mu.Unlock()
	o.mu.Lock()
	close(o.over)
	out := o.out
	o.mu.Unlock()
	_ = out.Close()
	close(o.told)
	o.written.Wait()
	o.all.d.events.Publish("network", string(o.launch.Server), nil)
}

func (o *way) current() *client.WayOut {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.out
}

// reconnect gives every running sandbox to a new life of the wall.
func (w *ways) reconnect(ctx context.Context, running *client.Engine, wall *client.Wall) {
	for _, o := range w.all() {
		if err := o.rejoin(ctx, running, wall); err != nil && ctx.Err() == nil && !o.closed() {
			w.d.log.Error("a sandbox has lost its network", "server", o.launch.Server, "err", err)
		}
	}
}

func (o *way) rejoin(ctx context.Context, running *client.Engine, wall *client.Wall) error {
	o.wiring.Lock()
	defer o.wiring.Unlock()
	if o.closed() || o.by() == wall {
		return nil
	}
	_ = o.current().Close() // its last words come first: the next wall counts connections anew
	o.lost()
	if err := o.connect(ctx, wall); err != nil {
		return err
	}
	return running.Reconnect(ctx, o.launch.ID, o.current().File)
}

func (o *way) closed() bool {
	select {
	case <-o.over:
		return true
	default:
		return false
	}
}

func (w *ways) all() []*way {
	w.mu.Lock()
	defer w.mu.Unlock()
	var list []*way
	for _, o := range w.open {
		list = append(list, o)
	}
	return list
}

func (w *ways) of(id sandbox.InstanceID) *way {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.open[id]
}

// by is the life of the wall that the sandbox goes by.
func (o *way) by() *client.Wall {
	o.telling.Lock()
	defer o.telling.Unlock()
	return o.wall
}

// refresh puts the rules in force as they are now; connections that they do not permit end. The error
// says which sandboxes were cut off, as the wall could not be told.
func (w *ways) refresh(ctx context.Context) error {
	var errs []error
	select {
	case w.wake <- struct{}{}:
	default:
	}
	w.outdate()
	for _, o := range w.all() {
		errs = append(errs, o.refresh(ctx))
		w.d.events.Publish("network", string(o.launch.Server), nil)
	}
	return errors.Join(errs...)
}

// run puts an end to permissions when their time is over, until ctx ends.
func (w *ways) run(ctx context.Context) error {
	timer := time.NewTimer(time.Hour)
	defer timer.Stop()
	for {
		wait := time.Hour
		if next := w.nextEnd(time.Now()); !next.IsZero() {
			wait = min(wait, max(time.Millisecond, time.Until(next)))
		}
		timer.Reset(wait)
		select {
		case <-timer.C:
			_ = w.refresh(ctx) // what is wrong is in the log
		case <-w.wake:
		case <-ctx.Done():
			return nil
		}
	}
}

// nextEnd is when the first of the permissions about hosts ends by itself; zero for never.
func (w *ways) nextEnd(now time.Time) (next time.Time) {
	for _, g := range w.d.gate.Grants() {
		if !ended(g, now) && cmp.Or(grants.Host(g), grants.UploadHost(g), grants.CredentialsHost(g)) != "" {
			next = earlier(next, g.Until)
		}
	}
	return next
}

// outdate has those sandboxes started anew before their next call that lack something which only a start
// can give: a network, or a company's certificates as they are now.
func (w *ways) outdate() {
	ca := w.d.outside().CA
	for _, o := range w.all() {
		if o.trusts != ca {
			w.d.secrets.outdate(o.launch.ID, "the certificates that it trusts have changed")
		}
	}
	for id, server := range w.d.secrets.started() {
		if now, ok := w.d.config.Server(server.Name); ok && server.Spec.Network.Empty() && !now.Spec.Network.Empty() {
			w.d.secrets.outdate(id, "it was started without a network, and has one now")
		}
	}
}

// started are the sandboxes that run, with their servers as they were when each was started.
func (s *secrets) started() map[sandbox.InstanceID]sandbox.Server {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := map[sandbox.InstanceID]sandbox.Server{}
	for id, h := range s.held {
		all[id] = h.server
	}
	return all
}

func (o *way) refresh(ctx context.Context) error {
	return o.tell(ctx, func(ctx context.Context, out *client.WayOut) error {
		return out.SetRules(ctx, o.rules(), o.all.d.outside())
	})
}

const (
	tellTime = 10 * time.Second // bounds how long the wall may take to take in a change
	goneTime = time.Second      // bounds how long its end may take to be noticed
)

// tell tells the wall of something that has changed, also where whoever changed it has gone. Nothing may
// pass by what was: where the wall cannot be told, the sandbox is cut off, until it is started anew. A
// wall that is gone has forgotten all, and the next one is told when it comes.
func (o *way) tell(ctx context.Context, send func(context.Context, *client.WayOut) error) error {
	o.telling.Lock()
	defer o.telling.Unlock()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), tellTime)
	defer cancel()
	out := o.current()
	err := send(ctx, out)
	if err == nil || o.closed() {
		return nil
	}
	_ = out.Close()
	select {
	case <-o.wall.Done():
		return nil
	case <-o.over:
		return nil
	case <-time.After(goneTime):
	}
	o.all.d.secrets.outdate(o.launch.ID, "its network was cut off")
	o.all.d.log.Error("a sandbox is cut off: the wall was not told of a change", "server", o.launch.Server, "err", err)
	return fmt.Errorf("the wall could not be told, so %s's sandbox is cut off from the network until it is started anew: garita server restart %s: %w", o.launch.Server, o.launch.Server, err)
}

// rules are what is declared now, and what the person has permitted beyond it.
func (o *way) rules() sandbox.Allowlist {
	l := o.launch.Network
	if s, ok := o.all.d.config.Server(o.launch.Server); ok {
		l = o.all.d.reach(s)
		l.Localhost, l.HostPorts = o.launch.Network.Localhost, slices.Clone(l.HostPorts)
	}
	l, since := o.all.d.observed.narrowed(o.launch.Server, l)
	l.Endpoints = slices.Clone(l.Endpoints)
	now := time.Now()
	for _, g := range o.all.d.gate.Grants() {
		if g.Created.Before(since) {
			continue
		}
		for list, about := range map[*[]sandbox.Endpoint]string{
			&l.Endpoints: grants.Host(g), &l.AnySize: grants.UploadHost(g), &l.AnyText: grants.CredentialsHost(g),
		} {
			if e, ok := o.granted(g, about, now); ok && !slices.Contains(*list, e) {
				*list = append(*list, e)
			}
		}
	}
	return l
}

// granted is the host that g is about, where it is a permission of this sandbox's.
func (o *way) granted(g approvals.Grant, host string, now time.Time) (sandbox.Endpoint, bool) {
	return grantedHost(g, host, approvals.Call{Server: o.launch.Server, Principal: o.session.Principal, Spec: o.session.Spec, Session: o.session.ID}, now)
}

// grantedHost is the host that g is about, where it is a permission of whoever makes c.
func grantedHost(g approvals.Grant, host string, c approvals.Call, now time.Time) (sandbox.Endpoint, bool) {
	switch {
	case host == "", ended(g, now), g.Server != c.Server, g.Principal != c.Principal, g.Spec != c.Spec:
		return sandbox.Endpoint{}, false
	case g.Scope == approvals.ScopeSession && g.Session != c.Session:
		return sandbox.Endpoint{}, false
	}
	e, err := sandbox.ParseEndpoint(host)
	return e, err == nil
}

// see is told what happens at the way out, one event after the other.
func (o *way) see(e client.NetworkEvent) {
	switch {
	case e.Name != nil:
		o.mu.Lock()
		o.names = append(o.names, *e.Name)
		o.mu.Unlock()
	case e.Opened != nil:
		o.opened(*e.Opened)
	case e.Ended != nil:
		o.ended(*e.Ended)
	case e.Denied != nil:
		o.denied(*e.Denied)
	case e.Asked != nil && e.Asked.What == client.AskedHostKey:
		o.askKey(*e.Asked)
	case e.Asked != nil:
		o.ask(*e.Asked)
	case e.Wanted != nil:
		o.all.d.secrets.wanted(o, *e.Wanted)
	case e.Secret != nil:
		o.all.d.secrets.seen(o, *e.Secret)
	case e.Failed != "":
		o.all.d.log.Error("a sandbox's network has failed", "server", o.launch.Server, "err", e.Failed)
	}
}

func (o *way) opened(c sandbox.Connection) {
	o.mu.Lock()
	o.live[c.ID] = c
	calls := o.inFlight()
	for _, w := range o.calls {
		w.reached(endpointOf(c))
	}
	o.mu.Unlock()
	o.all.d.observed.reached(o.launch.Server, endpointOf(c), false)
	o.record(networkOpened, map[string]any{"connection": c.ID, "host": c.Host, "port": c.Port, "address": c.Address.String(), "rule": c.Rule, "calls": calls})
}

func (o *way) ended(c sandbox.Connection) {
	o.mu.Lock()
	delete(o.live, c.ID)
	calls := o.inFlight()
	o.mu.Unlock()
	o.record(networkEnded, map[string]any{"connection": c.ID, "host": c.Host, "port": c.Port, "sent": c.Sent, "received": c.Received, "why": c.Why, "host_key": c.HostKey, "calls": calls})
}

func (o *way) denied(n sandbox.Denial) {
	o.mu.Lock()
	calls := o.inFlight()
	o.mu.Unlock()
	o.all.collect(o.launch.Server, n)
	o.record(networkDenied, map[string]any{
		"denied": n.Kind, "host": n.Host, "port": n.Port, "address": n.Address, "why": n.Why, "key": n.Key, "propose": n.Propose, "count": n.Count, "calls": calls,
	})
}

// inFlight are the calls under way, in order. o.mu is held.
func (o *way) inFlight() []approvals.CallID {
	ids := make([]approvals.CallID, 0, len(o.calls))
	for id := range o.calls {
		ids = append(ids, id)
	}
	slices.Sort(ids)
	return ids
}

func (o *way) record(kind store.Kind, body map[string]any) {
	body["sandbox"] = o.launch.ID
	e := event(kind, o.session.Principal, body)
	e.Session, e.Server = o.session.ID, o.launch.Server
	if ids, ok := body["calls"].([]approvals.CallID); ok && len(ids) == 1 {
		e.Call = ids[0]
	}
	select {
	case o.events <- e:
	case <-o.told:
	}
}

// eventsWaiting is how many events may wait to be written down. With more the wall waits, and so do
// connections.
const eventsWaiting = 1024

// write writes events down, in order, beside the calls that wait to hear of them.
func (o *way) write() {
	for {
		select {
		case e := <-o.events:
			o.append(e)
		case <-o.told:
			for len(o.events) > 0 {
				o.append(<-o.events)
			}
			return
		}
	}
}

func (o *way) append(e store.Event) {
	if _, err := o.all.d.db.Append(context.Background(), e); err != nil {
		o.all.d.log.Error("cannot record what a sandbox reached", "server", o.launch.Server, "err", err)
	}
	o.all.d.events.Publish("network", string(o.launch.Server), nil)
}

func endpointOf(c sandbox.Connection) string {
	return sandbox.Endpoint{Host: c.Host, Port: c.Port}.String()
}

// outside is how the wall reaches the public internet, as it is said at the moment.
func (d *Daemon) outside() client.Outside {
	o := d.config.Settings().Network.Effective(os.LookupEnv)
	return client.Outside{Proxy: client.ProxyURL(o.Proxy), NoProxy: o.NoProxy, CA: o.CA}
}

// through is how packages are fetched: as npm's, uv's or pip's own settings say, but where config.yaml says
// otherwise; with the certificates of both.
func (d *Daemon) through(own client.Outside) client.Outside {
	said, now := d.config.Settings().Network, d.outside()
	if said.Proxy != "" || own.Proxy.IsZero() {
		own.Proxy = now.Proxy
	}
	if said.NoProxy != "" || own.NoProxy == "" {
		own.NoProxy = now.NoProxy
	}
	if own.CA != "" && now.CA != "" {
		own.CA += "\n"
	}
	own.CA += now.CA
	return own
}

// ownPorts are Garita's own on loopback, which no sandbox reaches.
func (d *Daemon) ownPorts() []uint16 {
	var ports []uint16
	for _, at := range []string{d.page, d.doorAt} {
		if p := portOf(at); p != 0 {
			ports = append(ports, p)
		}
	}
	return ports
}
