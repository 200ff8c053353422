// Package outlet is one sandbox's way out. Whatever the sandbox wants to reach is decided here, once
// for each connection: by the name it was asked for by, the port, and what the name's real address
// is at that moment; and then once more by what is said on it, which has to be for the same name.
//
// A name is looked up in the world only after a connection to it has been permitted. The address that
// is found is checked and dialed as it is; nothing looks it up again in between.
package outlet

import (
	"context"
	"log/slog"
	"net"
	"net/netip"
	"slices"
	"sync"
	"time"

	"github.com/garita-dev/garita/sandbox"
	"github.com/garita-dev/garita/sandbox/egress/allow"
	"github.com/garita-dev/garita/sandbox/egress/authority"
	"github.com/garita-dev/garita/sandbox/egress/fakedns"
	"github.com/garita-dev/garita/sandbox/egress/swap"
	"github.com/garita-dev/garita/sandbox/egress/wire"
)

// Incoming is a connection that the sandbox wants: it is refused or accepted, once.
type Incoming interface {
	Target() netip.AddrPort
	Refuse()
	Accept() (net.Conn, error)
}

// Resolver finds real addresses.
type Resolver interface {
	LookUp(ctx context.Context, name string) ([]netip.Addr, error)
}

// Options is what an Outlet works with. All are required but those that say so.
type Options struct {
	Sandbox  wire.Sandbox
	Resolver Resolver
	// Report is told what happens, before it has an effect inside. It may block, but not call back.
	Report func(wire.Event)
	// Sent is told of bytes that leave the sandbox; it may be nil.
	Sent func(n int)
	// Secrets are what may be sent for the sandbox; nil is none.
	Secrets *Secrets
	// Own lists this machine's addresses; nil asks the kernel.
	Own func() []netip.Addr
	// Dial connects to an address that has been checked; nil dials.
	Dial func(ctx context.Context, to netip.AddrPort) (net.Conn, error)
	Log  *slog.Logger
}

// Outlet is one sandbox's way out. Its methods may be called at the same time; the caller closes it.
type Outlet struct {
	Options
	names    *fakedns.Names
	answerer *fakedns.Answerer
	denials  denials
	seen     seen
	wait     time.Duration
	ctx      context.Context
	cancel   context.CancelFunc
	running  sync.WaitGroup
	uploads  uploads

	mu      sync.Mutex // guards the fields below
	closed  bool
	outside wire.Outside
	rules   sandbox.Allowlist
	waiting map[subject]*question
	live    map[uint64]*live
	last    uint64                // connection
	passes  map[subject]time.Time // answers that came when nothing waited any more, and until when they count
	secrets *swap.Set
	given   given
	wanted  map[uint64]chan bool // uses of secrets that wait, and how they are answered
	uses    uint64
}

// defaultWait is how long a connection waits where nothing else is said. Node's fetch gives up on a
// connection after ten seconds, most others later.
const defaultWait = 30 * time.Second

// New returns an open Outlet.
func New(o Options) *Outlet {
	out := &Outlet{
		Options: o, rules: o.Sandbox.Rules, outside: o.Sandbox.Outside, wait: time.Duration(o.Sandbox.WaitMS) * time.Millisecond,
		waiting: map[subject]*question{}, live: map[uint64]*live{}, passes: map[subject]time.Time{},
		secrets: &swap.Set{}, wanted: map[uint64]chan bool{},
	}
	if out.Secrets == nil {
		out.Secrets = &Secrets{issuer: &authority.Issuer{}}
	} else {
		out.secrets = out.Secrets.first
		out.given.add(out.secrets.All())
	}
	if out.Options.Sent == nil {
		out.Options.Sent = func(int) {}
	}
	if out.wait <= 0 {
		out.wait = defaultWait
	}
	if out.Own == nil {
		out.Own = ownAddresses
	}
	if out.Options.Dial == nil {
		out.Options.Dial = dialAddress
	}
	out.ctx, out.cancel = context.WithCancel(context.Background())
	out.names = fakedns.NewNames(o.Sandbox.Names, func(n wire.Name) { out.Report(wire.Event{Name: &n}) })
	out.answerer = &fakedns.Answerer{Names: out.names, Resolves: out.resolves, Refused: out.refusedName}
	out.seen.report = func(s wire.SecretSeen) { out.Report(wire.Event{Secret: &s}) }
	out.denials.report = func(d sandbox.Denial) { out.Report(wire.Event{Denied: &d}) }
	return out
}

func ownAddresses() []netip.Addr {
	var all []netip.Addr
	addrs, err := net.InterfaceAddrs()
	if err != nil {
		return nil
	}
	for _, a := range addrs {
		if p, err := netip.ParsePrefix(a.String()); err == nil {
			all = append(all, p.Addr())
		}
	}
	return all
}

// Close ends every connection and returns once nothing is under way.
func (o *Outlet) Close() {
	o.mu.Lock()
	o.closed = true
	for _, l := range o.live {
		l.end("the wall was closed")
	}
	o.mu.Unlock()
	o.cancel()
	o.running.Wait()
}

// begin counts in what is under way; false when the Outlet is closed.
func (o *Outlet) begin() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.closed {
		return false
	}
	o.running.Add(1)
	return true
}

// Datagram answers one question for a name.
func (o *Outlet) Datagram(question []byte) []byte { return o.answerer.Answer(question) }

// HostAddress stands for this machine inside.
func (o *Outlet) HostAddress() netip.Addr {
	ip, _ := o.names.Address(sandbox.HostName)
	return ip
}

// resolves says whether a name may have an address inside. Where a person may be asked, each has one:
// it is looked up in the world only when the answer is yes.
func (o *Outlet) resolves(name string) bool {
	rules := o.current()
	return rules.Names(name) || rules.Ask && allow.Decide(rules, name, sandbox.DefaultPort).Ask
}

func (o *Outlet) refusedName(name string) {
	v := allow.Decide(o.current(), name, sandbox.DefaultPort)
	if v.Reach != sandbox.Nowhere { // there are too many names
		v = allow.Verdict{Kind: sandbox.DeniedName, Why: "This server has asked for too many different names."}
	}
	o.denials.add(sandbox.Denial{Kind: v.Kind, Host: name, Why: v.Why, Propose: v.Propose})
}

func (o *Outlet) current() sandbox.Allowlist {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.rules
}

// Refused is told of what is no TCP.
func (o *Outlet) Refused(protocol string, to netip.AddrPort) {
	d := sandbox.Denial{Kind: sandbox.DeniedProtocol, Host: to.Addr().String(), Port: to.Port()}
	if name, ok := o.names.Name(to.Addr()); ok {
		d.Host = name
	}
	switch {
	case protocol == "udp" && to.Port() == 53:
		d.Why = "Names are asked for at " + wire.WallAddress.String() + " only; other name servers are not reached."
	case protocol == "udp" && to.Port() == 443:
		d.Why = "HTTP/3 (UDP) does not pass the wall; HTTP/2 and HTTP/1.1 do."
	default:
		d.Why = "Only TCP passes the wall, not " + protocol + "."
	}
	o.denials.add(d)
}

// SetRules replaces the rules. Connections that they do not permit are ended before it returns.
func (o *Outlet) SetRules(rules sandbox.Allowlist) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.rules = rules
	for _, l := range o.live {
		if !l.once && !l.permitted(rules) || l.denied(rules) {
			l.end("its permission was revoked")
		}
	}
	o.settleBy(rules)
}

// Live lists the open connections, oldest first.
func (o *Outlet) Live() []sandbox.Connection {
	o.mu.Lock()
	defer o.mu.Unlock()
	var all []sandbox.Connection
	for _, l := range o.live {
		all = append(all, l.now())
	}
	slices.SortFunc(all, func(a, b sandbox.Connection) int { return int(a.ID) - int(b.ID) }) //nolint:gosec // they fit
	return all
}
