package remote

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/garita-dev/garita/daemon/protocol"
	"github.com/garita-dev/garita/daemon/remote/oauth"
	"github.com/garita-dev/garita/sandbox/sandboxtest"
)

// TestMain finds goroutines that are left when all tests are done.
func TestMain(m *testing.M) { sandboxtest.Main(m) }

// A session uses a Conn like a server in a sandbox.
var _ interface {
	protocol.Stream
	CloseWrite() error
	Stop(context.Context) error
} = (*Conn)(nil)

var _ Authorizer = (*oauth.Login)(nil)

// long is how long a test waits for what must come.
const long = time.Minute

// peer drives a Conn the way a session does.
type peer struct {
	t    *testing.T
	conn *Conn
	seen []protocol.Message // all that came and was not asked for by id
	in   chan item
}

func dialPeer(t *testing.T, opt Options) *peer {
	t.Helper()
	if opt.Name == "" {
		opt.Name = "far"
	}
	conn, err := Open(t.Context(), opt)
	if err != nil {
		t.Fatal(err)
	}
	p := &peer{t: t, conn: conn, in: make(chan item, 1000)}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for {
			m, err := conn.Read()
			p.in <- item{m, err}
			if _, bad := err.(*protocol.LineError); err != nil && !bad {
				return
			}
		}
	}()
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), long)
		defer cancel()
		if err := conn.Stop(ctx); err != nil {
			t.Errorf("Stop: %v", err)
		}
		<-ended
	})
	return p
}

func (p *peer) write(raw string) {
	p.t.Helper()
	if err := p.conn.Write([]byte(raw)); err != nil {
		p.t.Fatalf("Write(%s): %v", raw, err)
	}
}

// next is what is read next.
func (p *peer) next() item {
	p.t.Helper()
	select {
	case i := <-p.in:
		return i
	case <-time.After(long):
		p.t.Fatal("nothing came")
		return item{}
	}
}

// until reads up to the message that f wants, keeping the others.
func (p *peer) until(f func(protocol.Message) bool) protocol.Message {
	p.t.Helper()
	for {
		i := p.next()
		if i.err != nil {
			p.t.Fatalf("Read: %v", i.err)
		}
		if f(i.message) {
			return i.message
		}
		p.seen = append(p.seen, i.message)
	}
}

func (p *peer) answer(id string) protocol.Message {
	p.t.Helper()
	return p.until(func(m protocol.Message) bool { return m.Kind == protocol.Response && m.ID == protocol.ID(id) })
}

func (p *peer) ask(id, method, params string) protocol.Message {
	p.t.Helper()
	p.write(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"method":%q,"params":%s}`, id, method, params))
	return p.answer(id)
}

// end is what Read ends with.
func (p *peer) end() error {
	p.t.Helper()
	for {
		if i := p.next(); i.err != nil {
			if _, bad := i.err.(*protocol.LineError); !bad {
				return i.err
			}
		}
	}
}

const initParams = `{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"t","version":"1"}}`

func (p *peer) initialize() {
	p.t.Helper()
	if m := p.ask(`"init"`, "initialize", initParams); m.Result == nil {
		p.t.Fatalf("initialize: %s", m.Raw)
	}
	p.write(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)
}

// modern is params with what the modern era wants in each request.
func modern(rest string) string {
	if rest != "" {
		rest += ","
	}
	return `{` + rest + `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{},"io.modelcontextprotocol/clientInfo":{"name":"t","version":"1"},"progressToken":7}}`
}

// wire records the HTTP requests that reach a handler.
type wire struct {
	mu   sync.Mutex
	reqs []*http.Request
	body []string
	h    http.Handler
}

func (w *wire) ServeHTTP(rw http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	w.mu.Lock()
	w.reqs, w.body = append(w.reqs, r.Clone(context.Background())), append(w.body, string(body))
	w.mu.Unlock()
	r.Body = io.NopCloser(strings.NewReader(string(body)))
	w.h.ServeHTTP(rw, r)
}

// of are the recorded requests of one HTTP method.
func (w *wire) of(method string) []*http.Request {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(w.reqs), func(r *http.Request) bool { return r.Method != method })
}

func (w *wire) bodies() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.body)
}

func serve(t *testing.T, h http.Handler) (url string, w *wire) {
	t.Helper()
	w = &wire{h: h}
	s := httptest.NewServer(w)
	t.Cleanup(func() {
		s.CloseClientConnections()
		s.Close()
	})
	return s.URL + "/mcp", w
}

// eventually polls, for what happens at the other end of a wire.
func eventually(t *testing.T, what string, f func() bool) {
	t.Helper()
	for deadline := time.Now().Add(long); !f(); runtime.Gosched() {
		if time.Now().After(deadline) {
			t.Fatalf("%s did not happen", what)
		}
	}
}

type region struct {
	Region string `json:"region"`
}

// sdkServer is a server of go-sdk with a few tools.
func sdkServer() *mcp.Server {
	s := mcp.NewServer(&mcp.Implementation{Name: "far", Version: "1"}, nil)
	mcp.AddTool(s, &mcp.Tool{Name: "echo"}, func(ctx context.Context, req *mcp.CallToolRequest, in region) (*mcp.CallToolResult, any, error) {
		if token := req.Params.GetProgressToken(); token != nil {
			_ = req.Session.NotifyProgress(ctx, &mcp.ProgressNotificationParams{ProgressToken: token, Progress: 1, Message: "half"})
		}
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "echo " + in.Region}}}, nil, nil
	})
	s.AddTool(&mcp.Tool{
		Name:        "where",
		InputSchema: map[string]any{"type": "object", "properties": map[string]any{"region": map[string]any{"type": "string", "x-mcp-header": "Region"}}},
	}, func(_ context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "at " + string(req.Params.Arguments)}}}, nil
	})
	s.AddTool(&mcp.Tool{Name: "hang", InputSchema: map[string]any{"type": "object"}}, func(ctx context.Context, _ *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		<-ctx.Done()
		return nil, ctx.Err()
	})
	s.AddPrompt(&mcp.Prompt{Name: "grüße"}, func(context.Context, *mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
		return &mcp.GetPromptResult{Description: "hallo"}, nil
	})
	return s
}

func sdkHandler(s *mcp.Server, opt mcp.StreamableHTTPOptions) http.Handler {
	return mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return s }, &opt)
}
