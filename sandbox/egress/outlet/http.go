package outlet

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log"
	"maps"
	"net"
	"net/http"
	"net/http/httputil"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/garita-dev/garita/sandbox"
)

// serveHTTP passes HTTP in the clear, request by request: each must be for the host that the
// connection was asked for, and goes to the very address that was checked.
func (o *Outlet) serveHTTP(l *live, in *peeked, outside net.Conn) {
	conn := newCounted(in, o, l)
	o.serve(l, conn, conn.closed, newPinned(o, l, outside))
}

// serve answers the requests on conn with what upstream answers, until closed is.
func (o *Outlet) serve(l *live, conn net.Conn, closed <-chan struct{}, upstream *pinned) {
	defer upstream.close()
	proxy := &httputil.ReverseProxy{
		Rewrite:        func(r *httputil.ProxyRequest) { rewrite(r, l) },
		Transport:      upstream.transport,
		FlushInterval:  -1,
		ErrorLog:       silent,
		ErrorHandler:   func(w http.ResponseWriter, _ *http.Request, err error) { o.failed(w, l, upstream.explained(err)) },
		ModifyResponse: func(resp *http.Response) error { return o.readable(l, resp) },
	}
	srv := &http.Server{
		Handler:           o.onlyFor(l, o.careful(l, o.swapping(l, proxy))),
		ReadHeaderTimeout: helloTime,
		MaxHeaderBytes:    256 << 10,
		ErrorLog:          silent,
	}
	_ = srv.Serve(&oneConn{conn: conn})
	<-closed
	_ = srv.Close()
}

// silent keeps what libraries have to say about requests to itself: it may quote them.
var silent = log.New(io.Discard, "", 0)

// rewrite leaves a request as it was, for the host that the connection is to.
func rewrite(r *httputil.ProxyRequest, l *live) {
	scheme := "http"
	if l.opened {
		scheme = "https"
	}
	r.Out.URL = &url.URL{Scheme: scheme, Host: r.In.Host, Path: r.In.URL.Path, RawPath: r.In.URL.RawPath, RawQuery: r.In.URL.RawQuery, ForceQuery: r.In.URL.ForceQuery}
	r.Out.Host = r.In.Host
	for _, name := range []string{"Forwarded", "X-Forwarded-For", "X-Forwarded-Host", "X-Forwarded-Proto"} {
		if v, ok := r.In.Header[name]; ok { // as it was: nothing is added, nothing is hidden
			r.Out.Header[name] = v
		}
	}
	if len(r.In.Trailer) > 0 && r.Out.Body != nil {
		r.Out.Body = &trailing{r.Out.Body, r.In.Trailer, r.Out.Trailer}
	}
}

// trailing is a body whose trailers are known at its end.
type trailing struct {
	io.ReadCloser
	from, to http.Header
}

// Read reads the body.
func (t *trailing) Read(b []byte) (int, error) {
	n, err := t.ReadCloser.Read(b)
	if errors.Is(err, io.EOF) {
		maps.Copy(t.to, t.from)
	}
	return n, err
}

// failed answers for a host that did not.
func (o *Outlet) failed(w http.ResponseWriter, l *live, err error) {
	kind, why := unanswered(err)
	http.Error(w, "garita: "+l.host+" did not answer: "+why, http.StatusBadGateway)
	if l.opened && kind != "" {
		o.denials.add(sandbox.Denial{
			Kind: kind, Host: l.host, Port: l.port, Address: l.address.String(),
			Why: fmt.Sprintf("The connection to %s:%d was opened, for a secret may be sent there, and failed: %s.", l.host, l.port, why),
		})
	}
}

// onlyFor refuses requests that are for another host than l's.
func (o *Outlet) onlyFor(l *live, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if what := notFor(l, r); what != "" {
			w.Header().Set("Connection", "close")
			http.Error(w, "garita: "+what, http.StatusMisdirectedRequest)
			o.denials.add(sandbox.Denial{
				Kind: sandbox.DeniedContent, Host: l.host, Port: l.port, Address: l.address.String(),
				Why: fmt.Sprintf("On the connection to %s:%d %s.", l.host, l.port, what),
			})
			return
		}
		if offersHTTP2(r) {
			r.Header.Del("Upgrade")
		}
		_ = http.NewResponseController(w).EnableFullDuplex() // answers may begin before a request has ended
		next.ServeHTTP(w, r)
	})
}

// notFor says why a request may not pass.
func notFor(l *live, r *http.Request) string {
	switch {
	case r.Method == http.MethodConnect:
		return "a tunnel was asked for"
	case !l.is(r.Host):
		return fmt.Sprintf("a request was for %q", bounded(r.Host))
	case r.URL.Host != "" && !strings.EqualFold(r.URL.Host, r.Host):
		return fmt.Sprintf("a request was for %q", bounded(r.URL.Host))
	case r.Header.Get("Upgrade") != "" && !strings.EqualFold(r.Header.Get("Upgrade"), "websocket") && !offersHTTP2(r):
		return "a change to another protocol was asked for"
	}
	return ""
}

// offersHTTP2 is said of a request that offers to go on in HTTP/2, as every first one of Java's does. The
// offer is for its neighbor, which need not take it.
func offersHTTP2(r *http.Request) bool { return strings.EqualFold(r.Header.Get("Upgrade"), "h2c") }

// is says whether a Host header means l's host and port. Some clients leave the port out.
func (l *live) is(header string) bool {
	host, port := strings.TrimSuffix(strings.TrimPrefix(header, "["), "]"), strconv.Itoa(int(l.port))
	if h, p, err := net.SplitHostPort(header); err == nil {
		host, port = h, p
	}
	if port != strconv.Itoa(int(l.port)) {
		return false
	}
	if ip, err := netip.ParseAddr(host); err == nil {
		return !l.named && ip.Unmap().String() == l.host || l.reach == sandbox.ThisHost && ip.IsLoopback()
	}
	name, err := sandbox.Name(host)
	return err == nil && (name == l.host || l.reach == sandbox.ThisHost && (name == "localhost" || name == sandbox.HostName || slices.Contains(sandbox.HostAliases, name)))
}

// pinned is a transport that reaches one address, and no other.
type pinned struct {
	transport *http.Transport

	wanted atomic.Bool // the host has asked for a certificate of the client's

	mu    sync.Mutex
	first net.Conn // not used yet
}

// errNoCertificate is what a host that has asked for one says in many ways.
var errNoCertificate = errors.New("a certificate was asked for")

// explained is err with that.
func (p *pinned) explained(err error) error {
	if p.wanted.Load() {
		return errors.Join(err, errNoCertificate)
	}
	return err
}

// showNone answers a host that asks for a certificate.
func (p *pinned) showNone(*tls.CertificateRequestInfo) (*tls.Certificate, error) {
	p.wanted.Store(true)
	return &tls.Certificate{}, nil
}

func newPinned(o *Outlet, l *live, first net.Conn) *pinned {
	p := &pinned{first: first}
	p.transport = &http.Transport{
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return p.dial(l, func() (net.Conn, error) { return o.again(ctx, l) })
		},
		DisableCompression: true, MaxIdleConns: 1, IdleConnTimeout: 2 * time.Minute, MaxResponseHeaderBytes: 1 << 20,
	}
	return p
}

func (p *pinned) dial(l *live, again func() (net.Conn, error)) (net.Conn, error) {
	p.mu.Lock()
	first := p.first
	p.first = nil
	p.mu.Unlock()
	if first != nil {
		return first, nil
	}
	c, err := again()
	if err != nil {
		return nil, err
	}
	d := &dialed{c, l}
	if !l.adopt(d) {
		_ = c.Close()
		return nil, net.ErrClosed
	}
	return d, nil
}

// dialed is a further connection for l, which ends with it.
type dialed struct {
	net.Conn
	l *live
}

// Close closes it.
func (d *dialed) Close() error {
	d.l.leave(d)
	return d.Conn.Close()
}

// Reset ends it at once.
func (d *dialed) Reset() { reset(d.Conn) }

func (p *pinned) close() {
	p.transport.CloseIdleConnections()
}

// counted counts the bytes that pass, and tells when it is closed.
type counted struct {
	net.Conn
	o      *Outlet
	l      *live
	once   sync.Once
	closed chan struct{}
}

func newCounted(c net.Conn, o *Outlet, l *live) *counted {
	return &counted{Conn: c, o: o, l: l, closed: make(chan struct{})}
}

// Read counts what leaves the sandbox.
func (c *counted) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	if no := c.o.maySend(c.l, n); no != nil {
		return 0, no
	}
	return n, err
}

// Write counts what comes in.
func (c *counted) Write(b []byte) (int, error) {
	n, err := c.Conn.Write(b)
	c.l.heard(n)
	return n, err
}

// Close closes the connection.
func (c *counted) Close() error {
	defer c.once.Do(func() { close(c.closed) })
	return c.Conn.Close()
}

// oneConn listens for one connection only.
type oneConn struct {
	mu   sync.Mutex
	conn net.Conn
	used bool
}

// Accept returns the connection; the second call, that there are no more.
func (l *oneConn) Accept() (net.Conn, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.used {
		return nil, io.EOF
	}
	l.used = true
	return l.conn, nil
}

// Close is for net.Listener.
func (l *oneConn) Close() error { return nil }

// Addr is for net.Listener.
func (l *oneConn) Addr() net.Addr { return l.conn.LocalAddr() }
