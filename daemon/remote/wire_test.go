package remote

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/garita-dev/garita/daemon/protocol"
	"github.com/garita-dev/garita/daemon/remote/oauth"
	"github.com/garita-dev/garita/sandbox/sandboxtest"
)

// fieldInput is the replay of a field report.
func fieldInput(t *testing.T, name string) string {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join(sandboxtest.Testdata(t), "field-inputs", name))
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}

// step is one exchange of a replay: "POST method (session) -> status rest".
type step struct{ method, session, status, rest string }

func exchanges(replay string) []step {
	line := regexp.MustCompile(`"http": "POST (\S+)(?: \((\w+)\))? -> (\d+)(?:, | )?(.*)"}`)
	var all []step
	for _, m := range line.FindAllStringSubmatch(replay, -1) {
		all = append(all, step{m[1], m[2], m[3], strings.ReplaceAll(m[4], `\"`, `"`)})
	}
	return all
}

// A server that restarts forgets its sessions: the Conn ends and says which request was certainly
// not executed. Beginning anew, comparing pins and repeating it is the session's.
func TestASessionIsLost(t *testing.T) {
	t.Run("report_T01", func(t *testing.T) {
		steps := exchanges(fieldInput(t, "T01.seq.jsonl"))
		if len(steps) != 3 {
			t.Fatalf("%d exchanges in the replay, want 3", len(steps))
		}
		at := 0
		url, w := serve(t, http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
			body, _ := io.ReadAll(r.Body)
			m, _ := protocol.Parse(body)
			s := steps[at]
			at++
			if m.Method != s.method || r.Header.Get("Mcp-Session-Id") != s.session {
				t.Errorf("%s in session %q, want %s in %q", m.Method, r.Header.Get("Mcp-Session-Id"), s.method, s.session)
			}
			rw.Header().Set("Content-Type", "application/json")
			if id, ok := strings.CutPrefix(s.rest, "Mcp-Session-Id: "); ok {
				rw.Header().Set("Mcp-Session-Id", id)
			}
			if s.status == "404" {
				rw.WriteHeader(404)
				io.WriteString(rw, s.rest)
				return
			}
			fmt.Fprintf(rw, `{"jsonrpc":"2.0","id":%s,"result":{"protocolVersion":"2025-06-18"}}`, m.ID)
		}))
		p := dialPeer(t, Options{URL: url})
		p.ask("1", "initialize", initParams)
		p.ask("2", "tools/call", `{"name":"x"}`)
		p.write(`{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"x"}}`)
		var lost *protocol.LostError
		if err := p.end(); !errors.As(err, &lost) {
			t.Fatalf("the Conn ended with %v, want a LostError", err)
		}
		if diff := cmp.Diff(lost.Unsent, []protocol.ID{"3"}); diff != "" {
			t.Errorf("not executed (got, want):\n%s", diff)
		}
		if err := p.conn.Write([]byte(`{"jsonrpc":"2.0","id":4,"method":"ping"}`)); err == nil {
			t.Error("a lost session takes more messages")
		}
		if n := len(w.of("POST")); n != 3 {
			t.Errorf("%d POST, want 3: nothing is repeated here", n)
		}
	})
}

func TestAllThatALostSessionRefusesIsNamed(t *testing.T) {
	refuse := make(chan struct{})
	url, _ := serve(t, legacy(func(rw http.ResponseWriter, r *http.Request, m protocol.Message) {
		<-refuse
		http.Error(rw, "gone", 404)
	}))
	p := dialPeer(t, Options{URL: url})
	p.ask("1", "initialize", initParams)
	for _, id := range []string{"2", "3", "4"} {
		p.write(`{"jsonrpc":"2.0","id":` + id + `,"method":"tools/call","params":{"name":"x"}}`)
	}
	eventually(t, "three calls", func() bool { return inFlight(p.conn) == 3 })
	close(refuse)
	var lost *protocol.LostError
	if err := p.end(); !errors.As(err, &lost) {
		t.Fatalf("the Conn ended with %v", err)
	}
	slices.Sort(lost.Unsent)
	if diff := cmp.Diff(lost.Unsent, []protocol.ID{"2", "3", "4"}); diff != "" {
		t.Error(diff)
	}
}

// legacy is a server that answers initialize, takes notifications and has h for the rest.
func legacy(h func(http.ResponseWriter, *http.Request, protocol.Message)) http.Handler {
	return http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		m, _ := protocol.Parse(body)
		switch {
		case m.Method == "initialize":
			rw.Header().Set("Content-Type", "application/json")
			rw.Header().Set("Mcp-Session-Id", "s1")
			fmt.Fprintf(rw, `{"jsonrpc":"2.0","id":%s,"result":{"protocolVersion":"2025-11-25"}}`, m.ID)
		case m.Kind == protocol.Notification, r.Method == "DELETE":
			rw.WriteHeader(202)
		default:
			h(rw, r, m)
		}
	})
}

func events(rw http.ResponseWriter, text string) {
	rw.Header().Set("Content-Type", "text/event-stream")
	rw.WriteHeader(200)
	io.WriteString(rw, text)
	_ = http.NewResponseController(rw).Flush()
}

func TestAServerMayHaveNothingToSayUnasked(t *testing.T) {
	for _, status := range []int{404, 405, 406} {
		url, w := serve(t, legacy(func(rw http.ResponseWriter, r *http.Request, m protocol.Message) {
			if r.Method == "GET" {
				rw.WriteHeader(status)
				return
			}
			rw.Header().Set("Content-Type", "application/json")
			fmt.Fprintf(rw, `{"jsonrpc":"2.0","id":%s,"result":{}}`, m.ID)
		}))
		p := dialPeer(t, Options{URL: url})
		p.initialize()
		eventually(t, "the GET", func() bool { return len(w.of("GET")) == 1 })
		if m := p.ask("1", "ping", "{}"); m.Result == nil {
			t.Errorf("after a GET answered %d: %s", status, m.Raw)
		}
	}
}

// A server that asks on the stream of a GET drops the question when there is none yet.
func TestNoRequestOvertakesTheStreamForQuestions(t *testing.T) {
	var open atomic.Bool
	url, _ := serve(t, legacy(func(rw http.ResponseWriter, r *http.Request, m protocol.Message) {
		if r.Method == http.MethodGet {
			for range 10_000 {
				runtime.Gosched() // a slow one
			}
			open.Store(true)
			rw.Header().Set("Content-Type", "text/event-stream")
			rw.WriteHeader(http.StatusOK)
			_ = http.NewResponseController(rw).Flush()
			<-r.Context().Done()
			return
		}
		rw.Header().Set("Content-Type", "application/json")
		fmt.Fprintf(rw, `{"jsonrpc":"2.0","id":%s,"result":{"open":%t}}`, m.ID, open.Load())
	}))
	p := dialPeer(t, Options{URL: url})
	p.initialize()
	if m := p.ask("1", "tools/call", `{"name":"asks"}`); string(m.Result) != `{"open":true}` {
		t.Errorf("the call came before the stream: %s", m.Result)
	}
}

func TestAStreamIsTakenUpAgain(t *testing.T) {
	url, w := serve(t, legacy(func(rw http.ResponseWriter, r *http.Request, m protocol.Message) {
		switch {
		case r.Method == "POST":
			events(rw, "id: e1\nretry: 1\ndata:\n\n")
		case r.Header.Get("Last-Event-ID") == "e1":
			events(rw, "id: e2\ndata: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/message\",\"params\":{}}\n\n")
		case r.Header.Get("Last-Event-ID") == "e2":
			events(rw, "id: e3\ndata: {\"jsonrpc\":\"2.0\",\"id\":2,\"result\":{\"ok\":1}}\n\n")
		default:
			rw.WriteHeader(405)
		}
	}))
	p := dialPeer(t, Options{URL: url})
	p.ask("1", "initialize", initParams)
	if m := p.ask("2", "tools/call", `{"name":"x"}`); string(m.Result) != `{"ok":1}` {
		t.Errorf("answer: %s", m.Raw)
	}
	if len(p.seen) != 1 || len(w.of("GET")) != 2 {
		t.Errorf("%d messages before it over %d GET, want 1 over 2", len(p.seen), len(w.of("GET")))
	}
}

// What a server can answer, and what of it reaches the session.
func TestAnswers(t *testing.T) {
	respond := func(status int, kind, body string) http.HandlerFunc {
		return func(rw http.ResponseWriter, _ *http.Request) {
			rw.Header().Set("Content-Type", kind)
			rw.WriteHeader(status)
			io.WriteString(rw, body)
		}
	}
	const js, sse = "application/json", "text/event-stream"
	for name, test := range map[string]struct {
		h    http.HandlerFunc
		want string // in the one answer
	}{
		"an error with its status":       {respond(400, js, `{"jsonrpc":"2.0","id":9,"error":{"code":-32602,"message":"bad"}}`), `"code":-32602`},
		"an error that names no request": {respond(400, js, `{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"bad"}}`), `"code":-32600`},
		"a page":                         {respond(502, "text/html", "<html>secret</html>"), "502 Bad Gateway"},
		"come back later": {func(rw http.ResponseWriter, _ *http.Request) {
			rw.Header().Set("Retry-After", "17")
			rw.WriteHeader(429)
		}, "Wait 17 s"},
		"no such path":                {respond(404, "text/plain", "no"), "Check the server's url"},
		"accepted, without an answer": {respond(202, "", ""), "without an answer"},
		"not JSON":                    {respond(200, js, `hello`), "no answer to it"},
		"nothing":                     {respond(200, js, ``), "no answer to it"},
		"another's answer":            {respond(200, js, `{"jsonrpc":"2.0","id":10,"result":{}}`), "no answer to it"},
		"the id as another type":      {respond(200, js, `{"jsonrpc":"2.0","id":"9","result":{}}`), "no answer to it"},
		"a duplicate key":             {respond(200, js, `{"jsonrpc":"2.0","id":9,"result":{},"result":{}}`), "cannot be read"},
		"a stream that says nothing":  {respond(200, sse, ""), "before it was whole"},
		"a stream of garbage":         {respond(200, sse, "\x00\xff{}{}\n\ndata: }{\n\ndata: [1]\n\nevent: x\ndata: 1\n\n"), "before it was whole"},
		"a stream with the answer":    {respond(200, sse, "data: {\"jsonrpc\":\"2.0\",\"id\":9,\ndata: \"result\":{\"a\":1}}\n\n"), `"a":1`},
		"too long":                    {respond(200, js, `{"jsonrpc":"2.0","id":9,"result":"`+strings.Repeat("x", 3<<20)+`"}`), "over 1 MiB"},
		"a line too long":             {respond(200, sse, "data: "+strings.Repeat("x", 3<<20)+"\n\n"), "over 1 MiB"},
		"credentials wanted": {func(rw http.ResponseWriter, _ *http.Request) {
			rw.Header().Set("WWW-Authenticate", `Bearer realm="zzz"`)
			rw.WriteHeader(401)
		}, "declare a header"},
		"a redirect elsewhere": {func(rw http.ResponseWriter, r *http.Request) {
			http.Redirect(rw, r, "http://127.0.0.1:1/x?key=zzz", http.StatusTemporaryRedirect)
		}, "not followed"},
		"a redirect in circles": {func(rw http.ResponseWriter, r *http.Request) {
			http.Redirect(rw, r, r.URL.Path, http.StatusPermanentRedirect)
		}, "not followed"},
		"a hundred thousand bytes of header": {func(rw http.ResponseWriter, _ *http.Request) { rw.Header().Set("X", strings.Repeat("x", 100_000)) }, "whether it was carried out"},
	} {
		t.Run(name, func(t *testing.T) {
			url, _ := serve(t, test.h)
			p := dialPeer(t, Options{URL: url + "?key=zzz", Limits: Limits{Message: 1 << 20}})
			p.write(`{"jsonrpc":"2.0","id":9,"method":"tools/call","params":` + modern(`"name":"x","arguments":{}`) + `}`)
			var m protocol.Message
			for m.Kind != protocol.Response {
				m = p.next().message
			}
			if m.ID != "9" || !strings.Contains(string(m.Raw), test.want) {
				t.Errorf("answer: %.300s\nwant in it: %s", m.Raw, test.want)
			}
			if strings.Contains(string(m.Raw), "zzz") || strings.Contains(string(m.Raw), "<html>") {
				t.Errorf("the answer shows what is nobody's business: %s", m.Raw)
			}
			eventually(t, "the end of the request", func() bool { return inFlight(p.conn) == 0 })
		})
	}
}

// attack_H66: neither body nor credentials go where a redirect points.
func TestRedirects(t *testing.T) {
	t.Run("attack_H66", func(t *testing.T) {
		var mu sync.Mutex
		var reached []string
		elsewhere := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
			mu.Lock()
			defer mu.Unlock()
			reached = append(reached, r.Method+r.Header.Get("Authorization"))
		}))
		defer elsewhere.Close()
		for _, status := range []int{301, 302, 303, 307, 308} {
			url, _ := serve(t, http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
				http.Redirect(rw, r, elsewhere.URL+"/admin", status)
			}))
			p := dialPeer(t, Options{URL: url, Headers: []Header{{"Authorization", oauth.NewSecret("Bearer k")}}})
			if m := p.ask("1", "initialize", initParams); m.Error == nil {
				t.Errorf("%d: %s", status, m.Raw)
			}
		}
		if len(reached) > 0 {
			t.Errorf("reached elsewhere: %v", reached)
		}
	})
}

// attack_H58, the wire's part: what a server sets in headers goes nowhere, and a session has no way
// to hand credentials of its own through.
func TestNothingOfTheHeadersPasses(t *testing.T) {
	t.Run("attack_H58", func(t *testing.T) {
		url, w := serve(t, legacy(func(rw http.ResponseWriter, r *http.Request, m protocol.Message) {
			rw.Header().Set("Set-Cookie", "id=tracker")
			rw.Header().Set("WWW-Authenticate", `Bearer realm="tracker"`)
			rw.WriteHeader(map[protocol.ID]int{"2": 401, "3": 403}[m.ID])
		}))
		p := dialPeer(t, Options{URL: url, Headers: []Header{{"X-Key", oauth.NewSecret("ours")}}})
		p.ask("1", "initialize", initParams)
		for _, id := range []string{"2", "3"} {
			m := p.ask(id, "tools/call", `{"name":"x","_meta":{"authorization":"Bearer client"}}`)
			if m.Error == nil || strings.Contains(string(m.Raw), "tracker") || strings.Contains(string(m.Raw), "ours") {
				t.Errorf("answer: %s", m.Raw)
			}
		}
		for _, r := range w.of("POST") {
			if r.Header.Get("Cookie") != "" || r.Header.Get("Authorization") != "" || r.Header.Get("X-Key") != "ours" {
				t.Errorf("headers sent: %v", r.Header)
			}
		}
	})
}

func TestOneSlowServerDoesNotHoldUpTheRest(t *testing.T) {
	release := make(chan struct{})
	url, _ := serve(t, legacy(func(rw http.ResponseWriter, r *http.Request, m protocol.Message) {
		if m.Method == "slow" {
			<-release
		}
		rw.Header().Set("Content-Type", "application/json")
		fmt.Fprintf(rw, `{"jsonrpc":"2.0","id":%s,"result":{}}`, m.ID)
	}))
	p := dialPeer(t, Options{URL: url})
	p.ask("1", "initialize", initParams)
	p.write(`{"jsonrpc":"2.0","id":2,"method":"slow"}`)
	if m := p.ask("3", "ping", "{}"); m.Result == nil {
		t.Errorf("ping: %s", m.Raw)
	}
	if err := p.conn.CloseWrite(); err != nil {
		t.Fatal(err)
	}
	close(release)
	p.answer("2") // what is under way is still answered
	if err := p.end(); !errors.Is(err, io.EOF) {
		t.Errorf("the Conn ended with %v, want EOF", err)
	}
}

func TestWhatNeverComesIsGivenUp(t *testing.T) {
	for name, h := range map[string]http.HandlerFunc{
		"no headers": func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() },
		"half a document": func(rw http.ResponseWriter, r *http.Request) {
			rw.Header().Set("Content-Type", "application/json")
			io.WriteString(rw, `{"jsonrpc"`)
			_ = http.NewResponseController(rw).Flush()
			<-r.Context().Done()
		},
	} {
		t.Run(name, func(t *testing.T) {
			url, _ := serve(t, h)
			p := dialPeer(t, Options{URL: url, Limits: Limits{Answer: 50 * time.Millisecond}})
			if m := p.ask("1", "tools/list", modern("")); !strings.Contains(string(m.Error), "within 50ms") {
				t.Errorf("answer: %s", m.Raw)
			}
		})
	}
}

func TestAnEndlessStreamEndsWithStop(t *testing.T) {
	url, _ := serve(t, legacy(func(rw http.ResponseWriter, r *http.Request, _ protocol.Message) {
		if r.Method == "GET" {
			rw.WriteHeader(405)
			return
		}
		rw.Header().Set("Content-Type", "text/event-stream")
		for r.Context().Err() == nil {
			if _, err := io.WriteString(rw, "data: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/message\",\"params\":{}}\n\n"); err != nil {
				return
			}
		}
	}))
	conn, err := Open(t.Context(), Options{Name: "far", URL: url})
	if err != nil {
		t.Fatal(err)
	}
	for _, raw := range []string{
		`{"jsonrpc":"2.0","id":1,"method":"initialize","params":` + initParams + `}`,
	} {
		if err := conn.Write([]byte(raw)); err != nil {
			t.Fatal(err)
		}
		if _, err := conn.Read(); err != nil {
			t.Fatal(err)
		}
	}
	if err := conn.Write([]byte(`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{}}`)); err != nil {
		t.Fatal(err)
	}
	if _, err := conn.Read(); err != nil { // the stream flows; nobody reads on
		t.Fatal(err)
	}
	if err := conn.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := conn.Read(); !errors.Is(err, io.EOF) {
		t.Errorf("Read after Stop: %v", err)
	}
}

func TestTheOldestTransportStaysInItsOrigin(t *testing.T) {
	url, w := serve(t, http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		if r.Method == "POST" {
			rw.WriteHeader(405)
			return
		}
		events(rw, "event: endpoint\ndata: http://127.0.0.1:1/steal\n\n")
		<-r.Context().Done()
	}))
	p := dialPeer(t, Options{URL: url})
	if m := p.ask("1", "initialize", initParams); !strings.Contains(string(m.Error), "405") {
		t.Errorf("answer: %s", m.Raw)
	}
	if n := len(w.of("POST")); n != 1 {
		t.Errorf("%d POST", n)
	}
}

func TestDeclarations(t *testing.T) {
	for _, test := range []struct {
		name, url string
		headers   []Header
		want      string // in the error; "" for none
	}{
		{"https", "https://a.example/mcp", nil, ""},
		{"http on this machine", "http://localhost:3000/mcp", nil, ""},
		{"http elsewhere", "http://a.example/mcp?key=zzz", nil, "neither https"},
		{"a password", "https://me:zzz@a.example/", nil, "password"},
		{"a fragment", "https://a.example/#zzz", nil, "fragment"},
		{"no host", "https:///x", nil, "not one"},
		{"a file", "file:///etc/passwd", nil, "not one"},
		{"a control character", "https://a.example/\x00", nil, "not one"},
		{"a header of ours", "https://a.example", []Header{{"Mcp-Method", oauth.NewSecret("x")}}, "not declared"},
		{"a header with a line end", "https://a.example", []Header{{"X-Key", oauth.NewSecret("zzz\r\nHost: x")}}, "no header can hold"},
		{"a header without a name", "https://a.example", []Header{{"", oauth.NewSecret("x")}}, "no header's name"},
	} {
		conn, err := Open(t.Context(), Options{Name: "far", URL: test.url, Headers: test.headers})
		if err == nil {
			conn.Stop(t.Context())
		}
		got := fmt.Sprint(err)
		if (err == nil) != (test.want == "") || !strings.Contains(got, test.want) && err != nil || strings.Contains(got, "zzz") {
			t.Errorf("%s: %v, want %q", test.name, err, test.want)
		}
	}
}

func TestANameThatLeadsInsideIsNotReached(t *testing.T) {
	p := dialPeer(t, Options{URL: "https://169.254.169.254.nip.invalid/mcp"})
	if m := p.ask("1", "initialize", initParams); !strings.Contains(string(m.Error), "was not sent") {
		t.Errorf("answer: %s", m.Raw)
	}
}

func TestBrokenToolHeaders(t *testing.T) {
	url, _ := serve(t, http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		rw.Header().Set("Content-Type", "application/json")
		io.WriteString(rw, `{"jsonrpc":"2.0","id":1,"result":{"tools":[
			{"name":"good","inputSchema":{"type":"object","properties":{"a":{"type":"string","x-mcp-header":"A"}}}},
			{"name":"bad","inputSchema":{"type":"object","properties":{"a":{"type":"string","x-mcp-header":"A B"}}}}],"extra": 1.50}}`)
	}))
	p := dialPeer(t, Options{URL: url})
	got := string(p.ask("1", "tools/list", modern("")).Raw)
	if !strings.Contains(got, `"good"`) || strings.Contains(got, `"bad"`) || !strings.Contains(got, "1.50") {
		t.Errorf("answer: %s", got)
	}
}

func TestNoSecretIsLogged(t *testing.T) {
	var log bytes.Buffer
	logger := slog.New(slog.NewJSONHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	opt := Options{Name: "far", URL: "http://127.0.0.1:1/mcp?key=zzz", Headers: []Header{{"X-Key", oauth.NewSecret("zzz")}}, Log: logger}
	logger.Info("opening", "opt", opt)
	p := dialPeer(t, opt)
	m := p.ask("1", "initialize", initParams)
	p.write(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	if err := p.conn.Stop(context.Background()); err != nil {
		t.Fatal(err)
	}
	if strings.Contains(strings.ReplaceAll(log.String(), "mcp?key=zzz\",\"Headers", ""), "zzz") || strings.Contains(string(m.Raw), "zzz") {
		t.Errorf("log: %s\nanswer: %s", log.String(), m.Raw)
	}
}
