package gateway

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/garita-dev/garita/daemon/protocol"
	"github.com/garita-dev/garita/sandbox/sandboxtest"
)

// Real users' faults, each ending as it should have.
func TestReportsOfLives(t *testing.T) {
	bubble(t, "report_L04", func(t *testing.T) {
		inits := make([]int, 2)
		worlds := make([]*world, 2)
		for i := range worlds {
			worlds[i] = newModelWorld(legacyModel(tools(fmt.Sprintf("read_%d", i)), nil), "", nil)
		}
		steps := replayOf(t, "L04")
		worlds[0].play(steps, "client")
		worlds[1].play(steps, "client2")
		for i, w := range worlds {
			seen := w.over(t)
			inits[i] = strings.Count(w.seenByServer(), `"initialize"`)
			if !strings.Contains(seen, fmt.Sprintf("read_%d", i)) || len(answersTo(seen, "1")) != 1 || len(answersTo(seen, "2")) != 1 {
				t.Errorf("client %d saw %s", i, seen)
			}
		}
		if !slices.Equal(inits, []int{1, 1}) {
			t.Errorf("the servers saw %v initializes, want one each", inits)
		}
	})
	bubble(t, "report_L09", func(t *testing.T) {
		slow := legacyModel(tools("read_a"), func(s *stub, m protocol.Message) { s.reply(m, `{"content":[]}`) })
		w := newModelWorld(func(s *stub, m protocol.Message) {
			if m.Method == protocol.MethodInitialize {
				<-time.After(8 * time.Second)
			}
			slow(s, m)
		}, "", nil)
		w.say(`{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{}}}` + "\n")
		for i := 1; i <= 20; i++ {
			w.say(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"read_a"}}`+"\n", i))
		}
		seen := w.over(t)
		for i := range 21 {
			if n := len(answersTo(seen, strconv.Itoa(i))); n != 1 {
				t.Errorf("request %d has %d answers", i, n)
			}
		}
		if len(w.lives) != 1 {
			t.Errorf("started %d times, want once", len(w.lives))
		}
	})
	bubble(t, "report_L16", func(t *testing.T) {
		w := newModelWorld(legacyModel(tools("slow", "quick"), func(s *stub, m protocol.Message) {
			if strings.Contains(string(m.Params), "quick") {
				s.reply(m, `{"content":[]}`)
			}
		}), "slow approved\nquick approved", nil)
		w.play(replayOf(t, "L16"), "client")
		seen := w.over(t)
		if len(answersTo(seen, "7")) != 0 || len(answersTo(seen, "8")) != 1 || len(w.lives) != 1 {
			t.Errorf("saw %s in %d lives; want 8 answered and 7 not, in one", seen, len(w.lives))
		}
		if !strings.Contains(w.seenByServer(), `notifications/cancelled`) {
			t.Errorf("the server was not told of the cancellation: %s", w.seenByServer())
		}
		if got := w.recorded("slow"); !cmp.Equal(got, []string{"approved unknown"}) {
			t.Errorf("slow is recorded as %q", got)
		}
	})
	bubble(t, "report_M11", func(t *testing.T) {
		w := newModelWorld(legacyModel(tools("slow", "quick"), func(s *stub, m protocol.Message) {
			switch {
			case strings.Contains(string(m.Params), "quick"):
				s.reply(m, `{"content":[]}`)
			case m.Method == protocol.MethodCancelled:
				id := protocol.Cancelled(m.Params)
				s.print(string(protocol.NewErrorAnswer(id, []byte(`{"code":0,"message":"Request cancelled"}`))))
				s.print(string(protocol.NewError(id, -32603, "second reply")))
				s.print(string(protocol.NewResult(id, []byte(`{"content":[{"type":"text","text":"third reply"}]}`))))
				s.hangUp()
			}
		}), "slow approved\nquick approved", nil)
		w.play(replayOf(t, "M11"), "client")
		seen := w.over(t)
		if n := len(answersTo(seen, "5")); n > 1 {
			t.Errorf("%d answers to 5: %s", n, seen)
		}
		if len(answersTo(seen, "6")) != 1 || len(w.lives) != 2 {
			t.Errorf("6 was not served by a fresh process (%d lives): %s", len(w.lives), seen)
		}
	})
	bubble(t, "report_M18", func(t *testing.T) {
		legacy := legacyModel(tools("read_a"), nil)
		do := func(s *stub, m protocol.Message) {
			if m.Method == protocol.MethodDiscover {
				s.hangUp()
				return
			}
			legacy(s, m)
		}
		first := newModelWorld(do, "", nil)
		first.say(modern(1, "server/discover", ""))
		if seen := first.over(t); !strings.Contains(seen, `"supportedVersions"`) || len(first.lives) != 2 {
			t.Errorf("not connected in two lives (%d): %s", len(first.lives), seen)
		}
		second := newModelWorld(do, "", func(o *Options) { o.Eras = first })
		second.say(modern(1, "tools/list", ""))
		if seen := second.over(t); !strings.Contains(seen, "read_a") || len(second.lives) != 1 {
			t.Errorf("the second connection took %d lives: %s", len(second.lives), seen)
		}
	})
	bubble(t, "report_L12", func(t *testing.T) {
		starts := 0
		w := newModelWorld(legacyModel(tools("read_a"), nil), "", func(o *Options) {
			open := o.Open
			o.Open = func(ctx context.Context) (Upstream, error) {
				if starts++; starts == 1 {
					<-time.After(time.Second)
					return nil, errors.New("the registry does not answer")
				}
				return open(ctx)
			}
		})
		hello := `{"jsonrpc":"2.0","id":%d,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{}}}` + "\n"
		w.say(fmt.Sprintf(hello, 1))
		<-time.After(2 * time.Second)
		w.say(fmt.Sprintf(hello, 2))
		seen := w.over(t)
		if !strings.Contains(answersTo(seen, "1")[0], "the registry does not answer") || !strings.Contains(answersTo(seen, "2")[0], "result") {
			t.Errorf("saw %s; want a reason, then a session", seen)
		}
	})
}

// modern is a request of the modern era.
func modern(id int, method, params string) string {
	meta := `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}`
	if params != "" {
		meta = params + "," + meta
	}
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":%q,"params":{%s}}`+"\n", id, method, meta)
}

func TestReportsOfMessages(t *testing.T) {
	bubble(t, "report_M01", func(t *testing.T) {
		banner := reportFile(t, "M01.server.out")
		lines := strings.Split(strings.TrimSpace(string(banner)), "\n")
		answer, noise := lines[len(lines)-1], strings.Join(lines[:len(lines)-1], "\n")
		w := newModelWorld(func(s *stub, m protocol.Message) {
			if m.Method == protocol.MethodInitialize {
				s.print(noise)
				s.print(answer)
			}
		}, "", nil)
		w.say(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{}}}` + "\n")
		if seen := w.over(t); seen != strings.Replace(answer, `"id": 1`, `"id": 1`, 1)+"\n" {
			t.Errorf("the client saw %s", seen)
		}
	})
	bubble(t, "report_M05", func(t *testing.T) { wholeLine(t, "M05.hex", "read_a", 1) })
	bubble(t, "report_M07", func(t *testing.T) {
		w := newModelWorld(legacyModel("", nil), "", nil)
		w.say(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{}}}` + "\n")
		synctest.Wait()
		w.over(t)
		// The bytes of the report name ids of the client's; here they stand for a server that writes so.
		w = newModelWorld(crlf(t, reportFile(t, "M07.hex")), "", nil)
		for i, method := range []string{"initialize", "tools/list", "vendor/x"} {
			w.say(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":%q,"params":{}}`+"\r\n", i+1, method))
			synctest.Wait()
		}
		seen := w.over(t)
		if strings.Count(seen, "\n") != 3 || strings.ContainsAny(seen, "\r") {
			t.Errorf("the client saw %q, want three clean lines", seen)
		}
	})
	bubble(t, "report_M08", func(t *testing.T) {
		w := newModelWorld(legacyModel(tools("read_a"), nil), "", nil)
		steps := replayOf(t, "M08")
		w.play(steps, "client")
		seen := w.over(t)
		for _, s := range steps {
			m, err := protocol.Parse(s.Send)
			if err != nil {
				t.Fatal(err)
			}
			if n := len(answersTo(seen, string(m.ID))); n != 1 {
				t.Errorf("id %s has %d answers", m.ID, n)
			}
		}
		w = newModelWorld(legacyModel(tools("read_a"), nil), "", nil)
		for _, id := range []string{"null", "{}", "[]", "true"} {
			w.say(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"method":"tools/list"}`+"\n", id))
		}
		if seen := w.over(t); strings.Count(seen, "-32600") != 4 {
			t.Errorf("ids of other kinds were answered by %s", seen)
		}
	})
	bubble(t, "report_M20", func(t *testing.T) {
		steps := replayOf(t, "M20")
		for version, want := range map[string]int{"2025-03-26": 2, "2025-06-18": 3} {
			w := newModelWorld(func(s *stub, m protocol.Message) {
				switch m.Method {
				case protocol.MethodInitialize:
					s.reply(m, strings.Replace(agreed, "2025-06-18", version, 1))
				case protocol.MethodToolsList:
					s.reply(m, tools("read", "delete"))
				case protocol.MethodToolsCall: // answers as a batch
					s.print("[" + string(protocol.NewResult(m.ID, []byte(`{"content":[]}`))) + "]")
				}
			}, "delete denied", nil)
			w.say(fmt.Sprintf(`{"jsonrpc":"2.0","id":"i","method":"initialize","params":{"protocolVersion":%q,"capabilities":{}}}`+"\n", version))
			synctest.Wait()
			w.play(steps, "client")
			seen := w.over(t)
			if got := strings.Count(seen, "-32600"); got != want {
				t.Errorf("%s: %d refusals, want %d: %s", version, got, want, seen)
			}
			batch := version == "2025-03-26"
			if calls := strings.Count(w.seenByServer(), "tools/call"); batch != (calls == 1) || !batch && calls != 0 {
				t.Errorf("%s: %d calls reached the server", version, calls)
			}
			if batch && (!strings.Contains(seen, `[{"jsonrpc":"2.0","id":`) || !strings.Contains(seen, `"garita.dev/outcome":"denied"`)) {
				t.Errorf("no array with both answers: %s", seen)
			}
		}
	})
	bubble(t, "report_M21", func(t *testing.T) {
		w := newModelWorld(legacyModel(tools("slow", "quick", "needs_approval"), func(s *stub, m protocol.Message) {
			if m.Method == protocol.MethodToolsCall {
				go func() {
					<-time.After(time.Minute)
					s.reply(m, `{"content":[]}`)
				}()
			}
		}), "slow approved\nneeds_approval later", nil)
		w.play(replayOf(t, "M21"), "client")
		<-time.After(200 * time.Millisecond)
		seen := w.client.seen()
		if len(answersTo(seen, "2")) != 1 || len(answersTo(seen, "3")) != 1 {
			t.Errorf("ping and list wait for the slow call: %s", seen)
		}
		if seen = w.over(t); len(answersTo(seen, "1")) != 1 {
			t.Errorf("the slow call has no answer: %s", seen)
		}
	})
	bubble(t, "report_M23", func(t *testing.T) {
		w := newModelWorld(legacyModel(tools("read_me"), func(s *stub, m protocol.Message) {
			if m.Method == protocol.MethodToolsCall {
				s.print(`{"jsonrpc":"2.0","id":4,"method":"elicitation/create","params":{"message":"m"}}`)
				s.print(`{"jsonrpc":"2.0","id":"s-1","method":"sampling/createMessage","params":{}}`)
				s.print(`{"jsonrpc":"2.0","id":"s-2","method":"roots/list","params":{}}`)
				s.print(`{"jsonrpc":"2.0","id":"s-3","method":"vendor/unknown","params":{}}`)
				s.reply(m, `{"content":[]}`)
			}
		}), "", nil)
		w.say(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{"elicitation":{}}}}` + "\n")
		w.say(`{"jsonrpc":"2.0","id":4,"method":"tools/call","params":{"name":"read_me"}}` + "\n")
		synctest.Wait()
		w.say(`{"jsonrpc":"2.0","id":"garita-1","result":{"action":"decline"}}` + "\n")
		seen := w.over(t)
		got := w.seenByServer()
		if !strings.Contains(seen, `"id":"garita-1","method":"elicitation/create"`) || strings.Contains(seen, "sampling") || strings.Contains(seen, "vendor") {
			t.Errorf("the client was asked %s", seen)
		}
		if !strings.Contains(got, `"id":4,"result":{"action":"decline"}`) || strings.Count(got, "-32601") != 3 {
			t.Errorf("the server was answered %s", got)
		}
	})
}

// wholeLine plays a server that writes a report's bytes one at a time.
func wholeLine(t *testing.T, file, tool string, calls int) {
	line := unhex(t, reportFile(t, file))
	w := newModelWorld(legacyModel(tools(tool), func(s *stub, m protocol.Message) {
		sent, err := protocol.Parse(line[:len(line)-1])
		if err != nil {
			t.Error(err)
		}
		for _, b := range append(sent.WithID(m.ID).Raw, '\n') {
			_, _ = s.Write([]byte{b})
		}
	}), "", nil)
	w.say(`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"` + tool + `"}}` + "\n")
	if seen := w.over(t); strings.Count(seen, string(line)) != calls {
		t.Errorf("the client saw %q, want %q", seen, line)
	}
}

// crlf is a server that answers with the lines of a report, in their order.
func crlf(t *testing.T, file []byte) model {
	lines := strings.SplitAfter(string(unhex(t, file)), "}\r\n")
	next := 0
	return func(s *stub, m protocol.Message) {
		if m.Kind != protocol.Request || next >= len(lines) {
			return
		}
		_, _ = io.WriteString(s, strings.Replace(lines[next], `"id": `+strconv.Itoa(next+1), `"id": `+string(m.ID), 1))
		next++
	}
}

func unhex(t *testing.T, file []byte) []byte {
	t.Helper()
	var digits strings.Builder
	for line := range strings.Lines(string(file)) {
		if !strings.HasPrefix(line, "#") {
			digits.WriteString(strings.Join(strings.Fields(line), ""))
		}
	}
	b, err := hex.DecodeString(digits.String())
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestReportsOfListing(t *testing.T) {
	changed := `{"jsonrpc":"2.0","method":"notifications/tools/list_changed","params":{}}`
	hello := `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{}}}` + "\n"
	bubble(t, "report_M14", func(t *testing.T) {
		w := newModelWorld(func(s *stub, m protocol.Message) {
			legacyModel(tools("q"), nil)(s, m)
			if m.Method == protocol.MethodToolsList {
				s.print(changed)
			}
		}, "", nil)
		w.play(replayOf(t, "M14"), "client")
		<-time.After(time.Minute)
		if n := strings.Count(w.seenByServer(), protocol.MethodToolsList); n > 60 {
			t.Errorf("%d listings in a minute", n)
		}
		if seen := w.over(t); strings.Contains(seen, "list_changed") {
			t.Errorf("the client was told of a change of nothing: %s", seen)
		}
	})
	bubble(t, "report_M15", func(t *testing.T) {
		for variant, list := range map[string]func(n int32) string{
			"constant":    func(int32) string { return tools("a") },
			"alternating": func(n int32) string { return tools([]string{"a", "b"}[n%2]) },
		} {
			var listed atomic.Int32
			w := newModelWorld(func(s *stub, m protocol.Message) {
				switch m.Method {
				case protocol.MethodToolsList:
					s.reply(m, list(listed.Add(1)))
				case protocol.MethodInitialized:
					go func() {
						for range 1800 { // ten minutes
							s.print(changed)
							<-time.After(time.Second / 3)
						}
					}()
				default:
					legacyModel("", nil)(s, m)
				}
			}, "", nil)
			w.say(hello)
			w.say(`{"jsonrpc":"2.0","method":"notifications/initialized"}` + "\n")
			w.say(`{"jsonrpc":"2.0","id":2,"method":"tools/list"}` + "\n")
			n := strings.Count(w.over(t), "list_changed")
			if variant == "constant" && n != 0 || n > 30 {
				t.Errorf("%s: the client was told %d times", variant, n)
			}
		}
	})
	bubble(t, "report_M16", func(t *testing.T) {
		page := tools("a", "b", "c", "d", "e", "f", "g", "h")
		page = page[:len(page)-1] + `,"nextCursor":"8"}`
		w := newModelWorld(legacyModel(page, nil), "", nil)
		w.play(replayOf(t, "M16"), "client")
		w.say(`{"jsonrpc":"2.0","id":3,"method":"tools/list","params":{"cursor":"8"}}` + "\n")
		seen := w.over(t)
		if strings.Count(seen, `"name":`) != 8 || strings.Contains(answersTo(seen, "3")[0], "nextCursor") {
			t.Errorf("the client saw %s", seen)
		}
	})
	bubble(t, "a new life that lists other tools is told", func(t *testing.T) {
		w := newModelWorld(func(s *stub, m protocol.Message) {
			if m.Method == "vendor/die" {
				s.hangUp()
				return
			}
			legacyModel(tools([]string{"", "a", "b"}[s.life]), func(s *stub, m protocol.Message) { s.reply(m, `{}`) })(s, m)
		}, "", nil)
		w.say(hello)
		w.say(`{"jsonrpc":"2.0","id":2,"method":"tools/list"}` + "\n")
		synctest.Wait()
		w.say(`{"jsonrpc":"2.0","id":3,"method":"vendor/die"}` + "\n")
		synctest.Wait()
		w.say(`{"jsonrpc":"2.0","id":4,"method":"vendor/x"}` + "\n")
		if seen := w.over(t); strings.Count(seen, "list_changed") != 1 {
			t.Errorf("the client saw %s", seen)
		}
	})
	bubble(t, "a real change is told, once", func(t *testing.T) {
		var more atomic.Bool
		w := newModelWorld(func(s *stub, m protocol.Message) {
			switch {
			case m.Method == protocol.MethodToolsList && more.Load():
				s.reply(m, tools("a", "b"))
			case m.Method == "vendor/change":
				more.Store(true)
				s.print(changed)
				s.print(changed)
				s.reply(m, `{}`)
			default:
				legacyModel(tools("a"), nil)(s, m)
			}
		}, "", nil)
		w.say(hello)
		w.say(`{"jsonrpc":"2.0","id":2,"method":"tools/list"}` + "\n")
		synctest.Wait()
		w.say(`{"jsonrpc":"2.0","id":3,"method":"vendor/change"}` + "\n")
		if n := strings.Count(w.over(t), "list_changed"); n != 1 {
			t.Errorf("told %d times, want once", n)
		}
	})
}

// report_M04 in real time: an answer of any length arrives whole, one over the limit fails alone.
func TestReportM04(t *testing.T) {
	script := filepath.Join(sandboxtest.Testdata(t), "field-inputs", "M04.gen.py")
	python, err := exec.LookPath("python3")
	if err != nil {
		t.Skip("no python3 to run the report's generator")
	}
	for _, size := range []int{65_537, 1 << 20, 12 << 20, 20 << 20} {
		t.Run(fmt.Sprintf("report_M04_%d", size), func(t *testing.T) {
			var once sync.Once
			w := newModelWorld(legacyModel(tools("read_a"), func(s *stub, m protocol.Message) {
				big := false
				once.Do(func() { big = true })
				if !big {
					s.reply(m, `{"content":[]}`)
					return
				}
				gen := exec.Command(python, script, strconv.Itoa(size), string(m.ID))
				gen.Stdout = s.side
				if err := gen.Run(); err != nil {
					t.Error(err)
				}
			}), "", nil)
			call := `{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"read_a"}}` + "\n"
			w.say(fmt.Sprintf(call, 1))
			for !strings.Contains(w.client.seen(), `"id":1,`) {
				<-time.After(10 * time.Millisecond)
			}
			w.say(fmt.Sprintf(call, 2))
			w.hangUp()
			<-w.ended
			seen := w.client.seen()
			whole := len(seen) > size-200
			if refused := strings.Contains(seen, "too long"); refused == (size <= testLimit) {
				t.Errorf("refused for its size: %t", refused)
			}
			if fits := size <= testLimit; whole != fits || len(answersTo(seen, "2")) != 1 {
				t.Errorf("the client saw %d bytes of %d; the next call has %d answers", len(seen), size, len(answersTo(seen, "2")))
			}
		})
	}
}
