package daemon

import (
	"context"
	"fmt"
	"io"

	"github.com/containerd/errdefs"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/garita-dev/garita/daemon/api"
	"github.com/garita-dev/garita/daemon/protocol"
)

// callClient is an MCP client of our own, which calls one tool (garita call).
type callClient struct {
	protocol.Lines
	gone  <-chan struct{}
	close func()
}

func (c callClient) Gone() <-chan struct{} { return c.gone }
func (c callClient) Close() error          { c.close(); return nil }

// ownVersion is the protocol revision our own client speaks; servers answer with theirs.
const ownVersion = "2025-06-18"

// caller is the other side of a callClient.
type caller struct {
	say *io.PipeWriter
	out *protocol.Writer
	in  *protocol.Reader
}

// newCallClient joins a client for a session with the caller that speaks through it. It is gone
// when ctx ends.
func newCallClient(ctx context.Context) (callClient, *caller) {
	saidR, saidW := io.Pipe()
	toldR, toldW := io.Pipe()
	lines := protocol.Lines{Reader: protocol.NewReader(saidR, protocol.MaxMessage), Writer: protocol.NewWriter(toldW)}
	c := callClient{Lines: lines, gone: ctx.Done(), close: func() {
		_ = saidR.Close()
		_ = toldW.Close()
	}}
	return c, &caller{say: saidW, out: protocol.NewWriter(saidW), in: protocol.NewReader(toldR, protocol.MaxMessage)}
}

// call shakes hands, calls the tool and says goodbye.
func (c *caller) call(t api.ToolCall) (api.ToolResult, error) {
	defer c.say.Close()
	refused, err := c.greet("garita call")
	if err != nil {
		return api.ToolResult{}, err
	}
	if refused != nil {
		return api.ToolResult{Error: []byte(refused)}, nil
	}
	return c.callTool(t)
}

// greet shakes hands; refused is the error the server answers with, nil for none.
func (c *caller) greet(name string) (refused jsontext.Value, err error) {
	hello := fmt.Appendf(nil, `{"protocolVersion":%q,"capabilities":{},"clientInfo":{"name":%q,"version":"1"}}`, ownVersion, name)
	answer, err := c.ask("1", protocol.MethodInitialize, hello)
	if err != nil || answer.Error != nil {
		return answer.Error, err
	}
	return nil, c.out.Write(protocol.NewNotification(protocol.MethodInitialized, jsontext.Value(`{}`)))
}

func (c *caller) callTool(t api.ToolCall) (api.ToolResult, error) {
	arguments := jsontext.Value(t.Arguments)
	if len(arguments) == 0 {
		arguments = jsontext.Value(`{}`)
	}
	answer, err := c.ask("2", protocol.MethodToolsCall, fmt.Appendf(nil, `{"name":%s,"arguments":%s}`, protocol.Quote(t.Tool), arguments))
	if err != nil {
		return api.ToolResult{}, err
	}
	return api.ToolResult{Result: []byte(answer.Result), Error: []byte(answer.Error), Denied: refusedByUs(answer.Result)}, nil
}

// ask sends a request and reads until its answer.
func (c *caller) ask(id protocol.ID, method string, params jsontext.Value) (protocol.Message, error) {
	if err := c.out.Write(protocol.NewRequest(id, method, params)); err != nil {
		return protocol.Message{}, fmt.Errorf("%s: %w: %w", method, err, errdefs.ErrUnavailable)
	}
	for {
		m, err := c.in.Read()
		switch {
		case err != nil:
			return protocol.Message{}, fmt.Errorf("%s: the session ended: %w: %w", method, err, errdefs.ErrUnavailable)
		case m.Kind == protocol.Response && m.ID == id:
			return m, nil
		}
	}
}

// refusedByUs says whether a result is our own word that the call did not run.
func refusedByUs(result jsontext.Value) bool {
	members, err := protocol.Members(result)
	if err != nil {
		return false
	}
	meta, err := protocol.Members(members["_meta"])
	if err != nil {
		return false
	}
	switch protocol.Text(meta[protocol.OutcomeKey]) {
	case "denied", "expired", "withdrawn", "refused":
		return true
	}
	return false
}
