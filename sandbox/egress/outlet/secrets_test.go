package outlet

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"encoding/pem"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
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

	"github.com/containerd/errdefs"
	"github.com/gorilla/websocket"

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

func TestWhatComesBackIsLookedInto(t *testing.T) {
	quoted := strings.ReplaceAll(value, "g", `\u0067`)
	answers := map[string]http.HandlerFunc{
		"plain":   func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "a "+value+" b") },
		"escaped": func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, `{"a":"`+quoted+`"}`) },
		"a length": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", fmt.Sprint(len(value)))
			_, _ = io.WriteString(w, value)
		},
		"base64": func(w http.ResponseWriter, _ *http.Request) {
			_, _ = io.WriteString(w, base64.StdEncoding.EncodeToString([]byte("x:"+value)))
		},
		"a header": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Location", "/?t="+value)
			w.WriteHeader(302)
		},
		"its name": func(w http.ResponseWriter, _ *http.Request) { w.Header().Set("X-"+value, "1") },
		"an early hint": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Link", "</"+value+">")
			w.WriteHeader(http.StatusEarlyHints)
		},
		"an error": func(w http.ResponseWriter, _ *http.Request) { http.Error(w, value, http.StatusUnauthorized) },
		"gzip, unasked": func(w http.ResponseWriter, r *http.Request) {
			if r.Header.Get("Accept-Encoding") != "identity" {
				http.Error(w, "asked for "+r.Header.Get("Accept-Encoding"), 500)
				return
			}
			w.Header().Set("Content-Encoding", "gzip")
			z := gzip.NewWriter(w)
			_, _ = io.WriteString(z, value)
			_ = z.Close()
		},
	}
	w := newWorld(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { answers[strings.TrimPrefix(r.URL.Path, "/")](w, r) }))
	s := newSecretly(t, w, grant())
	for name := range answers {
		for _, h2 := range []bool{false, true} {
			got := do(t, s.client(h2), "GET", "https://"+granted+"/"+url.PathEscape(name), "", bearer, "Accept-Encoding: gzip")
			if got.StatusCode >= 500 {
				t.Errorf("%s: %d %s", name, got.StatusCode, got.body)
			}
			all := fmt.Sprint(got.Header) + got.body
			if plain, err := base64.StdEncoding.DecodeString(got.body); err == nil {
				all += string(plain)
			}
			if strings.Contains(strings.ToLower(all), value[4:20]) || strings.Contains(strings.ReplaceAll(all, `\u0067`, "g"), value) {
				t.Errorf("%s: the value came back: %s", name, all)
			}
			if name == "plain" && got.body != "a "+sentinel+" b" {
				t.Errorf("got %q", got.body)
			}
		}
	}
	t.Run("another coding", func(t *testing.T) {
		answers["br"] = func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Encoding", "br")
			_, _ = io.WriteString(w, "x")
		}
		if got := do(t, s.client(true), "GET", "https://"+granted+"/br", ""); got.StatusCode != http.StatusBadGateway || !strings.Contains(got.body, "br") {
			t.Errorf("%d %s", got.StatusCode, got.body)
		}
	})
}

func TestEventsComeSoon(t *testing.T) {
	versions(t, func(t *testing.T, h2 bool) {
		next := make(chan string)
		w := newWorld(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "text/event-stream")
			for text := range next {
				for part := range strings.SplitSeq(text, "|") {
					_, _ = io.WriteString(w, part)
					_ = http.NewResponseController(w).Flush()
				}
			}
		}))
		s := newSecretly(t, w, grant())
		r, _ := http.NewRequest("GET", "https://"+granted+"/", nil)
		done := make(chan *http.Response)
		go func() {
			resp, err := s.client(h2).Do(r)
			if err != nil {
				t.Error(err)
			}
			done <- resp
		}()
		next <- "data: first\n\n"
		resp := <-done
		if resp == nil {
			t.FailNow()
		}
		defer resp.Body.Close()
		lines := bufio.NewReader(resp.Body)
		expect := func(want string) {
			t.Helper()
			for _, line := range []string{want, "\n"} {
				if got, err := lines.ReadString('\n'); got != line || err != nil {
					t.Fatalf("got %q, %v, want %q", got, err, line)
				}
			}
		}
		expect("data: first\n")
		next <- "data: " + value[:16] + "|" + value[16:] + "\n\n"
		expect("data: " + sentinel + "\n")
		next <- "data: gh" // the beginning of a value is let go of, after a moment
		if b, err := lines.Peek(8); err != nil || string(b) != "data: gh" {
			t.Fatalf("%q, %v", b, err)
		}
		next <- "ost\n\n"
		expect("data: ghost\n")
		close(next)
	})
}

func TestFullDuplex(t *testing.T) {
	versions(t, func(t *testing.T, h2 bool) {
		w := newWorld(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			c := http.NewResponseController(w)
			_ = c.EnableFullDuplex()
			_ = c.Flush()
			in := bufio.NewScanner(r.Body)
			for in.Scan() {
				_, _ = fmt.Fprintf(w, "%s %s\n", in.Text(), r.Header.Get("Authorization"))
				_ = c.Flush()
			}
		}))
		s := newSecretly(t, w, grant())
		in, out := io.Pipe()
		r, _ := http.NewRequest("POST", "https://"+granted+"/", in)
		r.Header.Set("Authorization", "Bearer "+sentinel)
		r.Header.Set("Te", "trailers")
		go func() { _, _ = io.WriteString(out, "one\n") }()
		resp, err := s.client(h2).Do(r)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		lines := bufio.NewReader(resp.Body)
		for _, word := range []string{"one", "two", "three"} {
			if word != "one" {
				_, _ = io.WriteString(out, word+"\n")
			}
			if got, err := lines.ReadString('\n'); got != word+" Bearer "+sentinel+"\n" {
				t.Fatalf("%q, %v", got, err)
			}
		}
		_ = out.Close()
		if _, err := io.Copy(io.Discard, resp.Body); err != nil {
			t.Error(err)
		}
	})
}

func TestWebSockets(t *testing.T) {
	up := websocket.Upgrader{EnableCompression: true}
	w := newWorld(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		c, err := up.Upgrade(w, r, http.Header{"X-Echo": {r.Header.Get("Authorization")}})
		if err != nil {
			return
		}
		defer c.Close()
		for {
			kind, b, err := c.ReadMessage()
			if err != nil {
				return
			}
			if string(b) == "token" {
				b = []byte(r.Header.Get("Authorization"))
			}
			if c.WriteMessage(kind, b) != nil {
				return
			}
		}
	}))
	s := newSecretly(t, w, grant())
	d := websocket.Dialer{
		EnableCompression: true, TLSClientConfig: &tls.Config{RootCAs: s.roots},
		NetDial: func(_, at string) (net.Conn, error) { return s.connect(granted, 443), nil },
	}
	c, resp, err := d.Dial("wss://"+granted+"/", http.Header{"Authorization": {"Bearer " + sentinel}})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if resp.Header.Get("X-Echo") != "Bearer "+sentinel || resp.Header.Get("Sec-Websocket-Extensions") != "" {
		t.Errorf("headers: %v", resp.Header)
	}
	for given, want := range map[string]string{
		"token": "Bearer " + sentinel, "g": "g", "": "", sentinel: sentinel, strings.Repeat("long ", 30000): strings.Repeat("long ", 30000),
	} {
		if err := c.WriteMessage(websocket.TextMessage, []byte(given)); err != nil {
			t.Fatal(err)
		}
		if _, b, err := c.ReadMessage(); err != nil || string(b) != want {
			t.Errorf("%.20q: %.40q, %v", given, b, err)
		}
	}
	if !w.saw("Bearer " + value) {
		t.Error("the host has not got the value")
	}
	if err := s.SetSecrets(nil); err != nil {
		t.Fatal(err)
	}
	if _, _, err := c.ReadMessage(); err == nil {
		t.Error("the connection lives on after the secret was revoked")
	}
}

func TestBigUploads(t *testing.T) {
	const size = 64 << 20
	w := newWorld(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		n, err := io.Copy(io.Discard, r.Body)
		_, _ = fmt.Fprint(w, n, err, which(r.Header.Get("Authorization")))
	}))
	s := newSecretly(t, w, grant())
	chunk := make([]byte, 1<<20)
	for i := range chunk {
		chunk[i] = byte(rand.IntN(256))
	}
	versions(t, func(t *testing.T, h2 bool) {
		var all []io.Reader
		for range size / len(chunk) {
			all = append(all, bytes.NewReader(chunk))
		}
		r, _ := http.NewRequest("PUT", "https://"+granted+"/", io.MultiReader(all...))
		r.ContentLength = size
		r.Header.Set("Authorization", sentinel)
		resp, err := s.client(h2).Do(r)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		if b, _ := io.ReadAll(resp.Body); string(b) != fmt.Sprint(size, nil, "the real one") {
			t.Errorf("got %s", b)
		}
	})
}

func TestRevokingEndsWhatCarriedIt(t *testing.T) {
	begun := make(chan struct{}, 8)
	w := newWorld(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_ = http.NewResponseController(w).Flush()
		begun <- struct{}{}
		<-r.Context().Done()
	}))
	versions(t, func(t *testing.T, h2 bool) {
		s := newSecretly(t, w, grant())
		with := open(t, s.client(h2), bearer)
		without := open(t, s.client(h2))
		for range 2 {
			<-begun
		}
		if err := s.SetSecrets([]wire.Placeholder{grant()}); err != nil { // the same again
			t.Fatal(err)
		}
		changed := grant()
		changed.Value, changed.Version = wire.NewSecret("ghp_another000111222333x"), 3
		if err := s.SetSecrets([]wire.Placeholder{changed}); err != nil {
			t.Fatal(err)
		}
		if _, err := with.Read(make([]byte, 1)); err == nil {
			t.Error("the connection on which the value was sent lives")
		}
		s.await("its end", func(e wire.Event) bool { return e.Ended != nil && strings.Contains(e.Ended.Why, "github") })
		ended := 0
		for _, c := range s.Live() {
			if c.Why != "" {
				ended++
			}
		}
		if len(s.Live())-ended != 1 {
			t.Errorf("%d connections live, %d of them ended", len(s.Live()), ended)
		}
		_ = without.Close()
	})
}

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
