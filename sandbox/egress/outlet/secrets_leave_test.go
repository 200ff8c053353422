package outlet

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/containerd/errdefs"

	"github.com/garita-dev/garita/sandbox"
	"github.com/garita-dev/garita/sandbox/egress/wire"
)

// open begins a request whose answer does not end.
func open(t *testing.T, c *http.Client, headers ...string) io.ReadCloser {
	t.Helper()
	r, _ := http.NewRequest("GET", "https://"+granted+"/", nil)
	for _, h := range headers {
		name, text, _ := strings.Cut(h, ": ")
		r.Header.Add(name, text)
	}
	resp, err := c.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = resp.Body.Close() })
	return resp.Body
}

func TestAPermissionEndsByItself(t *testing.T) {
	w := newWorld(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_ = http.NewResponseController(w).Flush()
		<-r.Context().Done()
	}))
	p := grant()
	p.Until = time.Now().Add(300 * time.Millisecond)
	s := newSecretly(t, w, p)
	if _, err := open(t, s.client(true), bearer).Read(make([]byte, 1)); err == nil {
		t.Error("it lives")
	}
	s.await("its end", func(e wire.Event) bool { return e.Ended != nil && strings.Contains(e.Ended.Why, "github") })
	if !w.saw(value) {
		t.Error("it was not sent at all")
	}
}

func TestConsulting(t *testing.T) {
	w := newWorld(t, nil)
	p := grant("header Authorization", "query key")
	p.Consult = true
	s := newSecretly(t, w, p)
	answer := func(use uint64, allow bool) {
		go func() {
			s.await("a question", func(e wire.Event) bool { return e.Wanted != nil && e.Wanted.Use == use })
			s.Leave(wire.Leave{Use: use, Allow: allow})
		}()
	}
	answer(1, true)
	at := "https://" + granted + "/?key=" + sentinel
	if got := do(t, s.client(true), "GET", at, "", bearer); got.Header.Get("X-Got") != "the real one" || got.Header.Get("X-Got-Query") != "the real one" {
		t.Errorf("allowed: %v", got.Header)
	}
	answer(2, false)
	if got := do(t, s.client(true), "GET", at, "", bearer); got.StatusCode != http.StatusForbidden || !strings.Contains(got.body, "github") {
		t.Errorf("denied: %d %s", got.StatusCode, got.body)
	}
	s.await("a denied use", func(e wire.Event) bool {
		return e.Secret != nil && !e.Secret.Sent && strings.Contains(e.Secret.Why, "not allowed")
	})
	if got := do(t, s.client(false), "GET", at, "", bearer); got.StatusCode != http.StatusForbidden || !strings.Contains(got.body, "in time") {
		t.Errorf("unanswered: %d %s", got.StatusCode, got.body)
	}
	if got := do(t, s.client(true), "GET", "https://"+granted+"/", ""); got.StatusCode != 200 {
		t.Error("without a secret")
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	wanted, sent := 0, 0
	for _, e := range s.events {
		if e.Wanted != nil {
			wanted++
		}
		if e.Secret != nil && e.Secret.Sent {
			sent++
		}
	}
	if wanted != 3 || sent != 2 {
		t.Errorf("%d questions, %d uses", wanted, sent)
	}
	s.Leave(wire.Leave{Use: 99, Allow: true}) // nobody waits
}

func TestSwappingNeedsTLSButNearby(t *testing.T) {
	clear := httptest.NewServer(http.HandlerFunc(echo))
	defer clear.Close()
	w := newWorld(t, nil)
	p := grant()
	p.Hosts = append(p.Hosts, sandbox.Endpoint{Host: granted, Port: 80})
	s := newSecretly(t, w, p)
	s.server = clear.Listener.Addr().String()
	for at, want := range map[string]string{
		"http://" + granted + "/":               "the other one",
		"http://nas.example.com:8080/":          "the real one",
		"http://" + sandbox.HostName + ":3000/": "the real one",
		"http://93.184.216.34:443/":             "the other one",
	} {
		if got := do(t, s.client(false), "GET", at, "", bearer); got.Header.Get("X-Got") != want {
			t.Errorf("%s got %s", at, got.Header.Get("X-Got"))
		}
	}
	s.await("why it stays", func(e wire.Event) bool {
		return e.Secret != nil && e.Secret.Port == 80 && strings.Contains(e.Secret.Why, "not encrypted")
	})
}

func TestAnAddressWithAGrant(t *testing.T) {
	w := newWorld(t, nil)
	s := newSecretly(t, w, grant())
	if got := do(t, s.client(true), "GET", "https://93.184.216.34/", "", bearer); got.Header.Get("X-Got") != "the real one" {
		t.Errorf("it got %s: %d %s", got.Header.Get("X-Got"), got.StatusCode, got.body)
	}
}

func TestOpenedConnectionsShowTheirName(t *testing.T) {
	w := newWorld(t, nil)
	s := newSecretly(t, w, grant())
	for _, h2 := range []bool{false, true} {
		r, _ := http.NewRequest("GET", "https://"+granted+"/", nil)
		r.Host = other
		r.Header.Set("Authorization", sentinel)
		resp, err := s.client(h2).Do(r)
		if err != nil {
			t.Fatal(err)
		}
		_ = resp.Body.Close()
		if resp.StatusCode != http.StatusMisdirectedRequest {
			t.Errorf("h2 %v: %d", h2, resp.StatusCode)
		}
	}
	if len(w.seen) > 0 {
		t.Errorf("it was sent: %v", w.seen)
	}
	s.await("a denial", func(e wire.Event) bool {
		return e.Denied != nil && e.Denied.Kind == sandbox.DeniedContent && strings.Contains(e.Denied.Why, other)
	})
}

func TestOnlyGrantedHostsAreOpened(t *testing.T) {
	w := newWorld(t, nil)
	s := newSecretly(t, w, grant())
	for host, by := range map[string]string{granted: "Garita", other: "Garita, for this sandbox alone"} {
		c := tls.Client(s.connect(host, 443), &tls.Config{ServerName: host, RootCAs: s.roots})
		if err := c.Handshake(); err != nil {
			t.Fatal(err)
		}
		ours := c.ConnectionState().PeerCertificates[0].CheckSignatureFrom(certificate(t, s.Options.Sandbox.Authority.Cert)) == nil
		if ours != (host == granted) {
			t.Errorf("%s: opened %v (%s)", host, ours, by)
		}
		_ = c.Close()
	}
}

func certificate(t *testing.T, text string) *x509.Certificate {
	t.Helper()
	block, _ := pem.Decode([]byte(text))
	c, err := x509.ParseCertificate(block.Bytes)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestCertificatesThatAreNotBelieved(t *testing.T) {
	w := newWorld(t, nil, other) // shows another host's
	s := newSecretly(t, w, grant())
	got := do(t, s.client(true), "GET", "https://"+granted+"/", "", bearer)
	if got.StatusCode != http.StatusBadGateway || !strings.Contains(got.body, "another name") || len(w.seen) > 0 {
		t.Errorf("%d %s", got.StatusCode, got.body)
	}
	s.await("a denial", func(e wire.Event) bool {
		return e.Denied != nil && e.Denied.Kind == sandbox.DeniedUpstream && strings.Contains(e.Denied.Why, "another name")
	})

	pins := tls.Client(s.connect(granted, 443), &tls.Config{ServerName: granted, RootCAs: x509.NewCertPool()})
	if pins.Handshake() == nil {
		t.Error("a client that pins went on")
	}
	s.await("a denial of a client that pins", func(e wire.Event) bool {
		return e.Denied != nil && e.Denied.Kind == sandbox.DeniedContent && strings.Contains(e.Denied.Why, "certain certificates only")
	})
}

func TestHostsThatWantACertificate(t *testing.T) {
	w := &world{Server: httptest.NewUnstartedServer(http.HandlerFunc(echo))}
	w.Config.ErrorLog = silent
	w.TLS = w.config(t)
	w.TLS.ClientAuth = tls.RequireAnyClientCert
	w.StartTLS()
	defer w.Close()
	s := newSecretly(t, w, grant())
	if got := do(t, s.client(true), "GET", "https://"+granted+"/", "", bearer); got.StatusCode != http.StatusBadGateway || !strings.Contains(got.body, "certificate") {
		t.Errorf("%d %s", got.StatusCode, got.body)
	}
	s.await("a denial", func(e wire.Event) bool {
		return e.Denied != nil && e.Denied.Kind == sandbox.DeniedContent && strings.Contains(e.Denied.Why, "client's")
	})
}

func TestHostsWithoutHTTP2(t *testing.T) {
	w := &world{Server: httptest.NewUnstartedServer(http.HandlerFunc(echo))}
	w.Config.ErrorLog = silent
	w.TLS = w.config(t)
	w.TLS.NextProtos = []string{"http/1.1"}
	w.StartTLS()
	defer w.Close()
	s := newSecretly(t, w, grant())
	c := s.client(true)
	do(t, c, "GET", "https://"+granted+"/", "")
	var all sync.WaitGroup
	for range 20 {
		all.Go(func() {
			if got := do(t, c, "GET", "https://"+granted+"/", "", bearer); got.ProtoMajor != 2 || got.Header.Get("X-Got") != "the real one" {
				t.Errorf("%s: %s", got.Proto, got.Header.Get("X-Got"))
			}
		})
	}
	all.Wait()
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.lookup.asked) != 1 {
		t.Errorf("%s was looked up %d times", granted, len(s.lookup.asked))
	}
}

func TestPlaceholdersThatCannotBeUsed(t *testing.T) {
	w := newWorld(t, nil)
	s := newSecretly(t, w, grant())
	outside, further := grant(), grant()
	outside.Hosts = []sandbox.Endpoint{{Host: "api.other.org", Port: 443}}
	further.Hosts = append(further.Hosts, outside.Hosts...)
	for _, test := range []struct {
		name  string
		given wire.Placeholder
		want  string // what the host gets
	}{
		{"a further host that its authority is not for", further, "the real one"},
		{"another host alone", outside, "the other one"},
		{"nowhere", wire.Placeholder{Secret: "x", Sentinel: sentinel, Value: wire.NewSecret(value)}, "the other one"},
	} {
		err := s.SetSecrets([]wire.Placeholder{test.given})
		if !errdefs.IsInvalidArgument(err) || strings.Contains(err.Error(), value) {
			t.Errorf("%s: %v", test.name, err)
		}
		if got := do(t, s.client(true), "GET", "https://"+granted+"/", "", bearer); got.Header.Get("X-Got") != test.want {
			t.Errorf("%s: the host got %s", test.name, got.Header.Get("X-Got"))
		}
	}
}

func TestManyLargeBodies(t *testing.T) {
	w := newWorld(t, nil)
	s := newSecretly(t, w, grant("body token"))
	c := s.client(true)
	text := `{"pad":"` + strings.Repeat("x", 2<<20) + `","token":"` + sentinel + `"}`
	refused := make(chan string, 50)
	send := func() {
		got := do(t, c, "POST", "https://"+granted+"/", text, "Content-Type: application/json")
		if got.StatusCode == http.StatusServiceUnavailable {
			refused <- got.body
		} else if got.Header.Get("X-Got-Body") != "the real one" {
			t.Errorf("got %s", got.Header.Get("X-Got-Body"))
		}
	}
	var all sync.WaitGroup
	for range 12 {
		all.Go(send)
	}
	all.Wait()
	if n := s.Options.Secrets.bodies.Load(); n > 0 || len(refused) > 0 {
		t.Errorf("%d bytes are kept, %d refused", n, len(refused))
	}
	s.Options.Secrets.bodies.Store(maxBodies - 1<<20)
	send()
	if len(refused) != 1 {
		t.Error("more is kept in memory than may be")
	}
	s.Options.Secrets.bodies.Store(0)
	send()
}
