package outlet

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/garita-dev/garita/sandbox"
)

// serveHTTP passes HTTP in the clear, request by request: each must be for the host that the
// connection was asked for, and goes to the very address that was checked.
func (o *Outlet) serveHTTP(l *live, in *peeked, outside net.Conn) {
	upstream := newPinned(o, l, outside)
	defer upstream.close()
	proxy := &httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) {
			r.Out.URL = &url.URL{Scheme: "http", Host: r.In.Host, Path: r.In.URL.Path, RawPath: r.In.URL.RawPath, RawQuery: r.In.URL.RawQuery, ForceQuery: r.In.URL.ForceQuery, Opaque: ""}
			r.Out.Host = r.In.Host
			for _, name := range []string{"Forwarded", "X-Forwarded-For", "X-Forwarded-Host", "X-Forwarded-Proto"} {
				if v, ok := r.In.Header[name]; ok { // as it was: nothing is added, nothing is hidden
					r.Out.Header[name] = v
				}
			}
		},
		Transport:     upstream.transport,
		FlushInterval: -1,
		ErrorLog:      slog.NewLogLogger(o.Log.Handler(), slog.LevelDebug),
		ErrorHandler: func(w http.ResponseWriter, _ *http.Request, err error) {
			http.Error(w, "garita: "+l.host+" did not answer: "+plainly(err), http.StatusBadGateway)
		},
	}
	conn := &counted{Conn: in, l: l, closed: make(chan struct{})}
	srv := &http.Server{
		Handler:           o.onlyFor(l, proxy),
		ReadHeaderTimeout: helloTime,
		MaxHeaderBytes:    256 << 10,
		ErrorLog:          slog.NewLogLogger(o.Log.Handler(), slog.LevelDebug),
	}
	_ = srv.Serve(&oneConn{conn: conn})
	<-conn.closed
	_ = srv.Close()
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
		_ = http.NewResponseController(w).EnableFullDuplex() // answers may begin before a request has ended
		next.ServeHTTP(w, r)
	})
}

// notFor says why a request may not pass.
func notFor(l *live, r *http.Request) string {
	host, port := r.Host, "80"
	if h, p, err := net.SplitHostPort(r.Host); err == nil {
		host, port = h, p
	} else if l.port != 80 {
		port = strconv.Itoa(int(l.port)) // some clients leave it out
	}
	name, err := sandbox.Name(host)
	switch {
	case r.Method == http.MethodConnect:
		return "a tunnel was asked for"
	case err != nil || name != l.host || port != strconv.Itoa(int(l.port)):
		return fmt.Sprintf("a request was for %q", bounded(r.Host))
	case r.URL.Host != "" && !strings.EqualFold(r.URL.Host, r.Host):
		return fmt.Sprintf("a request was for %q", bounded(r.URL.Host))
	case r.Header.Get("Upgrade") != "" && !strings.EqualFold(r.Header.Get("Upgrade"), "websocket"):
		return "a change to another protocol was asked for"
	}
	return ""
}

// pinned is a transport that reaches one address, and no other.
type pinned struct {
	transport *http.Transport

	mu    sync.Mutex
	first net.Conn // not used yet
	all   []net.Conn
}

func newPinned(o *Outlet, l *live, first net.Conn) *pinned {
	p := &pinned{first: first}
	p.transport = &http.Transport{
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return p.dial(ctx, func(ctx context.Context) (net.Conn, error) { return o.Dial(ctx, l.address) })
		},
		DisableCompression: true, MaxIdleConns: 1, IdleConnTimeout: 2 * time.Minute, MaxResponseHeaderBytes: 1 << 20,
	}
	return p
}

func (p *pinned) dial(ctx context.Context, again func(context.Context) (net.Conn, error)) (net.Conn, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if c := p.first; c != nil {
		p.first = nil
		return c, nil
	}
	c, err := again(ctx)
	if err == nil {
		p.all = append(p.all, c)
	}
	return c, err
}

func (p *pinned) close() {
	p.transport.CloseIdleConnections()
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, c := range p.all {
		_ = c.Close()
	}
}

// counted counts the bytes that pass, and tells when it is closed.
type counted struct {
	net.Conn
	l      *live
	once   sync.Once
	closed chan struct{}
}

// Read counts what leaves the sandbox.
func (c *counted) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	c.l.wentOut(n)
	return n, err
}

// Write counts what comes in.
func (c *counted) Write(b []byte) (int, error) {
	n, err := c.Conn.Write(b)
	c.l.received.Add(int64(n))
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
	conn *counted
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
