package door

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/garita-dev/garita/daemon/protocol"
)

// legacy is an initialized client of a stub behind a door.
func legacy(t *testing.T, s *stub, o Options, version string) *client {
	t.Helper()
	o.Backend = one(s.serve)
	_, url := open(t, o)
	c := &client{t: t, url: url + "/mcp/srv", token: "secret"}
	c.initialize(version)
	return c
}

func TestASessionIsItsTokens(t *testing.T) {
	f := one(newStub().serve)
	_, url := open(t, Options{Backend: f})
	a := &client{t: t, url: url + "/mcp/srv", token: "secret"}
	a.initialize("2025-11-25")
	t.Run("attack_H04", func(t *testing.T) {
		b := &client{t: t, url: a.url, token: "second", session: a.session, version: "2025-11-25"}
		for _, method := range []string{http.MethodPost, http.MethodGet, http.MethodDelete} {
			resp := b.ask(t.Context(), method, `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`)
			if got := f.take(); resp.StatusCode != http.StatusNotFound || len(got) != 1 || got[0].Reason != "session" {
				t.Errorf("%s: %d, recorded %+v", method, resp.StatusCode, got)
			}
		}
		if status, got := a.post(`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`); status != http.StatusOK || got[0].Result == nil {
			t.Errorf("its owner got %d %s", status, raws(got))
		}
	})
	t.Run("it ends once", func(t *testing.T) {
		if resp := a.ask(t.Context(), http.MethodDelete, ""); resp.StatusCode != http.StatusNoContent {
			t.Errorf("DELETE: %d", resp.StatusCode)
		}
		for _, method := range []string{http.MethodPost, http.MethodGet, http.MethodDelete} {
			if resp := a.ask(t.Context(), method, `{"jsonrpc":"2.0","id":1,"method":"ping"}`); resp.StatusCode != http.StatusNotFound {
				t.Errorf("%s: %d", method, resp.StatusCode)
			}
		}
	})
}

func TestVersionHeadersOfASession(t *testing.T) {
	c := legacy(t, newStub(), Options{}, "2025-11-25")
	for version, want := range map[string]int{"": 200, "2025-03-26": 200, "2025-06-18": 200, "2024-11-05": 200, "1999-01-01": 400, "2026-07-28": 400, "x": 400} {
		if status, got := c.post(`{"jsonrpc":"2.0","id":1,"method":"ping"}`, "MCP-Protocol-Version", version); status != want {
			t.Errorf("%q: %d %s", version, status, raws(got))
		}
	}
	if resp := c.ask(t.Context(), http.MethodGet, "", "Mcp-Session-Id", ""); resp.StatusCode != http.StatusBadRequest {
		t.Errorf("GET without a session: %d", resp.StatusCode)
	}
	if status, _ := c.post(`{"jsonrpc":"2.0","method":"notifications/initialized"}`); status != http.StatusAccepted {
		t.Errorf("a notification: %d", status)
	}
}

func TestIDsComeBackAsTheyWere(t *testing.T) {
	for _, era := range []string{"legacy", "modern"} {
		t.Run(era+"/report_M08", func(t *testing.T) {
			c := legacy(t, newStub(), Options{}, "2025-06-18")
			for _, line := range replay(t, "M08.seq.jsonl") {
				body := line["send"]
				if body == nil {
					continue
				}
				sent, err := protocol.Parse(body)
				if err != nil {
					t.Fatal(err)
				}
				var got []protocol.Message
				if era == "legacy" {
					_, got = c.post(string(body))
				} else {
					_, got = c.post(modernBody(string(sent.ID), sent.Method, ""), modern(sent.Method, "", "Mcp-Session-Id", "")...)
				}
				if len(got) != 1 || got[0].ID != sent.ID || got[0].Result == nil {
					t.Errorf("%s got %s", sent.ID, raws(got))
				}
			}
			for _, id := range []string{"null", "{}", "[1]", "true"} {
				status, got := c.post(`{"jsonrpc":"2.0","id":` + id + `,"method":"tools/list"}`)
				if status != http.StatusBadRequest || codeOf(got[0]) != "-32600" {
					t.Errorf("id %s: %d %s", id, status, raws(got))
				}
			}
		})
	}
}

func TestASlowCallHoldsNothingUp(t *testing.T) {
	t.Run("report_M21", func(t *testing.T) {
		s := newStub()
		release := make(chan struct{})
		s.answers["tools/call"] = func(c Client, m protocol.Message) {
			if valueAt(m.Params, "name") != `"quick"` {
				<-release
			}
			result(`{"content":[]}`)(c, m)
		}
		c := legacy(t, s, Options{}, "2025-06-18")
		second := &client{t: t, url: c.url, token: "secret"}
		second.initialize("2025-06-18")
		slow := make(chan []protocol.Message, 2)
		for _, line := range replay(t, "M21.seq.jsonl") {
			body, from := string(line["send"]), protocol.Text(line["from"])
			switch {
			case body == "":
				continue
			case from == "client" && (strings.Contains(body, `"slow"`) || strings.Contains(body, "needs_approval")):
				go func() {
					_, got := c.post(body)
					slow <- got
				}()
				until(t, "the call arrives", func() bool { return len(s.saw("tools/call")) > len(slow) })
				continue
			}
			at := c
			if from == "client2" {
				at = second
			}
			if status, got := at.post(body); status != http.StatusOK || len(got) != 1 || got[0].Result == nil {
				t.Errorf("%s got %d %s", body, status, raws(got))
			}
		}
		close(release)
		for range 2 {
			if got := <-slow; len(got) != 1 || got[0].Result == nil {
				t.Errorf("a slow call got %s", raws(got))
			}
		}
	})
}

func TestBatchesAreOfOneRevision(t *testing.T) {
	batch := `[{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"read"}},` +
		`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"delete"}},{"jsonrpc":"2.0","method":"notifications/x"}]`
	t.Run("attack_H10", func(t *testing.T) {
		for version, whole := range map[string]bool{"2025-03-26": true, "2025-06-18": false, "2025-11-25": false} {
			var kinds []protocol.Kind
			f := one(func(_ context.Context, _ Access, c Client) error {
				for {
					m, err := c.Read()
					if err != nil {
						return nil
					}
					kinds = append(kinds, m.Kind)
					if m.Kind == protocol.Batch { // as the session answers: each element for itself, all in one
						_ = c.Write([]byte(`[{"jsonrpc":"2.0","id":2,"error":{"code":-32602,"message":"denied"}},{"jsonrpc":"2.0","id":1,"result":{}}]`))
						continue
					}
					result(`{"protocolVersion":"%s","capabilities":{}}`, version)(c, m)
				}
			})
			d, url := open(t, Options{Backend: f})
			c := &client{t: t, url: url + "/mcp/srv", token: "secret"}
			c.initialize(version)
			for _, header := range []string{version, "2025-06-18"} {
				status, got := c.post(batch, "MCP-Protocol-Version", header)
				switch {
				case whole && header == version:
					if status != http.StatusOK || len(got) != 1 || got[0].Kind != protocol.Batch {
						t.Errorf("%s: %d %s", version, status, raws(got))
					}
				case status != http.StatusBadRequest || codeOf(got[0]) != "-32600":
					t.Errorf("%s under %s: %d %s", version, header, status, raws(got))
				}
			}
			for _, bad := range []string{`[]`, `[[{"jsonrpc":"2.0","id":3,"method":"ping"}]]`, `[7]`, "[" + initialize + "]"} {
				if status, got := c.post(bad); status != http.StatusBadRequest || codeOf(got[0]) != "-32600" {
					t.Errorf("%s %s: %d %s", version, bad, status, raws(got))
				}
			}
			d.Close()
			if want := map[bool]int{true: 2, false: 1}[whole]; len(kinds) != want {
				t.Errorf("%s: the session saw %v", version, kinds)
			}
		}
	})
}

func TestWhatPrecedesAnAnswerComesInItsStream(t *testing.T) {
	s := newStub()
	s.answers["tools/call"] = func(c Client, m protocol.Message) {
		_ = c.Write(protocol.NewProgress(jsontext.Value(`"t"`), 1, "half"))
		_ = c.Write(protocol.NewRequest(`"q"`, "elicitation/create", nil))
		until(t, "the client answers", func() bool { return len(s.saw("")) == 1 })
		result(`{"content":[{"type":"text","text":"a\r\n\r\ndata: x\u2028"}]}`)(c, m)
	}
	c := legacy(t, s, Options{}, "2025-11-25")
	resp := c.ask(t.Context(), http.MethodPost, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"x","_meta":{"progressToken":"t"}}}`)
	stream := events(resp.Body)
	for _, want := range []string{"notifications/progress", "elicitation/create"} {
		if m, err := stream.next(); err != nil || m.Method != want {
			t.Fatalf("got %s %v, want %s", m.Raw, err, want)
		}
	}
	if status, _ := c.post(`{"jsonrpc":"2.0","id":"q","result":{"action":"accept"}}`); status != http.StatusAccepted {
		t.Errorf("the answer to the server: %d", status)
	}
	if m, err := stream.next(); err != nil || m.ID != "1" || m.Result == nil {
		t.Errorf("got %s %v", m.Raw, err)
	}
	if _, err := stream.next(); err == nil {
		t.Error("the stream went on")
	}
}

func TestHangingUpIsNotCancelling(t *testing.T) {
	s := newStub()
	release := make(chan struct{})
	s.answers["tools/call"] = func(c Client, m protocol.Message) {
		_ = c.Write(protocol.NewNotification("notifications/message", jsontext.Value(`{"level":"info","data":1}`)))
		<-release
		result(`{"late":true}`)(c, m)
	}
	c := legacy(t, s, Options{}, "2025-11-25")
	ctx, hangUp := context.WithCancel(t.Context())
	resp := c.ask(ctx, http.MethodPost, `{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"x"}}`)
	stream := events(resp.Body)
	if m, err := stream.next(); err != nil || m.Method != "notifications/message" {
		t.Fatalf("got %s, %v", m.Raw, err)
	}
	hangUp()
	close(release)
	again := events(c.ask(t.Context(), http.MethodGet, "", "Last-Event-ID", stream.last).Body)
	if m, err := again.next(); err != nil || m.ID != "7" || m.Result == nil {
		t.Errorf("came back for %s, got %s %v", stream.last, m.Raw, err)
	}
	if got := s.saw("notifications/cancelled"); len(got) != 0 {
		t.Errorf("cancelled: %s", raws(got))
	}
	for _, unknown := range []string{"99_1", "nonsense", "1_-1"} {
		if resp := c.ask(t.Context(), http.MethodGet, "", "Last-Event-ID", unknown); resp.StatusCode != http.StatusBadRequest {
			t.Errorf("%s: %d", unknown, resp.StatusCode)
		}
	}
}

func TestSilentStreamsShowLifeAndAreSuperseded(t *testing.T) {
	t.Run("report_T03", func(t *testing.T) {
		s := newStub()
		release := make(chan struct{})
		s.answers["tools/call"] = func(c Client, m protocol.Message) {
			<-release
			result(`{}`)(c, m)
		}
		s.answers["notifications/changed"] = func(c Client, _ protocol.Message) {
			_ = c.Write(protocol.NewNotification("notifications/tools/list_changed", jsontext.Value(`{}`)))
		}
		c := legacy(t, s, Options{KeepAlive: 5 * time.Millisecond}, "2025-06-18")
		first := c.ask(t.Context(), http.MethodGet, "")
		comments(t, first, 3)
		second := c.ask(t.Context(), http.MethodGet, "") // the first one's peer may be dead
		if m, err := events(first.Body).next(); err == nil {
			t.Errorf("the first stream went on: %s", m.Raw)
		}
		_, _ = c.post(`{"jsonrpc":"2.0","method":"notifications/changed"}`)
		if m, err := events(second.Body).next(); err != nil || m.Method != "notifications/tools/list_changed" {
			t.Errorf("the second stream: %s %v", m.Raw, err)
		}
		call := c.ask(t.Context(), http.MethodPost, `{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"x"}}`)
		comments(t, call, 3)
		close(release)
		if got := messages(t, call); len(got) != 1 || got[0].ID != "7" {
			t.Errorf("the call: %s", raws(got))
		}
	})
}

// comments reads so many comments of a stream.
func comments(t *testing.T, resp *http.Response, n int) {
	t.Helper()
	b := make([]byte, n*len(protocol.KeepAlive))
	if resp.StatusCode != http.StatusOK || resp.Header.Get("X-Accel-Buffering") != "no" || resp.Header.Get("Cache-Control") != "no-store" {
		t.Errorf("%d %v", resp.StatusCode, resp.Header)
	}
	for at := 0; at < len(b); {
		n, err := resp.Body.Read(b[at:])
		if at += n; err != nil {
			t.Fatal(err)
		}
	}
	if string(b) != strings.Repeat(protocol.KeepAlive, n) {
		t.Errorf("got %q", b)
	}
}

func TestAQuestionNobodyReadsIsAnsweredByUs(t *testing.T) {
	s := newStub()
	s.answers["notifications/initialized"] = func(c Client, _ protocol.Message) {
		_ = c.Write(protocol.NewRequest("5", "roots/list", nil))
	}
	c := legacy(t, s, Options{Hold: time.Millisecond}, "2025-06-18")
	_, _ = c.post(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	until(t, "the server is answered", func() bool {
		got := s.saw("")
		return len(got) == 1 && got[0].ID == "5" && codeOf(got[0]) == "-32601"
	})
}

func TestAQuestionWaitsForAStream(t *testing.T) {
	s := newStub()
	s.answers["notifications/initialized"] = func(c Client, _ protocol.Message) {
		_ = c.Write(protocol.NewRequest("5", "roots/list", nil))
	}
	c := legacy(t, s, Options{}, "2025-06-18")
	_, _ = c.post(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	if m, err := events(c.ask(t.Context(), http.MethodGet, "").Body).next(); err != nil || m.Method != "roots/list" {
		t.Errorf("got %s %v", m.Raw, err)
	}
}

func TestACancelledRequestEndsItsStream(t *testing.T) {
	s := newStub()
	s.answers["tools/call"] = func(Client, protocol.Message) {}
	c := legacy(t, s, Options{}, "2025-06-18")
	done := make(chan []protocol.Message)
	go func() {
		_, got := c.post(`{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"x"}}`)
		done <- got
	}()
	until(t, "the call arrives", func() bool { return len(s.saw("tools/call")) == 1 })
	if status, got := c.post(`{"jsonrpc":"2.0","id":7,"method":"ping"}`); status != http.StatusBadRequest || codeOf(got[0]) != "-32600" {
		t.Errorf("an id twice: %d %s", status, raws(got))
	}
	_, _ = c.post(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":7}}`)
	if got := <-done; len(got) != 0 {
		t.Errorf("got %s", raws(got))
	}
	until(t, "the server is told", func() bool { return len(s.saw("notifications/cancelled")) == 1 })
}

func TestSessionsEndWhenNobodyUsesThem(t *testing.T) {
	d, url := open(t, Options{Backend: one(newStub().serve), Idle: time.Millisecond})
	c := &client{t: t, url: url + "/mcp/srv", token: "secret"}
	c.initialize("2025-06-18")
	_, _ = c.post(modernBody("1", "tools/list", ""), modern("tools/list", "", "Mcp-Session-Id", "")...)
	until(t, "the sessions end", func() bool {
		d.mu.Lock()
		defer d.mu.Unlock()
		return len(d.sessions)+len(d.shared) == 0
	})
	if status, _ := c.post(`{"jsonrpc":"2.0","id":1,"method":"ping"}`); status != http.StatusNotFound {
		t.Errorf("got %d", status)
	}
}

func TestTooManySessionsEndTheOneUnusedLongest(t *testing.T) {
	_, url := open(t, Options{Backend: one(newStub().serve), Sessions: 2})
	var all []*client
	for range 3 {
		c := &client{t: t, url: url + "/mcp/srv", token: "secret"}
		c.initialize("2025-06-18")
		all = append(all, c)
	}
	for i, want := range []int{404, 200, 200} {
		if status, _ := all[i].post(`{"jsonrpc":"2.0","id":1,"method":"ping"}`); status != want {
			t.Errorf("session %d: %d, want %d", i, status, want)
		}
	}
}

func TestWhyAServerDoesNotStartIsTold(t *testing.T) {
	f := one(func(context.Context, Access, Client) error { return errors.New("srv cannot start: no such image") })
	_, url := open(t, Options{Backend: f})
	c := &client{t: t, url: url + "/mcp/srv", token: "secret"}
	for name, ask := range map[string]func() (int, []protocol.Message){
		"legacy": func() (int, []protocol.Message) { return c.post(initialize) },
		"modern": func() (int, []protocol.Message) {
			return c.post(modernBody("1", "server/discover", ""), modern("server/discover", "")...)
		},
	} {
		if _, got := ask(); len(got) != 1 || codeOf(got[0]) != "-32603" || got[0].ID != "1" || !strings.Contains(string(got[0].Error), "no such image") {
			t.Errorf("%s: %s", name, raws(got))
		}
	}
}

func TestARevokedTokensSessionsEnd(t *testing.T) {
	d, url := open(t, Options{Backend: one(newStub().serve)})
	a, b := &client{t: t, url: url + "/mcp/srv", token: "secret"}, &client{t: t, url: url + "/mcp/srv", token: "second"}
	a.initialize("2025-06-18")
	b.initialize("2025-06-18")
	d.Drop("tok1")
	until(t, "the session ends", func() bool {
		s, _ := a.post(`{"jsonrpc":"2.0","id":1,"method":"ping"}`)
		return s == http.StatusNotFound
	})
	if status, _ := b.post(`{"jsonrpc":"2.0","id":1,"method":"ping"}`); status != http.StatusOK {
		t.Errorf("the other's: %d", status)
	}
}
