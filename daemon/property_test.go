package daemon

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/garita-dev/garita/approvals"
	"github.com/garita-dev/garita/approvals/gate"
	"github.com/garita-dev/garita/daemon/gateway"
	"github.com/garita-dev/garita/daemon/protocol"
	"github.com/garita-dev/garita/sandbox"
	"github.com/garita-dev/garita/store"
	"github.com/garita-dev/garita/store/sqlite"
)

// The property: whatever agents, persons, servers and crashes do in whatever order, a call runs at
// most once for each time it was allowed, and only as it was allowed; and what allowed it is on the
// disk. Each run is a random sequence from a seed, through a real session, gate and record; a crash
// leaves the files as they are at one step of the record and goes on from a copy of them.

var errDead = errors.New("the daemon has died")

// mortal is the record of one life of the daemon, which may die at any of its steps.
type mortal struct {
	db  *sqlite.Store
	dir string

	mu     sync.Mutex // held for each step, so that nothing is written while the files are copied
	left   int        // steps until it dies; negative for never
	after  bool       // it dies after that step's write, rather than before
	dead   bool
	corpse string // the copy of the files
}

// step does one write to the record, or dies.
func (m *mortal) step(do func() error) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.dead {
		return errDead
	}
	m.left--
	if m.left == 0 && !m.after {
		return m.die()
	}
	err := do()
	if m.left == 0 && m.after {
		return m.die()
	}
	return err
}

// die copies the files as they are. m.mu is held.
func (m *mortal) die() error {
	m.dead = true
	m.corpse = m.dir + "x"
	err := os.CopyFS(m.corpse, os.DirFS(m.dir))
	files, globbed := filepath.Glob(filepath.Join(m.corpse, "*"))
	for _, f := range files {
		err = errors.Join(err, os.Chmod(f, 0o600))
	}
	return errors.Join(errDead, err, globbed)
}

func (m *mortal) gone() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.dead
}

func (m *mortal) RecordDecision(ctx context.Context, c approvals.Call, d approvals.Decision) error {
	return m.step(func() error { return m.db.RecordDecision(ctx, c, d) })
}

func (m *mortal) RecordAsked(ctx context.Context, r approvals.Request) error {
	return m.step(func() error { return m.db.RecordAsked(ctx, r) })
}

func (m *mortal) RecordAnswered(ctx context.Context, r approvals.Request, d approvals.Decision) error {
	return m.step(func() error { return m.db.RecordAnswered(ctx, r, d) })
}

func (m *mortal) RecordGranted(ctx context.Context, r approvals.Request, d approvals.Decision, g approvals.Grant) error {
	return m.step(func() error { return m.db.RecordGranted(ctx, r, d, g) })
}

func (m *mortal) RecordRevoked(ctx context.Context, id approvals.GrantID, by string, at time.Time) error {
	return m.step(func() error { return m.db.RecordRevoked(ctx, id, by, at) })
}

func (m *mortal) Request(ctx context.Context, id approvals.RequestID) (approvals.Request, error) {
	return m.db.Request(ctx, id)
}

func (m *mortal) Record(ctx context.Context, r store.CallRecord) error {
	return m.step(func() error { return m.db.Record(ctx, r) })
}

// ran is one call as the server ran it.
type ran struct {
	arguments string
}

// history is what happened, over all lives.
type history struct {
	mu       sync.Mutex // guards the fields below
	ran      []ran
	version  int                          // of the tool's definition
	approved map[approvals.RequestID]bool // a person said yes to it, or tried to
	denied   map[approvals.RequestID]bool // a person's no was taken
	asked    []approvals.Request          // seen waiting
	sent     int
}

// theLife is one life of the daemon with one client.
type theLife struct {
	*history
	t       *testing.T
	record  *mortal
	gate    *gate.Gate
	client  net.Conn
	server  *toolServer
	nextID  int
	pending []int
	over    sync.WaitGroup
	end     context.CancelFunc
}

// toolServer is the one server there is, with one tool.
type toolServer struct {
	*history
	record *mortal
	conn   net.Conn
	write  sync.Mutex
}

func (s *toolServer) say(raw []byte) {
	s.write.Lock()
	defer s.write.Unlock()
	_, _ = s.conn.Write(append(raw, '\n'))
}

func (s *toolServer) run() {
	r := protocol.NewReader(s.conn, protocol.MaxMessage)
	for {
		m, err := r.Read()
		if err != nil {
			return
		}
		switch m.Method {
		case protocol.MethodInitialize:
			s.say(protocol.NewResult(m.ID, jsontext.Value(`{"protocolVersion":"2025-06-18","capabilities":{"tools":{"listChanged":true}},"serverInfo":{"name":"x","version":"1"}}`)))
		case protocol.MethodToolsList:
			s.say(protocol.NewResult(m.ID, jsontext.Value(s.list())))
		case protocol.MethodToolsCall:
			s.note(m)
			s.say(protocol.NewResult(m.ID, jsontext.Value(`{"content":[]}`)))
		case protocol.MethodPing:
			s.say(protocol.NewResult(m.ID, jsontext.Value(`{}`)))
		}
	}
}

func (s *toolServer) list() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return toolsOf(s.version)
}

func toolsOf(version int) string {
	return fmt.Sprintf(`{"tools":[{"name":"write_file","description":"version %d","inputSchema":{"type":"object"}}]}`, version)
}

// note counts a call that arrives. What arrives when the daemon is dead was never sent.
func (s *toolServer) note(m protocol.Message) {
	tc, err := protocol.ParseToolCall(m.Params)
	if err != nil || s.record.gone() {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ran = append(s.ran, ran{arguments: string(tc.Arguments)})
}

// upstream and attached client, over pipes.
type memUpstream struct {
	protocol.Lines
	conn net.Conn
}

func (u memUpstream) Instance() sandbox.InstanceID { return "i" }
func (u memUpstream) Ready()                       {}
func (u memUpstream) Excuse()                      {}
func (u memUpstream) Fail(string)                  {}
func (u memUpstream) CloseWrite() error            { return u.conn.Close() }
func (u memUpstream) Stop(context.Context) error   { return u.conn.Close() }

type memClient struct {
	protocol.Lines
	conn net.Conn
	gone chan struct{}
}

func (c memClient) Gone() <-chan struct{} { return c.gone }
func (c memClient) Close() error          { return c.conn.Close() }

func linesOn(c net.Conn) protocol.Lines {
	return protocol.Lines{Reader: protocol.NewReader(c, protocol.MaxMessage), Writer: protocol.NewWriter(c)}
}

type noEffects struct{}

func (noEffects) Watch(context.Context, approvals.Call, approvals.Decision) (gateway.Watch, error) {
	return unwatched{}, nil
}

func (noEffects) Blame(context.Context, approvals.Call, []sandbox.Change, string) error { return nil }

// begin is a new life on the files in dir.
func begin(t *testing.T, h *history, dir string, dies int, after bool) *theLife {
	t.Helper()
	db, err := sqlite.Open(t.Context(), filepath.Join(dir, "db"), sqlite.Options{
		KeyFile: filepath.Join(dir, "key"), HeadFile: filepath.Join(dir, "head"),
	})
	if err != nil {
		t.Fatal(err)
	}
	permitted, err := inForce(t.Context(), db, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	l := &theLife{history: h, t: t, record: &mortal{db: db, dir: dir, left: dies, after: after}, nextID: 1}
	l.gate = gate.New(gate.Options{
		Log: l.record, Standings: db, Grants: permitted, Wait: time.Minute, MaxSession: 50, PerSession: 1000, PerAgent: 1000,
	})
	l.attach()
	return l
}

// attach opens a session for a client and a server.
func (l *theLife) attach() {
	near, far := net.Pipe()
	theirs, ours := net.Pipe()
	l.client = near
	ctx, end := context.WithCancel(context.Background())
	gone := make(chan struct{})
	l.end = sync.OnceFunc(func() { close(gone); end() })
	l.server = &toolServer{history: l.history, record: l.record, conn: theirs}
	l.over.Go(l.server.run)
	l.over.Go(func() { _, _ = io.Copy(io.Discard, near) })
	opened := false
	session := gateway.New(gateway.Options{
		ID: approvals.SessionID("s" + random()), Principal: approvals.Principal{UID: 1000, Client: "claude"},
		Server: sandbox.Server{Name: "files"}, Spec: "sha256:spec", Once: true, Patience: 5 * time.Second,
		Open: func(context.Context) (gateway.Upstream, error) {
			if opened {
				return nil, errors.New("it lives once")
			}
			opened = true
			return memUpstream{linesOn(ours), ours}, nil
		},
		Gate: l.gate, Effects: noEffects{}, Log: l.record,
		Describe: func(protocol.ToolDefinition) gateway.Describer {
			return func([]byte) gateway.Description {
				return gateway.Description{Class: approvals.Write, Sentence: "change a file"}
			}
		},
		Tools: func([]protocol.ToolDefinition) {}, Admit: func() error { return nil }, Trouble: func() string { return "" },
		Logger: slog.New(slog.DiscardHandler),
	})
	l.over.Go(func() { _ = session.Run(ctx, memClient{linesOn(far), far, gone}) })
	l.say(`{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"x","version":"1"}}}`)
	l.say(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	l.say(`{"jsonrpc":"2.0","id":"list","method":"tools/list"}`)
	synctest.Wait()
}

func (l *theLife) say(line string) { _, _ = io.WriteString(l.client, line+"\n") }

// detach ends the session, as a client does that goes away.
func (l *theLife) detach() {
	l.end()
	_ = l.client.Close()
	_ = l.server.conn.Close()
	l.over.Wait()
}

// finish takes a life down and says where the next one begins.
func (l *theLife) finish() (dir string) {
	l.detach()
	if err := l.gate.Close(); err != nil {
		l.t.Error(err)
	}
	if err := l.record.db.Close(); err != nil {
		l.t.Error(err)
	}
	if l.record.dead {
		return l.record.corpse
	}
	return l.record.dir
}

// act does one thing at random.
func (l *theLife) act(r *rand.Rand) {
	switch n := r.IntN(100); {
	case n < 25:
		l.call(l.fresh())
	case n < 40:
		l.call(l.lately(r)) // one that was made before, byte for byte
	case n < 56:
		l.answer(r, true, nil)
	case n < 64:
		l.answer(r, false, nil)
	case n < 74:
		l.answer(r, true, aPermission(r))
	case n < 79:
		l.revoke(r)
	case n < 84 && len(l.pending) > 0:
		l.say(fmt.Sprintf(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":%d}}`, l.pending[r.IntN(len(l.pending))]))
	case n < 88:
		l.change()
	case n < 91:
		l.stale(r)
	case n < 95:
		<-time.After(6 * time.Second) // clients are told to call again
	case n < 97:
		<-time.After(time.Duration(r.IntN(90)) * time.Second) // questions expire
	default:
		l.detach()
		l.attach()
	}
	if r.IntN(2) == 0 { // or it overlaps with what comes next
		synctest.Wait()
	}
}

func (l *theLife) fresh() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.sent++
	return l.sent
}

// lately is one of the last calls.
func (l *theLife) lately(r *rand.Rand) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return max(1, l.sent-r.IntN(3))
}

func (l *theLife) call(n int) {
	folder := []string{"src/", "doc/"}[n%2]
	l.say(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"write_file","arguments":{"path":"%sf%d"}}}`, l.nextID, folder, n))
	l.pending = append(l.pending, l.nextID)
	l.nextID++
}

func aPermission(r *rand.Rand) *approvals.Permission {
	p := approvals.Permission{Scope: []approvals.Scope{approvals.ScopeSession, approvals.ScopeUntil, approvals.ScopeAlways}[r.IntN(3)]}
	if p.Scope == approvals.ScopeUntil {
		p.Until = time.Now().Add(time.Duration(1+r.IntN(120)) * time.Second)
	}
	p.Arguments = []approvals.Argument{{Path: "/path", Prefix: []string{"src/", "doc/"}[r.IntN(2)]}}
	return &p
}

// answer replies to one question that waits.
func (l *theLife) answer(r *rand.Rand, approve bool, p *approvals.Permission) {
	waiting := l.gate.Pending()
	if len(waiting) == 0 {
		return
	}
	q := waiting[r.IntN(len(waiting))]
	l.mu.Lock()
	l.asked = append(l.asked, q)
	if approve {
		l.approved[q.ID] = true // before: it may be taken while we are told
	}
	l.mu.Unlock()
	_, err := l.gate.Answer(context.Background(), q.ID, approvals.Answer{Approve: approve, By: "page", Binding: q.Binding, Permit: p})
	l.mu.Lock()
	defer l.mu.Unlock()
	if err == nil && !approve {
		l.denied[q.ID] = true
	}
}

// stale answers, again or too late, a question of any life.
func (l *theLife) stale(r *rand.Rand) {
	l.mu.Lock()
	if len(l.asked) == 0 {
		l.mu.Unlock()
		return
	}
	q := l.asked[r.IntN(len(l.asked))]
	l.approved[q.ID] = true
	l.mu.Unlock()
	_, _ = l.gate.Answer(context.Background(), q.ID, approvals.Answer{Approve: true, By: "page", Binding: q.Binding})
}

func (l *theLife) revoke(r *rand.Rand) {
	all := l.gate.Grants()
	if len(all) == 0 {
		return
	}
	id := all[r.IntN(len(all))].ID
	_ = l.gate.Revoke(context.Background(), id, "page") // it may be dead
}

// change has the server list another definition under the name.
func (l *theLife) change() {
	l.mu.Lock()
	l.version++
	l.mu.Unlock()
	l.server.say([]byte(`{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}`))
}

// told is a decision as the record has it.
type told struct {
	late  bool              // it rests on a grant that was revoked before
	Grant approvals.GrantID `json:"grant"` // of one that is revoked
	Call  struct {
		ID        approvals.CallID `json:"id"`
		Arguments jsontext.Value   `json:"arguments"`
	} `json:"call"`
	Decision struct {
		Effect  approvals.Effect    `json:"effect"`
		Request approvals.RequestID `json:"request"`
		Outcome approvals.Outcome   `json:"outcome"`
		Grants  approvals.GrantIDs  `json:"grants"`
	} `json:"decision"`
}

// check compares what ran with what the record in dir says.
func (h *history) check(t *testing.T, dir string) {
	t.Helper()
	db, err := sqlite.Open(t.Context(), filepath.Join(dir, "db"), sqlite.Options{
		KeyFile: filepath.Join(dir, "key"), HeadFile: filepath.Join(dir, "head"),
	})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if v, err := db.Verify(t.Context()); err != nil || !v.OK {
		t.Errorf("the record does not verify: %+v, %v", v, err)
	}
	allowed := h.allowed(t, db)
	runs := map[string]int{}
	for _, r := range h.ran {
		runs[r.arguments]++
	}
	for arguments, n := range runs {
		if n > allowed[arguments] {
			t.Errorf("%s ran %d times and was allowed %d times", arguments, n, allowed[arguments])
		}
	}
}

// allowed counts the decisions that allow, by arguments, after looking at what each rests on.
func (h *history) allowed(t *testing.T, db *sqlite.Store) map[string]int {
	t.Helper()
	given := map[approvals.GrantID]bool{}
	all, err := db.Grants(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, g := range all {
		given[g.ID] = h.approved[g.Request]
	}
	count, used := map[string]int{}, map[approvals.RequestID]approvals.CallID{}
	for _, d := range decisions(t, db) {
		if d.Decision.Effect != approvals.Allow || d.late {
			continue // what was decided by a grant and written down after its end is not sent
		}
		count[string(d.Call.Arguments)]++
		if d.Decision.Grants == "" {
			if d.Decision.Outcome != approvals.Approved || !h.approved[d.Decision.Request] || h.denied[d.Decision.Request] {
				t.Errorf("%s was allowed, and nobody said so: %+v", d.Call.ID, d.Decision)
			}
			if other, twice := used[d.Decision.Request]; twice {
				t.Errorf("one approval let %s and %s run", other, d.Call.ID)
			}
			used[d.Decision.Request] = d.Call.ID
		}
		for _, id := range d.Decision.Grants.List() {
			if !given[id] {
				t.Errorf("%s was allowed by %s, which nobody gave", d.Call.ID, id)
			}
		}
	}
	return count
}

func decisions(t *testing.T, db *sqlite.Store) (all []told) {
	t.Helper()
	revoked := map[approvals.GrantID]bool{}
	for after := int64(0); ; {
		events, err := db.Events(t.Context(), after, 500, "")
		if err != nil {
			t.Fatal(err)
		}
		if len(events) == 0 {
			return all
		}
		for _, e := range events {
			after = e.Seq
			var d told
			if err := json.Unmarshal(e.Body, &d); err != nil {
				t.Fatal(err)
			}
			switch e.Kind { //nolint:exhaustive // the others decide nothing
			case store.GrantRevoked:
				revoked[d.Grant] = true
			case store.CallDecided:
				d.late = slices.ContainsFunc(d.Decision.Grants.List(), func(id approvals.GrantID) bool { return revoked[id] })
				all = append(all, d)
			}
		}
	}
}

// TestNothingRunsTwiceOrUnapproved runs sequences of all that can happen, with a death of the daemon
// at a random step of its record in most lives.
func TestNothingRunsTwiceOrUnapproved(t *testing.T) {
	seeds := 8 // of which each takes a second or two
	if n, err := strconv.Atoi(os.Getenv("GARITA_SEEDS")); err == nil {
		seeds = n
	}
	for seed := range seeds {
		t.Run(fmt.Sprintf("seed %d", seed), func(t *testing.T) { aHistory(t, uint64(seed)) })
	}
}

func aHistory(t *testing.T, seed uint64) {
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		r := rand.New(rand.NewPCG(seed, 7)) //nolint:gosec // a test that can be repeated
		h := &history{approved: map[approvals.RequestID]bool{}, denied: map[approvals.RequestID]bool{}}
		next := filepath.Join(dir, "l")
		if err := os.Mkdir(next, 0o700); err != nil {
			t.Fatal(err)
		}
		for range 4 {
			dies := 1 + r.IntN(60)
			if r.IntN(4) == 0 {
				dies = -1
			}
			l := begin(t, h, next, dies, r.IntN(2) == 0)
			for range 60 {
				if l.record.gone() {
					break
				}
				l.act(r)
			}
			synctest.Wait()
			next = l.finish()
			h.check(t, next)
		}
		if len(h.ran) == 0 {
			t.Error("nothing ran: the sequence shows nothing")
		}
		t.Logf("%d calls sent, %d ran, %d answers, %d definitions", h.sent, len(h.ran), len(h.approved), h.version)
	})
}

// TestDeathAtEveryStep runs one sequence again and again, and dies one step later each time.
func TestDeathAtEveryStep(t *testing.T) {
	for step := 1; step <= 20; step++ {
		for _, after := range []bool{false, true} {
			dir := filepath.Join(t.TempDir(), "l")
			if err := os.Mkdir(dir, 0o700); err != nil {
				t.Fatal(err)
			}
			synctest.Test(t, func(t *testing.T) {
				r := rand.New(rand.NewPCG(11, 13)) //nolint:gosec // a test that can be repeated
				h := &history{approved: map[approvals.RequestID]bool{}, denied: map[approvals.RequestID]bool{}}
				l := begin(t, h, dir, step, after)
				for i := 0; i < 80 && !l.record.gone(); i++ {
					l.act(r)
				}
				synctest.Wait()
				next := l.finish()
				h.check(t, next)
				l = begin(t, h, next, -1, false) // and nothing of before goes on
				for range 5 {
					l.stale(r)
				}
				ran := len(h.ran)
				synctest.Wait()
				if len(h.ran) != ran {
					t.Error("a call of before the death ran after it")
				}
				h.check(t, l.finish())
			})
		}
	}
}
