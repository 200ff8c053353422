package daemon

import (
	"cmp"
	"context"
	"errors"
	"net"
	"net/url"
	"slices"
	"strconv"
	"time"

	"github.com/garita-dev/garita/approvals"
	"github.com/garita-dev/garita/daemon/gateway"
	"github.com/garita-dev/garita/sandbox"
)

// wallWatch is one call under way in a sandbox that has a way out.
type wallWatch struct {
	way   *way
	call  approvals.CallID
	sent  uint64   // bytes that had left when it began
	hosts []string // guarded by way.mu
}

// watch begins to tell what a call reaches; nil where its sandbox has no way out.
func (w *ways) watch(c approvals.Call) *wallWatch {
	o := w.of(c.Instance)
	if o == nil {
		return nil
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	one := &wallWatch{way: o, call: c.ID, sent: o.out.Sent()}
	o.calls[c.ID] = one
	return one
}

// reached notes a host. way.mu is held.
func (w *wallWatch) reached(host string) {
	if !slices.Contains(w.hosts, host) {
		w.hosts = append(w.hosts, host)
	}
}

// catchUp is how long what the wall has counted may take to be heard of.
const catchUp = 20 * time.Second

// stop ends the watching and lists what was reached: the hosts of connections that were opened
// meanwhile, and those of older ones if anything was sent.
func (w *wallWatch) stop(ctx context.Context) (hosts, strayed []string, err error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), catchUp)
	defer cancel()
	out := w.way.current()
	err = out.Caught(ctx)
	if hosts = w.end(out.Sent()); len(hosts) > 0 {
		strayed = w.way.strayed(w.way.rules(), hosts)
	}
	return hosts, strayed, err
}

// end lists what was reached, given how many bytes have left so far.
func (w *wallWatch) end(sent uint64) []string {
	w.way.mu.Lock()
	defer w.way.mu.Unlock()
	delete(w.way.calls, w.call)
	if sent != w.sent {
		for _, c := range w.way.live {
			w.reached(endpointOf(c))
		}
	}
	slices.Sort(w.hosts)
	return w.hosts
}

// strayed are those of hosts that neither a rule nor an answer allows. The wall lets nobody reach such a
// host: it was taken back while the call was under way, or the wall was wrong.
func (o *way) strayed(rules sandbox.Allowlist, hosts []string) (strayed []string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, host := range hosts {
		e, err := sandbox.ParseEndpoint(host)
		reach, _ := rules.Permits(e.Host, e.Port)
		if err != nil || reach == sandbox.Nowhere && (!o.approved[e] || rules.Denies(e.Host, e.Port) != "") {
			strayed = append(strayed, host)
		}
	}
	return strayed
}

// reaching is a call's watch with what it reaches.
type reaching struct {
	gateway.Watch
	wall    *wallWatch // nil where its sandbox has no way out
	secrets func() []string
	execs   *commandWatch // nil where its sandbox has no rules for commands
}

// Stop implements gateway.Watch.
func (r reaching) Stop(ctx context.Context) (gateway.Seen, error) {
	var hosts, strayed []string
	var wallErr error
	if r.wall != nil {
		hosts, strayed, wallErr = r.wall.stop(ctx)
	}
	execs, execErr := r.execs.stop(ctx)
	seen, err := r.Watch.Stop(ctx)
	seen.Commands = execs
	seen.Hosts, seen.Strayed, seen.Secrets = hosts, strayed, r.secrets()
	return seen, cmp.Or(err, wallErr, execErr)
}

// withWall adds what calls reach to what they change.
type withWall struct {
	*effects
	ways *ways
}

// Watch implements gateway.Effects.
func (e withWall) Watch(ctx context.Context, c approvals.Call, d approvals.Decision) (gateway.Watch, error) {
	watch, err := e.effects.Watch(ctx, c, d)
	if err != nil {
		return nil, err
	}
	secrets, err := e.ways.d.secrets.watch(c)
	if err != nil {
		_, stopErr := watch.Stop(ctx)
		return nil, errors.Join(err, stopErr)
	}
	e.ways.d.observed.begins(c)
	return reaching{watch, e.ways.watch(c), secrets, e.ways.d.commands.watch(c)}, nil
}

// portOf is the port of an address, with or without a scheme before it; 0 for none.
func portOf(address string) uint16 {
	if u, err := url.Parse(address); err == nil && u.Host != "" {
		address = u.Host
	}
	_, port, err := net.SplitHostPort(address)
	if err != nil {
		return 0
	}
	n, _ := strconv.ParseUint(port, 10, 16)
	return uint16(n)
}
