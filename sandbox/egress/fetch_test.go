package egress

import (
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/garita-dev/garita/sandbox/egress/wire"
)

// TestAProxyThatWantsAPassword: whoever fetches packages and images is told where to put it.
func TestAProxyThatWantsAPassword(t *testing.T) {
	proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusProxyAuthRequired)
	}))
	defer proxy.Close()
	transport, err := newTransport(wire.Outside{Proxy: wire.NewSecret("http://u:hunter2@" + proxy.Listener.Addr().String())})
	if err != nil {
		t.Fatal(err)
	}
	defer transport.CloseIdleConnections()
	resp, err := (&http.Client{Transport: transport}).Get("https://registry.example.com/")
	if err == nil {
		_ = resp.Body.Close()
		t.Fatal("it was fetched")
	}
	if text := err.Error(); !strings.Contains(text, "config.yaml") || strings.Contains(text, "hunter2") {
		t.Errorf("got %q", text)
	}
}

// TestPackagesComeBySOCKS: the proxy is asked, and not this machine's name servers.
func TestPackagesComeBySOCKS(t *testing.T) {
	for _, scheme := range []string{"socks5", "socks5h"} {
		t.Run(scheme, func(t *testing.T) {
			l, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				t.Fatal(err)
			}
			defer l.Close()
			asked := make(chan byte, 1)
			go func() {
				c, err := l.Accept()
				if err != nil {
					return
				}
				defer c.Close()
				var first [1]byte
				_, _ = c.Read(first[:])
				asked <- first[0]
			}()
			transport, err := newTransport(wire.Outside{Proxy: wire.NewSecret(scheme + "://" + l.Addr().String())})
			if err != nil {
				t.Fatal(err)
			}
			defer transport.CloseIdleConnections()
			resp, err := (&http.Client{Transport: transport}).Get("https://registry.example.com/")
			if err == nil {
				_ = resp.Body.Close()
			}
			if version := <-asked; version != 5 {
				t.Errorf("the proxy was spoken to in version %d", version)
			}
		})
	}
}
