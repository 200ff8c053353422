package outlet

import (
	"bufio"
	"crypto/tls"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/garita-dev/garita/sandbox"
	"github.com/garita-dev/garita/sandbox/egress/wire"
)

// proxy is a company's: it wants credentials, writes down what it was asked, and leads to one place.
type proxy struct {
	*httptest.Server
	mu    sync.Mutex
	asked []string
}

func newProxy(t *testing.T, to string) *proxy {
	t.Helper()
	p := &proxy{}
	p.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		p.mu.Lock()
		p.asked = append(p.asked, r.Method+" "+r.Host+" "+r.Header.Get("Proxy-Authorization"))
		p.mu.Unlock()
		if r.Header.Get("Proxy-Authorization") != "Basic dTpwNHNz" {
			w.WriteHeader(http.StatusProxyAuthRequired)
			return
		}
		out, err := net.Dial("tcp", to)
		if err != nil {
			w.WriteHeader(http.StatusBadGateway)
			return
		}
		defer out.Close()
		in, _, err := http.NewResponseController(w).Hijack()
		if err != nil {
			return
		}
		defer in.Close()
		_, _ = io.WriteString(in, "HTTP/1.1 200 Connection established\r\n\r\n")
		go func() { _, _ = io.Copy(out, in); _ = out.(*net.TCPConn).CloseWrite() }()
		_, _ = io.Copy(in, out)
	}))
	t.Cleanup(p.Close)
	return p
}

func (p *proxy) url(user string) string {
	return "http://" + user + strings.TrimPrefix(p.URL, "http://")
}

func (p *proxy) seen() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.asked
}

// by is a stage whose machine has a proxy.
func by(t *testing.T, url, not, server string, hosts ...string) *stage {
	t.Helper()
	return newStage(t, allowed(t, hosts...), server, func(o *Options) {
		o.Sandbox.Outside = wire.Outside{Proxy: wire.NewSecret(url), NoProxy: not}
	})
}

func TestAProxyOfThisMachine(t *testing.T) {
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "hello") }))
	defer server.Close()
	at := server.Listener.Addr().String()
	for _, c := range []struct {
		name, user, not string
		addresses       []string
		passes          bool
		asked           int
		kind            sandbox.DenialKind
	}{
		{name: "a name that only the proxy knows", user: "u:p4ss@", passes: true, asked: 1},
		{name: "a name that is known here, too", user: "u:p4ss@", addresses: []string{"93.184.216.34"}, passes: true, asked: 1},
		{name: "a name that is private here", user: "u:p4ss@", addresses: []string{"10.0.0.8"}, kind: sandbox.DeniedResolved},
		{name: "a host that is reached without", user: "u:p4ss@", not: "api.example.com", addresses: []string{"93.184.216.34"}, passes: true},
		{name: "other credentials", user: "u:wrong@", asked: 1, kind: sandbox.DeniedUpstream},
		{name: "no credentials", asked: 1, kind: sandbox.DeniedUpstream},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := newProxy(t, at)
			s := by(t, p.url(c.user), c.not, at, "api.example.com")
			if c.addresses != nil {
				s.lookup.names["api.example.com"] = c.addresses
			}
			conn := s.connect("api.example.com", 443)
			if (conn != nil) != c.passes {
				t.Fatalf("passes: %v", conn != nil)
			}
			if len(p.seen()) != c.asked {
				t.Errorf("the proxy was asked %q", p.seen())
			}
			if !c.passes {
				s.await("a denial", func(e wire.Event) bool {
					return e.Denied != nil && e.Denied.Kind == c.kind && !strings.Contains(e.Denied.Why, "p4ss") && !strings.Contains(e.Denied.Why, "wrong")
				})
				return
			}
			secure := tls.Client(conn, &tls.Config{ServerName: "api.example.com", InsecureSkipVerify: true}) //nolint:gosec // of a test
			_, _ = io.WriteString(secure, "GET / HTTP/1.0\r\nHost: api.example.com\r\n\r\n")
			resp, err := http.ReadResponse(bufio.NewReader(secure), nil)
			if err != nil {
				t.Fatal(err)
			}
			defer resp.Body.Close()
			if body, _ := io.ReadAll(resp.Body); string(body) != "hello" {
				t.Errorf("got %q", body)
			}
			if c.asked > 0 && !strings.HasPrefix(p.seen()[0], "CONNECT api.example.com:443 ") {
				t.Errorf("the proxy was asked %q", p.seen())
			}
		})
	}
}

// TestTheProxyIsFollowed: a laptop that leaves the office has none any more.
func TestTheProxyIsFollowed(t *testing.T) {
	server := httptest.NewTLSServer(http.NotFoundHandler())
	defer server.Close()
	at := server.Listener.Addr().String()
	p := newProxy(t, at)
	s := by(t, p.url("u:p4ss@"), "", at, "api.example.com")
	s.lookup.names["api.example.com"] = []string{"93.184.216.34"}
	if s.connect("api.example.com", 443) == nil || len(p.seen()) != 1 {
		t.Fatal("the proxy was not used")
	}
	s.SetOutside(wire.Outside{})
	if s.connect("api.example.com", 443) == nil || len(p.seen()) != 1 {
		t.Errorf("the proxy was used: %q", p.seen())
	}
}
