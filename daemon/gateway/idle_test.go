package gateway

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/garita-dev/garita/daemon/protocol"
)

// idleFor is the setting under which a server is stopped after that much silence.
func idleFor(d time.Duration) func(*Options) {
	return func(o *Options) { o.Server.Spec.Lifecycle.Idle = d }
}

// started is how often the server has been started, and whether it runs now.
func (w *world) started() (lives int, runs bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.lives) == 0 {
		return 0, false
	}
	last := w.lives[len(w.lives)-1]
	return len(w.lives), !last.isOver()
}

// isOver says whether the server's end of input has come.
func (s *side) isOver() bool {
	s.fromFar.mu.Lock()
	defer s.fromFar.mu.Unlock()
	return s.fromFar.ended
}

// after lets d pass and everything settle.
func after(d time.Duration) {
	<-time.After(d)
	synctest.Wait()
}

// wantRuns checks whether the server runs, in which of its lives.
func (w *world) wantRuns(t *testing.T, when string, lives int, runs bool) {
	t.Helper()
	if n, now := w.started(); n != lives || now != runs {
		t.Errorf("%s: life %d, runs: %t; want life %d, runs: %t", when, n, now, lives, runs)
	}
}

// appending answers tools/call after as many milliseconds as "delay" says.
func appending(s *stub, m protocol.Message) {
	if m.Method != protocol.MethodToolsCall {
		return
	}
	var call struct {
		Arguments struct{ Delay int } `json:"arguments"`
	}
	_ = json.Unmarshal(m.Params, &call)
	go func() {
		<-time.After(time.Duration(call.Arguments.Delay)*time.Millisecond + 30*time.Millisecond)
		s.reply(m, `{"content":[{"type":"text","text":"ok"}]}`)
	}()
}

func TestIdleServersAreStopped(t *testing.T) {
	bubble(t, "report_L14", func(t *testing.T) {
		w := newModelWorld(legacyModel(tools("append"), appending), "append approved", idleFor(time.Second))
		w.say(legacyHello)
		synctest.Wait()
		began := time.Now()
		w.play(replayOf(t, "L14"), "client")
		<-time.After(time.Until(began.Add(2500 * time.Millisecond)))
		synctest.Wait()
		w.wantRuns(t, "2.5 s", 1, true)
		after(100 * time.Millisecond)
		w.wantRuns(t, "2.6 s", 1, false)
		if n := strings.Count(w.seenByServer(), `"append"`); n != 2 {
			t.Errorf("the server got %d calls, want 2", n)
		}
		seen := w.over(t)
		for _, id := range []string{"2", "3"} {
			if a := answersTo(seen, id); len(a) != 1 || !strings.Contains(a[0], `"ok"`) {
				t.Errorf("call %s: %v", id, a)
			}
		}
	})
	bubble(t, "never, unless that is declared", func(t *testing.T) {
		w := newModelWorld(legacyModel(tools("read_a"), nil), "", nil)
		w.say(legacyHello)
		after(24 * time.Hour)
		w.wantRuns(t, "a day later", 1, true)
		w.over(t)
	})
	bubble(t, "the next request starts it again, and it lives on", func(t *testing.T) {
		w := newModelWorld(legacyModel(tools("read_a"), appending), "", idleFor(time.Minute))
		w.say(legacyHello)
		w.say(`{"jsonrpc":"2.0","method":"notifications/initialized"}` + "\n")
		after(2 * time.Minute)
		w.wantRuns(t, "after the silence", 1, false)
		w.say(`{"jsonrpc":"2.0","id":5,"method":"tools/call","params":{"name":"read_a"}}` + "\n")
		after(time.Second)
		w.wantRuns(t, "after a call", 2, true)
		w.say(`{"jsonrpc":"2.0","id":6,"method":"tools/call","params":{"name":"read_a"}}` + "\n")
		after(59 * time.Second)
		w.wantRuns(t, "after another call", 2, true)
		after(2 * time.Second)
		w.wantRuns(t, "after silence again", 2, false)
		w.say(`{"jsonrpc":"2.0","id":7,"method":"prompts/list"}` + "\n")
		after(time.Second)
		w.wantRuns(t, "after another request", 3, true)
		seen := w.over(t)
		for _, id := range []string{"5", "6"} {
			if a := answersTo(seen, id); len(a) != 1 || !strings.Contains(a[0], `"ok"`) {
				t.Errorf("call %s: %v", id, a)
			}
		}
	})
	bubble(t, "a ping neither keeps it nor starts it", func(t *testing.T) {
		w := newModelWorld(legacyModel(tools("read_a"), nil), "", idleFor(time.Minute))
		w.say(legacyHello)
		for i := range 6 {
			after(30 * time.Second)
			w.say(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"ping"}`+"\n", 10+i))
		}
		after(time.Second)
		w.wantRuns(t, "after three minutes of pings", 1, false)
		seen := w.over(t)
		for i := range 6 {
			if a := answersTo(seen, fmt.Sprint(10+i)); len(a) != 1 || !strings.Contains(a[0], `"result":{}`) {
				t.Errorf("ping %d: %v", i, a)
			}
		}
	})
}

func TestAServerInUseIsNotIdle(t *testing.T) {
	for name, test := range map[string]struct {
		do      model
		answers string
		begin   string // what the client says
		end     string // what it says an hour later, or "" when that is up to the server
	}{
		"a call that is long": {
			do: legacyModel(tools("append"), appending), answers: "append approved",
			begin: `{"jsonrpc":"2.0","id":5,"method":"tools/call","params":{"name":"append","arguments":{"delay":120000}}}`,
		},
		"a request that is no call": {
			do: legacyModel(tools("a"), func(s *stub, m protocol.Message) {
				if m.Method == "prompts/list" {
					go func() {
						<-time.After(2 * time.Minute)
						s.reply(m, `{"prompts":[]}`)
					}()
				}
			}),
			begin: `{"jsonrpc":"2.0","id":5,"method":"prompts/list"}`,
		},
		"something asked of the client": {
			do: legacyModel(tools("a"), func(s *stub, m protocol.Message) {
				if m.Method == protocol.MethodInitialized {
					s.print(`{"jsonrpc":"2.0","id":"q","method":"roots/list"}`)
				}
			}),
			begin: `{"jsonrpc":"2.0","method":"notifications/initialized"}`,
			end:   `{"jsonrpc":"2.0","id":"garita-1","result":{}}`,
		},
		"a resource that is subscribed to": {
			do: legacyModel(tools("a"), func(s *stub, m protocol.Message) {
				if m.Kind == protocol.Request {
					s.reply(m, `{}`)
				}
			}),
			begin: `{"jsonrpc":"2.0","id":5,"method":"resources/subscribe","params":{"uri":"file:///a"}}`,
			end:   `{"jsonrpc":"2.0","id":6,"method":"resources/unsubscribe","params":{"uri":"file:///a"}}`,
		},
	} {
		bubble(t, name, func(t *testing.T) {
			w := newModelWorld(test.do, test.answers, func(o *Options) {
				o.Server.Spec.Lifecycle.Idle = time.Minute
			})
			w.say(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{"roots":{}}}}` + "\n")
			synctest.Wait()
			w.say(test.begin + "\n")
			after(90 * time.Second)
			w.wantRuns(t, "meanwhile", 1, true)
			if test.end != "" {
				after(time.Hour)
				w.wantRuns(t, "an hour later", 1, true)
				w.say(test.end + "\n")
			} else {
				after(31 * time.Second)
			}
			after(58 * time.Second)
			w.wantRuns(t, "just afterwards", 1, true)
			after(3 * time.Second)
			w.wantRuns(t, "at last", 1, false)
			w.over(t)
		})
	}
	bubble(t, "a question that is open", func(t *testing.T) {
		gate := &askingGate{answers: make(chan bool)}
		w := newModelWorld(legacyModel(tools("write_a"), appending), "", func(o *Options) {
			o.Server.Spec.Lifecycle.Idle, o.Gate, o.Patience = time.Minute, gate, 10*time.Second
		})
		w.say(legacyHello)
		w.say(`{"jsonrpc":"2.0","id":5,"method":"tools/call","params":{"name":"write_a"}}` + "\n")
		after(5 * time.Minute) // the call has been answered "pending", the question is open still
		w.wantRuns(t, "with an open question", 1, true)
		after(claimable)
		w.wantRuns(t, "when nobody has come back for it", 1, false)
		w.over(t)
	})
	bubble(t, "a modern subscription", func(t *testing.T) {
		w := newModelWorld(func(s *stub, m protocol.Message) {
			if m.Method == protocol.MethodDiscover {
				s.reply(m, `{"supportedVersions":["2026-07-28"],"capabilities":{},"resultType":"complete"}`)
			}
		}, "", idleFor(time.Minute))
		w.say(modern(1, "server/discover", ""))
		synctest.Wait()
		w.say(modern(2, "subscriptions/listen", `"notifications":{"toolsListChanged":true}`))
		after(time.Hour)
		w.wantRuns(t, "with a subscription", 1, true)
		w.say(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":2}}` + "\n")
		w.over(t)
	})
}

// Whatever comes just as the server is stopped reaches it, or its next life, and is answered once.
func TestNoRequestIsLostToAnIdleStop(t *testing.T) {
	for offset := -2; offset <= 2; offset++ {
		bubble(t, fmt.Sprintf("%+d around the moment", offset), func(t *testing.T) {
			const idle = time.Second
			w := newModelWorld(legacyModel(tools("read_a"), func(s *stub, m protocol.Message) {
				if m.Kind == protocol.Request {
					s.reply(m, `{"content":[]}`)
				}
			}), "", idleFor(idle))
			w.say(legacyHello)
			synctest.Wait()
			next := 10
			for range 2 { // lives
				<-time.After(idle + time.Duration(offset)*time.Nanosecond)
				for range 4 {
					w.say(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"prompts/list"}`+"\n", next))
					w.say(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"read_a"}}`+"\n", next+1))
					next += 2
				}
				synctest.Wait()
			}
			seen := w.over(t)
			for id := 10; id < next; id++ {
				if a := answersTo(seen, fmt.Sprint(id)); len(a) != 1 || !strings.Contains(a[0], `"result"`) {
					t.Errorf("request %d: %v", id, a)
				}
			}
		})
	}
}

// The same by the link alone, as fast as it goes.
func TestRetiringALinkLosesNothing(t *testing.T) {
	for range 200 {
		l := newLink(func([]byte) {})
		l.by(nowhere{}, false)
		if err := l.opened(""); err != nil {
			t.Fatal(err)
		}
		var all sync.WaitGroup
		var retired bool
		answered := make(chan error, 1)
		var err error
		all.Go(func() { retired = l.retire() })
		all.Go(func() {
			m, _ := protocol.Parse([]byte(`{"jsonrpc":"2.0","id":1,"method":"x"}`))
			err = l.send(m, &request{id: m.ID, method: "x", answer: func(_ protocol.Message, err error) { answered <- err }}, 0)
		})
		all.Wait()
		if retired != (err == errIdle) {
			t.Fatalf("retired: %t, but send gave %v", retired, err)
		}
		l.fail(errEnded)
		if !retired && <-answered != errEnded {
			t.Fatal("the request was lost")
		}
	}
}

type nowhere struct{}

func (nowhere) Read() (protocol.Message, error) { select {} }
func (nowhere) Write([]byte) error              { return nil }

// A server that was started again because of a call does not end with that call.
func TestANewLifeIsNotItsFirstCalls(t *testing.T) {
	bubble(t, "after a crash", func(t *testing.T) {
		legacy := legacyModel(tools("read_a"), appending)
		w := newModelWorld(func(s *stub, m protocol.Message) {
			if s.life == 1 && m.Method == protocol.MethodInitialized {
				s.hangUp()
				return
			}
			legacy(s, m)
		}, "", nil)
		w.say(legacyHello)
		w.say(`{"jsonrpc":"2.0","method":"notifications/initialized"}` + "\n")
		after(time.Minute)
		for i := range 5 {
			w.say(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"read_a"}}`+"\n", 10+i))
			after(time.Minute)
		}
		w.wantRuns(t, "after five calls", 2, true)
		w.over(t)
	})
}

func TestANewLifeIsToldWhatTheLastOneWas(t *testing.T) {
	bubble(t, "logging level and subscriptions", func(t *testing.T) {
		w := newModelWorld(legacyModel(tools("read_a"), func(s *stub, m protocol.Message) {
			switch {
			case strings.Contains(string(m.Params), "refused"):
				s.print(string(protocol.NewError(m.ID, -32602, "no")))
			case m.Method == "prompts/list" && s.life == 1:
				s.hangUp()
			case m.Kind == protocol.Request:
				s.reply(m, `{}`)
			}
		}), "", nil)
		w.say(legacyHello)
		w.say(`{"jsonrpc":"2.0","method":"notifications/initialized"}` + "\n")
		for i, said := range []string{
			`"logging/setLevel","params":{"level":"debug"}`,
			`"logging/setLevel","params":{"level":"error"}`,
			`"logging/setLevel","params":{"level":"refused"}`,
			`"resources/subscribe","params":{"uri":"file:///b"}`,
			`"resources/subscribe","params":{"uri":"file:///a"}`,
			`"resources/subscribe","params":{"uri":"file:///gone"}`,
			`"resources/unsubscribe","params":{"uri":"file:///gone"}`,
			`"resources/subscribe","params":{"uri":"file:///refused"}`,
			`"prompts/list"`, // the server ends
		} {
			w.say(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":%s}`+"\n", 10+i, said))
			synctest.Wait()
		}
		w.say(`{"jsonrpc":"2.0","id":30,"method":"prompts/list"}` + "\n")
		after(time.Minute)
		if n, _ := w.started(); n != 2 {
			t.Fatalf("%d lives, want 2", n)
		}
		var got []string
		for line := range strings.Lines(w.lives[1].seen()) {
			if m, err := protocol.Parse([]byte(strings.TrimSpace(line))); err == nil {
				got = append(got, m.Method+" "+string(m.Params))
			}
		}
		want := []string{
			`logging/setLevel {"level":"error"}`, `resources/subscribe {"uri":"file:///a"}`, `resources/subscribe {"uri":"file:///b"}`,
			`prompts/list `,
		}
		if len(got) < 2 || !strings.HasPrefix(got[0], "initialize ") || !strings.HasPrefix(got[1], "notifications/initialized") ||
			strings.Join(got[2:], "\n") != strings.Join(want, "\n") {
			t.Errorf("the second life was told:\n%s", strings.Join(got, "\n"))
		}
		seen := w.over(t)
		if n := len(answersTo(seen, "30")); n != 1 {
			t.Errorf("%d answers to the request that waited", n)
		}
		for line := range strings.Lines(seen) {
			if m, _ := protocol.Parse([]byte(strings.TrimSpace(line))); m.Kind == protocol.Response && (len(m.ID) != 2 && m.ID != "0") {
				t.Errorf("the client saw an answer to no request of its: %s", line)
			}
		}
	})
}

func TestAlive(t *testing.T) {
	deafAfter := func(method string) model {
		deaf := map[int]bool{}
		legacy := legacyModel(tools("read_a"), appending)
		return func(s *stub, m protocol.Message) {
			if deaf[s.life] {
				return
			}
			if m.Method == protocol.MethodDiscover {
				s.reply(m, `{"supportedVersions":["2026-07-28"],"capabilities":{"tools":{}},"resultType":"complete"}`)
			} else {
				legacy(s, m)
			}
			deaf[s.life] = s.life == 1 && m.Method == method
		}
	}
	probe := func(t *testing.T, s *Session) error {
		t.Helper()
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		return s.Alive(ctx)
	}
	session := func(do model, more func(*Options)) (*world, *Session) {
		w := newModelWorld(do, "", more)
		return w, w.session
	}
	bubble(t, "a legacy server answers a ping", func(t *testing.T) {
		w, s := session(legacyModel(tools("a"), nil), nil)
		w.say(legacyHello)
		synctest.Wait()
		if err := probe(t, s); err != nil {
			t.Error(err)
		}
		if !strings.Contains(w.seenByServer(), `"ping"`) {
			t.Errorf("the server saw %s", w.seenByServer())
		}
		if seen := w.over(t); strings.Contains(seen, `"result":{}`) {
			t.Errorf("the client saw our ping's answer: %s", seen)
		}
	})
	bubble(t, "a modern server is asked what it is", func(t *testing.T) {
		w, s := session(deafAfter(""), nil)
		w.say(modern(1, "server/discover", ""))
		synctest.Wait()
		if err := probe(t, s); err != nil {
			t.Error(err)
		}
		if n := strings.Count(w.seenByServer(), `"server/discover"`); n < 3 {
			t.Errorf("the server saw %s", w.seenByServer())
		}
		w.over(t)
	})
	bubble(t, "a deaf one", func(t *testing.T) {
		w, s := session(deafAfter(protocol.MethodInitialize), nil)
		w.say(legacyHello)
		synctest.Wait()
		began := time.Now()
		if err := probe(t, s); err == nil || time.Since(began) != aliveLimit {
			t.Errorf("got %v after %s", err, time.Since(began))
		}
		w.over(t)
	})
	bubble(t, "a deaf one behind a bridge", func(t *testing.T) {
		w, s := session(deafAfter(protocol.MethodToolsList), func(o *Options) { o.Server.Spec.Protocol = string(protocol.V20260728) })
		w.say(legacyHello)
		synctest.Wait()
		if err := probe(t, s); err != nil {
			t.Errorf("before it is deaf: %v", err)
		}
		if err := probe(t, s); err == nil {
			t.Error("it is deaf, and was not found so")
		}
		w.over(t)
	})
	bubble(t, "one that works", func(t *testing.T) {
		busy := legacyModel(tools("read_a"), nil)
		w, s := session(func(s *stub, m protocol.Message) {
			if m.Method == protocol.MethodToolsCall {
				<-time.After(time.Minute)
				s.reply(m, `{"content":[]}`)
				return
			}
			busy(s, m)
		}, nil)
		w.say(legacyHello)
		w.say(`{"jsonrpc":"2.0","id":5,"method":"tools/call","params":{"name":"read_a"}}` + "\n")
		synctest.Wait()
		if err := probe(t, s); err != nil {
			t.Errorf("it works, and was taken for deaf: %v", err)
		}
		w.over(t)
	})
	bubble(t, "one that has been stopped, as idle", func(t *testing.T) {
		w, s := session(legacyModel(tools("a"), nil), idleFor(time.Minute))
		w.say(legacyHello)
		after(2 * time.Minute)
		if err := probe(t, s); err != nil {
			t.Error(err)
		}
		w.wantRuns(t, "after the probe", 1, false)
		w.over(t)
	})
}
