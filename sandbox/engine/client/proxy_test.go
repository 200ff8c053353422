package client_test

import (
	"bufio"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"io"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/garita-dev/garita/sandbox"
	"github.com/garita-dev/garita/sandbox/engine/client"
	"github.com/garita-dev/garita/sandbox/sandboxtest"
)

// inspector is a company's proxy: it wants credentials and opens TLS with certificates of its own
// authority, which no program knows by itself.
type inspector struct {
	*httptest.Server
	ca    string // PEM
	key   *ecdsa.PrivateKey
	cert  *x509.Certificate
	mu    sync.Mutex
	asked []string
}

func newInspector(t *testing.T) *inspector {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "A Company's Authority"}, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	p := &inspector{key: key, ca: string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}))}
	if p.cert, err = x509.ParseCertificate(der); err != nil {
		t.Fatal(err)
	}
	p.Server = httptest.NewServer(http.HandlerFunc(p.connect))
	t.Cleanup(p.Close)
	return p
}

func (p *inspector) connect(w http.ResponseWriter, r *http.Request) {
	p.mu.Lock()
	p.asked = append(p.asked, r.Host)
	p.mu.Unlock()
	if r.Method != http.MethodConnect || r.Header.Get("Proxy-Authorization") != "Basic dTpwNHNz" {
		w.WriteHeader(http.StatusProxyAuthRequired)
		return
	}
	conn, _, err := http.NewResponseController(w).Hijack()
	if err != nil {
		return
	}
	defer conn.Close()
	_, _ = io.WriteString(conn, "HTTP/1.1 200 Connection established\r\n\r\n")
	host, _, _ := net.SplitHostPort(r.Host)
	inside := tls.Server(conn, &tls.Config{GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return p.leaf(host) }}) //nolint:gosec // of a test
	if req, err := http.ReadRequest(bufio.NewReader(inside)); err == nil {
		_, _ = io.WriteString(inside, "HTTP/1.1 200 OK\r\nConnection: close\r\n\r\nhello from "+req.Host)
	}
}

func (p *inspector) leaf(host string) (*tls.Certificate, error) {
	template := &x509.Certificate{SerialNumber: big.NewInt(time.Now().UnixNano()), DNSNames: []string{host}, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour), KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}}
	der, err := x509.CreateCertificate(rand.Reader, template, p.cert, &p.key.PublicKey, p.key)
	return &tls.Certificate{Certificate: [][]byte{der}, PrivateKey: p.key}, err
}

// TestACompanysProxy: names are known to the proxy only, its certificates are believed inside because a
// person named them, and its password is nowhere inside.
func TestACompanysProxy(t *testing.T) {
	e := shared(t)
	w := newWorld(t)
	p := newInspector(t)
	t.Run("report_N15", func(t *testing.T) {
		in := w.settleByProxy(e, rules(t, "api.example.test"), client.Outside{
			Proxy: client.ProxyURL("http://u:p4ss@" + strings.TrimPrefix(p.URL, "http://")), CA: p.ca,
		})
		for name, line := range map[string]string{
			"curl":          `curl -sS -m 20 https://api.example.test/`,
			"node fetch":    `node -e 'fetch("https://api.example.test/").then(r=>r.text()).then(console.log,e=>console.log("failed",e.cause&&e.cause.code||e))'`,
			"python urllib": `/usr/bin/python3 -c 'import urllib.request;print(urllib.request.urlopen("https://api.example.test/",timeout=20).read().decode())'`,
		} {
			if got := in.run(line); got != "hello from api.example.test" {
				t.Errorf("%s: %s%s", name, got, in.story())
			}
		}
		if got := in.run("curl -sS -m 5 https://evil.example.test/ 2>/dev/null || echo refused"); got != "refused" {
			t.Errorf("what is not listed: %s", got)
		}
		if got := in.run("{ env; cat /proc/*/environ /proc/*/cmdline; } 2>/dev/null | tr '\\0' '\\n' | grep -c 'p4s[s]'"); got != "0" {
			t.Errorf("the proxy's password is seen inside: %s", got)
		}
	})
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, host := range p.asked {
		if host != "api.example.test:443" {
			t.Errorf("the proxy was asked for %s", host)
		}
	}
}

// settleByProxy starts a shell on a machine with a proxy, whose certificates are trusted inside.
func (w *world) settleByProxy(e *client.Engine, l sandbox.Allowlist, out client.Outside) *inhabitant {
	w.t.Helper()
	launch := sandboxtest.Shell(`while read -r line; do eval "$line" 2>&1 | tr '\n' ' '; echo; done`)
	launch.Network, launch.Trust = l, out.CA
	in := &inhabitant{t: w.t, launch: launch, more: make(chan struct{})}
	var err error
	if in.out, err = w.wall.OpenWayOut(w.t.Context(), client.Sandbox{ID: launch.ID, Host: w.host, Rules: l, Outside: out}, in.see); err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() { _ = in.out.Close() })
	in.instance, in.pipes = sandboxtest.Start(w.t, networked{e, in.out}, launch)
	return in
}
