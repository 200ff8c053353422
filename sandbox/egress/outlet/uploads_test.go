package outlet

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"

	"github.com/garita-dev/garita/sandbox"
	"github.com/garita-dev/garita/sandbox/egress/wire"
)

// sink takes what it is sent and says n bytes for each 64 KiB.
func sink(t *testing.T, n int) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer c.Close()
				for buf := make([]byte, 64<<10); err == nil; {
					if _, err = io.ReadFull(c, buf); err == nil {
						_, err = c.Write(make([]byte, n))
					}
				}
			}()
		}
	}()
	return l.Addr().String()
}

// upload sends n times 64 KiB and hears what comes back, at a port at which anything is spoken.
func upload(c net.Conn, n, back int) error {
	block := make([]byte, 64<<10)
	block[0] = 1 // neither TLS nor HTTP
	for range n {
		if _, err := c.Write(block); err != nil {
			return err
		}
		if _, err := io.ReadFull(c, block[:back]); err != nil {
			return err
		}
		block[0] = 1
	}
	return nil
}

func TestLargeUploadsAreAskedAbout(t *testing.T) {
	about := func(e wire.Event) bool { return e.Asked != nil && e.Asked.What == wire.AskedUpload }
	for _, c := range []struct {
		name   string
		change func(*sandbox.Allowlist)
		back   int
		answer *bool
		asked  bool
		passes bool
	}{
		{name: "much, and no", answer: ptr(false), back: 1, asked: true},
		{name: "much, and yes", answer: ptr(true), back: 1, asked: true, passes: true},
		{name: "much, and no answer", back: 1, asked: true},
		{name: "much, but it is answered to", back: 8 << 10, passes: true},
		{name: "much, where nobody asks", change: func(l *sandbox.Allowlist) { l.Ask = false }, back: 1, passes: true},
		{name: "much, over a limit where nobody asks", change: func(l *sandbox.Allowlist) { l.Ask, l.UploadLimit = false, 1<<20 }, back: 1},
		{name: "much, without a limit", change: func(l *sandbox.Allowlist) { l.UploadLimit = sandbox.NoLimit }, back: 1, passes: true},
		{name: "less than a larger limit", change: func(l *sandbox.Allowlist) { l.UploadLimit = 8 << 20 }, back: 1, passes: true},
		{name: "much, where it was permitted before", change: func(l *sandbox.Allowlist) { l.AnySize = l.Endpoints }, back: 1, passes: true},
	} {
		t.Run(c.name, func(t *testing.T) {
			rules := allowed(t, "drop.example.com:7000")
			rules.Ask = true
			if c.change != nil {
				c.change(&rules)
			}
			s := newStage(t, rules, sink(t, c.back))
			s.lookup.names["drop.example.com"] = []string{"93.184.216.34"}
			conn := s.connect("drop.example.com", 7000)
			if conn == nil {
				t.Fatal("refused")
			}
			if c.answer != nil {
				go func() {
					s.await("the question", about)
					s.Answer(wire.Answer{Host: "drop.example.com", Port: 7000, What: wire.AskedUpload, Allow: *c.answer})
				}()
			}
			err := upload(conn, 48, c.back)
			if (err == nil) != c.passes {
				t.Errorf("3 MiB: %v", err)
			}
			if !c.passes {
				s.await("a denial", func(e wire.Event) bool { return e.Denied != nil && e.Denied.Kind == sandbox.DeniedUpload })
			}
			s.mu.Lock()
			defer s.mu.Unlock()
			asked := false
			for _, e := range s.events {
				asked = asked || about(e)
			}
			if asked != c.asked {
				t.Errorf("asked: %v", asked)
			}
		})
	}
}

// TestAPermissionToUploadEnds: a connection that a permission had cleared is judged anew when that is revoked,
// and one that a person had cleared by itself goes on.
func TestAPermissionToUploadEnds(t *testing.T) {
	for name, permission := range map[string]bool{"a permission": true, "a yes for this connection": false} {
		t.Run(name, func(t *testing.T) {
			rules := allowed(t, "drop.example.com:7000")
			rules.Ask = true
			permitted := rules
			permitted.AnySize = rules.Endpoints
			s := newStage(t, rules, sink(t, 1))
			s.lookup.names["drop.example.com"] = []string{"93.184.216.34"}
			conn := s.connect("drop.example.com", 7000)
			if conn == nil {
				t.Fatal("refused")
			}
			go func() {
				s.await("the question", func(e wire.Event) bool { return e.Asked != nil && e.Asked.What == wire.AskedUpload })
				if permission {
					s.SetRules(permitted)
				}
				s.Answer(wire.Answer{Host: "drop.example.com", Port: 7000, What: wire.AskedUpload, Allow: true})
			}()
			if err := upload(conn, 48, 1); err != nil {
				t.Fatalf("3 MiB that were permitted: %v", err)
			}
			rules.Ask, rules.UploadLimit = false, 1<<20 // the permission has ended, and nobody is there to ask
			s.SetRules(rules)
			if err := upload(conn, 48, 1); (err == nil) == permission {
				t.Errorf("3 MiB more: %v", err)
			}
		})
	}
}

// TestAnUploadInPiecesIsOne: what many connections to one host send counts together.
func TestAnUploadInPiecesIsOne(t *testing.T) {
	rules := allowed(t, "drop.example.com:7000")
	rules.UploadLimit = 1 << 20
	s := newStage(t, rules, sink(t, 1))
	s.lookup.names["drop.example.com"] = []string{"93.184.216.34"}
	for i := range 10 {
		conn := s.connect("drop.example.com", 7000)
		if conn == nil {
			t.Fatal("refused")
		}
		if err := upload(conn, 4, 1); err != nil {
			if i < 4 {
				t.Errorf("after %d pieces of 256 KiB: %v", i, err)
			}
			return
		}
		_ = conn.Close()
	}
	t.Error("2.5 MiB in pieces passed")
}

// TestUploadsThatReadInBetween: what is read does not undo what is sent.
func TestUploadsThatReadInBetween(t *testing.T) {
	const mib = 1 << 20
	for name, other := range map[string]bool{"on another connection": true, "on the same": false} {
		var u uploads
		var sends, reads owed
		most := int64(0)
		for range 100 { // 900 MiB leave; each time a file of 640 KiB is read from the same host
			most = max(most, u.sends("api.github.com", &sends, 9*mib))
			if other {
				u.hears("api.github.com", &reads, 640<<10)
			} else {
				u.hears("api.github.com", &sends, 640<<10)
			}
		}
		if most < 100*mib {
			t.Errorf("%s: 900 MiB were sent; the counter never went beyond %d MiB", name, most/mib)
		}
	}
	a, b := &live{passage: passage{host: "a.example.com", port: 443, rule: "*.example.com:443"}}, &live{passage: passage{host: "b.example.com", port: 443, rule: "*.example.com:443"}}
	if a.together() != b.together() {
		t.Error("the hosts of one rule count each by itself")
	}
}

// TestCredentialsAtASentinel: what is glued to a sentinel is no sentinel.
func TestCredentialsAtASentinel(t *testing.T) {
	w := newWorld(t, nil)
	p := grant()
	p.Sentinel = "ghp_S3nt1neL000000000abcS3nt1neL00000000"
	s := newSecretly(t, w, p)
	for text, known := range map[string]bool{
		p.Sentinel: true, p.Sentinel + ".": true, value: true, p.Sentinel + "x": false, token: false, p.Sentinel + "-" + token: false, token + p.Sentinel: false,
	} {
		if s.known(text) != known {
			t.Errorf("%s: %v", text, !known)
		}
	}
}

const token = "ghp_0123456789abcdefghijABCDEFGHIJ012345"

func TestCredentialsInTheClearAreAskedAbout(t *testing.T) {
	for _, c := range []struct{ name, request string }{
		{"in a header", "GET / HTTP/1.1\r\nHost: drop.example.com\r\nAuthorization: Bearer " + token + "\r\n\r\n"},
		{"in a query", "GET /?x=" + token + " HTTP/1.1\r\nHost: drop.example.com\r\n\r\n"},
		{"in a body", fmt.Sprintf("POST / HTTP/1.1\r\nHost: drop.example.com\r\nContent-Length: %d\r\n\r\n{\"t\":\"%s\"}", len(token)+8, token)},
	} {
		for _, allow := range []bool{true, false} {
			t.Run(fmt.Sprintf("%s, %v", c.name, allow), func(t *testing.T) {
				rules := allowed(t, "drop.example.com:80")
				rules.Ask = true
				s := newStage(t, rules, echoHTTP(t))
				s.lookup.names["drop.example.com"] = []string{"93.184.216.34"}
				conn := s.connect("drop.example.com", 80)
				if conn == nil {
					t.Fatal("refused")
				}
				go func() {
					s.await("the question", func(e wire.Event) bool {
						return e.Asked != nil && e.Asked.What == wire.AskedCredentials && strings.Join(e.Asked.Kinds, "") == "a GitHub token"
					})
					s.Answer(wire.Answer{Host: "drop.example.com", Port: 80, What: wire.AskedCredentials, Allow: allow})
				}()
				_, _ = io.WriteString(conn, c.request)
				buf := make([]byte, 12)
				_, err := io.ReadFull(conn, buf)
				if allow && (err != nil || string(buf) != "HTTP/1.1 200") {
					t.Errorf("got %q, %v", buf, err)
				}
				if !allow && err == nil && !strings.HasPrefix(string(buf), "HTTP/1.1 502") {
					t.Errorf("it passed: %q", buf)
				}
			})
		}
	}
}

// TestCredentialsAcrossReads: a token in two pieces is a token.
func TestCredentialsAcrossReads(t *testing.T) {
	for cut := 1; cut < len(token); cut++ {
		r := &reader{known: func(string) bool { return false }}
		found := append(r.find([]byte("x "+token[:cut])), r.find([]byte(token[cut:]+" y"))...)
		if len(found) != 1 {
			t.Errorf("cut at %d: %v", cut, found)
		}
	}
}

func ptr[T any](v T) *T { return &v }

func echoHTTP(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	go func() { _ = serveOK(l) }()
	return l.Addr().String()
}

func serveOK(l net.Listener) error {
	return http.Serve(l, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { //nolint:gosec // of a test
		_, _ = io.Copy(io.Discard, r.Body)
		w.WriteHeader(http.StatusOK)
	}))
}
