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
	"time"

	"golang.org/x/net/http/httpproxy"

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
	tunnel, err := tunnelTo(conn, proxy, sandbox.Endpoint{Host: p.host, Port: p.port}.String())
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
	case port == "":
		port = "80"
	}
	at := net.JoinHostPort(proxy.Hostname(), port)
	switch proxy.Scheme {
	case "http":
		return (&net.Dialer{Timeout: dialTime}).DialContext(ctx, "tcp", at)
	case "https":
		d := tls.Dialer{NetDialer: &net.Dialer{Timeout: dialTime}, Config: &tls.Config{RootCAs: o.Secrets.roots, MinVersion: tls.VersionTLS12}}
		return d.DialContext(ctx, "tcp", at)
	}
	return nil, fmt.Errorf("%s is no kind of proxy that is known; http and https are", proxy.Scheme)
}

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
		return nil, errors.New("it wants credentials, or other ones: put them into the proxy's URL")
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
