package outlet

import (
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/garita-dev/garita/sandbox"
	"github.com/garita-dev/garita/sandbox/egress/allow"
	"github.com/garita-dev/garita/sandbox/egress/wire"
)

// live is a connection that passes.
type live struct {
	passage
	id             uint64
	address        netip.AddrPort // the proxy's where there is one
	proxy          *url.URL
	since          time.Time
	sent, received atomic.Int64
	left           func(int) // told of bytes that leave
	heard          func(int) // told of bytes that come in
	owed           owed
	anySize        atomic.Bool // it may send any amount
	anyText        atomic.Bool // and what looks like credentials
	greeting       *greeting   // nil where nothing is looked at
	opened         bool        // its TLS is opened
	carried        []carried   // values that were sent on it; guarded by the Outlet's mu

	mu      sync.Mutex // guards the fields below
	why     string     // the wall has ended it
	hostKey string     // the fingerprint of that which the host has shown, over SSH
	over    bool
	inside  net.Conn
	outside net.Conn
	further map[*dialed]bool // to the same address
}

// permitted says whether rules let it pass still.
func (l *live) permitted(rules sandbox.Allowlist) bool {
	if h, said := rules.SSHAt(l.host, l.port); said && !l.knownBy(h) {
		return false
	}
	if l.named {
		return allow.Decide(rules, l.host, l.port).Reach != sandbox.Nowhere
	}
	ip, err := netip.ParseAddr(l.host)
	return err == nil && allow.Literal(rules, netip.AddrPortFrom(ip, l.port)).Reach != sandbox.Nowhere
}

// end cuts the connection on both sides; the first reason stays.
func (l *live) end(why string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.why == "" {
		l.why = why
	}
	l.over = true
	reset(l.inside)
	reset(l.outside)
	for d := range l.further {
		d.Reset()
	}
}

// close lets go of a connection that is over.
func (l *live) close() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.over = true
	_ = l.outside.Close()
	if l.inside != nil {
		_ = l.inside.Close()
	}
	for d := range l.further {
		_ = d.Conn.Close()
	}
}

// adopt makes d end with l; false when l has ended.
func (l *live) adopt(d *dialed) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.over {
		return false
	}
	if l.further == nil {
		l.further = map[*dialed]bool{}
	}
	l.further[d] = true
	return true
}

func (l *live) leave(d *dialed) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.further, d)
}

// reset ends a connection so that the other side notices at once.
func reset(c net.Conn) {
	switch c := c.(type) {
	case nil:
	case interface{ Reset() }:
		c.Reset()
	case *net.TCPConn:
		_ = c.SetLinger(0)
		_ = c.Close()
	default:
		_ = c.Close()
	}
}

func (l *live) now() sandbox.Connection {
	l.mu.Lock()
	defer l.mu.Unlock()
	return sandbox.Connection{
		ID: l.id, Host: l.host, Port: l.port, Address: l.address, Rule: l.rule,
		Opened: l.since, Sent: l.sent.Load(), Received: l.received.Load(), Why: l.why, HostKey: l.hostKey,
	}
}

// pass accepts a permitted connection and serves it to its end. It is reported before the sandbox can
// say a word on it.
func (o *Outlet) pass(p passage, c Incoming, outside net.Conn) {
	l := &live{passage: p, since: time.Now().UTC(), outside: outside, left: o.Sent}
	if t, ok := outside.(*tunnel); ok {
		l.proxy, l.rule = t.proxy, l.rule+" (by the proxy "+t.proxy.Host+")"
	}
	l.heard = func(n int) { o.cameBack(l, n) }
	if at, err := netip.ParseAddrPort(outside.RemoteAddr().String()); err == nil {
		l.address = netip.AddrPortFrom(at.Addr().Unmap(), at.Port())
	}
	if !o.register(l) {
		c.Refuse()
		reset(outside)
		return
	}
	opened := l.now()
	o.Report(wire.Event{Opened: &opened})
	defer o.unregister(l)
	inside, err := c.Accept()
	if err != nil {
		l.end("the sandbox went away")
		return
	}
	l.mu.Lock()
	l.inside = inside
	ended := l.why != ""
	l.mu.Unlock()
	if ended {
		l.end("")
		return
	}
	o.relay(l, inside, outside)
}

// denied says whether rules never let l's host be reached, or the address at which it was found. What a
// proxy has found is not seen.
func (l *live) denied(rules sandbox.Allowlist) bool {
	return rules.Denies(l.host, l.port) != "" ||
		l.proxy == nil && l.address.IsValid() && allow.Denied(rules, l.address.Addr(), l.port) != ""
}

// register lists l, unless what had let it pass is gone meanwhile.
func (o *Outlet) register(l *live) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.closed || !l.once && !l.permitted(o.rules) || l.denied(o.rules) {
		return false
	}
	o.last++
	l.id = o.last
	o.live[l.id] = l
	return true
}

func (o *Outlet) unregister(l *live) {
	l.close()
	o.mu.Lock()
	delete(o.live, l.id)
	for _, c := range l.carried {
		c.stop()
	}
	o.mu.Unlock()
	ended := l.now()
	ended.Ended = time.Now().UTC()
	o.Report(wire.Event{Ended: &ended})
}

// helloTime is how long a connection may stay silent before its name is known. Browsers open some
// ahead of need.
const helloTime = 60 * time.Second

// relay passes what is said on l, as long as it is said to the host that was asked for.
//
// This is the one place where a permitted connection's content is touched. TLS is opened by relayTLS
// where a secret may be sent to its host; HTTP in the clear is a reverse proxy (serveHTTP).
func (o *Outlet) relay(l *live, inside, outside net.Conn) {
	if l.reach != sandbox.ThisHost && o.current().OnlySSH(l.host, l.port) {
		o.relaySSH(l, inside, outside)
		return
	}
	if l.nameless() && !o.opens(l) {
		o.splice(l, inside, outside)
		return
	}
	in := &peeked{Conn: inside}
	kind, first, err := o.firstWords(l, in, outside)
	switch {
	case err != nil:
		l.end("")
	case kind == isTLS:
		o.relayTLS(l, in, outside)
	case kind == isHTTP && first.nothing():
		o.serveHTTP(l, in, outside)
	case kind == isHTTP && !l.nameless():
		o.mismatch(l, "HTTP was sent to a server that had spoken first")
	case slices.Contains(sandbox.WebPorts, l.port) && !l.nameless():
		o.mismatch(l, "what was sent is neither TLS nor HTTP")
	default:
		o.splice(l, in, outside)
	}
}

// nameless says that there is no other name to speak to: it is an address, or a service of this machine.
func (l *live) nameless() bool { return !l.named || l.reach == sandbox.ThisHost }

// firstWords waits for what the sandbox begins to say. At other ports than the web's a server may
// speak before: what it says is passed on meanwhile.
func (o *Outlet) firstWords(l *live, in *peeked, outside net.Conn) (content, *greeting, error) {
	l.greeting = listenFirst(l, in.Conn, outside)
	kind, err := in.classify()
	return kind, l.greeting, err
}

// relayTLS passes TLS whose hello names the host, and opens it where a secret may be sent there.
func (o *Outlet) relayTLS(l *live, in *peeked, outside net.Conn) {
	name, err := in.serverName()
	switch known, nameErr := sandbox.Name(name); {
	case l.nameless() && (err != nil || name != "" && known != l.host):
		o.splice(l, in, outside)
	case l.nameless() && o.opensTLS(l):
		o.serveTLS(l, in, outside)
	case l.nameless():
		o.splice(l, in, outside)
	case err != nil:
		o.mismatch(l, "the TLS hello cannot be read")
	case name == "":
		o.mismatch(l, "the TLS hello names no host")
	case nameErr != nil || known != l.host:
		o.mismatch(l, fmt.Sprintf("the TLS hello is for %q", bounded(name)))
	case o.opensTLS(l):
		o.serveTLS(l, in, outside)
	default:
		o.splice(l, in, outside)
	}
}

// mismatch refuses what was said for another host, or for none.
func (o *Outlet) mismatch(l *live, what string) {
	o.denials.add(sandbox.Denial{
		Kind: sandbox.DeniedContent, Host: l.host, Port: l.port, Address: l.address.String(),
		Why: fmt.Sprintf("On the connection to %s:%d %s.", l.host, l.port, what),
	})
	l.end(what)
}

// bounded is a foreign name for a sentence.
func bounded(s string) string { return s[:min(len(s), 100)] }
