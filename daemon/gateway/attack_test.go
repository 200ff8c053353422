package gateway

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/garita-dev/garita/daemon/protocol"
)

const legacyHello = `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{}}}` + "\n"

func TestAttacksInMessages(t *testing.T) {
	refused := func(t *testing.T, lines ...string) {
		w := newModelWorld(legacyModel(tools("read_a"), func(s *stub, m protocol.Message) { s.reply(m, `{"content":[]}`) }), "", nil)
		w.say(legacyHello)
		synctest.Wait()
		before := w.seenByServer()
		for _, line := range lines {
			w.say(line + "\n")
			synctest.Wait()
		}
		seen := w.over(t)
		if got := strings.TrimPrefix(w.seenByServer(), before); got != "" {
			t.Errorf("the server got %q", got)
		}
		if n := strings.Count(seen, `"error"`); n != len(lines) {
			t.Errorf("%d errors for %d lines: %s", n, len(lines), seen)
		}
	}
	bubble(t, "attack_H05", func(t *testing.T) {
		refused(t,
			`{"jsonrpc":"2.0","id":1,"method":"tools/list","method":"tools/call","params":{"name":"read_a"}}`,
			`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"read_a","name":"delete_b"}}`,
			`{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"read_a","arguments":{"x":1},"arguments":{"x":2}}}`,
			`{"jsonrpc":"2.0","id":4,"method":"tools/call","METHOD":"x","params":{"name":"read_a"}}`,
			`{"jsonrpc":"2.0","id":5,"method":"tools/call","params":{"name":"read_a","Name":"delete_b"}}`,
		)
	})
	bubble(t, "attack_H07", func(t *testing.T) {
		refused(t,
			`{"jsonrpc":"2.0","id":1,"method":"x"}{"jsonrpc":"2.0","id":2,"method":"y"}`,
			"{\"jsonrpc\":\"2.0\",\x00\"id\":1,\"method\":\"x\"}",
			"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"x\",\"params\":{\"a\":\"\xff\"}}",
			`{"jsonrpc":"2.0","id":1,"method":"x","params":{"a":"\ud800"}}`,
			`{"jsonrpc":"2.0","id":1,"method":"x"} trailing`,
			"\xef\xbb\xbf"+`{"jsonrpc":"2.0","id":1,"method":"x"}`, // a mark in the middle of a stream
		)
	})
	bubble(t, "a call that wants no answer", func(t *testing.T) {
		w := newModelWorld(legacyModel(tools("delete_b"), nil), "", nil)
		w.say(legacyHello)
		synctest.Wait()
		w.say(`{"jsonrpc":"2.0","method":"tools/call","params":{"name":"delete_b"}}` + "\n")
		if w.over(t); strings.Contains(w.seenByServer(), "delete_b") {
			t.Errorf("the server got %s", w.seenByServer())
		}
	})
	bubble(t, "attack_H10", func(t *testing.T) {
		batch := `[{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"read_a"}},` +
			`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"delete_b"}},` +
			`{"jsonrpc":"2.0","method":"notifications/progress","params":{}}]`
		w := newModelWorld(func(s *stub, m protocol.Message) {
			if m.Method == protocol.MethodInitialize {
				s.reply(m, strings.Replace(agreed, "2025-06-18", "2025-03-26", 1))
				return
			}
			legacyModel(tools("read_a", "delete_b"), func(s *stub, m protocol.Message) {
				if m.Kind == protocol.Request {
					s.reply(m, `{"content":[]}`)
				}
			})(s, m)
		}, "delete_b denied", nil)
		w.say(legacyHello)
		synctest.Wait()
		w.say(batch + "\n")
		seen := strings.Split(strings.TrimSpace(w.over(t)), "\n")
		last := seen[len(seen)-1]
		if !strings.HasPrefix(last, "[{") || strings.Count(last, `"jsonrpc"`) != 2 || !strings.Contains(last, "denied") {
			t.Errorf("answered %s; want one array with a result and a refusal", last)
		}
		if got := w.seenByServer(); strings.Contains(got, "delete_b") || !strings.Contains(got, "notifications/progress") {
			t.Errorf("the server got %s", got)
		}
	})
	bubble(t, "attack_H13", func(t *testing.T) {
		ask := `{"jsonrpc":"2.0","id":%d,"method":%q,"params":{}}`
		methods := []string{"sampling/createMessage", "roots/list", "elicitation/create"}
		do := func(s *stub, m protocol.Message) {
			if m.Method == "vendor/ask" {
				for i, method := range methods {
					s.print(fmt.Sprintf(ask, i, method))
				}
				s.reply(m, `{"resultType":"complete"}`)
				return
			}
			legacyModel("", nil)(s, m)
		}
		w := newModelWorld(do, "", nil)
		w.say(legacyHello + `{"jsonrpc":"2.0","id":1,"method":"vendor/ask"}` + "\n")
		if seen := w.over(t); strings.Contains(seen, "/list") || strings.Count(w.seenByServer(), "-32601") != 3 {
			t.Errorf("legacy: the client saw %s, the server %s", seen, w.seenByServer())
		}
		w = newModelWorld(func(s *stub, m protocol.Message) {
			if m.Method == protocol.MethodDiscover {
				s.reply(m, discovered)
				return
			}
			do(s, m)
		}, "", nil)
		w.say(modern(1, "vendor/ask", ""))
		if seen := w.over(t); strings.Contains(seen, "createMessage") || strings.Contains(w.seenByServer(), "-32601") || len(answersTo(seen, "1")) != 1 {
			t.Errorf("modern: the client saw %s, the server %s", seen, w.seenByServer())
		}
	})
	bubble(t, "attack_H14", func(t *testing.T) {
		w := newModelWorld(func(s *stub, m protocol.Message) {
			s.print("\x1b[32mstarting\x1b[0m {not json")
			s.print(`{"jsonrpc":"2.0","id":`)
			legacyModel(tools("read_a"), nil)(s, m)
			s.print("bye")
		}, "", nil)
		w.say(legacyHello + `{"jsonrpc":"2.0","id":1,"method":"tools/list"}` + "\n")
		if seen := w.over(t); strings.Count(seen, "\n") != 2 || !strings.Contains(seen, "read_a") {
			t.Errorf("the client saw %s", seen)
		}
	})
	bubble(t, "attack_H65", func(t *testing.T) {
		w := newModelWorld(func(s *stub, m protocol.Message) {
			if m.Method == protocol.MethodDiscover {
				s.reply(m, discovered)
				return
			}
			list := tools("read_a", "write_b")
			s.reply(m, list[:len(list)-1]+`,"ttlMs":60000,"cacheScope":"public","resultType":"complete"}`)
		}, "tools read_*", nil)
		w.say(modern(1, "tools/list", ""))
		if seen := w.over(t); strings.Contains(seen, "public") || !strings.Contains(seen, `"cacheScope":"private"`) || strings.Contains(seen, "write_b") {
			t.Errorf("the client saw %s", seen)
		}
	})
}

const discovered = `{"supportedVersions":["2026-07-28"],"capabilities":{"tools":{}},"serverInfo":{"name":"m","version":"1"},"resultType":"complete","ttlMs":0,"cacheScope":"private"}`

func TestAttackH15(t *testing.T) {
	t.Run("attack_H15 a line without end", func(t *testing.T) {
		w := newModelWorld(legacyModel(tools("read_a", "read_b"), func(s *stub, m protocol.Message) {
			if strings.Contains(string(m.Params), "read_b") {
				s.reply(m, `{"content":[]}`)
			}
		}), "", func(o *Options) { o.Server.Spec.Lifecycle.Call = time.Second })
		w.say(legacyHello)
		call := `{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":%q}}` + "\n"
		w.say(fmt.Sprintf(call, 1, "read_b"))
		waitFor(t, func() bool { return len(answersTo(w.client.seen(), "1")) == 1 })
		life := w.lives[0]
		for piece := strings.Repeat("x", 1<<20); life.written() < 3*testLimit; {
			life.discardInto(piece)
		}
		life.discardInto("\n")
		w.say(fmt.Sprintf(call, 2, "read_b"))
		waitFor(t, func() bool { return len(answersTo(w.client.seen(), "2")) == 1 })
		w.hangUp()
		<-w.ended
	})
	t.Run("attack_H15 nesting", func(t *testing.T) {
		w := newModelWorld(legacyModel(tools("read_a"), nil), "", nil)
		w.say(legacyHello)
		w.say(`{"jsonrpc":"2.0","id":1,"method":"x","params":` + strings.Repeat("[", 100_000) + strings.Repeat("]", 100_000) + "}\n")
		waitFor(t, func() bool { return strings.Contains(w.client.seen(), "-32700") })
		w.hangUp()
		<-w.ended
	})
	bubble(t, "attack_H15 requests without number", func(t *testing.T) {
		w := newModelWorld(legacyModel(tools("read_a"), nil), "", nil) // answers no call
		w.say(legacyHello)
		synctest.Wait()
		for id := 1; id <= 2*maxUnderWay; id++ {
			w.say(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"vendor/x"}`+"\n", id))
		}
		synctest.Wait()
		if n := strings.Count(w.client.seen(), "wait for their answers"); n != maxUnderWay {
			t.Errorf("%d requests were refused, want %d", n, maxUnderWay)
		}
		w.over(t)
		if n := strings.Count(w.seenByServer(), "vendor/x"); n != maxUnderWay {
			t.Errorf("%d requests reached the server", n)
		}
	})
	bubble(t, "attack_H15 a call that never ends", func(t *testing.T) {
		w := newModelWorld(legacyModel(tools("read_a"), nil), "", nil)
		w.say(legacyHello)
		w.say(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"read_a"}}` + "\n")
		if seen := w.over(t); !strings.Contains(seen, "did not answer in time") {
			t.Errorf("the client saw %s", seen)
		}
	})
	t.Run("attack_H15 a flood of notifications", func(t *testing.T) {
		const many = 30_000
		flood := newModelWorld(legacyModel(tools("read_a"), func(s *stub, m protocol.Message) {
			for range many {
				s.print(`{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":"x"}}`)
			}
			s.reply(m, `{"content":[]}`)
		}), "", nil)
		flood.say(legacyHello)
		flood.say(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"read_a"}}` + "\n")
		calm := newModelWorld(legacyModel(tools("read_a"), func(s *stub, m protocol.Message) { s.reply(m, `{"content":[]}`) }), "", nil)
		calm.say(legacyHello)
		for i := range 50 {
			calm.say(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"read_a"}}`+"\n", i+1))
		}
		waitFor(t, func() bool { return len(answersTo(calm.client.seen(), "50")) == 1 })
		waitFor(t, func() bool { return strings.Contains(lastOf(flood.client.seen()), `"id":1,`) })
		for _, w := range []*world{flood, calm} {
			w.hangUp()
			<-w.ended
		}
	})
}

// discardInto writes to the session as the server does.
func (s *side) discardInto(text string) { _, _ = s.Write([]byte(text)) }

func (s *side) written() int {
	s.toFar.mu.Lock()
	defer s.toFar.mu.Unlock()
	return s.toFar.all.Len()
}

func waitFor(t *testing.T, fact func() bool) {
	t.Helper()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for deadline := time.Now().Add(5 * time.Minute); !fact(); <-tick.C { // for a machine that is busy with much else
		if time.Now().After(deadline) {
			t.Fatal("waited in vain")
		}
	}
}

// lastOf is where the last answer stands; looking through all of a flood each time takes longer than the flood.
func lastOf(seen string) string { return seen[max(0, len(seen)-4096):] }

func TestAQuestionOutlivesItsCallAndIsClaimedOnce(t *testing.T) {
	call := `{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"write_b","arguments":{"n":%d}}}` + "\n"
	begin := func() (*world, *askingGate) {
		g := &askingGate{answers: make(chan bool, 1)}
		w := newModelWorld(legacyModel(tools("write_b"), func(s *stub, m protocol.Message) { s.reply(m, `{"content":[]}`) }), "patience 50s",
			func(o *Options) { o.Gate = g })
		w.say(legacyHello)
		w.say(fmt.Sprintf(call, 1, 1))
		<-time.After(time.Minute)
		return w, g
	}
	bubble(t, "an identical call gets the answer, and runs once", func(t *testing.T) {
		w, g := begin()
		g.answers <- true
		w.say(fmt.Sprintf(call, 2, 1))
		synctest.Wait()
		w.say(fmt.Sprintf(call, 3, 1)) // a third one is a question of its own
		synctest.Wait()
		if len(g.asked) != 2 {
			t.Errorf("asked %d times, want twice", len(g.asked))
		}
		g.answers <- false
		seen := w.over(t)
		if !strings.Contains(answersTo(seen, "1")[0], `"garita.dev/outcome":"pending"`) || !strings.Contains(answersTo(seen, "2")[0], `"content":[]`) {
			t.Errorf("the client saw %s", seen)
		}
		if n := strings.Count(w.seenByServer(), "tools/call"); n != 1 {
			t.Errorf("it ran %d times", n)
		}
		if got := w.recorded("write_b"); !cmp.Equal(got, []string{"approved done", "denied refused"}) {
			t.Errorf("recorded %q", got)
		}
	})
	bubble(t, "another call does not get it", func(t *testing.T) {
		w, g := begin()
		w.say(fmt.Sprintf(call, 2, 2))
		synctest.Wait()
		if len(g.asked) != 2 {
			t.Errorf("asked %d times, want twice", len(g.asked))
		}
		g.answers <- false
		synctest.Wait()
		g.answers <- false
		w.over(t)
	})
	bubble(t, "approved and never called again, it does not run, and is on record", func(t *testing.T) {
		w, g := begin()
		g.answers <- true
		w.over(t)
		if n := strings.Count(w.seenByServer(), "tools/call"); n != 0 {
			t.Errorf("it ran %d times", n)
		}
		if got := w.recorded("write_b"); !cmp.Equal(got, []string{"expired refused"}) {
			t.Errorf("recorded %q", got)
		}
	})
	bubble(t, "the session's end withdraws it", func(t *testing.T) {
		w, _ := begin()
		w.hangUp()
		<-w.ended
		if got := w.recorded("write_b"); !cmp.Equal(got, []string{"withdrawn refused"}) {
			t.Errorf("recorded %q", got)
		}
	})
}

func TestAnInterruptedCallGoesOnWithoutAnotherQuestion(t *testing.T) {
	interrupt := `{"resultType":"input_required","requestState":"s1","inputRequests":{"k":{"method":"elicitation/create","params":{}}}}`
	do := func(s *stub, m protocol.Message) {
		switch {
		case m.Method == protocol.MethodDiscover:
			s.reply(m, discovered)
		case m.Method == protocol.MethodToolsList:
			s.reply(m, tools("write_b"))
		case strings.Contains(string(m.Params), "requestState"):
			s.reply(m, `{"resultType":"complete","content":[]}`)
		default:
			s.reply(m, interrupt)
		}
	}
	call := func(id int, params string) string {
		return strings.Replace(modern(id, "tools/call", `"name":"write_b","arguments":{"n":1}`+params), `clientCapabilities":{}`, `clientCapabilities":{"elicitation":{}}`, 1)
	}
	answer := `,"requestState":"s1","inputResponses":{"k":{"action":"accept"}}`
	bubble(t, "the same call with the server's state", func(t *testing.T) {
		g := &askingGate{answers: make(chan bool, 3)}
		w := newModelWorld(do, "", func(o *Options) { o.Gate = g })
		g.answers <- true
		w.say(call(1, ""))
		synctest.Wait()
		w.say(call(2, answer))
		synctest.Wait()
		if len(g.asked) != 1 {
			t.Errorf("asked %d times, want once", len(g.asked))
		}
		g.answers <- false
		w.say(call(3, answer)) // the same state once more is another call
		synctest.Wait()
		if len(g.asked) != 2 {
			t.Errorf("asked %d times, want twice", len(g.asked))
		}
		seen := w.over(t)
		if !strings.Contains(answersTo(seen, "1")[0], "input_required") || !strings.Contains(answersTo(seen, "2")[0], "complete") {
			t.Errorf("the client saw %s", seen)
		}
	})
	bubble(t, "its answers are part of what is judged and recorded", func(t *testing.T) {
		g := &askingGate{answers: make(chan bool, 3)}
		w := newModelWorld(do, "", func(o *Options) { o.Gate = g })
		g.answers <- true
		w.say(call(1, ""))
		synctest.Wait()
		w.say(call(2, answer))
		synctest.Wait()
		g.answers <- false
		w.say(call(3, answer)) // nobody asked for these
		synctest.Wait()
		w.over(t)
		if len(g.asked) != 2 {
			t.Fatalf("asked %d times, want twice", len(g.asked))
		}
		c := g.asked[1]
		if string(c.Input) != `{"k":{"action":"accept"}}` || string(c.State) != `"s1"` || c.Continues != "" {
			t.Errorf("the second question is about %s with %s, continuing %q", c.Input, c.State, c.Continues)
		}
		if c.Binding() == g.asked[0].Binding() || c.Bare().Binding() != g.asked[0].Binding() {
			t.Error("the answers are no part of what is approved")
		}
	})
	bubble(t, "other arguments are asked about", func(t *testing.T) {
		g := &askingGate{answers: make(chan bool, 3)}
		w := newModelWorld(do, "", func(o *Options) { o.Gate = g })
		g.answers <- true
		w.say(call(1, ""))
		synctest.Wait()
		g.answers <- false
		w.say(strings.Replace(call(2, answer), `"n":1`, `"n":2`, 1))
		synctest.Wait()
		if w.over(t); len(g.asked) != 2 {
			t.Errorf("asked %d times, want twice", len(g.asked))
		}
	})
	bubble(t, "a client that declared nothing is not asked", func(t *testing.T) {
		w := newModelWorld(do, "write_b approved", nil)
		w.say(modern(1, "tools/call", `"name":"write_b"`))
		if seen := w.over(t); strings.Contains(seen, "inputRequests") || !strings.Contains(seen, "withheld") {
			t.Errorf("the client saw %s", seen)
		}
	})
}

func TestACallThatComesTooSoonDoesNotRun(t *testing.T) {
	bubble(t, "the model is told", func(t *testing.T) {
		left := 1
		w := newModelWorld(legacyModel(tools("read_a"), func(s *stub, m protocol.Message) { s.reply(m, `{"content":[]}`) }), "", func(o *Options) {
			o.Admit = func() error {
				if left--; left < 0 {
					return errors.New("1/min and no more")
				}
				return nil
			}
		})
		w.say(legacyHello)
		for id := 1; id <= 2; id++ {
			w.say(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"read_a"}}`+"\n", id))
			synctest.Wait()
		}
		seen := w.over(t)
		if n := strings.Count(w.seenByServer(), "tools/call"); n != 1 || !strings.Contains(answersTo(seen, "2")[0], `"garita.dev/outcome":"limited"`) {
			t.Errorf("%d calls reached the server; the client saw %s", n, seen)
		}
	})
}

func TestWhatAServersOwnerDeniesIsNotAsked(t *testing.T) {
	bubble(t, "legacy and modern", func(t *testing.T) {
		w := newModelWorld(legacyModel(tools("read_a"), nil), "deny sampling roots", nil)
		w.say(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{"sampling":{},"elicitation":{},"roots":{}}}}` + "\n")
		w.over(t)
		if got := w.seenByServer(); !strings.Contains(got, `"capabilities":{"elicitation":{}}`) {
			t.Errorf("the server was told %s", got)
		}
	})
}

func TestALostSessionIsBegunAnew(t *testing.T) {
	bubble(t, "report_T01", func(t *testing.T) {
		for name, second := range map[string]string{"the same tools": tools("read_x"), "another description": strings.Replace(tools("read_x"), `"inputSchema"`, `"description":"d","inputSchema"`, 1)} {
			var mu sync.Mutex
			lost := false
			w := newModelWorld(func(s *stub, m protocol.Message) {
				list := tools("read_x")
				if s.life > 1 {
					list = second
				}
				legacyModel(list, func(s *stub, m protocol.Message) { s.reply(m, `{"content":[]}`) })(s, m)
			}, "", func(o *Options) {
				open := o.Open
				o.Open = func(ctx context.Context) (Upstream, error) {
					u, err := open(ctx)
					return forgetful{u, &mu, &lost, make(chan protocol.ID, 1)}, err
				}
			})
			w.say(legacyHello)
			w.say(`{"jsonrpc":"2.0","method":"notifications/initialized"}` + "\n")
			w.say(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"read_x"}}` + "\n")
			synctest.Wait()
			mu.Lock()
			lost = true
			mu.Unlock()
			w.say(`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"read_x"}}` + "\n")
			seen := w.over(t)
			ran := strings.Contains(answersTo(seen, "2")[0], `"content":[]`)
			if ran != (name == "the same tools") || len(w.lives) != 2 {
				t.Errorf("%s: %d lives, the client saw %s", name, len(w.lives), seen)
			}
		}
	})
}

// forgetful loses its session at the next call once told to.
type forgetful struct {
	Upstream
	mu   *sync.Mutex
	lost *bool
	ids  chan protocol.ID
}

func (f forgetful) Write(raw []byte) error {
	m, _ := protocol.Parse(raw)
	f.mu.Lock()
	forget := *f.lost && m.Method == protocol.MethodToolsCall
	if forget {
		*f.lost = false
	}
	f.mu.Unlock()
	if !forget {
		return f.Upstream.Write(raw)
	}
	f.ids <- m.ID
	return f.Upstream.Stop(context.Background())
}

func (f forgetful) Read() (protocol.Message, error) {
	m, err := f.Upstream.Read()
	if err == nil {
		return m, nil
	}
	select {
	case id := <-f.ids:
		return m, &protocol.LostError{Unsent: []protocol.ID{id}, Err: err}
	default:
		return m, err
	}
}
