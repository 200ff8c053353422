package outlet

import (
	"encoding/binary"
	"fmt"
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

// socksProxy is a company's SOCKS proxy (RFC 1928, RFC 1929): it wants a name and a password, writes down
// what it was asked, and leads to one place.
type socksProxy struct {
	net.Listener
	to      string
	serving sync.WaitGroup

	mu    sync.Mutex
	asked []string
}

func newSOCKS(t *testing.T, to string) *socksProxy {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := &socksProxy{Listener: l, to: to}
	p.serving.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			p.serving.Go(func() { defer c.Close(); p.serve(c) })
		}
	})
	t.Cleanup(func() { _ = l.Close(); p.serving.Wait() })
	return p
}

func (p *socksProxy) serve(c net.Conn) {
	methods, err := p.greeting(c)
	if err != nil {
		return
	}
	if !strings.Contains(methods, "\x02") { // no password is offered
		_, _ = c.Write([]byte{5, 0xff})
		return
	}
	_, _ = c.Write([]byte{5, 2})
	if user, err := credentials(c); err != nil || user != "u:p4ss" {
		_, _ = c.Write([]byte{1, 1})
		return
	}
	_, _ = c.Write([]byte{1, 0})
	host, err := destination(c)
	p.mu.Lock()
	p.asked = append(p.asked, host)
	p.mu.Unlock()
	out, dialErr := net.Dial("tcp", p.to)
	if err != nil || dialErr != nil || strings.HasPrefix(host, "refused.") {
		_, _ = c.Write([]byte{5, 2, 0, 1, 0, 0, 0, 0, 0, 0})
		return
	}
	defer out.Close()
	_, _ = c.Write([]byte{5, 0, 0, 1, 0, 0, 0, 0, 0, 0})
	p.serving.Go(func() { _, _ = io.Copy(out, c); _ = out.(*net.TCPConn).CloseWrite() })
	_, _ = io.Copy(c, out)
}

func (p *socksProxy) greeting(c net.Conn) (methods string, err error) {
	var head [2]byte
	if _, err := io.ReadFull(c, head[:]); err != nil {
		return "", err
	}
	all := make([]byte, head[1])
	_, err = io.ReadFull(c, all)
	return string(all), err
}

func credentials(c net.Conn) (string, error) {
	var version [1]byte
	if _, err := io.ReadFull(c, version[:]); err != nil {
		return "", err
	}
	user, err := counted8(c)
	if err != nil {
		return "", err
	}
	password, err := counted8(c)
	return user + ":" + password, err
}

// counted8 reads a text whose length goes before it.
func counted8(c net.Conn) (string, error) {
	var n [1]byte
	if _, err := io.ReadFull(c, n[:]); err != nil {
		return "", err
	}
	text := make([]byte, n[0])
	_, err := io.ReadFull(c, text)
	return string(text), err
}

// destination takes names only: that is what looks them up.
func destination(c net.Conn) (string, error) {
	var head [4]byte
	if _, err := io.ReadFull(c, head[:]); err != nil || head[3] != 3 {
		return "", fmt.Errorf("an address of kind %d: %w", head[3], err)
	}
	host, err := counted8(c)
	if err != nil {
		return "", err
	}
	var port [2]byte
	_, err = io.ReadFull(c, port[:])
	return fmt.Sprintf("%s:%d", host, binary.BigEndian.Uint16(port[:])), err
}

func (p *socksProxy) seen() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.asked
}

func TestASOCKSProxyOfThisMachine(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "hello") }))
	defer server.Close()
	at := server.Listener.Addr().String()
	for _, c := range []struct {
		name, host, scheme, user, not string
		addresses                     []string
		passes                        bool
		asked                         int
		why                           string
		kind                          sandbox.DenialKind
	}{
		{name: "a name that only the proxy knows", host: "api.example.com", scheme: "socks5", user: "u:p4ss@", passes: true, asked: 1},
		{name: "the other word for it", host: "api.example.com", scheme: "socks5h", user: "u:p4ss@", passes: true, asked: 1},
		{name: "a name that is known here, too", host: "api.example.com", scheme: "socks5", user: "u:p4ss@", addresses: []string{"93.184.216.34"}, passes: true, asked: 1},
		{name: "a name that is private here", host: "api.example.com", scheme: "socks5h", user: "u:p4ss@", addresses: []string{"10.0.0.8"}, kind: sandbox.DeniedResolved},
		{name: "a host that is reached without", host: "api.example.com", scheme: "socks5", user: "u:p4ss@", not: "api.example.com", addresses: []string{"93.184.216.34"}, passes: true},
		{name: "other credentials", host: "api.example.com", scheme: "socks5", user: "u:wrong@", kind: sandbox.DeniedUpstream, why: "config.yaml"},
		{name: "no credentials", host: "api.example.com", scheme: "socks5", kind: sandbox.DeniedUpstream, why: "config.yaml"},
		{name: "the proxy refuses", host: "refused.example.com", scheme: "socks5", user: "u:p4ss@", asked: 1, kind: sandbox.DeniedUpstream, why: "not allowed"},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := newSOCKS(t, at)
			s := by(t, c.scheme+"://"+c.user+p.Addr().String(), c.not, at, c.host+":80")
			if c.addresses != nil {
				s.lookup.names[c.host] = c.addresses
			}
			conn := s.connect(c.host, 80)
			if (conn != nil) != c.passes {
				t.Fatalf("passes: %v", conn != nil)
			}
			if len(p.seen()) != c.asked || c.asked > 0 && p.seen()[0] != c.host+":80" {
				t.Errorf("the proxy was asked %q", p.seen())
			}
			if !c.passes {
				s.await("a denial that says why", func(e wire.Event) bool {
					return e.Denied != nil && e.Denied.Kind == c.kind && strings.Contains(e.Denied.Why, c.why) && !strings.Contains(e.Denied.Why, "p4ss") && !strings.Contains(e.Denied.Why, "wrong")
				})
				return
			}
			_, _ = io.WriteString(conn, "GET / HTTP/1.1\r\nHost: "+c.host+"\r\nConnection: close\r\n\r\n")
			if all, err := io.ReadAll(conn); err != nil || !strings.HasSuffix(string(all), "hello") {
				t.Errorf("got %q, %v", all, err)
			}
		})
	}
}
