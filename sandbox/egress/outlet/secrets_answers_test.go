package outlet

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"crypto/tls"
	"encoding/base64"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/gorilla/websocket"

	"github.com/garita-dev/garita/sandbox/egress/wire"
)

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
