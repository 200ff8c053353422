package bridge

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/garita-dev/garita/daemon/protocol"
)

const bare = `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}`

// handshaken is a modern client and a legacy server that has been initialized.
func handshaken(t *testing.T, o Options) *play {
	p := newPlay(t, ToLegacy, o)
	p.line(`client> {"jsonrpc":"2.0","id":"d","method":"server/discover","params":{` + bare + `}}`)
	p.answers(legacyOnly)
	_, _ = p.nextSeen()
	return p
}

func TestARequestThatCannotBeSentIsAnswered(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := handshaken(t, Options{})
		p.server.mu.Lock()
		p.server.err = errors.New("connection refused")
		p.server.mu.Unlock()
		p.line(`client> {"jsonrpc":"2.0","id":1,"method":"tools/list","params":{` + bare + `}}`)
		p.line(`client< {"jsonrpc":"2.0","id":1,"error":{"code":-32603,"message":"the server cannot be reached: connection refused"}}`)
		p.line(`client> {"jsonrpc":"2.0","method":"vendor/note"}`)
		p.over()
	})
}

// stuckServer never reads what it is written.
type stuckServer struct {
	*fakeServer
	stop chan struct{}
}

func (s stuckServer) Write([]byte) error {
	<-s.stop
	return errors.New("stopped")
}

func TestAServerThatReadsNothingHoldsNobodyUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := stuckServer{newFakeServer(), make(chan struct{})}
		b := ToModern(server, Options{})
		send := func(line string) error { return b.Write([]byte(line)) }
		if err := send(`{"jsonrpc":"2.0","id":"i","method":"initialize","params":{"protocolVersion":"2025-11-25"}}`); err != nil {
			t.Fatal(err)
		}
		written := make(chan error, 1)
		go func() { // until there is no room
			var err error
			for i := 0; err == nil; i++ {
				err = send(fmt.Sprintf(`{"jsonrpc":"2.0","method":"vendor/note","params":{"n":%d}}`, i))
			}
			written <- err
		}()
		synctest.Wait()
		select {
		case err := <-written:
			t.Fatalf("writing ended with %v", err)
		default:
		}
		server.say(`{"jsonrpc":"2.0","method":"notifications/progress","params":{}}`)
		if m, err := b.Read(); err != nil || m.Method != protocol.MethodProgress {
			t.Errorf("got %s, %v", m.Raw, err)
		}
		close(server.says)
		close(server.stop)
		for err := error(nil); err == nil; {
			_, err = b.Read()
		}
		if err := <-written; err == nil {
			t.Error("writing to a server that is gone went on")
		}
		synctest.Wait()
	})
}

func TestAClientThatReadsNothingIsRefused(t *testing.T) {
	b := ToModern(newFakeServer(), Options{})
	for range 2 * hardQueue {
		if err := b.Write([]byte(`{"jsonrpc":"2.0","id":1,"method":"ping"}`)); err != nil {
			if !errors.Is(err, errUnread) {
				t.Errorf("got %v", err)
			}
			return
		}
	}
	t.Error("it was never refused")
}

func TestABrokenMessageIsNotTaken(t *testing.T) {
	b := ToModern(newFakeServer(), Options{})
	var bad *protocol.ParseError
	if err := b.Write([]byte(`{"id":1`)); !errors.As(err, &bad) {
		t.Errorf("got %v", err)
	}
}

func TestWhatAClientMakesUsRememberIsBounded(t *testing.T) {
	call := func(id int, name, more string) string {
		return fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":%q,"arguments":{"x":%q},%s}}`, id, name, more, bare)
	}
	big := strings.Repeat("x", 600)
	t.Run("calls in flight", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			p := handshaken(t, Options{Calls: 2})
			for id := range 3 {
				p.line("client> " + call(id, "a", "y"))
			}
			p.line(`client< {"jsonrpc":"2.0","id":2,"error":{"code":-32603,"message":"too much is in flight already; try again when something has been answered"}}`)
			p.answers(func(protocol.Message) string { return `{"jsonrpc":"2.0","id":ID,"result":{"content":[]}}` })
			_, _ = p.nextSeen()
			_, _ = p.nextSeen()
			p.line("client> " + call(2, "a", "y"))
			if _, ok := p.nextSeen(); ok {
				t.Error("it is refused for ever")
			}
		})
	})
	t.Run("calls before the handshake", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			p := newPlay(t, ToLegacy, Options{Bytes: 1000})
			p.line("client> " + call(1, "a", big))
			p.line("client> " + call(2, "a", big))
			p.line(`client< {"jsonrpc":"2.0","id":2,"error":{"code":-32603,"message":"too much waits already for the server to start"}}`)
		})
	})
	t.Run("calls that may be repeated", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			p := newPlay(t, ToModern, Options{Bytes: 1000})
			p.line(`client> {"jsonrpc":"2.0","id":"i","method":"initialize","params":{"protocolVersion":"2025-11-25"}}`)
			p.answers(modernOnly)
			_, _ = p.nextSeen()
			p.line("client> " + call(1, "a", big))
			p.line("client> " + call(2, "a", big))
			p.line(`client< {"jsonrpc":"2.0","id":2,"error":{"code":-32603,"message":"too much is in flight already; try again when something has been answered"}}`)
		})
	})
}

// able is a modern client that can be asked for its roots.
var able = strings.Replace(bare, `{}`, `{"roots":{}}`, 1)

func TestTheQuestionsOfAServerAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := handshaken(t, Options{Bytes: 1000})
		p.line(`client> {"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"a",` + able + `}}`)
		p.answers(func(protocol.Message) string { return "" })
		p.line(`server> {"jsonrpc":"2.0","id":1,"method":"roots/list","params":{"x":"` + strings.Repeat("x", 2000) + `"}}`)
		p.line(`server< {"jsonrpc":"2.0","id":1,"error":{"code":-32601,"message":"the client does not support roots/list here"}}`)
		p.over()
	})
}

func TestWhatARepetitionNeedsIsBounded(t *testing.T) {
	asked := func(t *testing.T, state string) *play {
		p := newPlay(t, ToModern, Options{Bytes: 1000})
		p.line(`client> {"jsonrpc":"2.0","id":"i","method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{"roots":{}}}}`)
		p.answers(modernOnly)
		_, _ = p.nextSeen()
		p.line(`client> {"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"a"}}`)
		p.answers(func(protocol.Message) string {
			return `{"jsonrpc":"2.0","id":ID,"result":{"resultType":"input_required","requestState":"` + state + `","inputRequests":{"a":{"method":"roots/list"}}}}`
		})
		return p
	}
	t.Run("the server's state", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			asked(t, strings.Repeat("x", 2000)).line(`client< {"jsonrpc":"2.0","id":1,"error":{"code":-32603,"message":"the server's requestState is too large to be kept"}}`)
		})
	})
	t.Run("the client's answer", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			p := asked(t, "x")
			p.line(`client< {"jsonrpc":"2.0","id":3,"method":"roots/list"}`)
			p.line(`client> {"jsonrpc":"2.0","id":3,"result":{"roots":["` + strings.Repeat("x", 2000) + `"]}}`)
			p.line(`client< {"jsonrpc":"2.0","id":1,"error":{"code":-32603,"message":"the client's answers are too large to be kept"}}`)
		})
	})
}

func TestTheAnswerOfASuspendedCallIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPlay(t, ToLegacy, Options{Bytes: 1000})
		p.line(`client> {"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"a",` + able + `}}`)
		p.answers(func(m protocol.Message) string {
			if m.Method == protocol.MethodToolsCall {
				p.server.say(`{"jsonrpc":"2.0","id":9,"method":"roots/list"}`)
				return `{"jsonrpc":"2.0","id":ID,"result":{"content":[],"x":"` + strings.Repeat("x", 2000) + `"}}`
			}
			return legacyOnly(m)
		})
		asked, _ := p.nextSeen()
		m, err := protocol.Parse([]byte(asked))
		if err != nil {
			t.Fatal(err)
		}
		p.line(`client> {"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"a","requestState":` + string(members(m.Result)["requestState"]) + `,` + able + `}}`)
		p.line(`client< {"jsonrpc":"2.0","id":2,"error":{"code":-32603,"message":"the server answered before it was asked again, with more than can be kept"}}`)
	})
}

func TestClocksStopWithTheServer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := newFakeServer()
		b := ToLegacy(server, Options{})
		if err := b.Write([]byte(`{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{` + bare + `}}`)); err != nil {
			t.Fatal(err)
		}
		close(server.says)
		for err := error(nil); err == nil; {
			_, err = b.Read()
		}
		<-time.After(time.Hour)
		if m, err := b.Read(); err == nil {
			t.Errorf("got %s after the end", m.Raw)
		}
	})
}
