package outlet

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/garita-dev/garita/sandbox"
	"github.com/garita-dev/garita/sandbox/egress/authority"
	"github.com/garita-dev/garita/sandbox/egress/wire"
)

const (
	value    = "ghp_v41u3000111222333444"
	sentinel = "ghp_S3nt1neL000000000abc"
	granted  = "granted.example.com"
	other    = "other.example.com"
)

// world is what tests have outside: one server that plays every host, and shows what it was sent.
type world struct {
	*httptest.Server
	mu   sync.Mutex
	seen []string // requests, as they came, with headers and body
}

// newWorld serves handler, or an echo where it is nil.
func newWorld(t testing.TB, handler http.Handler, hosts ...string) *world {
	t.Helper()
	w := &world{}
	if handler == nil {
		handler = http.HandlerFunc(echo)
	}
	w.Server = httptest.NewUnstartedServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		w.note(r)
		handler.ServeHTTP(rw, r)
	}))
	w.Config.ErrorLog = silent
	w.EnableHTTP2 = true
	w.TLS = w.config(t, hosts...)
	w.StartTLS()
	t.Cleanup(w.Close)
	return w
}

// config has a certificate for every host, by an authority of the world's own.
func (w *world) config(t testing.TB, hosts ...string) *tls.Config {
	a, err := authority.New([]sandbox.Endpoint{{Host: "example.com", Port: 443}, {Host: "93.184.216.34", Port: 443}})
	if err != nil {
		t.Fatal(err)
	}
	i, err := authority.Open(a)
	if err != nil {
		t.Fatal(err)
	}
	w.Server.Config.BaseContext = func(net.Listener) context.Context { return context.WithValue(context.Background(), rootKey{}, a.Cert) }
	c := &tls.Config{NextProtos: []string{"h2", "http/1.1"}}
	c.GetConfigForClient = func(h *tls.ClientHelloInfo) (*tls.Config, error) {
		host := h.ServerName
		if host == "" {
			host = "93.184.216.34"
		} else if len(hosts) > 0 {
			host = hosts[0]
		}
		leaf, err := i.Leaf(host)
		if err != nil {
			return nil, err
		}
		return &tls.Config{Certificates: []tls.Certificate{*leaf}, NextProtos: c.NextProtos, ClientAuth: c.ClientAuth}, nil //nolint:gosec // a test's
	}
	return c
}

type rootKey struct{}

func (w *world) root() string {
	root, _ := w.Config.BaseContext(nil).Value(rootKey{}).(string)
	return root
}

func (w *world) note(r *http.Request) {
	var out strings.Builder
	fmt.Fprintf(&out, "%s %s %s\n", r.Proto, r.Host, r.URL)
	_ = r.Header.Write(&out)
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.seen) < 1000 {
		w.seen = append(w.seen, out.String())
	}
}

// saw says whether some request held text.
func (w *world) saw(text string) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.ContainsFunc(w.seen, func(s string) bool { return strings.Contains(s, text) })
}

// echo gives back all that it was sent, and says in "X-Got" which of value and sentinel came, in words
// that no scan finds.
func echo(w http.ResponseWriter, r *http.Request) {
	_ = http.NewResponseController(w).EnableFullDuplex()
	body, _ := io.ReadAll(r.Body)
	var all bytes.Buffer
	fmt.Fprintf(&all, "%s %s\n", r.Method, r.URL)
	_ = r.Header.Write(&all)
	all.Write(body)
	user, password, _ := r.BasicAuth()
	for _, field := range []struct{ name, text string }{
		{"X-Got", fmt.Sprint(r.Header)}, {"X-Got-Query", r.URL.RawQuery}, {"X-Got-Body", string(body)}, {"X-Got-Basic", user + " " + password}, {"X-Got-Path", r.URL.Path},
	} {
		w.Header().Set(field.name, which(field.text))
	}
	w.Header().Set("X-Echo", r.Header.Get("Authorization"))
	w.Header().Set("Set-Cookie", "t="+url.QueryEscape(r.Header.Get("Authorization")))
	w.Header().Set("X-Length", fmt.Sprint(len(body)))
	_, _ = w.Write(all.Bytes())
}

func which(text string) string {
	switch v, s := strings.Contains(text, value), strings.Contains(text, sentinel); {
	case v && s:
		return "both"
	case v:
		return "the real one"
	case s:
		return "the other one"
	}
	return "none"
}

// secretly is a stage with placeholders, whose server is w.
type secretly struct {
	*stage
	w     *world
	roots *x509.CertPool
	log   *bytes.Buffer
}

func grant(places ...string) wire.Placeholder {
	p := wire.Placeholder{
		Secret: "github", Version: 2, Sentinel: sentinel, Value: wire.NewSecret(value),
		Hosts: []sandbox.Endpoint{{Host: granted, Port: 443}, {Host: "nas.example.com", Port: 8080}, {Host: sandbox.HostName, Port: 3000}, {Host: "93.184.216.34", Port: 443}},
	}
	if len(places) == 0 {
		places = []string{"header Authorization"}
	}
	for _, text := range places {
		in, name, _ := strings.Cut(text, " ")
		p.Places = append(p.Places, sandbox.SecretPlace{In: sandbox.PlaceKind(in), Name: name})
	}
	return p
}

func newSecretly(t testing.TB, w *world, all ...wire.Placeholder) *secretly {
	t.Helper()
	a, err := authority.New([]sandbox.Endpoint{{Host: "*.example.com", Port: 443}, {Host: sandbox.HostName, Port: 3000}, {Host: "93.184.216.34", Port: 443}})
	if err != nil {
		t.Fatal(err)
	}
	s := &secretly{w: w, roots: x509.NewCertPool(), log: &bytes.Buffer{}}
	s.roots.AppendCertsFromPEM([]byte(a.Cert))
	s.roots.AppendCertsFromPEM([]byte(w.root()))
	request := wire.Sandbox{ID: "i1", WaitMS: 300, Authority: a, Placeholders: all, Host: wire.Host{CA: w.root()}}
	request.Rules = allowed(t, granted, other, granted+":80", "93.184.216.34")
	request.Rules.LAN = []sandbox.Endpoint{{Host: "nas.example.com", Port: 8080}}
	request.Rules.HostPorts = []uint16{3000}
	secrets, err := OpenSecrets(request)
	if err != nil {
		t.Fatal(err)
	}
	s.stage = newStage(t, request.Rules, w.Listener.Addr().String(), func(o *Options) {
		o.Sandbox, o.Secrets = request, secrets
		o.Log = slog.New(slog.NewTextHandler(s.log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	})
	for _, name := range []string{granted, other} {
		s.lookup.names[name] = []string{"93.184.216.34"}
	}
	s.lookup.names["nas.example.com"] = []string{"192.168.1.20"}
	t.Cleanup(func() { s.silence(t) })
	return s
}

// silence checks that no report and no line of the log holds the value.
func (s *secretly) silence(t testing.TB) {
	s.Close()
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, e := range s.events {
		if text := fmt.Sprintf("%+v %+v %+v %+v %+v", e.Denied, e.Opened, e.Ended, e.Secret, e.Wanted); strings.Contains(text, value) {
			t.Errorf("a report holds the value: %s", text)
		}
	}
	if strings.Contains(s.log.String(), value) {
		t.Errorf("the log holds the value: %s", s.log)
	}
}

// client is a program inside, that speaks TLS to host.
func (s *secretly) client(h2 bool) *http.Client {
	transport := &http.Transport{
		TLSClientConfig: &tls.Config{RootCAs: s.roots}, ForceAttemptHTTP2: h2, DisableCompression: true,
		DialContext: func(_ context.Context, _, at string) (net.Conn, error) {
			host, port, _ := net.SplitHostPort(at)
			c := s.connect(host, netip.MustParseAddrPort("0.0.0.0:"+port).Port())
			if c == nil {
				return nil, fmt.Errorf("%s was refused", at)
			}
			return c, c.SetDeadline(time.Now().Add(2 * time.Minute))
		},
	}
	s.t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: transport, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
}

// reply is an answer, read to its end.
type reply struct {
	*http.Response
	body string
}

func do(t *testing.T, c *http.Client, method, address, body string, headers ...string) reply {
	t.Helper()
	r, err := http.NewRequest(method, address, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	for _, h := range headers {
		name, text, _ := strings.Cut(h, ": ")
		r.Header.Add(name, text)
	}
	resp, err := c.Do(r)
	if err != nil {
		t.Fatalf("%s: %v", address, err)
	}
	defer resp.Body.Close()
	got, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatalf("%s: %v", address, err)
	}
	if strings.Contains(string(got)+fmt.Sprint(resp.Header, resp.Trailer), value) {
		t.Errorf("%s: the value came back", address)
	}
	return reply{resp, string(got)}
}

const bearer = "Authorization: Bearer " + sentinel

func versions(t *testing.T, run func(t *testing.T, h2 bool)) {
	t.Run("HTTP/1.1", func(t *testing.T) { run(t, false) })
	t.Run("HTTP/2", func(t *testing.T) { run(t, true) })
}

func TestTheGrantedHostHasTheValueAndNobodyElse(t *testing.T) {
	versions(t, func(t *testing.T, h2 bool) {
		w := newWorld(t, nil)
		s := newSecretly(t, w, grant())
		c := s.client(h2)
		got := do(t, c, "GET", "https://"+granted+"/", "", bearer)
		if got.Header.Get("X-Got") != "the real one" || (got.ProtoMajor == 2) != h2 {
			t.Errorf("%s: the granted host got %s", got.Proto, got.Header.Get("X-Got"))
		}
		if got.Header.Get("X-Echo") != "Bearer "+sentinel || !strings.Contains(got.body, "Bearer "+sentinel) || !strings.Contains(got.Header.Get("Set-Cookie"), sentinel) {
			t.Errorf("what came back: %v %s", got.Header, got.body)
		}
		s.await("a use", func(e wire.Event) bool {
			return e.Secret != nil && e.Secret.Sent && e.Secret.Secret == "github" && e.Secret.Version == 2 && e.Secret.Host == granted && e.Secret.Port == 443 && e.Secret.Place.Name == "Authorization"
		})
		if got := do(t, c, "GET", "https://"+other+"/", "", bearer); got.Header.Get("X-Got") != "the other one" {
			t.Errorf("another allowed host got %s", got.Header.Get("X-Got"))
		}
		if got := do(t, c, "POST", "https://"+granted+"/", "env: "+sentinel, bearer); got.Header.Get("X-Got-Body") != "the other one" || got.Header.Get("X-Got") != "the real one" {
			t.Errorf("in a body: %v", got.Header)
		}
		s.await("a sentinel in a body", func(e wire.Event) bool {
			return e.Secret != nil && !e.Secret.Sent && e.Secret.Place.In == sandbox.InBody && e.Secret.Why != ""
		})
		if got := do(t, c, "GET", "https://"+granted+"/"+sentinel+"?x="+sentinel, "", "X-Other: "+sentinel); got.Header.Get("X-Got") != "the other one" || got.Header.Get("X-Got-Query") != "the other one" || got.Header.Get("X-Got-Path") != "the other one" {
			t.Errorf("elsewhere: %v", got.Header)
		}
		if err := s.SetSecrets(nil); err != nil {
			t.Fatal(err)
		}
		if got := do(t, s.client(h2), "GET", "https://"+granted+"/", "", bearer); got.Header.Get("X-Got") != "the other one" {
			t.Errorf("after it was revoked the host got %s", got.Header.Get("X-Got"))
		}
	})
}

func TestEveryPlace(t *testing.T) {
	w := newWorld(t, nil)
	s := newSecretly(t, w, grant("header X-Api-Key", "header Authorization", "query key", "body token"))
	c := s.client(true)
	at := "https://" + granted + "/p?a=b%20c&key=" + sentinel
	got := do(t, c, "POST", at, `{"n":[{"token":"`+sentinel+`"}]}`, "Content-Type: application/json", "x-api-key: "+sentinel, "Authorization: Basic "+base64.StdEncoding.EncodeToString([]byte("me:"+sentinel)))
	for _, name := range []string{"X-Got", "X-Got-Query", "X-Got-Body"} {
		if got.Header.Get(name) != "the real one" {
			t.Errorf("%s: %s", name, got.Header.Get(name))
		}
	}
	if got.Header.Get("X-Got-Basic") != "the real one" {
		t.Error("Basic credentials")
	}
	if got := do(t, c, "POST", "https://"+granted+"/", "x=1&token="+sentinel, "Content-Type: application/x-www-form-urlencoded"); got.Header.Get("X-Got-Body") != "the real one" {
		t.Error("a form")
	}
	large := `{"pad":"` + strings.Repeat("x", 9<<20) + `","token":"` + sentinel + `"}`
	if got := do(t, c, "POST", "https://"+granted+"/", large, "Content-Type: application/json"); got.Header.Get("X-Got-Body") != "the other one" || got.Header.Get("X-Length") != fmt.Sprint(len(large)) {
		t.Errorf("a large body: %v", got.Header)
	}
	s.await("why a large body stays", func(e wire.Event) bool { return e.Secret != nil && strings.Contains(e.Secret.Why, "8 MiB") })
}

// pieces is a body whose length nobody knows.
type pieces struct{ io.Reader }

func TestChunkedBodiesAndTrailers(t *testing.T) {
	versions(t, func(t *testing.T, h2 bool) {
		w := newWorld(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Trailer", "X-Announced")
			echo(w, r)
			w.Header().Set("X-Announced", "v="+r.Trailer.Get("X-Sum")+value)
			w.Header().Set(http.TrailerPrefix+"Grpc-Message", url.PathEscape(value))
			w.Header().Set(http.TrailerPrefix+"Grpc-Status", "0")
		}))
		s := newSecretly(t, w, grant("body token"))
		for _, kind := range []string{"application/json", "application/octet-stream"} {
			r, _ := http.NewRequest("POST", "https://"+granted+"/", &pieces{strings.NewReader(`{"token":"` + sentinel + `"}`)})
			r.Header.Set("Content-Type", kind)
			r.Trailer = http.Header{"X-Sum": {"sum " + sentinel}}
			resp, err := s.client(h2).Do(r)
			if err != nil {
				t.Fatal(err)
			}
			_, _ = io.ReadAll(resp.Body)
			_ = resp.Body.Close()
			want := map[string]string{"application/json": "the real one", "application/octet-stream": "the other one"}[kind]
			if got := resp.Header.Get("X-Got-Body"); got != want {
				t.Errorf("%s: %s", kind, got)
			}
			if got := resp.Trailer.Get("X-Announced"); got != "v=sum "+sentinel+sentinel {
				t.Errorf("%s: an announced trailer is %q", kind, got)
			}
			if resp.Trailer.Get("Grpc-Status") != "0" || resp.Trailer.Get("Grpc-Message") != sentinel {
				t.Errorf("%s: trailers: %v", kind, resp.Trailer)
			}
		}
		s.await("a sentinel in a trailer", func(e wire.Event) bool { return e.Secret != nil && e.Secret.Place.In == "trailer" })
	})
}
