//nolint:staticcheck // roots, sampling and logging are deprecated in the modern era, and part of what is bridged
package bridge

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/jsonschema-go/jsonschema"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/garita-dev/garita/daemon/protocol"
)

// crossing is one way over a bridge: the client's revision, and those the server knows.
type crossing struct {
	open   func(protocol.Stream, Options) protocol.Stream
	client string
	server []string
}

func crossings() map[string]crossing {
	all := map[string]crossing{"modern client, legacy server": {ToLegacy, "2026-07-28", []string{"2025-11-25", "2025-06-18"}}}
	for _, r := range protocol.Legacy {
		all["client of "+string(r)+", modern server"] = crossing{ToModern, string(r), []string{"2026-07-28"}}
	}
	return all
}

// world is a client and a server of the Go SDK with a bridge between them.
type world struct {
	crossing
	ctx    context.Context
	server *mcp.Server
	client *mcp.ClientSession

	toServer *recorded
	toClient *recorded
	events   chan string // what the client was notified of
	stopped  chan struct{}
}

// recorded is a stream whose messages are kept.
type recorded struct {
	protocol.Stream
	mu    sync.Mutex
	wrote []protocol.Message
	read  []protocol.Message
}

func (r *recorded) Read() (protocol.Message, error) {
	m, err := r.Stream.Read()
	r.mu.Lock()
	defer r.mu.Unlock()
	r.read = append(r.read, m)
	return m, err
}

func (r *recorded) Write(raw []byte) error {
	m, err := protocol.Parse(raw)
	if err != nil {
		return err
	}
	r.mu.Lock()
	r.wrote = append(r.wrote, m)
	r.mu.Unlock()
	return r.Stream.Write(raw)
}

func newWorld(t *testing.T, c crossing) *world {
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	t.Cleanup(cancel)
	w := &world{crossing: c, ctx: ctx, events: make(chan string, 64), stopped: make(chan struct{}, 1)}
	w.server = w.newServer()
	serverEnd, toServer := net.Pipe()
	clientEnd, toClient := net.Pipe()
	session, err := w.server.Connect(ctx, transport(serverEnd), nil)
	if err != nil {
		t.Fatal(err)
	}
	w.toServer = &recorded{Stream: protocol.NewLines(toServer)}
	var pumps sync.WaitGroup
	bridge := c.open(w.toServer, Options{})
	client := &recorded{Stream: protocol.NewLines(toClient)}
	w.toClient = client
	pumps.Go(func() { _ = pump(client, bridge); toServer.Close() })
	pumps.Go(func() { _ = pump(bridge, client); toClient.Close() })
	w.client, err = w.newClient().Connect(ctx, transport(clientEnd), &mcp.ClientSessionOptions{ProtocolVersion: c.client})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		w.client.Close()
		session.Close()
		pumps.Wait()
		w.checkEra(t)
	})
	return w
}

func transport(c net.Conn) mcp.Transport { return &mcp.IOTransport{Reader: c, Writer: c} }

func pump(from, to protocol.Stream) error {
	for {
		m, err := from.Read()
		if err != nil {
			return err
		}
		if err := to.Write(m.Raw); err != nil {
			return err
		}
	}
}

// checkEra says that the server was spoken to in its own era alone.
func (w *world) checkEra(t *testing.T) {
	w.toServer.mu.Lock()
	defer w.toServer.mu.Unlock()
	for i, m := range w.toServer.wrote {
		modern := protocol.VersionOf(m.Params) == protocol.V20260728
		switch {
		case m.Kind == protocol.Request && modern != w.server2026():
			t.Errorf("the server was sent %s", m.Raw)
		case m.Kind == protocol.Response && w.server2026():
			t.Errorf("a modern server was answered: %s", m.Raw)
		case i == 0 && !w.server2026() && m.Method != protocol.MethodInitialize:
			t.Errorf("a legacy server was sent %s first", m.Raw)
		}
	}
}

func (w *world) server2026() bool { return slices.Contains(w.crossing.server, "2026-07-28") }

func (w *world) newServer() *mcp.Server {
	s := mcp.NewServer(&mcp.Implementation{Name: "fixture", Version: "1"}, &mcp.ServerOptions{
		Instructions:              "be nice",
		SupportedProtocolVersions: w.crossing.server,
		SubscribeHandler:          func(context.Context, *mcp.SubscribeRequest) error { return nil },
		UnsubscribeHandler:        func(context.Context, *mcp.UnsubscribeRequest) error { return nil },
	})
	mcp.AddTool(s, &mcp.Tool{Name: "add"}, func(_ context.Context, _ *mcp.CallToolRequest, in struct{ A, B int }) (*mcp.CallToolResult, struct{ Sum int }, error) {
		return nil, struct{ Sum int }{in.A + in.B}, nil
	})
	object := &jsonschema.Schema{Type: "object"}
	s.AddTool(&mcp.Tool{Name: "slow", InputSchema: object}, w.slow)
	s.AddTool(&mcp.Tool{Name: "ask", InputSchema: object}, w.ask)
	s.AddTool(&mcp.Tool{Name: "log", InputSchema: object}, func(ctx context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		return words("logged"), r.Session.Log(ctx, &mcp.LoggingMessageParams{Level: "warning", Data: "hello"})
	})
	s.AddPrompt(&mcp.Prompt{Name: "p"}, func(context.Context, *mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
		return &mcp.GetPromptResult{Messages: []*mcp.PromptMessage{{Role: "user", Content: &mcp.TextContent{Text: "prompted"}}}}, nil
	})
	s.AddResource(&mcp.Resource{URI: "x:r", Name: "r"}, func(context.Context, *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
		return &mcp.ReadResourceResult{Contents: []*mcp.ResourceContents{{URI: "x:r", Text: "read"}}}, nil
	})
	return s
}

// slow tells of its progress and waits to be cancelled.
func (w *world) slow(ctx context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	err := r.Session.NotifyProgress(ctx, &mcp.ProgressNotificationParams{ProgressToken: r.Params.GetProgressToken(), Progress: 1, Message: "on it"})
	if err != nil {
		return nil, err
	}
	<-ctx.Done()
	w.stopped <- struct{}{}
	return nil, ctx.Err()
}

// ask wants a person, a model and the roots, as the era of the server has it.
func (w *world) ask(ctx context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	elicit := &mcp.ElicitParams{Message: "Who?", RequestedSchema: &jsonschema.Schema{Type: "object", Properties: map[string]*jsonschema.Schema{"name": {Type: "string"}}}}
	sample := &mcp.CreateMessageParams{MaxTokens: 10, Messages: []*mcp.SamplingMessage{{Role: "user", Content: &mcp.TextContent{Text: "hi"}}}}
	if !w.server2026() {
		who, err := r.Session.Elicit(ctx, elicit)
		if err != nil {
			return nil, err
		}
		what, err := r.Session.CreateMessage(ctx, sample)
		if err != nil {
			return nil, err
		}
		roots, err := r.Session.ListRoots(ctx, nil)
		if err != nil {
			return nil, err
		}
		return asked(who, what.Content, roots), nil
	}
	if r.Params.RequestState != "" && r.Params.RequestState != "st\u00e4te" {
		return nil, fmt.Errorf("a foreign state %q", r.Params.RequestState)
	}
	got := r.Params.InputResponses
	if len(got) == 0 {
		return &mcp.CallToolResult{RequestState: "st\u00e4te", InputRequests: mcp.InputRequestMap{"who": elicit, "what": sample, "where": &mcp.ListRootsParams{}}}, nil
	}
	what := got["what"].(*mcp.CreateMessageWithToolsResult)
	return asked(got["who"].(*mcp.ElicitResult), what.Content[0], got["where"].(*mcp.ListRootsResult)), nil
}

func asked(who *mcp.ElicitResult, what mcp.Content, roots *mcp.ListRootsResult) *mcp.CallToolResult {
	return words(fmt.Sprint(who.Action, who.Content["name"], what.(*mcp.TextContent).Text, roots.Roots[0].URI))
}

func words(s string) *mcp.CallToolResult {
	return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: s}}}
}

func (w *world) newClient() *mcp.Client {
	c := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, &mcp.ClientOptions{
		ElicitationHandler: func(context.Context, *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
			return &mcp.ElicitResult{Action: "accept", Content: map[string]any{"name": "Ana"}}, nil
		},
		CreateMessageHandler: func(context.Context, *mcp.CreateMessageRequest) (*mcp.CreateMessageResult, error) {
			return &mcp.CreateMessageResult{Model: "m", Role: "assistant", Content: &mcp.TextContent{Text: "sampled"}}, nil
		},
		ToolListChangedHandler:     func(context.Context, *mcp.ToolListChangedRequest) { w.events <- "tools" },
		PromptListChangedHandler:   func(context.Context, *mcp.PromptListChangedRequest) { w.events <- "prompts" },
		ResourceListChangedHandler: func(context.Context, *mcp.ResourceListChangedRequest) { w.events <- "resources" },
		ResourceUpdatedHandler: func(_ context.Context, r *mcp.ResourceUpdatedNotificationRequest) {
			w.events <- "updated " + r.Params.URI
		},
		LoggingMessageHandler: func(_ context.Context, r *mcp.LoggingMessageRequest) { w.events <- fmt.Sprint("log ", r.Params.Data) },
		ProgressNotificationHandler: func(_ context.Context, r *mcp.ProgressNotificationClientRequest) {
			w.events <- fmt.Sprint("progress ", r.Params.ProgressToken)
		},
	})
	c.AddRoots(&mcp.Root{URI: "file:///root"})
	return c
}

// expect waits for an event.
func (w *world) expect(t *testing.T, want string) {
	t.Helper()
	select {
	case got := <-w.events:
		if got != want {
			t.Errorf("the client was told of %q, want %q", got, want)
		}
	case <-w.ctx.Done():
		t.Fatalf("the client was never told of %q", want)
	}
}

func (w *world) call(t *testing.T, name string, args any) *mcp.CallToolResult {
	t.Helper()
	r, err := w.client.CallTool(w.ctx, &mcp.CallToolParams{Name: name, Arguments: args})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func text(r *mcp.CallToolResult) string {
	if r == nil {
		return ""
	}
	if len(r.Content) != 1 {
		return fmt.Sprint(r.Content)
	}
	return r.Content[0].(*mcp.TextContent).Text
}

// TestRealPeers is what a client and a server of different eras do together, all of it.
func TestRealPeers(t *testing.T) {
	for name, c := range crossings() {
		t.Run(name, func(t *testing.T) {
			t.Run("handshake", func(t *testing.T) { handshakes(t, newWorld(t, c)) })
			t.Run("tools", func(t *testing.T) { callsTools(t, newWorld(t, c)) })
			t.Run("prompts and resources", func(t *testing.T) { readsResources(t, newWorld(t, c)) })
			t.Run("elicitation, sampling and roots", func(t *testing.T) {
				w := newWorld(t, c)
				if got, want := text(w.call(t, "ask", nil)), "accept"+"Ana"+"sampled"+"file:///root"; strings.ReplaceAll(got, " ", "") != want {
					t.Errorf("the server was told %q, want %q", got, want)
				}
			})
			t.Run("progress and cancellation", func(t *testing.T) { cancels(t, newWorld(t, c)) })
			t.Run("list changes", func(t *testing.T) { listsChange(t, newWorld(t, c)) })
			t.Run("resources that change", func(t *testing.T) { resourcesChange(t, newWorld(t, c)) })
			t.Run("many calls at once", func(t *testing.T) { interleaves(t, newWorld(t, c)) })
			t.Run("log messages", func(t *testing.T) { logs(t, newWorld(t, c)) })
		})
	}
}

// interleaves makes many calls at once; a server's questions may then be carried by any of them.
func interleaves(t *testing.T, w *world) {
	var calls sync.WaitGroup
	for i := range 40 {
		calls.Go(func() {
			if i%4 == 0 {
				r, err := w.client.CallTool(w.ctx, &mcp.CallToolParams{Name: "ask", Arguments: map[string]any{"i": i}})
				if err != nil || r.IsError || !strings.Contains(text(r), "Ana") {
					t.Errorf("call %d: %s, %v", i, text(r), err)
				}
				return
			}
			r, err := w.client.CallTool(w.ctx, &mcp.CallToolParams{Name: "add", Arguments: map[string]any{"A": i, "B": 1000}})
			if err != nil || !cmp.Equal(r.StructuredContent, any(map[string]any{"Sum": float64(1000 + i)})) {
				t.Errorf("call %d: %+v, %v", i, r, err)
			}
		})
	}
	calls.Wait()
}

func handshakes(t *testing.T, w *world) {
	got := w.client.InitializeResult()
	if got.ProtocolVersion != w.crossing.client || got.Instructions != "be nice" || got.ServerInfo.Name != "fixture" {
		t.Errorf("got %+v", got)
	}
	if got.Capabilities.Tools == nil || !got.Capabilities.Resources.Subscribe || got.Capabilities.Prompts == nil {
		t.Errorf("got capabilities %+v", got.Capabilities)
	}
	err := w.client.Ping(w.ctx, nil)
	var refused *jsonrpc.Error
	if w.server2026() && err != nil || !w.server2026() && !errors.As(err, &refused) {
		t.Errorf("ping: %v", err)
	}
}

func callsTools(t *testing.T, w *world) {
	tools, err := w.client.ListTools(w.ctx, nil)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, tool := range tools.Tools {
		got = append(got, tool.Name)
	}
	if diff := cmp.Diff(got, []string{"add", "ask", "log", "slow"}); diff != "" {
		t.Error(diff)
	}
	if got := w.call(t, "add", map[string]any{"A": 2, "B": 3}).StructuredContent; !cmp.Equal(got, any(map[string]any{"Sum": 5.0})) {
		t.Errorf("2 and 3 are %v", got)
	}
	_, err = w.client.CallTool(w.ctx, &mcp.CallToolParams{Name: "none"})
	var refused *jsonrpc.Error
	if !errors.As(err, &refused) || refused.Code != protocol.CodeInvalidParams {
		t.Errorf("a tool that is not there: %v", err)
	}
}

func readsResources(t *testing.T, w *world) {
	p, err := w.client.GetPrompt(w.ctx, &mcp.GetPromptParams{Name: "p"})
	if err != nil || p.Messages[0].Content.(*mcp.TextContent).Text != "prompted" {
		t.Errorf("got %+v, %v", p, err)
	}
	prompts, err := w.client.ListPrompts(w.ctx, nil)
	if err != nil || len(prompts.Prompts) != 1 {
		t.Errorf("got %+v, %v", prompts, err)
	}
	list, err := w.client.ListResources(w.ctx, nil)
	if err != nil || len(list.Resources) != 1 {
		t.Errorf("got %+v, %v", list, err)
	}
	r, err := w.client.ReadResource(w.ctx, &mcp.ReadResourceParams{URI: "x:r"})
	if err != nil || r.Contents[0].Text != "read" {
		t.Errorf("got %+v, %v", r, err)
	}
	_, err = w.client.ReadResource(w.ctx, &mcp.ReadResourceParams{URI: "x:none"})
	var refused *jsonrpc.Error
	if want := map[bool]int64{true: codeNotFound, false: protocol.CodeInvalidParams}[w.server2026()]; !errors.As(err, &refused) || refused.Code != want {
		t.Errorf("a resource that is not there: %v, want code %d", err, want)
	}
}

func cancels(t *testing.T, w *world) {
	ctx, cancel := context.WithCancel(w.ctx)
	defer cancel()
	done := make(chan error, 1)
	go func() {
		p := &mcp.CallToolParams{Name: "slow"}
		p.SetProgressToken("token-1")
		_, err := w.client.CallTool(ctx, p)
		done <- err
	}()
	w.expect(t, "progress token-1")
	cancel()
	if err := <-done; !errors.Is(err, context.Canceled) {
		t.Errorf("the call ended with %v", err)
	}
	select {
	case <-w.stopped:
	case <-w.ctx.Done():
		t.Error("the server was never told")
	}
}

func listsChange(t *testing.T, w *world) {
	tool := func(name string) {
		w.server.AddTool(&mcp.Tool{Name: name, InputSchema: &jsonschema.Schema{Type: "object"}}, func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			return words("new"), nil
		})
	}
	w.listening(t, 1)
	tool("new1")
	w.expect(t, "tools")
	w.server.RemovePrompts("p")
	w.expect(t, "prompts")
	w.server.RemoveResources("x:r")
	w.expect(t, "resources")
	tools, err := w.client.ListTools(w.ctx, nil)
	if err != nil || len(tools.Tools) != 5 {
		t.Errorf("got %+v, %v", tools, err)
	}
}

// listening waits until the server, or the bridge for it, has acknowledged so many listens.
func (w *world) listening(t *testing.T, listens int) {
	t.Helper()
	for w.ctx.Err() == nil {
		if w.acknowledged() >= listens {
			return
		}
		<-time.After(time.Millisecond)
	}
	t.Fatal("nobody acknowledged the listens")
}

func (w *world) acknowledged() int {
	r, of := w.toClient, func(r *recorded) []protocol.Message { return r.wrote }
	if w.server2026() {
		r, of = w.toServer, func(r *recorded) []protocol.Message { return r.read }
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	n := 0
	for _, m := range of(r) {
		if m.Method == noteAcknowledged {
			n++
		}
	}
	return n
}

func resourcesChange(t *testing.T, w *world) {
	update := func() {
		if err := w.server.ResourceUpdated(w.ctx, &mcp.ResourceUpdatedNotificationParams{URI: "x:r"}); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.client.Subscribe(w.ctx, &mcp.SubscribeParams{URI: "x:r"}); err != nil {
		t.Fatal(err)
	}
	w.listening(t, 2) // the Go SDK's modern client does not wait for it
	update()
	w.expect(t, "updated x:r")
	if err := w.client.Unsubscribe(w.ctx, &mcp.UnsubscribeParams{URI: "x:r"}); err != nil {
		t.Fatal(err)
	}
	if !w.server2026() {
		w.cancelled(t)
	}
	update()
	w.call(t, "add", map[string]any{"A": 1, "B": 1})
	w.server.RemoveTools("log")
	w.expect(t, "tools") // and of no update before
}

// cancelled waits until the client has ended a listen.
func (w *world) cancelled(t *testing.T) {
	t.Helper()
	for w.ctx.Err() == nil {
		w.toServer.mu.Lock()
		found := slices.ContainsFunc(w.toServer.wrote, func(m protocol.Message) bool { return m.Method == methodUnsubscribe })
		w.toServer.mu.Unlock()
		if found {
			return
		}
		<-time.After(time.Millisecond)
	}
	t.Fatal("the listen was never ended")
}

func logs(t *testing.T, w *world) {
	if w.server2026() {
		if err := w.client.SetLoggingLevel(w.ctx, &mcp.SetLoggingLevelParams{Level: "info"}); err != nil {
			t.Fatal(err)
		}
		w.call(t, "log", nil)
		w.expect(t, "log hello")
		return
	}
	w.call(t, "log", nil) // which wants none
	p := &mcp.CallToolParams{Name: "log", Meta: mcp.Meta{mcp.MetaKeyLogLevel: "info"}}
	if _, err := w.client.CallTool(w.ctx, p); err != nil {
		t.Fatal(err)
	}
	w.expect(t, "log hello")
	select {
	case e := <-w.events:
		t.Errorf("also %q", e)
	default:
	}
}

// TestTheEndIsTheServersEnd says that a bridge ends as its server does.
func TestTheEndIsTheServersEnd(t *testing.T) {
	for name, open := range map[string]func(protocol.Stream, Options) protocol.Stream{"to modern": ToModern, "to legacy": ToLegacy} {
		t.Run(name, func(t *testing.T) {
			broken := errors.New("broken pipe")
			server := newFakeServer()
			server.says <- received{err: &protocol.LineError{Err: io.ErrShortBuffer}}
			server.says <- received{err: broken}
			b := open(server, Options{})
			if err := b.Write([]byte(`{"jsonrpc":"2.0","id":1,"method":"x"}`)); err != nil {
				t.Fatal(err)
			}
			if m, err := b.Read(); err != nil || m.Error == nil {
				t.Errorf("got %s, %v", m.Raw, err)
			}
			var bad *protocol.LineError
			if _, err := b.Read(); !errors.As(err, &bad) {
				t.Errorf("got %v, want the bad line", err)
			}
			for range 2 {
				if _, err := b.Read(); !errors.Is(err, broken) {
					t.Errorf("got %v, want %v", err, broken)
				}
			}
			if err := b.Write([]byte(`{"jsonrpc":"2.0","id":1,"method":"x"}`)); !errors.Is(err, broken) {
				t.Errorf("writing: %v, want %v", err, broken)
			}
		})
	}
}
