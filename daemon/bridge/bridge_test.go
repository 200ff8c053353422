package bridge

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/tools/txtar"

	"github.com/garita-dev/garita/daemon/protocol"
	"github.com/garita-dev/garita/sandbox/sandboxtest"
)

// fakeServer is the server's stream: a test says what it says, and sees what it is told.
type fakeServer struct {
	says chan received

	mu   sync.Mutex
	told []string
	err  error // of writing
}

func newFakeServer() *fakeServer { return &fakeServer{says: make(chan received, 64)} }

func (f *fakeServer) Read() (protocol.Message, error) {
	r, ok := <-f.says
	if !ok {
		return protocol.Message{}, io.EOF
	}
	return r.m, r.err
}

func (f *fakeServer) Write(raw []byte) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.err != nil {
		return f.err
	}
	f.told = append(f.told, string(raw))
	return nil
}

func (f *fakeServer) say(line string) {
	m, err := protocol.Parse([]byte(line))
	if err != nil {
		err = &protocol.LineError{Err: err}
	}
	f.says <- received{m, err}
}

func (f *fakeServer) next() (string, bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(f.told) == 0 {
		return "", false
	}
	line := f.told[0]
	f.told = f.told[1:]
	return line, true
}

// play is a transcript between a client, a bridge and a server.
type play struct {
	t      *testing.T
	server *fakeServer
	bridge protocol.Stream

	mu   sync.Mutex
	seen []string // by the client
	end  error

	names map[string]string // what the bridge made up, by the name the transcript has for it
}

func newPlay(t *testing.T, open func(protocol.Stream, Options) protocol.Stream, o Options) *play {
	p := &play{t: t, server: newFakeServer(), names: map[string]string{}}
	p.bridge = open(p.server, o)
	go p.read()
	t.Cleanup(func() {
		close(p.server.says)
		synctest.Wait()
		p.mu.Lock()
		defer p.mu.Unlock()
		if !errors.Is(p.end, io.EOF) {
			t.Errorf("the client's stream ended with %v, want the server's end", p.end)
		}
	})
	return p
}

func (p *play) read() {
	for {
		m, err := p.bridge.Read()
		var bad *protocol.LineError
		p.mu.Lock()
		switch {
		case errors.As(err, &bad):
			p.seen = append(p.seen, "bad line")
		case err != nil:
			p.end = err
			p.mu.Unlock()
			return
		default:
			p.seen = append(p.seen, string(m.Raw))
		}
		p.mu.Unlock()
	}
}

func (p *play) nextSeen() (string, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.seen) == 0 {
		return "", false
	}
	line := p.seen[0]
	p.seen = p.seen[1:]
	return line, true
}

// madeUp is what nobody can guess, in a requestState or an elicitationId.
var madeUp = regexp.MustCompile(`("requestState"|"elicitationId"):"([A-Z2-7]{26})"`)

// named puts a name in the place of what the bridge made up.
func (p *play) named(line string) string {
	return madeUp.ReplaceAllStringFunc(line, func(s string) string {
		m := madeUp.FindStringSubmatch(s)
		for name, value := range p.names {
			if value == m[2] {
				return m[1] + `:"` + name + `"`
			}
		}
		name := fmt.Sprintf("$%d", len(p.names)+1)
		p.names[name] = m[2]
		return m[1] + `:"` + name + `"`
	})
}

// shorthand is what the transcripts have short names for.
var shorthand = strings.NewReplacer(
	`CLIENT`, `{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":`+
		`{"elicitation":{"form":{},"url":{}},"sampling":{},"roots":{}},"io.modelcontextprotocol/clientInfo":{"name":"c","version":"1"}}`,
	`BARE`, `{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}`,
	`SERVER`, `{"io.modelcontextprotocol/serverInfo":{"name":"s","version":"2"}}`,
)

func (p *play) unnamed(line string) string {
	for name, value := range p.names {
		line = strings.ReplaceAll(line, `"`+name+`"`, `"`+value+`"`)
	}
	return line
}

// line plays one line of a transcript:
//
//	client> what the client writes      client< what it reads
//	server> what the server writes      server< what it reads
//	wait 10m
func (p *play) line(line string) {
	p.t.Helper()
	who, what, _ := strings.Cut(shorthand.Replace(line), " ")
	synctest.Wait()
	switch who {
	case "client>":
		if err := p.bridge.Write([]byte(p.unnamed(what))); err != nil {
			p.t.Errorf("%s: %v", line, err)
		}
	case "server>":
		p.server.say(p.unnamed(what))
	case "client<":
		p.expect("the client", what, p.nextSeen)
	case "server<":
		p.expect("the server", what, p.server.next)
	case "wait":
		d, err := time.ParseDuration(what)
		if err != nil {
			p.t.Fatal(err)
		}
		<-time.After(d)
	default:
		p.t.Fatalf("a transcript has no %q", line)
	}
}

func (p *play) expect(who, want string, next func() (string, bool)) {
	p.t.Helper()
	synctest.Wait()
	got, ok := next()
	if got = p.named(got); !ok || got != want {
		p.t.Errorf("%s sees\n\t%s\nwant\n\t%s", who, got, want)
	}
}

// over says that nothing is left to see.
func (p *play) over() {
	p.t.Helper()
	synctest.Wait()
	for who, next := range map[string]func() (string, bool){"client": p.nextSeen, "server": p.server.next} {
		for line, ok := next(); ok; line, ok = next() {
			p.t.Errorf("the %s also sees\n\t%s", who, p.named(line))
		}
	}
}

func (p *play) script(lines string) {
	p.t.Helper()
	s := bufio.NewScanner(strings.NewReader(lines))
	for s.Scan() {
		if line := strings.TrimSpace(s.Text()); line != "" && !strings.HasPrefix(line, "#") {
			p.line(line)
		}
	}
	p.over()
}

// transcripts are those of testdata/*.txtar by name: each file has parts "to modern: …" and "to
// legacy: …", which may begin as one of testdata/begin does.
func transcripts(t testing.TB) map[string]string {
	t.Helper()
	files, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatal("no transcripts", err)
	}
	all := map[string]string{}
	for _, file := range files {
		a, err := txtar.ParseFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range a.Files {
			all[f.Name] = begun(t, string(f.Data))
		}
	}
	return all
}

func TestTranscripts(t *testing.T) {
	bridges := map[string]func(protocol.Stream, Options) protocol.Stream{"to modern": ToModern, "to legacy": ToLegacy}
	for name, script := range transcripts(t) {
		era, name, _ := strings.Cut(name, ": ")
		t.Run(era+"/"+name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				newPlay(t, bridges[era], Options{Questions: 3, Suspended: 2, Subscriptions: 2, Rounds: 2}).script(script)
			})
		})
	}
}

// begun is a script with its line "begin NAME" replaced by testdata/begin/NAME.
func begun(t testing.TB, script string) string {
	t.Helper()
	first, rest, _ := strings.Cut(script, "\n")
	name, ok := strings.CutPrefix(first, "begin ")
	if !ok {
		return script
	}
	b, err := os.ReadFile(filepath.Join("testdata", "begin", name))
	if err != nil {
		t.Fatal(err)
	}
	return string(b) + rest
}

func TestMain(m *testing.M) { sandboxtest.Main(m) }
