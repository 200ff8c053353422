package door

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/garita-dev/garita/daemon/protocol"
)

// All servers together know of no tasks: nobody is promised one, and a call that wants one is an ordinary call.
func TestAllServersTogetherHaveNoTasks(t *testing.T) {
	t.Run("legacy", func(t *testing.T) {
		s, c := tasked(t)
		c.initialize("2025-11-25")
		_, got := c.post(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"srv__echo","task":{"ttl":60000},"arguments":{"n":1e400}}}`)
		if want := `{"name":"echo","arguments":{"n":1e400}}`; len(got) != 1 || string(got[0].Result) != want {
			t.Errorf("the server was called with %s, want %s", raws(got), want)
		}
		for _, method := range taskMethods {
			_, got := c.post(fmt.Sprintf(`{"jsonrpc":"2.0","id":2,"method":%q,"params":{"taskId":"t1"}}`, method))
			if len(got) != 1 || codeOf(got[0]) != "-32601" || !strings.Contains(raws(got), "/mcp/SERVER") {
				t.Errorf("%s: %s", method, raws(got))
			}
		}
		if n := len(s.saw("tasks/get")); n != 0 {
			t.Errorf("the server was asked for a task %d times", n)
		}
	})
	t.Run("modern", func(t *testing.T) {
		_, c := tasked(t)
		body := strings.Replace(modernBody("1", "tools/call", `"name":"srv__echo"`), `clientCapabilities":{}`,
			`clientCapabilities":{"extensions":{"io.modelcontextprotocol/tasks":{},"x":{}},"roots":{}}`, 1)
		_, got := c.post(body, modern("tools/call", "srv__echo")...)
		if len(got) != 1 || strings.Contains(raws(got), "modelcontextprotocol/tasks") || !strings.Contains(raws(got), `clientCapabilities":{"extensions":{"x":{}},"roots":{}}`) {
			t.Errorf("the server was called with %s", raws(got))
		}
	})
	t.Run("a client's words", func(t *testing.T) {
		m, err := protocol.Parse([]byte(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{"tasks":{"list":{}},"roots":{}}}}`))
		if err != nil {
			t.Fatal(err)
		}
		if got, want := string(withoutTasks(m).Params), `{"protocolVersion":"2025-11-25","capabilities":{"roots":{}}}`; got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	})
}

// tasked is a server that answers a call with what it was called with, and a client of all servers.
func tasked(t *testing.T) (*stub, *client) {
	f := one(nil)
	s := newStub()
	s.answers["initialize"] = result(`{"protocolVersion":"2025-11-25","capabilities":{"tools":{},"tasks":{}}}`)
	s.answers["tools/call"] = func(c Client, m protocol.Message) { _ = c.Write(protocol.NewResult(m.ID, m.Params)) }
	f.servers = map[string]func(context.Context, Access, Client) error{"srv": s.serve}
	_, url := open(t, Options{Backend: f})
	return s, &client{t: t, url: url + "/mcp", token: "secret"}
}
