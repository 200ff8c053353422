package door

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/garita-dev/garita/daemon/protocol"
)

// modernClient is a client of a stub behind a door, without a session.
func modernClient(t *testing.T, s *stub, o Options) *client {
	t.Helper()
	if o.Backend == nil {
		o.Backend = one(s.serve)
	}
	_, url := open(t, o)
	return &client{t: t, url: url + "/mcp/srv", token: "secret"}
}

func TestHeadersAreHeldAgainstTheBody(t *testing.T) {
	s := newStub()
	c := modernClient(t, s, Options{})
	call := modernBody("1", "tools/call", `"name":"danger","arguments":{}`)
	refused := func(t *testing.T, body string, headers ...string) {
		t.Helper()
		status, got := c.post(body, headers...)
		if status != http.StatusBadRequest || len(got) != 1 || codeOf(got[0]) != "-32020" || got[0].ID != "1" {
			t.Errorf("%q: %d %s", headers, status, raws(got))
		}
	}
	t.Run("attack_H08", func(t *testing.T) {
		refused(t, call, modern("tools/call", "safe_tool")...)
		refused(t, call, modern("tools/list", "danger")...)
	})
	t.Run("report_T10 variant 3", func(t *testing.T) {
		refused(t, call, modern("tools/list", "")...)
		refused(t, call, modern("", "danger")...)
		refused(t, call, modern("tools/call", "")...)
		refused(t, call, modern("TOOLS/CALL", "danger")...)
		refused(t, call, modern("tools/call", "danger", "MCP-Protocol-Version", "2025-11-25")...)
		refused(t, call, modern("tools/call", "danger", "MCP-Protocol-Version", "")...)
		refused(t, call, modern("tools/call", "=?base64?ZGFuZ2Vy", "Mcp-Name", "=?base64?!?=")...)
	})
	if n := len(s.seen); n != 0 {
		t.Errorf("the server saw %s", raws(s.seen))
	}
	s.answers["tools/call"] = result(`{"content":[]}`)
	if status, got := c.post(call, modern("tools/call", " =?base64?ZGFuZ2Vy?= ")...); status != http.StatusOK || got[0].Result == nil {
		t.Errorf("as it should be: %d %s", status, raws(got))
	}
}

func TestErrorsHaveTheirStatus(t *testing.T) {
	s := newStub()
	for _, code := range []string{"-32601", "-32602", "-32021", "-32022", "-32603", "-32042", "1"} {
		s.answers["x/"+code] = func(c Client, m protocol.Message) {
			_ = c.Write(protocol.NewErrorAnswer(m.ID, jsontext.Value(`{"code":`+code+`,"message":"m"}`)))
		}
	}
	c := modernClient(t, s, Options{})
	meta := func(inside string) string {
		return `{"jsonrpc":"2.0","id":"a","method":"tools/list","params":{"_meta":{` + inside + `}}}`
	}
	version := `"io.modelcontextprotocol/protocolVersion":`
	for name, tt := range map[string]struct {
		body   string
		header []string
		status int
		code   string
	}{
		"no such method":      {modernBody(`"a"`, "nope", ""), modern("nope", ""), 404, "-32601"},
		"initialize":          {modernBody(`"a"`, "nope", ""), modern("nope", ""), 404, "-32601"},
		"no _meta":            {`{"jsonrpc":"2.0","id":"a","method":"tools/list","params":{}}`, modern("tools/list", ""), 400, "-32602"},
		"no version":          {meta(`"a":1`), modern("tools/list", ""), 400, "-32602"},
		"no capabilities":     {meta(version + `"2026-07-28"`), modern("tools/list", ""), 400, "-32602"},
		"unknown version":     {meta(version + `"2099-01-01"`), modern("tools/list", "", "MCP-Protocol-Version", "2099-01-01"), 400, "-32022"},
		"a legacy version":    {meta(version + `"2025-11-25"`), modern("tools/list", "", "MCP-Protocol-Version", "2025-11-25"), 400, "-32022"},
		"from the server 601": {modernBody(`"a"`, "x/-32601", ""), modern("x/-32601", ""), 404, "-32601"},
		"from the server 602": {modernBody(`"a"`, "x/-32602", ""), modern("x/-32602", ""), 400, "-32602"},
		"missing capability":  {modernBody(`"a"`, "x/-32021", ""), modern("x/-32021", ""), 400, "-32021"},
		"internal":            {modernBody(`"a"`, "x/-32603", ""), modern("x/-32603", ""), 200, "-32603"},
		"of its own":          {modernBody(`"a"`, "x/1", ""), modern("x/1", ""), 200, "1"},
	} {
		t.Run(name, func(t *testing.T) {
			status, got := c.post(tt.body, tt.header...)
			if status != tt.status || len(got) != 1 || codeOf(got[0]) != tt.code || got[0].ID != `"a"` {
				t.Errorf("%d %s, want %d %s", status, raws(got), tt.status, tt.code)
			}
			if tt.code == "-32022" && !strings.Contains(valueAt(got[0].Error, "data", "supported"), "2026-07-28") {
				t.Errorf("no versions in %s", got[0].Raw)
			}
		})
	}
	for _, method := range []string{http.MethodGet, http.MethodDelete} {
		if resp := c.ask(t.Context(), method, "", "MCP-Protocol-Version", "2026-07-28"); resp.StatusCode != http.StatusMethodNotAllowed || resp.Header.Get("Allow") != "POST" {
			t.Errorf("%s: %d", method, resp.StatusCode)
		}
	}
}

// echo answers tools/call with its arguments, after progress that tells them, too.
func echo(c Client, m protocol.Message) {
	token, arguments := valueAt(m.Params, "_meta", "progressToken"), valueAt(m.Params, "arguments")
	if token != "" {
		_ = c.Write(protocol.NewProgress(jsontext.Value(token), 1, arguments))
	}
	result(`{"content":[],"structuredContent":%s}`, arguments)(c, m)
}

func TestNothingCrossesBetweenRequests(t *testing.T) {
	s := newStub()
	s.answers["tools/call"] = echo
	f := one(s.serve)
	c := modernClient(t, s, Options{Backend: f})
	t.Run("attack_H11", func(t *testing.T) {
		ids := []string{"1", `"1"`, "9007199254740993", "1e2", "2.50", `"a\"b"`, "1", "-0", `""`, "1"}
		var wg sync.WaitGroup
		for client := range 10 {
			wg.Go(func() {
				for n := range 100 {
					id, mark := ids[(client+n)%len(ids)], fmt.Sprintf(`{"me":"%d/%d"}`, client, n)
					body := modernBody(id, "tools/call", `"name":"echo","arguments":`+mark, `"progressToken":1`)
					status, got := c.post(body, modern("tools/call", "echo")...)
					if status != http.StatusOK || len(got) != 2 {
						t.Errorf("%d %s", status, raws(got))
						return
					}
					if p := got[0]; valueAt(p.Params, "progressToken") != "1" || valueAt(p.Params, "message") != string(protocol.Quote(mark)) {
						t.Errorf("progress of %s: %s", mark, p.Raw)
					}
					if a := got[1]; string(a.ID) != id || valueAt(a.Result, "structuredContent") != mark {
						t.Errorf("answer to %s %s: %s", id, mark, a.Raw)
					}
				}
			})
		}
		wg.Wait()
	})
	if n := f.starts("srv"); n != 1 {
		t.Errorf("%d sessions", n)
	}
}

func TestSubscriptionsAreTheirSendersOwn(t *testing.T) {
	s := newStub()
	release := make(chan struct{})
	var both sync.WaitGroup
	both.Add(2)
	s.answers["subscriptions/listen"] = func(c Client, m protocol.Message) {
		tagged := func(id string) jsontext.Value {
			return fmt.Appendf(nil, `{"mark":%s,"_meta":{"io.modelcontextprotocol/subscriptionId":%s}}`, valueAt(m.Params, "mark"), id)
		}
		_ = c.Write(protocol.NewNotification("notifications/subscriptions/acknowledged", tagged(string(m.ID))))
		both.Done()
		<-release
		_ = c.Write(protocol.NewNotification("notifications/tools/list_changed", tagged(strconv.Quote(string(m.ID)))))
		_ = c.Write(protocol.NewNotification("notifications/tools/list_changed", tagged("9999")))
		_ = c.Write(protocol.NewNotification("notifications/message", jsontext.Value(`{}`)))
		_ = c.Write(protocol.NewRequest("1", "roots/list", nil)) // modern servers ask nothing
		_ = c.Write(protocol.NewResult(m.ID, tagged(string(m.ID))))
	}
	c := modernClient(t, s, Options{})
	var wg sync.WaitGroup
	for _, mark := range []string{"1", "2"} {
		wg.Go(func() {
			resp := c.ask(t.Context(), http.MethodPost, modernBody(`"sub"`, "subscriptions/listen", `"mark":`+mark), modern("subscriptions/listen", "")...)
			if !strings.HasPrefix(resp.Header.Get("Content-Type"), "text/event-stream") {
				t.Errorf("got %v", resp.Header)
			}
			got := messages(t, resp)
			if len(got) != 3 {
				t.Errorf("got %s", raws(got))
				return
			}
			for _, m := range got {
				body := m.Params
				if m.Kind == protocol.Response {
					body = m.Result
				}
				if valueAt(body, "_meta", protocol.MetaSubscription) != `"sub"` || valueAt(body, "mark") != mark {
					t.Errorf("of %s: %s", mark, m.Raw)
				}
			}
		})
	}
	both.Wait()
	close(release)
	wg.Wait()
}

func TestHangingUpCancels(t *testing.T) {
	s := newStub()
	s.answers["tools/call"] = func(c Client, m protocol.Message) {
		_ = c.Write(protocol.NewProgress(jsontext.Value(valueAt(m.Params, "_meta", "progressToken")), 1, ""))
	}
	c := modernClient(t, s, Options{KeepAlive: 5 * time.Millisecond})
	ctx, hangUp := context.WithCancel(t.Context())
	resp := c.ask(ctx, http.MethodPost, modernBody("1", "tools/call", `"name":"echo"`, `"progressToken":"t"`), modern("tools/call", "echo")...)
	if m, err := events(resp.Body).next(); err != nil || valueAt(m.Params, "progressToken") != `"t"` {
		t.Fatalf("got %s %v", m.Raw, err)
	}
	_, _ = c.post(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}`, modern("notifications/cancelled", "")...)
	if got := s.saw("notifications/cancelled"); len(got) != 0 {
		t.Errorf("one POST cancelled another: %s", raws(got))
	}
	hangUp()
	until(t, "it is cancelled", func() bool {
		got := s.saw("notifications/cancelled")
		return len(got) == 1 && protocol.Cancelled(got[0].Params) == s.saw("tools/call")[0].ID
	})
}

func TestToolsThatCannotBeCalledOverHTTPAreLeftOut(t *testing.T) {
	t.Run("attack_H30", func(t *testing.T) {
		s := newStub()
		schema := func(property string) string {
			return `{"type":"object","properties":{"r":` + property + `}}`
		}
		broken := map[string]string{
			"crlf": schema(`{"type":"string","x-mcp-header":"A\r\nX: y"}`), "empty": schema(`{"type":"string","x-mcp-header":""}`),
			"twice":  `{"properties":{"a":{"type":"string","x-mcp-header":"A"},"b":{"type":"string","x-mcp-header":"a"}}}`,
			"number": schema(`{"type":"number","x-mcp-header":"A"}`), "item": schema(`{"type":"array","items":{"type":"string","x-mcp-header":"A"}}`),
		}
		list := `{"name":"good","inputSchema":` + schema(`{"type":"string","x-mcp-header":"Region"}`) + `}`
		for name, in := range broken {
			list += `,{"name":"` + name + `","inputSchema":` + in + `}`
		}
		s.answers["tools/list"] = func(c Client, m protocol.Message) { // the broken ones on the second page
			if valueAt(m.Params, "cursor") == "" {
				result(`{"tools":[],"nextCursor":"2","ttlMs":5}`)(c, m)
				return
			}
			result(`{"tools":[%s],"ttlMs":5}`, list)(c, m)
		}
		s.answers["tools/call"] = echo
		var log strings.Builder
		var mu sync.Mutex
		c := modernClient(t, s, Options{Log: slog.New(slog.NewTextHandler(&locked{w: &log, mu: &mu}, nil))})
		for name := range broken {
			if status, got := c.post(modernBody("1", "tools/call", `"name":"`+name+`"`), modern("tools/call", name)...); status != http.StatusBadRequest || codeOf(got[0]) != "-32602" {
				t.Errorf("%s was called: %d %s", name, status, raws(got))
			}
		}
		if got := s.saw("tools/call"); len(got) != 0 {
			t.Errorf("the server saw %s", raws(got))
		}
		status, got := c.post(modernBody("1", "tools/list", `"cursor":"2"`), modern("tools/list", "")...)
		page, err := protocol.ParseToolPage(got[0].Result)
		if status != http.StatusOK || err != nil || len(page.Tools) != 1 || page.Tools[0].Name != "good" || valueAt(got[0].Result, "ttlMs") != "5" {
			t.Errorf("%d %s", status, raws(got))
		}
		mu.Lock()
		logged := log.String()
		mu.Unlock()
		for name := range broken {
			if !strings.Contains(logged, "tool="+name) {
				t.Errorf("no warning of %s", name)
			}
		}
		call := modernBody("1", "tools/call", `"name":"good","arguments":{"r":"eu"}`)
		if status, got := c.post(call, modern("tools/call", "good")...); status != http.StatusBadRequest || codeOf(got[0]) != "-32020" {
			t.Errorf("without its header: %d %s", status, raws(got))
		}
		if status, got := c.post(call, modern("tools/call", "good", "Mcp-Param-Region", "eu")...); status != http.StatusOK {
			t.Errorf("with its header: %d %s", status, raws(got))
		}
	})
}

type locked struct {
	w  io.Writer
	mu *sync.Mutex
}

func (l *locked) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.w.Write(b)
}

func TestEachTokenHasItsOwnSession(t *testing.T) {
	t.Run("attack_H65", func(t *testing.T) {
		f := one(func(ctx context.Context, a Access, c Client) error { // the backend shows each token other tools
			s := newStub()
			s.answers["tools/list"] = result(`{"tools":[{"name":"of_%s","inputSchema":{}}],"cacheScope":"public","ttlMs":1}`, a.ID)
			return s.serve(ctx, a, c)
		})
		_, url := open(t, Options{Backend: f})
		for range 3 {
			for token, want := range map[string]string{"secret": "of_tok1", "second": "of_tok2"} {
				c := &client{t: t, url: url + "/mcp/srv", token: token}
				_, got := c.post(modernBody("1", "tools/list", ""), modern("tools/list", "")...)
				if len(got) != 1 || !strings.Contains(string(got[0].Raw), want) {
					t.Errorf("%s: %s", token, raws(got))
				}
			}
		}
	})
}

func TestAWaitingModernRequestShowsLife(t *testing.T) {
	s := newStub()
	release := make(chan struct{})
	s.answers["x/slow"] = func(c Client, m protocol.Message) {
		<-release
		result(`{}`)(c, m)
	}
	c := modernClient(t, s, Options{KeepAlive: 5 * time.Millisecond})
	resp := c.ask(t.Context(), http.MethodPost, modernBody("1", "x/slow", ""), modern("x/slow", "")...)
	comments(t, resp, 3)
	close(release)
	if got := messages(t, resp); len(got) != 1 || got[0].Result == nil {
		t.Errorf("got %s", raws(got))
	}
}

func TestASessionThatEndedIsOpenedAnew(t *testing.T) {
	s := newStub()
	f := one(func(ctx context.Context, a Access, c Client) error {
		m, err := c.Read()
		if err == nil {
			result(`{"tools":[]}`)(c, m)
		}
		return nil // the server dies after each answer
	})
	c := modernClient(t, s, Options{Backend: f})
	for n := range 5 {
		until(t, "it answers", func() bool {
			_, got := c.post(modernBody("1", "tools/list", ""), modern("tools/list", "")...)
			return len(got) == 1 && got[0].Result != nil
		})
		if f.starts("srv") <= n {
			t.Errorf("started %d times", f.starts("srv"))
		}
	}
}
