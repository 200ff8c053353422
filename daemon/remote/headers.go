package remote

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"

	"github.com/go-json-experiment/json/jsontext"
	"golang.org/x/net/http/httpguts"

	"github.com/garita-dev/garita/daemon/protocol"
)

// ours are the headers nobody declares: they follow from the message or belong to the transport.
var ours = []string{
	"Accept", "Accept-Encoding", "Connection", "Content-Length", "Content-Type", "Host", "Last-Event-Id",
	"Te", "Trailer", "Transfer-Encoding", "Upgrade",
}

func checkHeaders(all []Header) error {
	for _, h := range all {
		name := http.CanonicalHeaderKey(h.Name)
		switch {
		case !httpguts.ValidHeaderFieldName(name):
			return fmt.Errorf("%q is no header's name", h.Name)
		case slices.Contains(ours, name), strings.HasPrefix(name, "Mcp-"):
			return fmt.Errorf("the header %s is not declared, it follows from each message", name)
		case !h.Value.FitsHeader():
			return fmt.Errorf("the value of the header %s has characters no header can hold", name)
		}
	}
	return nil
}

// headersOf is the headers a message is sent with: what its bytes say in the modern era, what was
// agreed at the beginning in the legacy one. Version is what the message says of itself.
func (c *Conn) headersOf(m protocol.Message, version protocol.Revision) (http.Header, error) {
	h := http.Header{}
	h.Set("Content-Type", "application/json")
	h.Set("Accept", "application/json, text/event-stream")
	c.mu.Lock()
	defer c.mu.Unlock()
	if version == "" && c.version.Era() == protocol.ModernEra && m.Kind == protocol.Notification {
		version = c.version
	}
	if version != "" {
		if !httpguts.ValidHeaderFieldValue(m.Method) || !httpguts.ValidHeaderFieldValue(string(version)) {
			return nil, fmt.Errorf("a header cannot hold the method %q of %q", m.Method, version)
		}
		protocol.SetHeaders(h, version, m, c.tools.of(m))
		return h, nil
	}
	if m.Method != protocol.MethodInitialize {
		c.setSession(h)
	}
	return h, nil
}

// setSession says which session a request belongs to. The caller holds mu.
func (c *Conn) setSession(h http.Header) {
	if c.session != "" {
		h.Set(protocol.HeaderSession, c.session)
	}
	if c.version != "" {
		h.Set(protocol.HeaderVersion, string(c.version))
	}
}

// maxTools bounds for how many tools headers are remembered.
const maxTools = 10_000

// toolHeaders remembers which arguments of which tool go into headers, as the server lists them.
// It is safe for concurrent use.
type toolHeaders struct {
	mu     sync.Mutex
	byTool map[string][]protocol.ParamHeader
}

func (t *toolHeaders) of(m protocol.Message) []protocol.ParamHeader {
	t.mu.Lock()
	defer t.mu.Unlock()
	if m.Method != protocol.MethodToolsCall || len(t.byTool) == 0 {
		return nil
	}
	call, err := protocol.ParseToolCall(m.Params)
	if err != nil {
		return nil
	}
	return t.byTool[call.Name]
}

func (t *toolHeaders) set(tool string, params []protocol.ParamHeader) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.byTool == nil {
		t.byTool = map[string][]protocol.ParamHeader{}
	}
	if len(params) == 0 {
		delete(t.byTool, tool)
	} else if len(t.byTool) < maxTools {
		t.byTool[tool] = params
	}
}

// learnTools remembers the headers of the tools in an answer to tools/list, and takes out those
// whose x-mcp-header are broken: the specification has clients not show them.
func (c *Conn) learnTools(m protocol.Message) protocol.Message {
	page, err := protocol.ParseToolPage(m.Result)
	if err != nil {
		return m // the session judges what it gets
	}
	kept := make([]jsontext.Value, 0, len(page.Tools))
	for _, tool := range page.Tools {
		params, err := protocol.ParamHeaders(tool.InputSchema)
		if err != nil {
			c.log.Warn("a tool of a remote server is left out", "tool", tool.Name, "err", err)
			continue
		}
		c.tools.set(tool.Name, params)
		kept = append(kept, tool.Raw)
	}
	if len(kept) == len(page.Tools) {
		return m
	}
	result, err := protocol.WithTools(m.Result, kept)
	if err != nil {
		return m
	}
	return m.WithBody(result)
}
