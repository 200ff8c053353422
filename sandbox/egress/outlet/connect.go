package outlet

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"slices"
	"syscall"
	"time"

	"github.com/garita-dev/garita/sandbox"
	"github.com/garita-dev/garita/sandbox/egress/allow"
	"github.com/garita-dev/garita/sandbox/egress/wire"
)

// passage is one connection that has been permitted.
type passage struct {
	host  string
	port  uint16
	reach sandbox.Reach
	rule  string
	once  bool // by an answer, not by a rule
	named bool // the sandbox asked for it by name
}

// TCP decides about one connection, and serves it to its end if it may pass.
func (o *Outlet) TCP(c Incoming) {
	if !o.begin() {
		c.Refuse()
		return
	}
	defer o.running.Done()
	to := c.Target()
	if to == netip.AddrPortFrom(wire.WallAddress, 53) {
		o.serveNames(c)
		return
	}
	p, ok := o.permit(to)
	if !ok {
		c.Refuse()
		return
	}
	outside, err := o.dial(p)
	if err != nil {
		c.Refuse()
		return
	}
	o.pass(p, c, outside)
}

func (o *Outlet) serveNames(c Incoming) {
	conn, err := c.Accept()
	if err != nil {
		return
	}
	stop := context.AfterFunc(o.ctx, func() { _ = conn.Close() })
	defer stop()
	o.answerer.ServeTCP(conn)
}

// permit decides by name, or by address where the sandbox names none. What is refused is reported.
func (o *Outlet) permit(to netip.AddrPort) (passage, bool) {
	p := passage{host: to.Addr().Unmap().String(), port: to.Port()}
	var v allow.Verdict
	if name, known := o.names.Name(to.Addr()); known {
		p.host, p.named = name, true
		if v = allow.Decide(o.current(), name, to.Port()); v.Reach == sandbox.Nowhere && v.Ask {
			v, p.once = o.askToReach(v, sandbox.Endpoint{Host: name, Port: to.Port()})
		}
	} else {
		v = allow.Literal(o.current(), to)
	}
	if v.Reach == sandbox.Nowhere {
		o.denials.add(sandbox.Denial{Kind: v.Kind, Host: p.host, Port: p.port, Why: v.Why, Propose: v.Propose})
		return p, false
	}
	p.reach, p.rule = v.Reach, v.Rule
	return p, true
}

// askToReach asks about a host that no rule lets the sandbox reach.
func (o *Outlet) askToReach(v allow.Verdict, e sandbox.Endpoint) (allow.Verdict, bool) {
	rule, why := o.ask(wire.Asked{Host: e.Host, Port: e.Port})
	if why != "" {
		v.Why += " " + why
		return v, false
	}
	return allow.Verdict{Reach: sandbox.PublicNet, Rule: rule}, true
}

const (
	// dialTime bounds one attempt, and maxAddresses the attempts.
	dialTime     = 10 * time.Second
	maxAddresses = 4
)

func dialAddress(ctx context.Context, to netip.AddrPort) (net.Conn, error) {
	return (&net.Dialer{Timeout: dialTime}).DialContext(ctx, "tcp", to.String())
}

// dial finds the real address, checks it, and connects to that very address. What fails is reported.
func (o *Outlet) dial(p passage) (net.Conn, error) {
	if proxy, err := o.proxyFor(p); err != nil || proxy != nil {
		return o.dialThrough(proxy, p, err)
	}
	addresses, err := o.addresses(p)
	if err != nil {
		return nil, err
	}
	for _, ip := range addresses[:min(len(addresses), maxAddresses)] {
		var conn net.Conn
		if conn, err = o.Dial(o.ctx, netip.AddrPortFrom(ip, o.realPort(p.port))); err == nil {
			return conn, nil
		}
	}
	o.denials.add(sandbox.Denial{Kind: sandbox.DeniedUpstream, Host: p.host, Port: p.port, Why: fmt.Sprintf("%s:%d is allowed, but could not be reached: %s.", p.host, p.port, plainly(err))})
	return nil, err
}

// dialThrough connects by this machine's proxy. What fails is reported.
func (o *Outlet) dialThrough(proxy *url.URL, p passage, err error) (net.Conn, error) {
	d := sandbox.Denial{Kind: sandbox.DeniedUpstream, Host: p.host, Port: p.port}
	if bad, what := o.privateHere(p); what != "" {
		d.Kind, d.Address, d.Why = sandbox.DeniedResolved, bad.String(), fmt.Sprintf("%s is at %s, which is refused: %s.", p.host, bad, what)
		o.denials.add(d)
		return nil, errRefused
	}
	var conn net.Conn
	if err == nil {
		conn, err = o.through(o.ctx, proxy, p)
	}
	if err != nil {
		d.Why = fmt.Sprintf("%s:%d is allowed, but could not be reached: %s.", p.host, p.port, err)
		o.denials.add(d)
		return nil, err
	}
	return &tunnel{conn, proxy}, nil
}

// tunnel is a connection by a proxy.
type tunnel struct {
	net.Conn
	proxy *url.URL
}

// CloseWrite says that no more comes.
func (t *tunnel) CloseWrite() error { return (&peeked{Conn: t.Conn}).CloseWrite() }

// Reset ends the connection at once.
func (t *tunnel) Reset() { reset(t.Conn) }

// realPort is the port to dial: the same, but in tests.
func (o *Outlet) realPort(port uint16) uint16 {
	if other := o.Sandbox.Host.Ports[port]; other != 0 {
		return other
	}
	return port
}

var errRefused = errors.New("refused")

// addresses are those that p may go to.
func (o *Outlet) addresses(p passage) ([]netip.Addr, error) {
	found, err := o.lookUp(p)
	if err != nil {
		o.denials.add(sandbox.Denial{Kind: sandbox.DeniedUpstream, Host: p.host, Port: p.port, Why: fmt.Sprintf("%s is allowed, but could not be found: %v.", p.host, err)})
		return nil, err
	}
	if p.reach == sandbox.ThisHost && slices.Contains(o.Sandbox.Closed, p.port) {
		o.denials.add(sandbox.Denial{Kind: sandbox.DeniedPort, Host: p.host, Port: p.port, Why: fmt.Sprintf("Port %d of this machine is Garita's own.", p.port)})
		return nil, errRefused
	}
	own, rules := o.Own(), o.current()
	var good []netip.Addr
	var bad netip.Addr
	what := "no address at all"
	for _, ip := range found {
		why := o.refuses(ip, p.reach, own)
		if rule := allow.Denied(rules, ip, p.port); why == "" && rule != "" {
			why = rule + " stands under network.deny"
		}
		if why != "" {
			bad, what = ip, why
			continue
		}
		good = append(good, ip)
	}
	if len(good) > 0 {
		return good, nil
	}
	d := sandbox.Denial{Kind: sandbox.DeniedResolved, Host: p.host, Port: p.port, Why: fmt.Sprintf("%s is at %s, which is refused: %s.", p.host, bad, what)}
	if bad.IsValid() {
		d.Address = bad.String()
		if p.reach == sandbox.PublicNet && allow.Address(bad, sandbox.PrivateNet, own) == "" {
			d.Propose = "lan: [" + sandbox.Endpoint{Host: p.host, Port: p.port}.String() + "]"
		}
	}
	o.denials.add(d)
	return nil, errRefused
}

func (o *Outlet) refuses(ip netip.Addr, reach sandbox.Reach, own []netip.Addr) string {
	if reach != sandbox.ThisHost && slices.ContainsFunc(o.Sandbox.Host.Public, func(b netip.Prefix) bool { return b.Contains(ip) }) {
		return ""
	}
	return allow.Address(ip, reach, own)
}

func (o *Outlet) lookUp(p passage) ([]netip.Addr, error) {
	if p.reach == sandbox.ThisHost {
		return []netip.Addr{netip.AddrFrom4([4]byte{127, 0, 0, 1}), netip.IPv6Loopback()}, nil
	}
	if ip, err := netip.ParseAddr(p.host); err == nil {
		return []netip.Addr{ip}, nil
	}
	return o.Resolver.LookUp(o.ctx, p.host)
}

// plainly is a dial's error without its addresses.
func plainly(err error) string {
	var no syscall.Errno
	var slow net.Error
	switch {
	case errors.As(err, &no):
		return no.Error()
	case errors.As(err, &slow) && slow.Timeout():
		return "it did not answer"
	case err == nil:
		return "it has no address"
	}
	return err.Error()
}
