package bridge

import (
	"bytes"
	"errors"
	"flag"
	"math/rand/v2"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/garita-dev/garita/daemon/protocol"
)

// fuzzed is a bridge between a client and a server that say what they want, and the two books of
// who has been asked what.
type fuzzed struct {
	t      testing.TB
	link   *link
	server *fakeServer

	client map[protocol.ID]int // requests of the client's without an answer
	asked  map[protocol.ID]int // requests of the server's without an answer
	sent   map[protocol.ID]bool
	state  string                 // the last requestState or id that the client saw
	seen   map[byte][]protocol.ID // the ids of the requests that the client (c) and the server (s) were sent
}

func newFuzzed(t testing.TB, tr translator, to **link) *fuzzed {
	f := &fuzzed{
		t: t, server: newFakeServer(),
		client: map[protocol.ID]int{}, asked: map[protocol.ID]int{}, sent: map[protocol.ID]bool{}, seen: map[byte][]protocol.ID{},
	}
	f.link = newLink(f.server, fuzzOptions, tr)
	*to = f.link
	return f
}

var fuzzOptions = Options{
	Calls: 4, Suspended: 2, Rounds: 2, Questions: 3, Subscriptions: 2, Bytes: 4096, SuspendedFor: time.Hour, Handshake: time.Hour,
}.withDefaults()

// line is one message: of the client when it begins with c, of the server when with s.
func (f *fuzzed) line(line []byte) {
	m, err := protocol.Parse(bytes.TrimSpace(line[1:]))
	if err != nil || m.Kind == protocol.Batch { // whose messages are not counted here
		return
	}
	switch line[0] {
	case 'c':
		if m.Kind == protocol.Request {
			f.client[m.ID]++
		}
		_ = f.link.Write(m.Raw)
	case 's':
		if m.Kind == protocol.Request {
			f.asked[m.ID]++
		}
		f.link.receive(received{m: m})
	}
	f.drain()
}

func (f *fuzzed) drain() {
	for {
		f.link.mu.Lock()
		quiet := !f.link.writing
		f.link.mu.Unlock()
		if quiet {
			break
		}
		runtime.Gosched()
	}
	for m, err, ok := f.link.next(); ok && err == nil; m, err, ok = f.link.next() {
		f.count("client", f.client, m.Raw)
		if made := madeUp.FindSubmatch(m.Raw); made != nil {
			f.state = string(made[2])
		}
	}
	for line, ok := f.server.next(); ok; line, ok = f.server.next() {
		m := f.count("server", f.asked, []byte(line))
		if m.Kind == protocol.Request {
			if f.sent[m.ID] {
				f.t.Fatalf("the server is sent an id twice: %s", line)
			}
			f.sent[m.ID] = true
		}
	}
}

// count reads what one side is sent; an answer is to a request it has sent.
func (f *fuzzed) count(who string, open map[protocol.ID]int, raw []byte) protocol.Message {
	m, err := protocol.Parse(raw)
	if err != nil {
		f.t.Fatalf("the %s is sent %s: %v", who, raw, err)
	}
	if m.Kind == protocol.Request {
		f.seen[who[0]] = append(f.seen[who[0]], m.ID)
	}
	if m.Kind == protocol.Response && m.ID != "" {
		if open[m.ID]--; open[m.ID] < 0 {
			f.t.Fatalf("the %s is sent an answer to nothing: %s", who, raw)
		}
	}
	return m
}

func judge(t testing.TB, modern *toModern, legacy *toLegacy) {
	kept := len(modern.calls)
	if kept > fuzzOptions.Calls || kept == 0 && modern.held != 0 || modern.held < 0 || len(modern.asked) > fuzzOptions.Questions {
		t.Errorf("to modern: %d calls, %d bytes held, %d questions", kept, modern.held, len(modern.asked))
	}
	kept = len(legacy.calls) + len(legacy.suspended) + len(legacy.waiting)
	if kept > 2*fuzzOptions.Calls || kept == 0 && legacy.held != 0 || legacy.held < 0 || len(legacy.askers) > kept ||
		len(legacy.questions) > fuzzOptions.Questions || len(legacy.suspended) > fuzzOptions.Suspended || len(legacy.uris) > fuzzOptions.Subscriptions {
		t.Errorf("to legacy: %d calls, %d bytes held, %d askers, %d questions, %d suspended", kept, legacy.held, len(legacy.askers), len(legacy.questions), len(legacy.suspended))
	}
}

// FuzzBridges lets a client and a server say what they want, a line each in turn as the first byte
// has it, over both bridges.
func FuzzBridges(f *testing.F) {
	for _, lines := range vocabulary(f) {
		f.Add(bytes.Join(lines, []byte("\n")))
	}
	f.Fuzz(func(t *testing.T, script []byte) {
		modern, legacy := newToModern(fuzzOptions), newToLegacy(fuzzOptions)
		for _, f := range []*fuzzed{newFuzzed(t, modern, &modern.link), newFuzzed(t, legacy, &legacy.link)} {
			for line := range bytes.Lines(script) {
				f.line(line)
			}
			defer f.link.receive(received{err: errors.New("the end")})
		}
		judge(t, modern, legacy)
	})
}

// seeds is how many orders TestInAnyOrder tries of each transcript.
var seeds = flag.Uint64("seeds", 10, "orders tried of each transcript")

// TestInAnyOrder says what the transcripts say, in any order and under any id: whatever comes, no
// request is answered twice, and nothing is kept that nobody waits for.
func TestInAnyOrder(t *testing.T) {
	for name, lines := range vocabulary(t) {
		era, _, _ := strings.Cut(name, ": ")
		for seed := range *seeds {
			modern, legacy := newToModern(fuzzOptions), newToLegacy(fuzzOptions)
			f := newFuzzed(t, legacy, &legacy.link)
			if era == "to modern" {
				f = newFuzzed(t, modern, &modern.link)
			} else {
				modern.link = f.link
			}
			r := rand.New(rand.NewPCG(seed, 1)) //nolint:gosec // an order that comes again
			for i := range 60 {
				line := lines[min(i, len(lines)-1)]
				if i >= 5 || i >= len(lines) { // after the handshake
					line = f.shuffled(r, lines[r.IntN(len(lines))])
				}
				f.line(line)
			}
			judge(t, modern, legacy)
			f.link.receive(received{err: errors.New("the end")})
			if t.Failed() {
				t.Fatalf("%s, seed %d", name, seed)
			}
		}
	}
}

var number = regexp.MustCompile(`"(id|requestId|io.modelcontextprotocol/subscriptionId)":(\d+|"[a-z]")`)

// shuffled is a line under other ids: where it names a request of the other side, one of the last
// of these, else any.
func (f *fuzzed) shuffled(r *rand.Rand, line []byte) []byte {
	line = bytes.ReplaceAll(line, []byte(`"$1"`), []byte(`"`+f.state+`"`))
	asked := f.seen[line[0]]
	asked = asked[max(0, len(asked)-3):]
	toAsked := line[0] == 's' || !bytes.Contains(line, []byte(`"method"`))
	return number.ReplaceAllFunc(line, func(b []byte) []byte {
		name, _, _ := bytes.Cut(b, []byte(":"))
		name = append(name, ':')
		if toAsked && len(asked) > 0 {
			return append(name, asked[r.IntN(len(asked))]...)
		}
		return append(name, byte('1'+r.IntN(9)))
	})
}

// vocabulary is the lines of each transcript that somebody says.
func vocabulary(t testing.TB) map[string][][]byte {
	all := map[string][][]byte{}
	for name, script := range transcripts(t) {
		for line := range strings.Lines(shorthand.Replace(script)) {
			switch who, what, _ := strings.Cut(strings.TrimSpace(line), " "); who {
			case "client>", "server>":
				all[name] = append(all[name], []byte(who[:1]+what))
			}
		}
	}
	return all
}

// BenchmarkACall is a call there and its answer back, as both eras have it.
func BenchmarkACall(b *testing.B) {
	call := []byte(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"t","arguments":{"path":"/a/b/c","text":"` + strings.Repeat("x", 500) + `"},` + bare + `}}`)
	answer := []byte(`{"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"text","text":"` + strings.Repeat("x", 500) + `"}]}}`)
	modern, legacy := newToModern(Options{}.withDefaults()), newToLegacy(Options{}.withDefaults())
	modern.link, legacy.link = newLink(newFakeServer(), modern.o, modern), newLink(newFakeServer(), legacy.o, legacy)
	modern.begun, modern.capabilities, legacy.phase = true, emptyObject, ready
	for name, l := range map[string]*link{"to modern": modern.link, "to legacy": legacy.link} {
		b.Run(name, func(b *testing.B) {
			m, err := protocol.Parse(answer)
			if err != nil {
				b.Fatal(err)
			}
			for b.Loop() {
				if err := l.Write(call); err != nil {
					b.Fatal(err)
				}
				l.mu.Lock()
				id := l.lastID
				l.mu.Unlock()
				l.receive(received{m: m.WithID(protocol.ID(strconv.Itoa(id)))})
				if m, _, ok := l.next(); !ok || m.Result == nil {
					b.Fatal("no answer")
				}
			}
		})
	}
}
