package outlet

import (
	"bufio"
	"context"
	"crypto/tls"
	"encoding/base64"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"time"

	"golang.org/x/net/http/httpproxy"
	socks "golang.org/x/net/proxy"

	"github.com/garita-dev/garita/sandbox"
	"github.com/garita-dev/garita/sandbox/egress/wire"
)

// proxyFor is the proxy by which this machine reaches e; nil where it goes there itself. Only the public
// internet is reached by a proxy.
func (o *Outlet) proxyFor(p passage) (*url.URL, error) {
	if p.reach != sandbox.PublicNet {
		return nil, nil
	}
	o.mu.Lock()
	out := o.outside
	o.mu.Unlock()
	if out.Proxy.IsZero() {
		return nil, nil
	}
	c := httpproxy.Config{HTTPSProxy: out.Proxy.Send(), NoProxy: out.NoProxy}
	to := sandbox.Endpoint{Host: p.host, Port: p.port}
	proxy, err := c.ProxyFunc()(&url.URL{Scheme: "https", Host: to.String()})
	if err != nil {
		return nil, errors.New("the proxy of this machine is not named by a URL") // the error would quote its password
	}
	return proxy, nil
}

// SetOutside says anew how the world is reached. Connections that are open stay.
func (o *Outlet) SetOutside(out wire.Outside) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.outside = out
}

// proxyTime bounds a proxy's answer.
const proxyTime = 15 * time.Second

// through connects to p by the proxy, who looks the name up. An address that this machine finds for it is
// checked all the same: what is private here is not asked of the proxy.
func (o *Outlet) through(ctx context.Context, proxy *url.URL, p passage) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, proxyTime)
	defer cancel()
	conn, err := o.toProxy(ctx, proxy)
	if err != nil {
		return nil, fmt.Errorf("the proxy %s did not answer: %s", proxy.Host, plainly(err))
	}
	stop := context.AfterFunc(ctx, func() { _ = conn.Close() })
	tunnel, err := passing(ctx, conn, proxy, sandbox.Endpoint{Host: p.host, Port: p.port}.String())
	if !stop() || err != nil {
		_ = conn.Close()
		if err == nil {
			err = errors.New("it did not answer in time")
		}
		return nil, fmt.Errorf("the proxy %s: %w", proxy.Host, err)
	}
	return tunnel, nil
}

// toProxy connects to the proxy itself, which a person has named: it may be anywhere.
func (o *Outlet) toProxy(ctx context.Context, proxy *url.URL) (net.Conn, error) {
	port := proxy.Port()
	switch {
	case port == "" && proxy.Scheme == "https":
		port = "443"
	case port == "" && speaksSOCKS(proxy):
		port = "1080"
	case port == "":
		port = "80"
	}
	at := net.JoinHostPort(proxy.Hostname(), port)
	switch proxy.Scheme {
	case "http", "socks5", "socks5h":
		return (&net.Dialer{Timeout: dialTime}).DialContext(ctx, "tcp", at)
	case "https":
		d := tls.Dialer{NetDialer: &net.Dialer{Timeout: dialTime}, Config: &tls.Config{RootCAs: o.Secrets.roots, MinVersion: tls.VersionTLS12}}
		return d.DialContext(ctx, "tcp", at)
	}
	return nil, fmt.Errorf("%s is no kind of proxy that is known; http, https, socks5 and socks5h are", proxy.Scheme)
}

// speaksSOCKS says that the proxy is no HTTP proxy. Both words mean the same here: it looks names up.
func speaksSOCKS(proxy *url.URL) bool { return proxy.Scheme == "socks5" || proxy.Scheme == "socks5h" }

// passing makes conn, which is to the proxy, one to the host and port to.
func passing(ctx context.Context, conn net.Conn, proxy *url.URL, to string) (net.Conn, error) {
	if !speaksSOCKS(proxy) {
		return tunnelTo(conn, proxy, to)
	}
	var auth *socks.Auth
	if u := proxy.User; u != nil {
		password, _ := u.Password()
		auth = &socks.Auth{User: u.Username(), Password: password}
	}
	d, err := socks.SOCKS5("tcp", proxy.Host, auth, already{conn})
	if err != nil {
		return nil, errors.New("it cannot be asked")
	}
	asking, ok := d.(socks.ContextDialer)
	if !ok {
		return nil, errors.New("it cannot be asked")
	}
	if _, err := asking.DialContext(ctx, "tcp", to); err != nil {
		return nil, declined(err)
	}
	return conn, nil // what SOCKS makes of it could not be closed on one side only
}

// declined says in a clause why a SOCKS proxy led nowhere.
func declined(err error) error {
	text := err.Error()
	switch {
	case strings.Contains(text, "authentication"), strings.Contains(text, "username/password"):
		return errors.New(wantsPassword)
	case strings.Contains(text, "socks"):
		return errors.New("it refused: " + text[strings.LastIndex(text, ": ")+1:])
	}
	return errors.New("its answer cannot be read")
}

// wantsPassword is said of a proxy in a clause.
const wantsPassword = "it wants a name and a password, or other ones: put them into its URL, proxy: http://NAME:PASSWORD@HOST:PORT under network in config.yaml, or HTTPS_PROXY of the daemon's environment"

// already dials to where a connection leads already.
type already struct{ net.Conn }

// Dial returns the connection.
func (a already) Dial(string, string) (net.Conn, error) { return a.Conn, nil }

// DialContext returns the connection.
func (a already) DialContext(context.Context, string, string) (net.Conn, error) { return a.Conn, nil }

// tunnelTo asks for a tunnel. The proxy's credentials are known to the wall alone.
func tunnelTo(conn net.Conn, proxy *url.URL, to string) (net.Conn, error) {
	r := &http.Request{Method: http.MethodConnect, URL: &url.URL{Opaque: to}, Host: to, Header: http.Header{"User-Agent": {"garita"}}}
	if u := proxy.User; u != nil {
		password, _ := u.Password()
		r.Header.Set("Proxy-Authorization", "Basic "+base64.StdEncoding.EncodeToString([]byte(u.Username()+":"+password)))
	}
	if err := r.Write(conn); err != nil {
		return nil, errors.New("it hung up")
	}
	in := bufio.NewReaderSize(conn, 4096)
	resp, err := http.ReadResponse(in, r)
	switch {
	case err != nil:
		return nil, errors.New("its answer cannot be read")
	case resp.StatusCode == http.StatusProxyAuthRequired:
		return nil, errors.New(wantsPassword)
	case resp.StatusCode/100 != 2:
		_ = resp.Body.Close()
		return nil, fmt.Errorf("it answered %d", resp.StatusCode)
	}
	if n := in.Buffered(); n > 0 { // a server that speaks first
		seen, _ := in.Peek(n)
		return &peeked{Conn: conn, seen: append([]byte(nil), seen...)}, nil
	}
	return conn, nil
}

// again connects to where l goes once more.
func (o *Outlet) again(ctx context.Context, l *live) (net.Conn, error) {
	if l.proxy != nil {
		return o.through(ctx, l.proxy, l.passage)
	}
	return o.Dial(ctx, l.address)
}

// privateHere says why the proxy is not asked for p: this machine knows its name for a private address.
func (o *Outlet) privateHere(p passage) (bad netip.Addr, what string) {
	found, err := o.lookUp(p)
	if err != nil {
		return bad, "" // names of the world are often known to the proxy only
	}
	own := o.Own()
	for _, ip := range found {
		if why := o.refuses(ip, p.reach, own); why != "" {
			return ip, why
		}
	}
	return bad, ""
}
