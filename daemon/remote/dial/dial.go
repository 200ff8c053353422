// Package dial opens connections to the hosts that remote servers, their documents and their
// redirects name, and only to addresses such a name may lead to.
//
// A name is resolved once, every address it has is judged, and the connection is made to an
// address that was judged: what the name means a moment later does not matter. A host the person
// wrote down as an address, or as localhost, was meant; nobody else's word leads inside.
package dial

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"
)

// Limits of one connection's beginning.
const (
	connectTime   = 10 * time.Second
	handshakeTime = 10 * time.Second
	pingTime      = 30 * time.Second
	// maxAddresses is how many addresses of one name are tried.
	maxAddresses = 8
	// maxHeaders bounds an answer's headers, in bytes.
	maxHeaders = 64 << 10
)

// Resolver finds a name's addresses. *net.Resolver is one.
type Resolver interface {
	LookupNetIP(ctx context.Context, network, host string) ([]netip.Addr, error)
}

// Rules is whom a Dialer may reach besides public addresses. The zero Rules is nobody.
type Rules struct {
	// Declared are hosts, without a port, that the person wrote down. An IP address among them may
	// be dialed whatever its kind; "localhost" may lead to loopback addresses.
	Declared []string
	// Inside lets names in Declared lead to loopback and private addresses: a server of the
	// person's own network. They never lead to Reserved ones.
	Inside bool
	// Proxy sends requests through the proxy that the environment names. The proxy then resolves
	// names, and no address but one written in a URL is judged.
	Proxy bool
}

// allows tells whether host may lead to an address. Pure.
func (r Rules) allows(host string, ip netip.Addr) bool {
	kind := KindOf(ip)
	if kind == Public {
		return true
	}
	if !slices.ContainsFunc(r.Declared, func(d string) bool { return strings.EqualFold(plain(d), host) }) {
		return false
	}
	if written, err := netip.ParseAddr(host); err == nil {
		return written.Unmap() == ip.Unmap()
	}
	switch kind {
	case Loopback:
		return r.Inside || host == "localhost"
	case Private:
		return r.Inside
	default:
		return false
	}
}

// plain is a host without the brackets of an IPv6 address, the last dot of a name, and case.
func plain(host string) string {
	return strings.ToLower(strings.TrimSuffix(strings.Trim(host, "[]"), "."))
}

// Dialer opens connections by its Rules. It is safe for concurrent use.
type Dialer struct {
	rules    Rules
	resolver Resolver
	mu       sync.Mutex // guards the fields below
	proxies  map[string]bool
}

// New is a Dialer; a nil resolver is the system's.
func New(rules Rules, resolver Resolver) *Dialer {
	if resolver == nil {
		resolver = net.DefaultResolver
	}
	return &Dialer{rules: rules, resolver: resolver, proxies: map[string]bool{}}
}

// DialContext connects to one of the addresses of addr's host. The error is an *AddressError when
// any of them is not allowed: a name that leads both outside and inside is not to be trusted.
func (d *Dialer) DialContext(ctx context.Context, network, addr string) (net.Conn, error) {
	host, port, err := net.SplitHostPort(addr)
	if err != nil {
		return nil, fmt.Errorf("dial: %w", err)
	}
	if d.isProxy(addr) {
		return (&net.Dialer{Timeout: connectTime}).DialContext(ctx, network, addr)
	}
	ips, err := d.judged(ctx, plain(host))
	if err != nil {
		return nil, err
	}
	return connect(ctx, network, ips, port)
}

// judged is the addresses of host, each of them allowed.
func (d *Dialer) judged(ctx context.Context, host string) ([]netip.Addr, error) {
	ips, err := d.resolve(ctx, host)
	if err != nil {
		return nil, err
	}
	for _, ip := range ips {
		if !d.rules.allows(host, ip) {
			return nil, &AddressError{host, ip, KindOf(ip)}
		}
	}
	return ips[:min(len(ips), maxAddresses)], nil
}

func (d *Dialer) resolve(ctx context.Context, host string) ([]netip.Addr, error) {
	if ip, err := netip.ParseAddr(host); err == nil {
		return []netip.Addr{ip}, nil
	}
	ctx, cancel := context.WithTimeout(ctx, connectTime)
	defer cancel()
	ips, err := d.resolver.LookupNetIP(ctx, "ip", host)
	if err != nil {
		return nil, fmt.Errorf("look up %s: %w", host, err)
	}
	if len(ips) == 0 {
		return nil, fmt.Errorf("look up %s: it has no address", host)
	}
	return ips, nil
}

// connect tries the addresses in turn.
func connect(ctx context.Context, network string, ips []netip.Addr, port string) (net.Conn, error) {
	var errs []error
	for _, ip := range ips {
		dialer := net.Dialer{Timeout: connectTime, Control: pinned(ip)}
		conn, err := dialer.DialContext(ctx, network, net.JoinHostPort(ip.String(), port))
		if err == nil {
			return conn, nil
		}
		errs = append(errs, err)
		if ctx.Err() != nil {
			break
		}
	}
	return nil, errors.Join(errs...)
}

// pinned refuses, at the socket itself, any address but the one that was judged.
func pinned(ip netip.Addr) func(string, string, syscall.RawConn) error {
	return func(_, address string, _ syscall.RawConn) error {
		to, err := netip.ParseAddrPort(address)
		if err != nil || to.Addr().Unmap() != ip.Unmap() {
			return fmt.Errorf("refused to connect to %s instead of %s", address, ip)
		}
		return nil
	}
}

// Transport is HTTP over the Dialer: no cookies, no compression, bounded headers. The caller
// closes its idle connections.
func (d *Dialer) Transport() *http.Transport {
	t := &http.Transport{
		DialContext:            d.DialContext,
		TLSHandshakeTimeout:    handshakeTime,
		MaxResponseHeaderBytes: maxHeaders,
		IdleConnTimeout:        90 * time.Second,
		MaxIdleConnsPerHost:    16, // sessions ask in bursts
		ForceAttemptHTTP2:      true,
		DisableCompression:     true,
		// A stream nothing comes on for hours is not told from a dead connection otherwise.
		HTTP2: &http.HTTP2Config{SendPingTimeout: pingTime, PingTimeout: pingTime},
	}
	if d.rules.Proxy {
		t.Proxy = d.proxy
	}
	return t
}

// proxy is the environment's proxy for a request, whose address then is the person's own word.
func (d *Dialer) proxy(req *http.Request) (*url.URL, error) {
	host := plain(req.URL.Hostname())
	if ip, err := netip.ParseAddr(host); err == nil && !d.rules.allows(host, ip) {
		return nil, &AddressError{host, ip, KindOf(ip)}
	}
	u, err := http.ProxyFromEnvironment(req)
	if err != nil || u == nil {
		return nil, err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.proxies[hostPort(u)] = true
	return u, nil
}

func (d *Dialer) isProxy(addr string) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.proxies[addr]
}

func hostPort(u *url.URL) string {
	if u.Port() != "" {
		return u.Host
	}
	return net.JoinHostPort(u.Hostname(), map[string]string{"http": "80", "https": "443", "socks5": "1080"}[u.Scheme])
}
