package bridge

import (
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/garita-dev/garita/daemon/protocol"
	"github.com/garita-dev/garita/sandbox/sandboxtest"
)

// event is one line of a field report's replay.
type event struct {
	from, variant string
	send          jsontext.Value
}

// replay is the events of a field report.
func replay(t *testing.T, name string) []event {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(sandboxtest.Testdata(t), "field-inputs", name))
	if err != nil {
		t.Fatal(err)
	}
	var events []event
	variant := ""
	for line := range strings.Lines(string(b)) {
		m := members(jsontext.Value(strings.TrimSpace(line)))
		if v := m["variant"]; v != nil {
			variant = protocol.Text(v)
		}
		if m["send"] != nil {
			events = append(events, event{protocol.Text(m["from"]), variant, m["send"]})
		}
	}
	return events
}

// answers makes the server answer each request it has been sent by now, as f says; "" is no answer.
func (p *play) answers(f func(m protocol.Message) string) {
	p.t.Helper()
	for synctest.Wait(); ; synctest.Wait() {
		line, ok := p.server.next()
		if !ok {
			return
		}
		m, err := protocol.Parse([]byte(line))
		if err != nil {
			p.t.Fatal(err)
		}
		if answer := f(m); answer != "" {
			p.server.say(strings.ReplaceAll(answer, "ID", string(m.ID)))
		}
	}
}

// legacyOnly is a server that knows initialize and one tool, and errors for all that it does not.
func legacyOnly(m protocol.Message) string {
	switch {
	case m.Kind != protocol.Request:
		return ""
	case protocol.VersionOf(m.Params) != "":
		return `{"jsonrpc":"2.0","id":ID,"error":{"code":-32600,"message":"what is this _meta?"}}`
	case m.Method == protocol.MethodInitialize:
		return `{"jsonrpc":"2.0","id":ID,"result":{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"s","version":"1"}}}`
	case m.Method == protocol.MethodToolsList:
		return `{"jsonrpc":"2.0","id":ID,"result":{"tools":[{"name":"old_tool"}]}}`
	}
	return `{"jsonrpc":"2.0","id":ID,"error":{"code":-32601,"message":"unknown"}}`
}

// modernOnly is a server that takes nothing without the modern era's _meta.
func modernOnly(m protocol.Message) string {
	switch {
	case m.Kind != protocol.Request:
		return ""
	case protocol.VersionOf(m.Params) != protocol.V20260728 || at(m.Params, "_meta", protocol.MetaCapabilities) == nil:
		return `{"jsonrpc":"2.0","id":ID,"error":{"code":-32602,"message":"no _meta"}}`
	case m.Method == protocol.MethodDiscover:
		return `{"jsonrpc":"2.0","id":ID,"result":{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{"tools":{}},"ttlMs":0,"cacheScope":"private"}}`
	case m.Method == protocol.MethodToolsList:
		return `{"jsonrpc":"2.0","id":ID,"result":{"resultType":"complete","tools":[{"name":"new_tool"}],"ttlMs":0,"cacheScope":"private"}}`
	}
	return `{"jsonrpc":"2.0","id":ID,"error":{"code":-32601,"message":"unknown"}}`
}

func TestFieldReports(t *testing.T) {
	t.Run("report_T10", func(t *testing.T) {
		for variant, tt := range map[string]struct {
			open   func(protocol.Stream, Options) protocol.Stream
			server func(protocol.Message) string
			tool   string
		}{
			"new client -> daemon -> legacy stdio server": {ToLegacy, legacyOnly, "old_tool"},
			"legacy client -> daemon -> new HTTP server":  {ToModern, modernOnly, "new_tool"},
		} {
			events := replay(t, "T10.seq.jsonl")
			t.Run(variant, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					p := newPlay(t, tt.open, Options{})
					for _, e := range events {
						if e.variant == variant {
							p.line("client> " + string(e.send))
							p.answers(tt.server)
						}
					}
					_, _ = p.nextSeen() // who the server is
					tools, _ := p.nextSeen()
					m, err := protocol.Parse([]byte(tools))
					if err != nil || m.ID != "2" || !strings.Contains(string(m.Result), tt.tool) {
						t.Errorf("the client sees %s (%v), want the tool %s", tools, err, tt.tool)
					}
				})
			})
		}
	})
	t.Run("report_M23", func(t *testing.T) {
		events := replay(t, "M23.seq.jsonl")
		t.Run("a client that can be asked", func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { askedByLegacy(t, events, `{"elicitation":{},"sampling":{},"roots":{}}`) })
		})
		t.Run("a client that cannot", func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { askedByLegacy(t, events, `{}`) })
		})
	})
}

// askedByLegacy replays the requests of a legacy server, which become questions of the call that is
// in flight, or are declined at once.
func askedByLegacy(t *testing.T, events []event, capabilities string) {
	start := time.Now()
	able := capabilities != "{}"
	owner, other := newPlay(t, ToLegacy, Options{}), newPlay(t, ToLegacy, Options{})
	of := map[string]*play{"client": owner, "client2": other}
	for _, e := range events {
		p := of[e.from]
		if p == nil {
			owner.line("server> " + string(e.send))
			continue
		}
		m, err := protocol.Parse(e.send)
		if err != nil {
			t.Fatal(err)
		}
		params, err := editMeta(m.Params, []protocol.Member{
			setText(protocol.MetaVersion, "2026-07-28"), set(protocol.MetaCapabilities, jsontext.Value(capabilities)),
		})
		if err != nil {
			t.Fatal(err)
		}
		p.line("client> " + string(m.WithBody(params).Raw))
		p.answers(func(m protocol.Message) string {
			if m.Method == protocol.MethodInitialize {
				return legacyOnly(m)
			}
			return "" // the call is still running
		})
	}
	synctest.Wait()
	answered := map[protocol.ID]protocol.Message{}
	for line, ok := owner.server.next(); ok; line, ok = owner.server.next() {
		m, err := protocol.Parse([]byte(line))
		if err != nil {
			t.Fatal(err)
		}
		answered[m.ID] = m
	}
	if codeOf(answered[`"s-3"`].Error) != protocol.CodeNoMethod {
		t.Errorf("the unknown request was answered with %s", answered[`"s-3"`].Raw)
	}
	if _, seen := other.nextSeen(); seen {
		t.Error("the other client saw something")
	}
	asked, _ := owner.nextSeen()
	switch {
	case able && (len(answered) != 1 || !strings.Contains(asked, `"id":4,`) || !strings.Contains(asked, "Your password?")):
		t.Errorf("the owner sees %s, and the server was answered %v", asked, answered)
	case !able && (codeOf(answered["4"].Error) != protocol.CodeNoMethod || codeOf(answered[`"s-1"`].Error) != protocol.CodeNoMethod || codeOf(answered[`"s-2"`].Error) != protocol.CodeNoMethod):
		t.Errorf("the server was answered %v", answered)
	}
	if took := time.Since(start); took > 0 { // of a clock that stands still while anything can go on
		t.Errorf("it took %v", took)
	}
	if !able {
		return
	}
	first := members(at(jsontext.Value(asked), "result", "inputRequests"))
	state := string(at(jsontext.Value(asked), "result", "requestState"))
	owner.line(`client> {"jsonrpc":"2.0","id":5,"method":"tools/call","params":{"name":"ask_me","arguments":{},"requestState":` + state +
		`,"inputResponses":{"` + names(first)[0] + `":{"action":"decline"}},"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":` + capabilities + `}}}`)
	owner.line(`server< {"jsonrpc":"2.0","id":4,"result":{"action":"decline"}}`)
	again, _ := owner.nextSeen()
	if got := names(members(at(jsontext.Value(again), "result", "inputRequests"))); len(got) != 2 {
		t.Errorf("then the owner sees %s, want the two other questions", again)
	}
}

// TestAttacks is what a server asks that may not.
func TestAttacks(t *testing.T) {
	t.Run("attack_H13", func(t *testing.T) {
		undeclared := []string{methodSample, methodRoots, methodElicit}
		t.Run("a legacy server is refused", func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := handshaken(t, Options{})
				p.line(`client> {"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"a",` + bare + `}}`)
				p.answers(func(protocol.Message) string { return "" })
				for _, method := range undeclared {
					p.line(`server> {"jsonrpc":"2.0","id":1,"method":"` + method + `","params":{}}`)
					p.line(`server< {"jsonrpc":"2.0","id":1,"error":{"code":-32601,"message":"the client does not support ` + method + ` here"}}`)
				}
				p.over()
			})
		})
		t.Run("a modern server is not heard", func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var log strings.Builder
				p := newPlay(t, ToModern, Options{Log: slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))})
				for _, method := range undeclared {
					p.line(`server> {"jsonrpc":"2.0","id":1,"method":"` + method + `","params":{}}`)
				}
				p.over()
				if strings.Count(log.String(), "its request was dropped") != len(undeclared) {
					t.Errorf("the log says\n%s", log.String())
				}
			})
		})
	})
}
