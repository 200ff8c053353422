package door

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/garita-dev/garita/daemon/protocol"
)

func TestNamesOfAllServersTogether(t *testing.T) {
	servers := []string{"a", "a_", "a__b", "b", "a_5f", "A", "fs-1", strings.Repeat("s", 60), "ü"}
	tools := []string{"read_file", "_x", "x", "b__x", "__x", "a b", "a-b", "a.b", "", "é", "e", "0123456789abcdef", "x_0123456789abcdef", strings.Repeat("t", 300), strings.Repeat("t", 301), "__proto__", "../../x"}
	seen := map[string]string{}
	for _, s := range servers {
		for _, tool := range append(tools, exposed(s, "a b"), strings.TrimPrefix(exposed(s, "a b"), serverPart(s)+"__")) {
			name, pair := exposed(s, tool), fmt.Sprintf("%q %q", s, tool)
			if other, taken := seen[name]; taken && other != pair {
				t.Errorf("%s: %s and %s", name, other, pair)
			}
			seen[name] = pair
			if len(name) > maxName || strings.Trim(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-") != "" {
				t.Errorf("%s is %q", pair, name)
			}
		}
	}
	for pair, want := range map[[2]string]string{{"fs", "read_file"}: "fs__read_file", {"my_srv", "x"}: "my_5fsrv__x", {"fs", "a b"}: exposed("fs", "a b")} {
		if got := exposed(pair[0], pair[1]); got != want {
			t.Errorf("%v: %s, want %s", pair, got, want)
		}
	}
}

func FuzzExposed(f *testing.F) {
	f.Add("a", "b__c", "a__b", "c")
	f.Fuzz(func(t *testing.T, s1, t1, s2, t2 string) {
		if (s1 != s2 || t1 != t2) && exposed(s1, t1) == exposed(s2, t2) {
			t.Fatalf("%q %q and %q %q are both %s", s1, t1, s2, t2, exposed(s1, t1))
		}
	})
}

// several is a fake with two reference servers and one that does not start.
func several() *fake {
	f := one(nil)
	f.reach["tok1"] = []string{"broken", "one", "two"}
	f.servers = map[string]func(context.Context, Access, Client) error{
		"broken": func(context.Context, Access, Client) error { return errors.New("no such image") },
		"one":    sdkServer(addEcho),
		"two": sdkServer(func(s *mcp.Server) {
			addEcho(s)
			mcp.AddTool(s, &mcp.Tool{Name: "more"}, func(_ context.Context, _ *mcp.CallToolRequest, in echoed) (*mcp.CallToolResult, echoed, error) {
				in.Text += " more"
				return nil, in, nil
			})
			s.AddResource(&mcp.Resource{Name: "r2", URI: "test://r2"}, func(context.Context, *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
				return &mcp.ReadResourceResult{Contents: []*mcp.ResourceContents{{URI: "test://r2", Text: "r2"}}}, nil
			})
		}),
	}
	return f
}

func TestAllServersAtOneAddress(t *testing.T) {
	for era, tt := range eras {
		t.Run(era, func(t *testing.T) {
			_, url := open(t, Options{Backend: several()})
			progress := make(chan string, 100)
			s := sdkClient(t, url+"/mcp", tt.legacy, &mcp.ClientOptions{
				ProgressNotificationHandler: func(_ context.Context, r *mcp.ProgressNotificationClientRequest) {
					progress <- fmt.Sprint(r.Params.ProgressToken)
				},
			})
			begun := s.InitializeResult()
			if begun.ProtocolVersion != tt.version || begun.Capabilities.Tools == nil || !strings.Contains(begun.Instructions, `"broken" is not available: no such image`) {
				t.Errorf("%s, %q", begun.ProtocolVersion, begun.Instructions)
			}
			var names []string
			for tool, err := range s.Tools(t.Context(), nil) {
				if err != nil {
					t.Fatal(err)
				}
				names = append(names, tool.Name)
			}
			if !slices.Equal(names, []string{"one__echo", "two__echo", "two__more"}) {
				t.Errorf("tools: %q", names)
			}
			var wg sync.WaitGroup
			for n := range 30 {
				wg.Go(func() {
					tool, text := names[n%3], fmt.Sprint("text", n)
					p := &mcp.CallToolParams{Name: tool, Arguments: echoed{Text: text}}
					p.SetProgressToken(text)
					if tool == "two__more" {
						text += " more"
					}
					got, err := s.CallTool(t.Context(), p)
					if err != nil || fmt.Sprint(got.StructuredContent) != "map[text:"+text+"]" {
						t.Errorf("%s: %v %v", tool, got, err)
					}
				})
			}
			wg.Wait()
			for range 20 {
				<-progress
			}
			for uri, want := range map[string]string{"test://r": "r", "test://r2": "r2"} {
				if got, err := s.ReadResource(t.Context(), &mcp.ReadResourceParams{URI: uri}); err != nil || got.Contents[0].Text != want {
					t.Errorf("%s: %v %v", uri, got, err)
				}
			}
			if got, err := s.GetPrompt(t.Context(), &mcp.GetPromptParams{Name: "two__p"}); err != nil || got.Description != "p" {
				t.Errorf("%v %v", got, err)
			}
			for _, unknown := range []string{"echo", "three__echo", "broken__echo"} {
				if got, err := s.CallTool(t.Context(), &mcp.CallToolParams{Name: unknown}); err == nil {
					t.Errorf("%s: %v", unknown, got)
				}
			}
			if _, err := s.ReadResource(t.Context(), &mcp.ReadResourceParams{URI: "test://none"}); err == nil {
				t.Error("a resource that is not was read")
			}
		})
	}
}

func TestAServersQuestionComesBackToIt(t *testing.T) {
	f := one(nil)
	f.reach["tok1"] = []string{"one", "two"}
	f.servers = map[string]func(context.Context, Access, Client) error{}
	for _, name := range f.reach["tok1"] {
		s := newStub()
		s.answers["tools/list"] = result(`{"tools":[{"name":"ask","inputSchema":{}}]}`)
		s.answers["initialize"] = result(`{"protocolVersion":"2025-06-18","capabilities":{"tools":{}}}`)
		s.answers["tools/call"] = func(c Client, m protocol.Message) {
			_ = c.Write(protocol.NewRequest("1", "elicitation/create", fmt.Appendf(nil, `{"message":%q}`, name)))
			until(t, "the client answers", func() bool { return len(s.saw("")) == 1 })
			a := s.saw("")[0]
			result(`{"id":%s,"said":%s}`, a.ID, a.Result)(c, m)
		}
		f.servers[name] = s.serve
	}
	_, url := open(t, Options{Backend: f})
	c := &client{t: t, url: url + "/mcp", token: "secret"}
	c.initialize("2025-06-18")
	var wg sync.WaitGroup
	for n, name := range f.reach["tok1"] {
		wg.Go(func() {
			resp := c.ask(t.Context(), http.MethodPost, fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"%s__ask","arguments":{}}}`, n, name))
			stream := events(resp.Body)
			for {
				m, err := stream.next()
				if err != nil {
					return
				}
				if m.Kind == protocol.Request {
					_, _ = c.post(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":%s}`, m.ID, valueAt(m.Params, "message")))
					continue
				}
				if want := fmt.Sprintf(`{"id":1,"said":"%s"}`, name); string(m.Result) != want {
					t.Errorf("%s got %s", name, m.Raw)
				}
			}
		})
	}
	wg.Wait()
}

func TestASubscriptionAtAllServers(t *testing.T) {
	_, url := open(t, Options{Backend: several()})
	c := &client{t: t, url: url + "/mcp", token: "secret"}
	resp := c.ask(t.Context(), http.MethodPost, modernBody(`"s"`, "subscriptions/listen", `"notifications":{"toolsListChanged":true}`), modern("subscriptions/listen", "")...)
	m, err := events(resp.Body).next()
	if err != nil || m.Method != "notifications/subscriptions/acknowledged" || valueAt(m.Params, "notifications", "toolsListChanged") != "true" || valueAt(m.Params, "_meta", protocol.MetaSubscription) != `"s"` {
		t.Errorf("got %s %v", m.Raw, err)
	}
}

// What comes before all servers have acknowledged is kept in bounds, and nothing of it is lost.
func TestAFloodBeforeTheAcknowledgment(t *testing.T) {
	const many = 3 * maxEarly
	f := one(nil)
	f.reach["tok1"] = []string{"loud", "mute"}
	loud, mute := newStub(), newStub()
	mute.answers["subscriptions/listen"] = func(Client, protocol.Message) {}
	loud.answers["subscriptions/listen"] = func(c Client, m protocol.Message) {
		about := fmt.Sprintf(`"_meta":{%q:%s}`, protocol.MetaSubscription, m.ID)
		_ = c.Write(protocol.NewNotification("notifications/subscriptions/acknowledged", fmt.Appendf(nil, `{%s,"notifications":{"resourceSubscriptions":["a:"]}}`, about)))
		for n := range many {
			_ = c.Write(protocol.NewNotification("notifications/resources/updated", fmt.Appendf(nil, `{%s,"uri":"a:%d"}`, about, n)))
		}
	}
	f.servers = map[string]func(context.Context, Access, Client) error{"loud": loud.serve, "mute": mute.serve}
	_, url := open(t, Options{Backend: f})
	c := &client{t: t, url: url + "/mcp", token: "secret"}
	resp := c.ask(t.Context(), http.MethodPost, modernBody(`"s"`, "subscriptions/listen", `"notifications":{"resourceSubscriptions":["a:"]}`), modern("subscriptions/listen", "")...)
	stream := events(resp.Body)
	if m, err := stream.next(); err != nil || m.Method != "notifications/subscriptions/acknowledged" || !strings.Contains(string(m.Params), `"a:"`) {
		t.Fatalf("got %s %v", m.Raw, err)
	}
	for n := range many {
		m, err := stream.next()
		if want := fmt.Sprintf(`"a:%d"`, n); err != nil || valueAt(m.Params, "uri") != want || valueAt(m.Params, "_meta", protocol.MetaSubscription) != `"s"` {
			t.Fatalf("got %s %v, want %s", m.Raw, err, want)
		}
	}
}

func TestAServerThatIsSlowToStartComesLate(t *testing.T) {
	f := one(nil)
	f.reach["tok1"] = []string{"quick", "slow"}
	release := make(chan struct{})
	s := newStub()
	s.answers["initialize"] = result(`{"protocolVersion":"2025-06-18","capabilities":{"tools":{}}}`)
	f.servers = map[string]func(context.Context, Access, Client) error{
		"quick": s.serve,
		"slow": func(ctx context.Context, a Access, c Client) error {
			<-release
			return s.serve(ctx, a, c)
		},
	}
	_, url := open(t, Options{Backend: f, Wait: 50 * time.Millisecond})
	c := &client{t: t, url: url + "/mcp", token: "secret"}
	status, got := c.post(strings.Replace(initialize, "2025-11-25", "2025-06-18", 1))
	if status != http.StatusOK || !strings.Contains(valueAt(got[0].Result, "instructions"), "slow") {
		t.Fatalf("%d %s", status, raws(got))
	}
	c.initialize("2025-06-18")
	stream := events(c.ask(t.Context(), http.MethodGet, "").Body)
	close(release)
	if m, err := stream.next(); err != nil || m.Method != "notifications/tools/list_changed" {
		t.Errorf("got %s %v", m.Raw, err)
	}
	until(t, "it is listed", func() bool {
		_, got := c.post(`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`)
		return strings.Contains(raws(got), "slow__echo") && strings.Contains(raws(got), "quick__echo")
	})
}

func TestAServerThatDiesIsStartedAgain(t *testing.T) {
	f := one(nil)
	f.servers = map[string]func(context.Context, Access, Client) error{"srv": func(ctx context.Context, a Access, c Client) error {
		s := newStub()
		s.answers["initialize"] = result(`{"protocolVersion":"2025-06-18","capabilities":{"tools":{}}}`)
		s.answers["tools/call"] = func(c Client, _ protocol.Message) { _ = c.Close() } // it dies of it
		return s.serve(ctx, a, c)
	}}
	_, url := open(t, Options{Backend: f})
	c := &client{t: t, url: url + "/mcp", token: "secret"}
	c.initialize("2025-06-18")
	for n := range 3 {
		if _, got := c.post(`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`); !strings.Contains(raws(got), "srv__echo") {
			t.Errorf("run %d lists %s", n, raws(got))
		}
		_, got := c.post(`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"srv__echo"}}`)
		if len(got) != 1 || got[0].ID != "2" || codeOf(got[0]) != "-32603" || !strings.Contains(raws(got), "srv: ") {
			t.Errorf("run %d: %s", n, raws(got))
		}
	}
	if n := f.starts("srv"); n != 4 && n != 3 {
		t.Errorf("%d starts", n)
	}
}

func TestACancelledCallIsCancelledAtItsServer(t *testing.T) {
	f := one(nil)
	s := newStub()
	s.answers["tools/call"] = func(Client, protocol.Message) {}
	f.servers = map[string]func(context.Context, Access, Client) error{"srv": s.serve}
	_, url := open(t, Options{Backend: f})
	c := &client{t: t, url: url + "/mcp", token: "secret"}
	ctx, hangUp := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		c.ask(ctx, http.MethodPost, modernBody("1", "tools/call", `"name":"srv__echo"`), modern("tools/call", "srv__echo")...)
	}()
	until(t, "the call arrives", func() bool { return len(s.saw("tools/call")) == 1 })
	hangUp()
	until(t, "it is cancelled", func() bool {
		got := s.saw("notifications/cancelled")
		return len(got) == 1 && protocol.Cancelled(got[0].Params) == s.saw("tools/call")[0].ID
	})
	<-done
}
