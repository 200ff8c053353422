package outlet

import (
	"bufio"
	"crypto/tls"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/garita-dev/garita/sandbox/egress/swap"
	"github.com/garita-dev/garita/sandbox/egress/wire"
)

// raw is a connection to the granted host, by HTTP/1.1, on which a request has been sent.
func (s *secretly) raw(request string) *bufio.Reader {
	c := tls.Client(s.connect(granted, 443), &tls.Config{RootCAs: s.roots, ServerName: granted, NextProtos: []string{"http/1.1"}})
	s.t.Cleanup(func() { _ = c.Close() })
	if _, err := io.WriteString(c, strings.ReplaceAll(request, "\n", "\r\n")); err != nil {
		s.t.Fatal(err)
	}
	return bufio.NewReader(c)
}

// pieceWriter notes the sizes in which an answer's body leaves the wall.
type pieceWriter struct {
	http.ResponseWriter
	sizes []int
}

func (w *pieceWriter) Write(b []byte) (int, error) {
	w.sizes = append(w.sizes, len(b))
	return w.ResponseWriter.Write(b)
}

// TestStoredGuessesTellNothing: a document of guesses comes back in the same pieces, whatever of it is right.
func TestStoredGuessesTellNothing(t *testing.T) { synctest.Test(t, storedGuesses) }

func storedGuesses(t *testing.T) {
	var g given
	g.add([]wire.Placeholder{grant()})
	sizes := func(guess string) []int {
		out := &pieceWriter{ResponseWriter: httptest.NewRecorder()}
		l := newLooked(out, g.values, func(string) { t.Error("it was ended") })
		for b := []byte(strings.Repeat(guess, 100<<10/len(guess))); len(b) > 0; {
			n, _ := l.Write(b[:min(len(b), 32<<10)])
			b = b[n:]
		}
		l.finish()
		return out.sizes
	}
	for n := 1; n <= 12; n++ {
		right, wrong := sizes(value[:n]), sizes(value[:n-1]+"~")
		if !slices.Equal(right, wrong) {
			t.Errorf("%d characters: %v where they are right, %v where one is not", n, right, wrong)
		}
	}
}

// TestGuessesOnAStreamAreNotHeld: what is a value's beginning comes like all else, though no more does.
func TestGuessesOnAStreamAreNotHeld(t *testing.T) {
	w := newWorld(t, http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		b, _ := io.ReadAll(r.Body)
		_, _ = rw.Write(b)
		_ = http.NewResponseController(rw).Flush()
		<-r.Context().Done()
	}))
	s := newSecretly(t, w, grant())
	versions(t, func(t *testing.T, h2 bool) {
		post := func(text string) (string, error) {
			resp, err := s.client(h2).Post("https://"+granted+"/", "text/plain", strings.NewReader(text))
			if err != nil {
				t.Fatal(err)
			}
			defer resp.Body.Close()
			got := make([]byte, len(text))
			n, err := io.ReadFull(resp.Body, got)
			return string(got[:n]), err
		}
		for n := 1; n <= 12; n++ {
			for _, guess := range []string{"...." + value[:n], "...." + value[:n-1] + "~"} {
				if got, err := post(guess); got != guess || err != nil {
					t.Errorf("%q came as %q, %v", guess, got, err)
				}
			}
		}
		// More than anybody guesses ends the connection, whether the last character is right or not.
		for _, guess := range []string{"...." + value[:15], "...." + value[:14] + "~"} {
			if got, err := post(guess); got == guess || err == nil || strings.Contains(got, "v41") {
				t.Errorf("%q came as %q, %v", guess, got, err)
			}
		}
		s.await("a report", func(e wire.Event) bool {
			return e.Secret != nil && e.Secret.Secret == "github" && e.Secret.Place.In == swap.InAnswer && !e.Secret.Sent
		})
		s.await("its end", func(e wire.Event) bool { return e.Ended != nil && strings.Contains(e.Ended.Why, "github") })
	})
}

// TestAPartAtTheEndDoesNotPass: the rest of a value cannot come any more.
func TestAPartAtTheEndDoesNotPass(t *testing.T) {
	w := newWorld(t, http.HandlerFunc(func(rw http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(rw, "...."+value[:15]) }))
	s := newSecretly(t, w, grant())
	resp, err := s.client(false).Get("https://" + granted + "/")
	if err != nil {
		return // it was ended before anything came
	}
	defer resp.Body.Close()
	if got, err := io.ReadAll(resp.Body); err == nil || strings.Contains(string(got), "v41") {
		t.Errorf("%q, %v", got, err)
	}
}

func TestTheReasonPhraseOfAnUpgradeDoesNotPass(t *testing.T) {
	w := newWorld(t, http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		c, _, err := rw.(http.Hijacker).Hijack()
		if err != nil {
			return
		}
		defer c.Close()
		_, _ = fmt.Fprintf(c, "HTTP/1.1 101 hello %s\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n", r.Header.Get("Authorization"))
	}))
	s := newSecretly(t, w, grant())
	in := s.raw("GET / HTTP/1.1\nHost: " + granted + "\nConnection: Upgrade\nUpgrade: websocket\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\nSec-WebSocket-Version: 13\n" + bearer + "\n\n")
	if line, err := in.ReadString('\n'); !strings.HasPrefix(line, "HTTP/1.1 101 ") || strings.Contains(line, value) {
		t.Errorf("%q, %v", line, err)
	}
	if !w.saw(value) {
		t.Error("the host has not got the value")
	}
}

// TestValuesThatWereTakenAwayDoNotComeBack: the host knows them still.
func TestValuesThatWereTakenAwayDoNotComeBack(t *testing.T) {
	last := make(chan string, 1)
	w := newWorld(t, http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		text := r.Header.Get("Authorization")
		if text == "" {
			text = <-last
		}
		last <- text
		_, _ = io.WriteString(rw, text)
	}))
	other := grant("header X-Other")
	other.Secret, other.Sentinel, other.Value = "other", "zzzzzzzzsentinel9999", wire.NewSecret("another-value-123456")
	for name, after := range map[string][]wire.Placeholder{"revoked": {other}, "changed": {changed("ghp_another000111222333x"), other}, "all revoked": nil} {
		t.Run(name, func(t *testing.T) {
			s := newSecretly(t, w, grant(), other)
			with, without := s.client(true), s.client(true)
			do(t, without, "GET", "https://"+granted+"/", "", "Authorization: nothing")
			<-last
			do(t, with, "GET", "https://"+granted+"/", "", bearer)
			if err := s.SetSecrets(after); err != nil {
				t.Fatal(err)
			}
			if got := do(t, without, "GET", "https://"+granted+"/", "").body; got != "Bearer "+sentinel {
				t.Errorf("got %q", got)
			}
			<-last
		})
	}
}

func changed(to string) wire.Placeholder {
	p := grant()
	p.Value, p.Version = wire.NewSecret(to), 3
	return p
}

// TestWhatWasGivenIsBounded: the oldest is forgotten, and nothing that is in force.
func TestWhatWasGivenIsBounded(t *testing.T) {
	var g given
	for i := range 3 * maxGiven {
		g.add([]wire.Placeholder{grant(), changed(fmt.Sprintf("ghp_another%016d", i))})
	}
	if len(g.all) != maxGiven || !g.values.Contains(value) || g.values.Contains("ghp_another0000000000000000") {
		t.Errorf("%d are kept", len(g.all))
	}
}
