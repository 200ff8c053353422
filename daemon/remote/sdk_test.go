package remote

import (
	"context"
	"fmt"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/garita-dev/garita/daemon/protocol"
)

func TestLegacyServers(t *testing.T) {
	for name, opt := range map[string]mcp.StreamableHTTPOptions{
		"sessions, streams":  {EventStore: mcp.NewMemoryEventStore(nil)},
		"sessions, JSON":     {JSONResponse: true},
		"stateless, streams": {Stateless: true},
		"stateless, JSON":    {Stateless: true, JSONResponse: true},
	} {
		t.Run(name, func(t *testing.T) {
			url, w := serve(t, sdkHandler(sdkServer(), opt))
			p := dialPeer(t, Options{URL: url})
			p.initialize()
			if m := p.ask("1", "tools/list", "{}"); !strings.Contains(string(m.Result), `"echo"`) {
				t.Fatalf("tools/list: %s", m.Raw)
			}
			m := p.ask(`"two"`, "tools/call", `{"name":"echo","arguments":{"region":"north"},"_meta":{"progressToken":"p"}}`)
			if !strings.Contains(string(m.Result), "echo north") {
				t.Fatalf("tools/call: %s", m.Raw)
			}
			for _, r := range w.of("POST")[1:] {
				if got := r.Header.Get("MCP-Protocol-Version"); got != "2025-11-25" {
					t.Errorf("MCP-Protocol-Version is %q after the negotiation", got)
				}
				if got := r.Header.Get("Mcp-Session-Id"); (got == "") != opt.Stateless {
					t.Errorf("Mcp-Session-Id is %q", got)
				}
				if r.Header.Get("Mcp-Method") != "" {
					t.Error("a legacy request has headers of the modern era")
				}
			}
		})
	}
}

func TestALegacySessionIsHeardAndEnded(t *testing.T) {
	server := sdkServer()
	url, w := serve(t, sdkHandler(server, mcp.StreamableHTTPOptions{}))
	p := dialPeer(t, Options{URL: url})
	p.initialize()
	eventually(t, "the GET", func() bool { return len(w.of("GET")) == 1 })
	server.AddPrompt(&mcp.Prompt{Name: "new"}, nil)
	p.until(func(m protocol.Message) bool { return m.Method == "notifications/prompts/list_changed" })
	if err := p.conn.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
	if gone := w.of("DELETE"); len(gone) != 1 || gone[0].Header.Get("Mcp-Session-Id") == "" {
		t.Errorf("%d DELETE, want one with the session's id", len(gone))
	}
}

func TestALegacyServerAsks(t *testing.T) {
	server := mcp.NewServer(&mcp.Implementation{Name: "far", Version: "1"}, nil)
	server.AddTool(&mcp.Tool{Name: "ask", InputSchema: map[string]any{"type": "object"}}, func(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		//nolint:staticcheck // Legacy servers go on asking.
		res, err := req.Session.ListRoots(ctx, nil)
		if err != nil {
			return nil, err
		}
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: res.Roots[0].URI}}}, nil
	})
	url, _ := serve(t, sdkHandler(server, mcp.StreamableHTTPOptions{}))
	p := dialPeer(t, Options{URL: url})
	p.ask("0", "initialize", `{"protocolVersion":"2025-06-18","capabilities":{"roots":{}},"clientInfo":{"name":"t","version":"1"}}`)
	p.write(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	p.write(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"ask"}}`)
	asked := p.until(func(m protocol.Message) bool { return m.Method == "roots/list" })
	p.write(string(protocol.NewResult(asked.ID, []byte(`{"roots":[{"uri":"file:///srv"}]}`))))
	if m := p.answer("1"); !strings.Contains(string(m.Result), "file:///srv") {
		t.Errorf("tools/call: %s", m.Raw)
	}
}

func TestModernServers(t *testing.T) {
	for name, opt := range map[string]mcp.StreamableHTTPOptions{
		"streams": {Stateless: true},
		"JSON":    {Stateless: true, JSONResponse: true},
	} {
		t.Run(name, func(t *testing.T) {
			url, w := serve(t, sdkHandler(sdkServer(), opt))
			p := dialPeer(t, Options{URL: url})
			if m := p.ask("1", "server/discover", modern("")); !strings.Contains(string(m.Result), "2026-07-28") {
				t.Fatalf("server/discover: %s", m.Raw)
			}
			p.ask("2", "tools/list", modern(""))
			for id, region := range map[string]string{"3": "north", "4": "日本", "5": " padded ", "6": "=?base64?literal?="} {
				m := p.ask(id, "tools/call", modern(`"name":"where","arguments":{"region":`+string(protocol.Quote(region))+`}`))
				if m.Result == nil {
					t.Errorf("tools/call with %q: %s", region, m.Raw)
				}
			}
			if m := p.ask("7", "prompts/get", modern(`"name":"grüße"`)); m.Result == nil && !strings.Contains(string(m.Error), "-32020") {
				t.Errorf("prompts/get: %s", m.Raw) // go-sdk 1.8.0 compares Mcp-Name undecoded
			}
			m := p.ask("8", "no/such", modern(""))
			if !strings.Contains(string(m.Error), "-32601") {
				t.Errorf("an error of a 404 answer: %s", m.Raw)
			}
			if n := len(w.of("GET")) + len(w.of("DELETE")); n > 0 {
				t.Errorf("%d requests besides POST", n)
			}
			for _, r := range w.of("POST") {
				if r.Header.Get("Mcp-Session-Id") != "" || r.Header.Get("Mcp-Method") == "" {
					t.Errorf("headers of a modern request: %v", r.Header)
				}
			}
		})
	}
}

func TestACallBeforeAnyListIsSentAgainWithItsHeaders(t *testing.T) {
	for name, opt := range map[string]mcp.StreamableHTTPOptions{
		"streams": {Stateless: true}, "JSON": {Stateless: true, JSONResponse: true},
	} {
		t.Run(name, func(t *testing.T) {
			url, w := serve(t, sdkHandler(sdkServer(), opt))
			p := dialPeer(t, Options{URL: url})
			if m := p.ask("1", "tools/call", modern(`"name":"where","arguments":{"region":"north"}`)); m.Result == nil {
				t.Errorf("tools/call: %s", m.Raw)
			}
			if len(p.seen) > 0 {
				t.Errorf("the session saw %s", p.seen[0].Raw)
			}
			posts := w.of("POST")
			if n := len(posts); n != 3 || posts[2].Header.Get("Mcp-Param-Region") != "north" {
				t.Errorf("%d POST, the last with %v", n, posts[n-1].Header)
			}
		})
	}
}

func TestASubscription(t *testing.T) {
	server := sdkServer()
	url, _ := serve(t, sdkHandler(server, mcp.StreamableHTTPOptions{Stateless: true}))
	p := dialPeer(t, Options{URL: url, Limits: Limits{Streams: 1}})
	p.write(`{"jsonrpc":"2.0","id":"sub","method":"subscriptions/listen","params":` + modern(`"notifications":{"promptsListChanged":true}`) + `}`)
	ack := p.next()
	if ack.err != nil || ack.message.Kind != protocol.Notification || !strings.Contains(string(ack.message.Raw), `"sub"`) {
		t.Fatalf("first: %s, %v", ack.message.Raw, ack.err)
	}
	if m := p.ask("1", "tools/list", modern("")); m.Result == nil { // it has a place of its own
		t.Errorf("tools/list: %s", m.Raw)
	}
	server.AddPrompt(&mcp.Prompt{Name: "new"}, nil)
	p.until(func(m protocol.Message) bool { return m.Method == "notifications/prompts/list_changed" })
	p.write(string(protocol.NewCancelled(`"sub"`, "enough")))
	eventually(t, "the end of it", func() bool { return inFlight(p.conn) == 0 })
}

func TestNoAnswerCrosses(t *testing.T) {
	for name, opt := range map[string]mcp.StreamableHTTPOptions{
		"streams": {Stateless: true}, "JSON": {Stateless: true, JSONResponse: true},
	} {
		t.Run(name, func(t *testing.T) {
			url, _ := serve(t, sdkHandler(sdkServer(), opt))
			p := dialPeer(t, Options{URL: url})
			p.ask(`"list"`, "tools/list", modern(""))
			const n = 500
			for i := range n {
				id := []string{"%d", `"%d"`}[i%2] // 1 and "1" are two requests
				p.write(fmt.Sprintf(`{"jsonrpc":"2.0","id":`+id+`,"method":"tools/call","params":%s}`, i/2, modern(fmt.Sprintf(`"name":"where","arguments":{"region":"r%d"}`, i))))
			}
			for range n {
				m := p.until(func(m protocol.Message) bool { return m.Kind == protocol.Response })
				var i int
				quoted, err := strconv.Unquote(string(m.ID))
				if err == nil {
					i++
				} else {
					quoted = string(m.ID)
				}
				half, err := strconv.Atoi(quoted)
				if err != nil {
					t.Fatal(err)
				}
				if want := fmt.Sprintf(`\"r%d\"`, 2*half+i); !strings.Contains(string(m.Result), want) {
					t.Fatalf("answer to %s: %s, want in it %s", m.ID, m.Raw, want)
				}
			}
		})
	}
}

func TestLargeMessagesPass(t *testing.T) {
	large := strings.Repeat("x", 5<<20) // more than go-sdk takes
	for name, h := range map[string]http.HandlerFunc{
		"JSON": func(rw http.ResponseWriter, _ *http.Request) {
			rw.Header().Set("Content-Type", "application/json")
			fmt.Fprintf(rw, `{"jsonrpc":"2.0","id":1,"result":{"blob":%q}}`, large)
		},
		"a stream": func(rw http.ResponseWriter, _ *http.Request) {
			events(rw, fmt.Sprintf("data: {\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"blob\":%q}}\n\n", large))
		},
	} {
		t.Run(name, func(t *testing.T) {
			url, w := serve(t, h)
			p := dialPeer(t, Options{URL: url})
			if m := p.ask("1", "tools/call", modern(`"name":"x","arguments":{"blob":"`+large+`"}`)); len(m.Result) < len(large) {
				t.Errorf("%d bytes came", len(m.Result))
			}
			if got := len(w.bodies()[0]); got < len(large) {
				t.Errorf("%d bytes went", got)
			}
		})
	}
}

// report_T10, the variant of a legacy client and a modern HTTP server: what the bridge makes of the
// client's messages arrives with every header such a server wants. go-sdk's answers 400 where one
// is missing or differs.
func TestBridgedToAModernServer(t *testing.T) {
	t.Run("report_T10", func(t *testing.T) {
		_, replay, _ := strings.Cut(fieldInput(t, "T10.seq.jsonl"), `"legacy client -> daemon -> new HTTP server"`)
		sent := regexp.MustCompile(`"send": (\{"jsonrpc": "2.0", "id": \d+, "method": "tools/.*\})\}`).FindStringSubmatch(replay)
		if len(sent) != 2 {
			t.Fatal("the replay holds no such message")
		}
		m, err := protocol.Parse([]byte(sent[1]))
		if err != nil {
			t.Fatal(err)
		}
		url, w := serve(t, sdkHandler(sdkServer(), mcp.StreamableHTTPOptions{Stateless: true}))
		p := dialPeer(t, Options{URL: url})
		if m := p.ask(`"probe"`, "server/discover", modern("")); m.Result == nil {
			t.Fatalf("server/discover: %s", m.Raw)
		}
		p.write(string(m.WithBody([]byte(modern(""))).Raw))
		if m := p.answer(string(m.ID)); !strings.Contains(string(m.Result), `"echo"`) {
			t.Fatalf("%s: %s", m.Method, m.Raw)
		}
		last := w.of("POST")[1].Header
		if last.Get("Mcp-Method") != "tools/list" || last.Get("MCP-Protocol-Version") != "2026-07-28" {
			t.Errorf("headers: %v", last)
		}
	})
}

func TestCancellingAModernRequestClosesItsStream(t *testing.T) {
	closed := make(chan struct{})
	url, w := serve(t, http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		rw.Header().Set("Content-Type", "text/event-stream")
		_ = http.NewResponseController(rw).Flush()
		<-r.Context().Done()
		close(closed)
	}))
	p := dialPeer(t, Options{URL: url})
	p.write(`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":` + modern(`"name":"hang","arguments":{}`) + `}`)
	eventually(t, "the call", func() bool { return len(w.of("POST")) == 1 })
	p.write(string(protocol.NewCancelled("2", "enough")))
	select {
	case <-closed:
	case <-time.After(long):
		t.Fatal("the stream stayed open")
	}
	eventually(t, "the end of the call", func() bool { return inFlight(p.conn) == 0 })
	if n := len(w.of("POST")); n != 1 {
		t.Errorf("%d POST, want no notification", n)
	}
}

func TestCancellingALegacyRequestIsSaid(t *testing.T) {
	url, w := serve(t, sdkHandler(sdkServer(), mcp.StreamableHTTPOptions{}))
	p := dialPeer(t, Options{URL: url})
	p.initialize()
	p.write(`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"hang","arguments":{}}}`)
	eventually(t, "the call", func() bool { return len(w.of("POST")) == 3 })
	p.write(string(protocol.NewCancelled("2", "enough")))
	eventually(t, "the notification", func() bool {
		bodies := w.bodies()
		return strings.Contains(bodies[len(bodies)-1], "notifications/cancelled")
	})
	if m := p.ask("3", "tools/call", `{"name":"echo","arguments":{"region":"x"}}`); m.Result == nil {
		t.Errorf("after a cancellation: %s", m.Raw)
	}
}

func inFlight(c *Conn) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.calls)
}

func TestTheOldestTransport(t *testing.T) {
	server := sdkServer()
	sse := mcp.NewSSEHandler(func(*http.Request) *mcp.Server { return server }, nil)
	url, w := serve(t, http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		if r.Method == "POST" && r.URL.RawQuery == "" {
			http.Error(rw, "no", http.StatusMethodNotAllowed)
			return
		}
		sse.ServeHTTP(rw, r)
	}))
	p := dialPeer(t, Options{URL: url})
	p.initialize()
	if m := p.ask("1", "tools/list", "{}"); !strings.Contains(string(m.Result), `"echo"`) {
		t.Fatalf("tools/list: %s", m.Raw)
	}
	if m := p.ask("2", "tools/call", `{"name":"echo","arguments":{"region":"old"}}`); !strings.Contains(string(m.Result), "echo old") {
		t.Errorf("tools/call: %s", m.Raw)
	}
	if n := len(w.of("GET")); n != 1 {
		t.Errorf("%d GET, want one", n)
	}
}
