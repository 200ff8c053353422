package gateway

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/tools/txtar"

	"github.com/garita-dev/garita/approvals"
	"github.com/garita-dev/garita/daemon/protocol"
	"github.com/garita-dev/garita/sandbox"
	"github.com/garita-dev/garita/store"
)

// A transcript in testdata has the lines a client sends, the lines a server answers with to each
// request it gets, and what each side then saw; and the record.
func TestTranscripts(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatalf("no transcripts: %v", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) {
			a, err := txtar.ParseFile(file)
			if err != nil {
				t.Fatal(err)
			}
			synctest.Test(t, func(t *testing.T) { replay(t, a) })
		})
	}
}

func replay(t *testing.T, a *txtar.Archive) {
	part := map[string]string{}
	for _, f := range a.Files {
		part[f.Name] = string(f.Data)
	}
	w := newWorld(part["server"], part["answers"])
	for line := range strings.Lines(part["client"]) {
		w.say(line)
		synctest.Wait()
	}
	<-time.After(time.Hour) // in the bubble: whatever waits for a time has its time
	w.hangUp()
	if err := <-w.ended; err != nil {
		t.Logf("the session ended: %v", err)
	}
	for name, got := range map[string]string{"client sees": w.client.seen(), "server sees": w.seenByServer(), "record": w.record()} {
		want, ok := part[name]
		if ok && got != want {
			t.Errorf("%s:\n%s\nwant:\n%s", name, got, want)
		}
	}
}

// world is one session between a scripted client and a scripted server.
type world struct {
	client  *side
	session *Session
	script  string
	ended   chan error
	gate    *scriptedGate
	fx      *scriptedEffects

	mu      sync.Mutex
	lives   []*side // of the server
	learnt  protocol.Era
	records []store.CallRecord
	broken  error
}

func newWorld(script, answers string) *world {
	return newSessionWorld(answers, func(o *Options, w *world) {
		w.script = script
		o.Open = w.open
	})
}

// newSessionWorld is a session whose server set opens.
func newSessionWorld(answers string, set func(*Options, *world)) *world {
	w := &world{client: newSide(), ended: make(chan error, 1), fx: &scriptedEffects{}}
	w.gate = &scriptedGate{answers: answers}
	o := Options{
		ID: "s1", Principal: approvals.Principal{UID: 1000, Client: "test"},
		Server: sandbox.Server{Name: "files", Spec: sandbox.Spec{Tools: sandbox.ToolFilter{Allow: setting(answers, "tools")}, DenyRequests: denied(answers)}},
		Eras:   w, Patience: patienceOf(answers),
		Gate: w.gate, Effects: w.fx, Log: w, Describe: describeByName,
		Admit: func() error { return nil },
		Tools: func([]protocol.ToolDefinition) {}, Trouble: func() string { return "no words" },
		Logger: slog.New(slog.DiscardHandler),
	}
	set(&o, w)
	w.session = New(o)
	go func() { w.ended <- w.session.Run(context.Background(), w.client.far()) }()
	return w
}

// open is one life of the scripted server.
func (w *world) open(context.Context) (Upstream, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.lives) >= maxLives {
		return nil, errors.New("the server cannot be started")
	}
	side := newSide()
	w.lives = append(w.lives, side)
	go serveScript(side, len(w.lives), w.script, w.fx)
	return &upstream{farEnd: side.far()}, nil
}

// maxLives is how often the scripted server can be started.
const maxLives = 3

// upstream is the session's end of a scripted server.
type upstream struct {
	farEnd
}

func (*upstream) Instance() sandbox.InstanceID { return "i1" }
func (*upstream) Ready()                       {}
func (*upstream) Excuse()                      {}
func (*upstream) Fail(string)                  {}

func (w *world) Era() protocol.Era { return w.learnt }
func (w *world) Learn(e protocol.Era) {
	w.learnt = e
}

// seenByServer is what all lives of the server were sent, with a line between them.
func (w *world) seenByServer() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	var all []string
	for _, life := range w.lives {
		all = append(all, life.seen())
	}
	return strings.Join(all, "--- started again\n")
}

// setting is the words after a name in the answers' part of a transcript.
func setting(answers, name string) (words []string) {
	for line := range strings.Lines(answers) {
		if p, ok := strings.CutPrefix(strings.TrimSpace(line), name+" "); ok {
			words = strings.Fields(p)
		}
	}
	return words
}

func denied(answers string) (all []sandbox.ServerRequest) {
	for _, w := range setting(answers, "deny") {
		all = append(all, sandbox.ServerRequest(w))
	}
	return all
}

func patienceOf(answers string) time.Duration {
	for _, w := range setting(answers, "patience") {
		d, _ := time.ParseDuration(w)
		return d
	}
	return 0
}

func (w *world) say(line string) { _, _ = io.WriteString(w.client, line) }
func (w *world) hangUp()         { w.client.hangUp() }

func (w *world) Record(_ context.Context, r store.CallRecord) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.broken != nil {
		return w.broken
	}
	w.records = append(w.records, r)
	return nil
}

func (w *world) record() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	var b strings.Builder
	for _, r := range w.records {
		fmt.Fprintf(&b, "%s %s %s %s %s", r.Call.Tool, r.Decision.Effect, r.Decision.Class, r.Decision.Outcome, r.Outcome)
		for _, f := range r.Findings {
			fmt.Fprintf(&b, " [%s]", f)
		}
		b.WriteString("\n")
	}
	return b.String()
}

func describeByName(d protocol.ToolDefinition) Describer {
	return func([]byte) Description {
		if strings.HasPrefix(d.Name, "read") || strings.HasPrefix(d.Name, "get") {
			return Description{Class: approvals.Read, Why: "its name says so", Sentence: d.Name}
		}
		return Description{Class: approvals.Write, Sentence: d.Name}
	}
}

// scriptedGate answers what asks by the script: "NAME denied|approved|expired|waits".
type scriptedGate struct {
	readsPass
	answers string
}

// readsPass settles what the default policy asks nobody about.
type readsPass struct{}

func (readsPass) Stands(approvals.Decision) bool { return true }

func (readsPass) Ask(context.Context, approvals.Question) (approvals.Decision, error) {
	return approvals.Decision{Effect: approvals.Deny, Outcome: approvals.Denied}, nil
}

func (readsPass) Settle(_ context.Context, c approvals.Call) (approvals.Decision, bool, error) {
	d := approvals.Evaluate(c, approvals.Standing{}, approvals.Policy{}, nil, time.Now())
	return d, d.Effect != approvals.Ask, nil
}

func (g *scriptedGate) Authorize(ctx context.Context, c approvals.Call) (approvals.Decision, error) {
	d := approvals.Evaluate(c, approvals.Standing{}, approvals.Policy{}, nil, time.Now())
	if d.Effect != approvals.Ask {
		return d, nil
	}
	d.Effect, d.Outcome = approvals.Deny, approvals.Expired
	for line := range strings.Lines(g.answers) {
		if outcome, ok := strings.CutPrefix(strings.TrimSpace(line), c.Tool+" "); ok {
			d.Outcome = approvals.Outcome(outcome)
		}
	}
	switch d.Outcome {
	case approvals.Approved:
		d.Effect = approvals.Allow
	case "later":
		<-time.After(time.Minute)
		d.Effect, d.Outcome = approvals.Allow, approvals.Approved
	case "waits":
		<-ctx.Done()
		d.Outcome = approvals.Withdrawn
	}
	return d, nil
}

type scriptedEffects struct {
	mu      sync.Mutex
	changes []sandbox.Change
	blamed  []string
}

func (e *scriptedEffects) Watch(context.Context, approvals.Call, approvals.Decision) (Watch, error) {
	return e, nil
}

func (e *scriptedEffects) Stop(context.Context) (Seen, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	s := Seen{Changes: e.changes}
	e.changes = nil
	return s, nil
}

func (e *scriptedEffects) Blame(_ context.Context, c approvals.Call, _ []sandbox.Change, why string) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.blamed = append(e.blamed, c.Tool+": "+why)
	return nil
}

// serveScript answers each request by the first line of the script that starts with its method (and
// tool): "tools/call get_report RESULT", "changes PATH" before it marks a file as changed.
func serveScript(s *side, life int, script string, fx *scriptedEffects) {
	lines := bufio.NewScanner(s)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		m, err := protocol.Parse(lines.Bytes())
		if err != nil || m.Kind != protocol.Request {
			continue
		}
		key := m.Method
		if tc, err := protocol.ParseToolCall(m.Params); err == nil && m.Method == protocol.MethodToolsCall {
			key += " " + tc.Name
		}
		for line := range strings.Lines(script) {
			rest, ok := strings.CutPrefix(strings.TrimSpace(line), key+" ")
			if !ok {
				continue
			}
			if path, changed := strings.CutPrefix(rest, "changes "); changed {
				fx.mu.Lock()
				fx.changes = []sandbox.Change{{Path: path, Kind: sandbox.Added}}
				fx.mu.Unlock()
				continue
			}
			if text, ok := strings.CutPrefix(rest, fmt.Sprintf("in life %d ", life)); ok {
				rest = text
			} else if strings.HasPrefix(rest, "in life ") {
				continue
			}
			if rest == "dies" {
				s.hangUp()
				return
			}
			if text, ok := strings.CutPrefix(rest, "once "); ok { // the first time only
				if strings.Count(s.seen(), fmt.Sprintf("%q", m.Method)) > 1 {
					continue
				}
				rest = text
			}
			if raw, ok := strings.CutPrefix(rest, "raw "); ok {
				_, _ = io.WriteString(s, strings.ReplaceAll(raw, "$ID", string(m.ID))+"\n")
				continue
			}
			_, _ = s.Write(append(protocol.NewResult(m.ID, []byte(rest)), '\n'))
			break
		}
	}
}

// side is one end of a session: what it is sent is kept, and can be read.
type side struct {
	toFar, fromFar *pipe
}

func newSide() *side { return &side{toFar: newPipe(), fromFar: newPipe()} }

func (s *side) Write(p []byte) (int, error) { return s.toFar.Write(p) }
func (s *side) Read(p []byte) (int, error)  { return s.fromFar.Read(p) }
func (s *side) hangUp()                     { s.toFar.end() }
func (s *side) seen() string                { return s.fromFar.text() }
func (s *side) far() farEnd {
	return farEnd{s, protocol.Lines{Reader: protocol.NewReader(bytesOf{s}, testLimit), Writer: protocol.NewWriter(bytesOf{s})}}
}

// testLimit is that of one message here: the least that is promised.
const testLimit = 16 << 20

// farEnd is what a side is to the session.
type farEnd struct {
	s *side
	protocol.Lines
}

// bytesOf is the same as bytes.
type bytesOf struct{ s *side }

func (b bytesOf) Read(p []byte) (int, error)  { return b.s.toFar.Read(p) }
func (b bytesOf) Write(p []byte) (int, error) { return b.s.fromFar.Write(p) }

func (f farEnd) Gone() <-chan struct{}      { return nil }
func (f farEnd) CloseWrite() error          { f.s.fromFar.end(); return nil }
func (f farEnd) Stop(context.Context) error { f.s.toFar.end(); f.s.fromFar.end(); return nil }
func (f farEnd) Close() error               { f.s.toFar.end(); f.s.fromFar.end(); return nil }

// pipe is an unbounded pipe that remembers what went through. It blocks on a channel, which a
// bubble of synctest knows how to wait for.
type pipe struct {
	mu    sync.Mutex
	all   strings.Builder
	read  int
	ended bool
	more  chan struct{} // closed and replaced at each change
}

func newPipe() *pipe { return &pipe{more: make(chan struct{})} }

func (p *pipe) change(f func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	f()
	close(p.more)
	p.more = make(chan struct{})
}

func (p *pipe) end() { p.change(func() { p.ended = true }) }

func (p *pipe) Write(b []byte) (int, error) {
	err := error(nil)
	p.change(func() {
		if p.ended {
			err = io.ErrClosedPipe
			return
		}
		p.all.Write(b)
	})
	return len(b), err
}

func (p *pipe) Read(b []byte) (int, error) {
	for {
		p.mu.Lock()
		n := copy(b, p.all.String()[p.read:])
		p.read += n
		ended, more := p.ended, p.more
		p.mu.Unlock()
		switch {
		case n > 0:
			return n, nil
		case ended:
			return 0, io.EOF
		}
		<-more
	}
}

func (p *pipe) text() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.all.String()
}

func TestNoCallRunsOnceTheRecordCannotBeWritten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(`tools/list {"tools":[{"name":"read_a"}]}
tools/call read_a {"content":[]}
`, "")
		w.broken = os.ErrPermission
		w.say(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"read_a"}}` + "\n")
		synctest.Wait()
		w.say(`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"read_a"}}` + "\n")
		synctest.Wait()
		w.hangUp()
		<-w.ended
		if got := w.client.seen(); !strings.Contains(got, `"id":1,"result"`) || !strings.Contains(got, `"id":2,"error"`) {
			t.Errorf("the client saw %s; want a result for 1, an error for 2", got)
		}
		if n := strings.Count(w.seenByServer(), "tools/call"); n != 1 {
			t.Errorf("the server had %d calls, want 1", n)
		}
	})
}
