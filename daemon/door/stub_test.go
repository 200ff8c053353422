package door

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/garita-dev/garita/daemon/protocol"
	"github.com/garita-dev/garita/sandbox/sandboxtest"
)

// stub is a server that answers each request in a goroutine of its own, by its method.
type stub struct {
	answers map[string]func(c Client, m protocol.Message)

	mu   sync.Mutex
	seen []protocol.Message
}

func (s *stub) serve(_ context.Context, _ Access, c Client) error {
	var wg sync.WaitGroup
	defer wg.Wait()
	for {
		m, err := c.Read()
		if err != nil {
			return nil
		}
		s.mu.Lock()
		s.seen = append(s.seen, m)
		s.mu.Unlock()
		answer := s.answers[m.Method]
		switch {
		case answer != nil:
			wg.Go(func() { answer(c, m) })
		case m.Kind == protocol.Request:
			_ = c.Write(protocol.NewError(m.ID, protocol.CodeNoMethod, "no such method"))
		}
	}
}

// saw is the messages of a method that came; "" is answers.
func (s *stub) saw(method string) (all []protocol.Message) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, m := range s.seen {
		if m.Method == method {
			all = append(all, m)
		}
	}
	return all
}

func result(format string, args ...any) func(Client, protocol.Message) {
	return func(c Client, m protocol.Message) {
		if err := c.Write(protocol.NewResult(m.ID, fmt.Appendf(nil, format, args...))); err != nil && !errors.Is(err, io.ErrClosedPipe) {
			panic(err)
		}
	}
}

// newStub is a server that initializes as it is asked, and lists one tool.
func newStub() *stub {
	s := &stub{answers: map[string]func(Client, protocol.Message){}}
	s.answers["initialize"] = func(c Client, m protocol.Message) {
		members, _ := protocol.Members(m.Params)
		result(`{"protocolVersion":%s,"capabilities":{},"serverInfo":{"name":"stub","version":"1"}}`, members["protocolVersion"])(c, m)
	}
	s.answers["ping"] = result(`{}`)
	s.answers["tools/list"] = result(`{"tools":[{"name":"echo","inputSchema":{"type":"object"}}]}`)
	return s
}

// client is one HTTP client with a token.
type client struct {
	t       *testing.T
	url     string
	token   string
	session string
	version string
}

// ask sends a request, and returns its response with the body open until the test ends.
func (c *client) ask(ctx context.Context, method, body string, headers ...string) *http.Response {
	c.t.Helper()
	r, err := http.NewRequestWithContext(ctx, method, c.url, strings.NewReader(body))
	if err != nil {
		c.t.Fatal(err)
	}
	r.Header.Set("Accept", "application/json, text/event-stream")
	if method == http.MethodPost {
		r.Header.Set("Content-Type", "application/json")
	}
	for name, value := range map[string]string{"Mcp-Session-Id": c.session, "MCP-Protocol-Version": c.version} {
		if value != "" {
			r.Header.Set(name, value)
		}
	}
	if c.token != "" {
		r.Header.Set("Authorization", "Bearer "+c.token)
	}
	for i := 0; i < len(headers); i += 2 {
		r.Header.Del(headers[i])
		if headers[i+1] != "" {
			r.Header.Set(headers[i], headers[i+1])
		}
	}
	if h := r.Header.Get("Host"); h != "" {
		r.Host = h
	}
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		if ctx.Err() != nil {
			return nil
		}
		c.t.Fatal(err)
	}
	c.t.Cleanup(func() { resp.Body.Close() })
	return resp
}

// post sends a message and reads the whole response: its status, and the messages in it.
func (c *client) post(body string, headers ...string) (int, []protocol.Message) {
	c.t.Helper()
	resp := c.ask(c.t.Context(), http.MethodPost, body, headers...)
	return resp.StatusCode, messages(c.t, resp)
}

// messages is all messages of a response.
func messages(t *testing.T, resp *http.Response) (all []protocol.Message) {
	t.Helper()
	defer resp.Body.Close()
	if strings.HasPrefix(resp.Header.Get("Content-Type"), "text/event-stream") {
		s := events(resp.Body)
		for {
			m, err := s.next()
			if err != nil {
				return all
			}
			all = append(all, m)
		}
	}
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	if m, err := protocol.Parse(b); err == nil {
		all = append(all, m)
	}
	return all
}

// eventStream reads the messages of a stream, and remembers the last event's id.
type eventStream struct {
	r    *protocol.EventReader
	last string
}

func events(r io.Reader) *eventStream {
	return &eventStream{r: protocol.NewEventReader(r, protocol.MaxMessage)}
}

func (s *eventStream) next() (protocol.Message, error) {
	for {
		e, err := s.r.Read()
		if err != nil {
			return protocol.Message{}, err
		}
		if e.ID != "" {
			s.last = e.ID
		}
		if len(e.Data) > 0 {
			return protocol.Parse(e.Data)
		}
	}
}

// initialize opens a session.
func (c *client) initialize(version string) {
	c.t.Helper()
	resp := c.ask(c.t.Context(), http.MethodPost, `{"jsonrpc":"2.0","id":"init","method":"initialize","params":{"protocolVersion":"`+version+`","capabilities":{}}}`)
	got := messages(c.t, resp)
	if resp.StatusCode != http.StatusOK || len(got) != 1 || got[0].Result == nil {
		c.t.Fatalf("initialize: %d %s", resp.StatusCode, raws(got))
	}
	c.session, c.version = resp.Header.Get("Mcp-Session-Id"), version
}

// modern is the headers of a modern request.
func modern(method, name string, more ...string) []string {
	return append([]string{"MCP-Protocol-Version", "2026-07-28", "Mcp-Method", method, "Mcp-Name", name}, more...)
}

// modernBody is a modern request; params are the inside of an object.
func modernBody(id, method, params string, meta ...string) string {
	if params != "" {
		params += ","
	}
	inside := strings.Join(append(meta, `"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}`), ",")
	return `{"jsonrpc":"2.0","id":` + id + `,"method":"` + method + `","params":{` + params + `"_meta":{` + inside + `}}}`
}

func raws(all []protocol.Message) string {
	var b strings.Builder
	for _, m := range all {
		b.Write(m.Raw)
		b.WriteString("\n")
	}
	return b.String()
}

func codeOf(m protocol.Message) string {
	members, _ := protocol.Members(m.Error)
	return string(members["code"])
}

// valueAt is a value inside JSON objects.
func valueAt(v jsontext.Value, path ...string) string {
	for _, name := range path {
		members, err := protocol.Members(v)
		if err != nil {
			return ""
		}
		v = members[name]
	}
	return string(v)
}

// until waits for a condition.
func until(t *testing.T, what string, ok func() bool) {
	t.Helper()
	deadline := time.Now().Add(10 * time.Second)
	for tick := time.NewTicker(2 * time.Millisecond); !ok(); <-tick.C {
		if time.Now().After(deadline) {
			t.Fatalf("in vain: %s", what)
		}
	}
}

// replay is the lines of a field report.
func replay(t *testing.T, name string) (all []map[string]jsontext.Value) {
	t.Helper()
	b := fieldInput(t, name)
	s := bufio.NewScanner(bytes.NewReader(b))
	for s.Scan() {
		line, err := protocol.Members(bytes.Clone(s.Bytes()))
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, line)
	}
	return all
}

func fieldInput(t *testing.T, name string) []byte {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(sandboxtest.Testdata(t), "field-inputs", name))
	if err != nil {
		t.Fatal(err)
	}
	return b
}
