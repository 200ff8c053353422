package outlet

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/net/dns/dnsmessage"

	"github.com/garita-dev/garita/sandbox"
	"github.com/garita-dev/garita/sandbox/egress/wire"
)

func TestMain(m *testing.M) {
	before := runtime.NumGoroutine()
	code := m.Run()
	if f := flag.Lookup("test.fuzz"); f != nil && f.Value.String() != "" {
		os.Exit(code) // fuzzing leaves its own behind
	}
	http.DefaultTransport.(*http.Transport).CloseIdleConnections() //nolint:errcheck,forcetypeassert // it is one
	deadline := time.Now().Add(5 * time.Second)
	for runtime.NumGoroutine() > before && time.Now().Before(deadline) {
		runtime.Gosched()
	}
	if n := runtime.NumGoroutine(); n > before && code == 0 {
		buf := make([]byte, 1<<20)
		fmt.Printf("%d goroutines are left:\n%s\n", n-before, buf[:runtime.Stack(buf, true)])
		code = 1
	}
	os.Exit(code)
}

// lookup is a resolver of a test's own.
type lookup struct {
	mu    sync.Mutex
	names map[string][]string // the first is taken each time, but for the last
	asked []string
}

func (l *lookup) LookUp(_ context.Context, name string) ([]netip.Addr, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.asked = append(l.asked, name)
	list := l.names[name]
	if len(list) == 0 {
		return nil, errors.New("no such host")
	}
	if len(list) > 1 {
		l.names[name] = list[1:]
	}
	return []netip.Addr{netip.MustParseAddr(list[0])}, nil
}

// stage is an outlet whose dials all go to one server.
type stage struct {
	*Outlet
	t       testing.TB
	lookup  *lookup
	server  string
	mu      sync.Mutex
	dialed  []netip.AddrPort
	events  []wire.Event
	changed chan struct{}
}

func newStage(t testing.TB, rules sandbox.Allowlist, server string, change ...func(*Options)) *stage {
	t.Helper()
	s := &stage{t: t, server: server, changed: make(chan struct{}), lookup: &lookup{names: map[string][]string{}}}
	o := Options{
		Sandbox:  wire.Sandbox{ID: "i1", Rules: rules, WaitMS: 200},
		Resolver: s.lookup,
		Report: func(e wire.Event) {
			s.mu.Lock()
			defer s.mu.Unlock()
			s.events = append(s.events, e)
			close(s.changed)
			s.changed = make(chan struct{})
		},
		Own: func() []netip.Addr { return []netip.Addr{netip.MustParseAddr("9.9.9.9")} },
		Dial: func(ctx context.Context, to netip.AddrPort) (net.Conn, error) {
			s.mu.Lock()
			s.dialed = append(s.dialed, to)
			s.mu.Unlock()
			return (&net.Dialer{}).DialContext(ctx, "tcp", s.server)
		},
		Log: slog.New(slog.DiscardHandler),
	}
	for _, do := range change {
		do(&o)
	}
	s.Outlet = New(o)
	t.Cleanup(s.Close)
	return s
}

// wants is a connection as the stack would bring it.
type wants struct {
	to      netip.AddrPort
	inside  net.Conn
	refused chan bool
}

func (w *wants) Target() netip.AddrPort { return w.to }
func (w *wants) Refuse()                { w.refused <- true }
func (w *wants) Accept() (net.Conn, error) {
	w.refused <- false
	return w.inside, nil
}

// connect is what a program inside gets: a connection, or nil when it is refused.
func (s *stage) connect(host string, port uint16) net.Conn {
	s.t.Helper()
	ip, err := netip.ParseAddr(host)
	if err != nil {
		ip, _ = s.names.Address(host)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		s.t.Fatal(err)
	}
	defer l.Close()
	mine, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		s.t.Fatal(err)
	}
	theirs, err := l.Accept()
	if err != nil {
		s.t.Fatal(err)
	}
	w := &wants{netip.AddrPortFrom(ip, port), theirs, make(chan bool, 1)}
	go s.TCP(w)
	if <-w.refused {
		_, _ = mine.Close(), theirs.Close()
		return nil
	}
	s.t.Cleanup(func() { _ = mine.Close() })
	_ = mine.SetDeadline(time.Now().Add(10 * time.Second))
	return mine
}

// await waits for an event.
func (s *stage) await(what string, is func(wire.Event) bool) {
	s.t.Helper()
	for deadline := time.After(10 * time.Second); ; {
		s.mu.Lock()
		found, changed := slices.ContainsFunc(s.events, is), s.changed
		s.mu.Unlock()
		if found {
			return
		}
		select {
		case <-changed:
		case <-deadline:
			s.t.Fatalf("not seen: %s", what)
		}
	}
}

func allowed(t testing.TB, texts ...string) sandbox.Allowlist {
	t.Helper()
	var l sandbox.Allowlist
	for _, text := range texts {
		e, err := sandbox.ParseEndpoint(text)
		if err != nil {
			t.Fatal(err)
		}
		l.Endpoints = append(l.Endpoints, e)
	}
	return l
}

func TestOnlyTheAddressThatWasCheckedIsDialed(t *testing.T) {
	server := httptest.NewTLSServer(http.NotFoundHandler())
	defer server.Close()
	s := newStage(t, allowed(t, "flip.example.com"), server.Listener.Addr().String())
	for range 50 {
		s.lookup.names["flip.example.com"] = []string{"93.184.216.34", "127.0.0.1", "9.9.9.9", "::ffff:10.0.0.1", "64:ff9b::a9fe:a9fe", "93.184.216.34"}
		for range 6 {
			if c := s.connect("flip.example.com", 443); c != nil {
				_ = c.Close()
			}
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.dialed) != 100 {
		t.Errorf("%d dials", len(s.dialed))
	}
	for _, at := range s.dialed {
		if at != netip.MustParseAddrPort("93.184.216.34:443") {
			t.Errorf("dialed %s", at)
		}
	}
}

func TestNothingIsLookedUpWithoutPermission(t *testing.T) {
	l := allowed(t, "api.example.com")
	l.Ask = true
	s := newStage(t, l, "127.0.0.1:1")
	q := func(name string, kind dnsmessage.Type) {
		m := dnsmessage.Message{Header: dnsmessage.Header{ID: 1}, Questions: []dnsmessage.Question{{Name: dnsmessage.MustNewName(name), Type: kind, Class: dnsmessage.ClassINET}}}
		b, err := m.Pack()
		if err != nil || s.Datagram(b) == nil {
			t.Errorf("%s: no answer", name)
		}
	}
	for _, name := range []string{"api.example.com.", "c2VjcmV0.evil.example.", "x.api.example.com.", "localhost."} {
		for _, kind := range []dnsmessage.Type{dnsmessage.TypeA, dnsmessage.TypeAAAA, dnsmessage.TypeTXT, dnsmessage.TypeMX} {
			q(name, kind)
		}
	}
	if c := s.connect("c2vjcmv0.evil.example", 443); c != nil { // it waits, and nobody answers
		t.Error("it passed")
	}
	if c := s.connect("api.example.com", 22); c != nil {
		t.Error("another port passed")
	}
	if len(s.lookup.asked) > 0 {
		t.Errorf("looked up: %v", s.lookup.asked)
	}
}

func TestAnswersThatComeLate(t *testing.T) {
	server := httptest.NewServer(http.NotFoundHandler())
	defer server.Close()
	s := newStage(t, sandbox.Allowlist{Ask: true}, server.Listener.Addr().String())
	s.lookup.names["new.example.com"] = []string{"93.184.216.34"}
	if s.connect("new.example.com", 80) != nil {
		t.Fatal("it passed before anybody answered")
	}
	s.Answer(wire.Answer{Host: "new.example.com", Port: 80, Allow: true})
	if s.connect("new.example.com", 80) == nil {
		t.Error("a late yes does not count")
	}
	if s.connect("new.example.com", 80) != nil {
		t.Error("a late yes counts twice")
	}
}

func TestRulesThatChangeEndWhatTheyNoLongerPermit(t *testing.T) {
	server := httptest.NewServer(http.NotFoundHandler())
	defer server.Close()
	s := newStage(t, allowed(t, "a.example.com:8080", "b.example.com:8080"), server.Listener.Addr().String())
	s.lookup.names["a.example.com"], s.lookup.names["b.example.com"] = []string{"93.184.216.34"}, []string{"93.184.216.34"}
	a, b := s.connect("a.example.com", 8080), s.connect("b.example.com", 8080)
	if a == nil || b == nil {
		t.Fatal("refused")
	}
	s.SetRules(allowed(t, "b.example.com:8080"))
	if _, err := a.Read(make([]byte, 1)); err == nil {
		t.Error("the connection to what was revoked lives")
	}
	if _, err := io.WriteString(b, "GET / HTTP/1.1\r\nHost: b.example.com:8080\r\n\r\n"); err != nil {
		t.Error(err)
	}
	if n, err := b.Read(make([]byte, 100)); n == 0 {
		t.Errorf("the other connection is dead: %v", err)
	}
	s.await("an end, with its reason", func(e wire.Event) bool { return e.Ended != nil && strings.Contains(e.Ended.Why, "revoked") })
}

func TestAttackByAnotherWayToADeniedAddress(t *testing.T) {
	server := httptest.NewServer(http.NotFoundHandler())
	defer server.Close()
	rules := allowed(t, "a.example.com:8080", "b.example.com:8080", "[64:ff9b::5db8:d822]:8080")
	rules.Deny = []sandbox.Endpoint{{Host: "93.184.216.34"}}
	s := newStage(t, rules, server.Listener.Addr().String())
	for _, at := range []string{"93.184.216.34", "::ffff:93.184.216.34", "64:ff9b::5db8:d822"} {
		s.lookup.names["a.example.com"] = []string{at}
		if s.connect("a.example.com", 8080) != nil {
			t.Errorf("a name at %s passes", at)
		}
		if s.connect(at, 8080) != nil {
			t.Errorf("%s passes", at)
		}
	}
	s.lookup.names["b.example.com"] = []string{"93.184.216.35"}
	b := s.connect("b.example.com", 8080)
	if b == nil {
		t.Fatal("refused")
	}
	rules.Deny = []sandbox.Endpoint{{Host: "127.0.0.1"}} // where the test's host is in truth
	s.SetRules(rules)
	if _, err := b.Read(make([]byte, 1)); err == nil {
		t.Error("a connection to a denied address lives")
	}
	s.await("an end, with its reason", func(e wire.Event) bool { return e.Ended != nil && strings.Contains(e.Ended.Why, "revoked") })
}

func TestAQuestionIsSettledByARule(t *testing.T) {
	server := httptest.NewServer(http.NotFoundHandler())
	defer server.Close()
	s := newStage(t, sandbox.Allowlist{Ask: true}, server.Listener.Addr().String())
	s.wait = 10 * time.Second
	s.lookup.names["new.example.com"] = []string{"93.184.216.34"}
	go func() {
		s.await("a question", func(e wire.Event) bool { return e.Asked != nil })
		l := allowed(t, "new.example.com:80")
		l.Ask = true
		s.SetRules(l)
	}()
	if s.connect("new.example.com", 80) == nil {
		t.Error("refused")
	}
}

// hello is the first flight of a TLS client.
func hello(t testing.TB, name string) []byte {
	t.Helper()
	var out bytes.Buffer
	c := tls.Client(&record{&oneWay{r: bytes.NewReader(nil)}, &out}, &tls.Config{ServerName: name, InsecureSkipVerify: true}) //nolint:gosec // it never connects
	_ = c.Handshake()
	return out.Bytes()
}

type record struct {
	*oneWay
	out io.Writer
}

func (r *record) Write(p []byte) (int, error) { return r.out.Write(p) }

func TestServerName(t *testing.T) {
	whole := hello(t, "api.example.com")
	for n := range len(whole) {
		if name, done, err := serverName(whole[:n]); done {
			t.Fatalf("%d of %d bytes: %q, %v", n, len(whole), name, err)
		}
	}
	if name, done, err := serverName(whole); !done || err != nil || name != "api.example.com" {
		t.Errorf("got %q, %v, %v", name, done, err)
	}
	if name, done, _ := serverName(hello(t, "")); !done || name != "" {
		t.Errorf("no name: %q", name)
	}
	if _, done, err := serverName(append([]byte{0x16, 3, 1, 0, 5}, "hello"...)); !done || err == nil {
		t.Errorf("no hello: %v, %v", done, err)
	}
}

func TestClassify(t *testing.T) {
	for text, want := range map[string]content{
		"":                                  unknown,
		"\x16\x03\x01":                      isTLS,
		"GET / HT":                          unknown,
		"GET / HTTP/1.1\r\n":                isHTTP,
		"get / http/1.1\n":                  isHTTP,
		"\r\n\r\nGET / HTTP/1.1":            isHTTP,
		"PRI * HTTP/2.0\r\n\r\n":            isHTTP,
		"SSH-2.0-OpenSSH_9.2\r\n":           isOther,
		"\x00\x00\x00\x08\x04\xd2\x16\x2f":  isOther,
		"EHLO x\r\n":                        isOther,
		strings.Repeat("A", maxLine+1):      isOther,
		"\tGET / HTTP/1.1\r\n":              isHTTP,
		"GET /" + strings.Repeat("a", 9000): isOther,
	} {
		if got := classify([]byte(text)); got != want {
			t.Errorf("%.40q: %d, want %d", text, got, want)
		}
	}
}

// FuzzFirstWords: whatever a sandbox says first, it is told what it is or more is waited for, and a
// name is never found in a part of what has come that is not found in the whole.
func FuzzFirstWords(f *testing.F) {
	f.Add(hello(f, "api.example.com"), 10)
	f.Add([]byte("GET / HTTP/1.1\r\nHost: x\r\n\r\n"), 3)
	f.Add([]byte("\x16\x03\x01\x00\x05hello"), 4)
	f.Fuzz(func(t *testing.T, b []byte, cut int) {
		kind := classify(b)
		if kind != isTLS {
			return
		}
		whole, done, err := serverName(b)
		part, partDone, partErr := serverName(b[:min(max(cut, 0), len(b))])
		if partDone && partErr == nil && (!done || err != nil || part != whole) {
			t.Fatalf("a part names %q, the whole %q", part, whole)
		}
	})
}
