package daemon

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/containerd/errdefs"
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/garita-dev/garita/approvals"
	"github.com/garita-dev/garita/daemon/config"
	"github.com/garita-dev/garita/daemon/gateway"
	"github.com/garita-dev/garita/daemon/protocol"
	"github.com/garita-dev/garita/daemon/supervisor"
	"github.com/garita-dev/garita/sandbox"
	"github.com/garita-dev/garita/sandbox/sandboxtest"
	"github.com/garita-dev/garita/store"
	"github.com/garita-dev/garita/store/sqlite"
)

// searchServer is the variable that makes a copy of this program an MCP server that writes down, in the
// file it names, which key it has at each call, and says it on standard error, too.
const searchServer = "GARITA_TEST_SEARCH_SERVER"

func init() {
	file := os.Getenv(searchServer)
	if file == "" {
		return
	}
	server := mcp.NewServer(&mcp.Implementation{Name: "search", Version: "1"}, nil)
	server.AddTool(&mcp.Tool{Name: "search", InputSchema: map[string]any{"type": "object"}}, func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		f, err := os.OpenFile(file, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
		if err != nil {
			return nil, err
		}
		key := os.Getenv("SEARCH_KEY")
		fmt.Fprintf(f, "%d %s\n", os.Getpid(), key)
		fmt.Fprintf(os.Stderr, "{\"accessToken\": %q}\nError: request with %s failed\n", key, key)
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "found with " + key}}}, f.Close()
	})
	_ = server.Run(context.Background(), &mcp.StdioTransport{})
	os.Exit(0)
}

// purse is a vault in memory.
type purse struct {
	mu     sync.Mutex
	refs   map[string]store.SecretRef
	values map[string]string
	locked error
	uses   []store.SecretUse
}

func newPurse() *purse {
	return &purse{refs: map[string]store.SecretRef{}, values: map[string]string{}}
}

func (p *purse) set(name, value string, expires time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.refs[name] = store.SecretRef{Name: name, Version: p.refs[name].Version + 1, Expires: expires}
	p.values[name] = value
}

func (p *purse) Secret(_ context.Context, name string) (store.SecretRef, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if _, ok := p.values[name]; !ok {
		return store.SecretRef{}, errdefs.ErrNotFound
	}
	return p.refs[name], nil
}

func (p *purse) Value(ctx context.Context, name string) (store.SecretRef, store.SecretValue, error) {
	ref, err := p.Secret(ctx, name)
	p.mu.Lock()
	defer p.mu.Unlock()
	if err == nil {
		err = p.locked
	}
	if err != nil {
		return ref, store.SecretValue{}, err
	}
	return ref, store.NewSecretValue([]byte(p.values[name])), nil
}

func (p *purse) RecordUse(_ context.Context, u store.SecretUse) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.uses = append(p.uses, u)
	return nil
}

// secretHome is a whole daemon whose servers run without walls.
type secretHome struct {
	*Daemon
	t     *testing.T
	purse *purse
	said  string // the file in which the server says what it has
}

func newSecretHome(t *testing.T) *secretHome {
	t.Helper()
	dir := t.TempDir()
	at := func(s string) string { return filepath.Join(dir, s) }
	settings, err := config.Open(config.Paths{Config: at("config"), State: at("state"), Data: at("data"), Run: at("run"), Home: at("home"), Isolated: true})
	if err != nil {
		t.Fatal(err)
	}
	db, err := sqlite.Open(t.Context(), at("state/garita.db"), sqlite.Options{KeyFile: at("state/audit.key"), HeadFile: at("state/audit.head"), Redact: known.Record})
	if err != nil {
		t.Fatal(err)
	}
	h := &secretHome{t: t, purse: newPurse(), said: at("said")}
	h.Daemon = join(context.WithoutCancel(t.Context()), settings, db, nil, slog.New(slog.DiscardHandler))
	h.secrets.vault = h.purse
	h.supervisor.Runtime, h.supervisor.Host = sandboxtest.NewFake(), inHost{}
	t.Cleanup(func() {
		h.stop()
		h.sessions.Wait()
		h.secrets.using.Wait()
		if err := h.supervisor.Close(context.Background()); err != nil {
			t.Error(err)
		}
		_ = h.gate.Close()
		_ = db.Close()
		known.learn(nil)
	})
	return h
}

func (h *secretHome) declare(grants ...sandbox.SecretGrant) sandbox.Server {
	h.t.Helper()
	program, err := os.Executable()
	if err != nil {
		h.t.Fatal(err)
	}
	s := sandbox.Server{Name: "search", Source: sandbox.Source{Command: []string{program}}, Spec: sandbox.Spec{
		Workspace: sandbox.None, Network: sandbox.Unsaid(), Env: map[string]string{searchServer: h.said}, Secrets: grants,
	}}
	if err := h.config.Put(s); err != nil {
		h.t.Fatal(err)
	}
	return s
}

// saidLines are what the server has said of itself: its process and its key, one a call.
func (h *secretHome) saidLines() (pids, keys []string) {
	h.t.Helper()
	text, err := os.ReadFile(h.said)
	if err != nil && !os.IsNotExist(err) {
		h.t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		pid, key, _ := strings.Cut(strings.TrimSpace(line), " ")
		pids, keys = append(pids, pid), append(keys, key)
	}
	return pids, keys
}

// searcher is a client attached to the server.
type searcher struct {
	t     *testing.T
	conn  net.Conn
	lines protocol.Lines
	next  int
}

func (h *secretHome) attach(s sandbox.Server) *searcher {
	h.t.Helper()
	near, far := net.Pipe()
	gone := make(chan struct{})
	h.sessions.Go(func() {
		_ = h.serve(context.WithoutCancel(h.t.Context()), visit{principal: approvals.Principal{UID: h.uid, Client: "claude"}, server: s, door: "stdio"}, memClient{linesOn(far), far, gone})
	})
	h.t.Cleanup(func() { close(gone); _ = near.Close() })
	c := &searcher{t: h.t, conn: near, lines: linesOn(near)}
	c.ask(protocol.MethodInitialize, `{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"x","version":"1"}}`)
	_, _ = io.WriteString(near, `{"jsonrpc":"2.0","method":"notifications/initialized"}`+"\n")
	return c
}

func (c *searcher) ask(method, params string) protocol.Message {
	c.t.Helper()
	c.next++
	id := fmt.Sprint(c.next)
	if _, err := io.WriteString(c.conn, fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"method":%q,"params":%s}`+"\n", id, method, params)); err != nil {
		c.t.Fatal(err)
	}
	for {
		m, err := c.lines.Read()
		if err != nil {
			c.t.Fatal(err)
		}
		if string(m.ID) == id {
			return m
		}
	}
}

func (c *searcher) search() protocol.Message {
	return c.ask(protocol.MethodToolsCall, `{"name":"search","arguments":{"q":"x"}}`)
}

// approving says yes to every question, until the test ends.
func (h *secretHome) approving() {
	ctx, cancel := context.WithCancel(context.Background())
	var over sync.WaitGroup
	over.Go(func() {
		for ctx.Err() == nil {
			list, err := h.gate.Await(ctx)
			for _, r := range list {
				if err == nil {
					_, _ = h.gate.Answer(ctx, r.ID, approvals.Answer{Approve: true, By: "test", Binding: r.Binding})
				}
			}
		}
	})
	h.t.Cleanup(func() { cancel(); over.Wait() })
}

// versions are the secrets that the calls on record had.
func (h *secretHome) versions() (all []string) {
	h.t.Helper()
	records, err := h.db.Calls(h.t.Context(), "", 100, "search")
	if err != nil {
		h.t.Fatal(err)
	}
	slices.Reverse(records)
	for _, r := range records {
		if r.Outcome == store.CallDone {
			all = append(all, strings.Join(r.Secrets, "; "))
		}
	}
	return all
}

func envGrant() sandbox.SecretGrant {
	return sandbox.SecretGrant{Secret: "search.key", Mode: sandbox.SecretEnv, Env: "SEARCH_KEY"}
}

// TestSecretsOverTheLifeOfASession replays E06: nothing starts without the secret; a change is there at
// the next call, in a new process; a revocation ends the process at once; each call says what it had.
func TestSecretsOverTheLifeOfASession(t *testing.T) {
	t.Run("report_E06", func(t *testing.T) {
		steps := readSteps(t, "E06.seq.jsonl")
		h := newSecretHome(t)
		h.approving()
		server := h.declare(envGrant())
		var c *searcher
		var last protocol.Message
		for _, step := range steps {
			switch {
			case strings.HasPrefix(step.Act, "server"):
			case strings.HasPrefix(step.Act, "store"):
				h.purse.set("search.key", "v1-of-the-key", time.Time{})
				h.secretsChanged(t.Context(), "search.key")
			case strings.HasPrefix(step.Act, "change"):
				h.purse.set("search.key", "v2-of-the-key", time.Time{})
				h.secretsChanged(t.Context(), "search.key")
			case strings.HasPrefix(step.Act, "revoke"):
				h.declare()
				if ended := h.secretsChanged(t.Context(), "search.key"); ended != 1 {
					t.Errorf("%d sandboxes were ended", ended)
				}
			case step.Send != nil:
				if c == nil || last.Error != nil { // a client whose server did not start begins again
					c = h.attach(server)
				}
				last = c.search()
			case strings.HasPrefix(step.Check, "refused"):
				if pids, _ := h.saidLines(); last.Error == nil || !strings.Contains(string(last.Error), "missing secret search.key (SEARCH_KEY). Next: garita secret set search.key") || len(pids) > 0 || len(h.supervisor.Instances("search")) > 0 {
					t.Fatalf("%s, %v", last.Raw, pids)
				}
			case step.Check == "process env has v1":
				if _, keys := h.saidLines(); !slices.Equal(keys, []string{"v1-of-the-key"}) {
					t.Fatalf("%s: %v", last.Raw, keys)
				}
			case strings.HasPrefix(step.Check, "process env has v2"):
				if pids, keys := h.saidLines(); len(keys) != 2 || keys[1] != "v2-of-the-key" || pids[0] == pids[1] {
					t.Fatalf("%s: %v of %v", last.Raw, keys, pids)
				}
			case strings.HasPrefix(step.Check, "process with v2 gone"):
				poll(t, "the process with v2 is gone", func() bool { return len(h.supervisor.Instances("search")) == 0 })
			case step.Expect != nil:
				if diff := cmp.Diff(h.versions(), []string{"search.key, version 1", "search.key, version 2"}); diff != "" {
					t.Errorf("what the record says the calls had: %s", diff)
				}
			default:
				t.Errorf("a step nobody knows: %+v", step)
			}
		}
		if n := len(h.purse.uses); n != 2 || h.purse.uses[1].Version != 2 || h.purse.uses[1].Principal.Client != "claude" {
			t.Errorf("uses: %+v", h.purse.uses)
		}
	})
}

type replayed struct {
	Act    string         `json:"act"`
	Check  string         `json:"check"`
	Send   jsontext.Value `json:"send"`
	Expect []string       `json:"expect"`
}

func readSteps(t *testing.T, name string) (steps []replayed) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(sandboxtest.Testdata(t), "field-inputs", name))
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		var s replayed
		if err := json.Unmarshal([]byte(line), &s); err != nil {
			t.Fatal(err)
		}
		steps = append(steps, s)
	}
	return steps
}

// TestWhatAServerHoldsIsTakenOutOfWhatItSays: of its results, its log and the database.
func TestWhatAServerHoldsIsTakenOutOfWhatItSays(t *testing.T) {
	t.Run("report_K07", func(t *testing.T) {
		const value = "plain-words-that-look-like-nothing"
		h := newSecretHome(t)
		h.approving()
		h.purse.set("search.key", value, time.Time{})
		c := h.attach(h.declare(envGrant()))
		answer := c.search()
		if strings.Contains(string(answer.Raw), value) || !strings.Contains(string(answer.Raw), "found with") {
			t.Errorf("the answer: %s", answer.Raw)
		}
		if _, keys := h.saidLines(); !slices.Equal(keys, []string{value}) {
			t.Fatalf("it had %v", keys)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
		defer cancel()
		var lines []string
		for seq := int64(0); len(lines) < 2 && ctx.Err() == nil; {
			for _, l := range h.supervisor.LogAfter(ctx, "search", seq) {
				lines, seq = append(lines, l.Text), l.Seq
			}
		}
		if all := strings.Join(lines, "\n"); strings.Contains(all, value) || !strings.Contains(all, "failed") {
			t.Errorf("its log: %s", all)
		}
		if got := cleanText("an error with " + value); strings.Contains(got, value) {
			t.Errorf("our own log: %s", got)
		}
		err := filepath.WalkDir(h.config.Paths().State, func(path string, e os.DirEntry, err error) error {
			if err != nil || !e.Type().IsRegular() {
				return err
			}
			text, err := os.ReadFile(path)
			if err == nil && strings.Contains(string(text), value) {
				t.Errorf("%s holds it", path)
			}
			return err
		})
		if err != nil {
			t.Error(err)
		}
	})
}

func TestNothingStartsWithoutItsSecrets(t *testing.T) {
	h := newSecretHome(t)
	expired := time.Now().Add(-time.Hour)
	h.purse.set("there", "value", time.Time{})
	h.purse.set("over", "value", expired)
	placeholder := sandbox.SecretGrant{Secret: "gone", Mode: sandbox.SecretPlaceholder, Env: "GONE", Hosts: []sandbox.Endpoint{{Host: "x.example.com", Port: 443}}, Places: []sandbox.SecretPlace{{In: sandbox.InHeader, Name: "Authorization"}}}
	for name, tt := range map[string]struct {
		grant sandbox.SecretGrant
		says  string
	}{
		"missing":           {placeholder, "not started: missing secret gone (GONE). Next: garita secret set gone"},
		"expired":           {sandbox.SecretGrant{Secret: "over", Mode: sandbox.SecretFile, File: "/run/secrets/over"}, "not started: the secret over (/run/secrets/over) expired on"},
		"no leave any more": {sandbox.SecretGrant{Secret: "there", Mode: sandbox.SecretEnv, Env: "T", Until: expired}, "the leave to use the secret there (T) has ended"},
	} {
		t.Run(name, func(t *testing.T) {
			server := h.declare(tt.grant)
			_, err := h.supervisor.Start(t.Context(), server, "i0123456789abcdef", supervisor.Owner{Group: "g"})
			if !errdefs.IsFailedPrecondition(err) || !strings.Contains(err.Error(), tt.says) {
				t.Errorf("got %v, want %q", err, tt.says)
			}
		})
	}
	t.Run("out of reach", func(t *testing.T) {
		h.purse.locked = fmt.Errorf("secrets are out of reach: the keyring is locked: %w", errdefs.ErrFailedPrecondition)
		server := h.declare(sandbox.SecretGrant{Secret: "there", Mode: sandbox.SecretEnv, Env: "T"})
		for range 10 { // it is no failure of the server
			if _, err := h.supervisor.Start(t.Context(), server, "i0123456789abcdef", supervisor.Owner{Group: "g"}); err == nil || !strings.Contains(err.Error(), "the keyring is locked") {
				t.Errorf("got %v", err)
			}
		}
	})
}

// TestReferencesNeverReachAProcess: as they are, servers would take them for values.
func TestReferencesNeverReachAProcess(t *testing.T) {
	server := func(env map[string]string, command ...string) sandbox.Server {
		return sandbox.Server{Name: "tracker", Source: sandbox.Source{Command: append([]string{"tracker"}, command...)}, Spec: sandbox.Spec{Env: env}}
	}
	t.Run("report_E01", func(t *testing.T) {
		err := unexpanded(server(map[string]string{"API_TOKEN": "${LINEARISH_TOKEN}"}))
		if err == nil || !strings.Contains(err.Error(), "missing variable LINEARISH_TOKEN (env.API_TOKEN)") {
			t.Errorf("got %v", err)
		}
		for _, ref := range []string{"${TEAM_ID}", "--team=${TEAM_ID}", "${env:TEAM_ID}", "${input:team}", "{env:TEAM_ID}", "${{ secrets.TEAM }}"} {
			if unexpanded(server(nil, ref)) == nil {
				t.Errorf("%s is passed on", ref)
			}
		}
	})
	t.Run("report_E03", func(t *testing.T) {
		if err := unexpanded(server(map[string]string{"PRICE": "$5 off", "P2": "$$5", "RE": `^\$[0-9]+`, "T": "${x} and more", "EMPTY": ""}, "$HOME", "${workspace}/x", "a ${b} c")); err != nil {
			t.Errorf("what is no reference as a whole is text: %v", err)
		}
	})
}

// TestALeaveThatEnds: who holds a value is ended when its time is over, and nobody has to do anything.
func TestALeaveThatEnds(t *testing.T) {
	h := newSecretHome(t)
	h.approving()
	h.purse.set("search.key", "a-value-for-a-moment", time.Time{})
	g := envGrant()
	g.Until = time.Now().Add(time.Hour)
	c := h.attach(h.declare(g))
	c.search()
	ctx, cancel := context.WithCancel(t.Context())
	var over sync.WaitGroup
	over.Go(func() { _ = h.secrets.run(ctx) })
	defer over.Wait()
	defer cancel()
	h.purse.set("search.key", "a-value-for-a-moment", time.Now().Add(-time.Second)) // it has expired meanwhile
	h.secrets.mu.Lock()
	for _, held := range h.secrets.held {
		held.given[0].grant.Until = time.Now()
	}
	h.secrets.mu.Unlock()
	h.secrets.look()
	poll(t, "the server that held it is gone", func() bool { return len(h.supervisor.Instances("search")) == 0 })
	if m := c.search(); m.Error == nil || !strings.Contains(string(m.Error), "expired on") {
		t.Errorf("got %s", m.Raw)
	}
}

// TestACallUnderWayIsNotBrokenOff by a value that has changed: the next one waits for its end.
func TestACallUnderWayIsNotBrokenOff(t *testing.T) {
	h := newSecretHome(t)
	h.approving()
	h.purse.set("search.key", "the-first-value", time.Time{})
	c := h.attach(h.declare(envGrant()))
	c.search()
	h.secrets.mu.Lock()
	var one *holding
	for _, held := range h.secrets.held {
		one = held
	}
	h.secrets.mu.Unlock()
	stop, err := h.secrets.watch(approvals.Call{ID: "c1", Instance: one.id, Tool: "search"})
	if err != nil {
		t.Fatal(err)
	}
	h.purse.set("search.key", "the-second-value", time.Time{})
	if ended := h.secretsChanged(t.Context()); ended != 0 {
		t.Errorf("%d were ended", ended)
	}
	if m := c.search(); !strings.Contains(string(m.Raw), "is started anew once its calls under way have ended") {
		t.Errorf("while one is under way: %s", m.Raw)
	}
	if used := stop(); !slices.Equal(used, []string{"search.key, version 1"}) {
		t.Errorf("it had %v", used)
	}
	c.search()
	if _, keys := h.saidLines(); !slices.Equal(keys, []string{"the-first-value", "the-second-value"}) {
		t.Errorf("the server had %v", keys)
	}
}

// TestLeaveToUseASecret goes no further than it says.
func TestLeaveToUseASecret(t *testing.T) {
	now := time.Now()
	who := approvals.Principal{UID: 1, Client: "a"}
	o := &way{launch: sandbox.Launch{Server: "web"}, session: gateway.Options{ID: "s1", Principal: who, Spec: "sha256:1"}}
	good := approvals.Grant{
		Scope: approvals.ScopeAlways, Principal: who, Server: "web", Spec: "sha256:1",
		Arguments: []approvals.Argument{{Path: "/secret", Equals: `"token"`}, {Path: "/host", Equals: `"api.example.com:443"`}},
	}
	if !o.wants().permits(good, "token", "api.example.com:443", now) {
		t.Fatal("it permits nothing")
	}
	if o.wants().permits(good, "other", "api.example.com:443", now) || o.wants().permits(good, "token", "other.example.com:443", now) {
		t.Error("it permits another secret, or another host")
	}
	for name, change := range map[string]func(*approvals.Grant){
		"another agent":       func(g *approvals.Grant) { g.Principal.Client = "b" },
		"another server":      func(g *approvals.Grant) { g.Server = "other" },
		"another definition":  func(g *approvals.Grant) { g.Spec = "sha256:2" },
		"another session":     func(g *approvals.Grant) { g.Scope, g.Session = approvals.ScopeSession, "s2" },
		"a time that is over": func(g *approvals.Grant) { g.Scope, g.Until = approvals.ScopeUntil, now.Add(-time.Second) },
		"revoked":             func(g *approvals.Grant) { g.Revoked = now },
		"about a host":        func(g *approvals.Grant) { g.Arguments = g.Arguments[1:] },
	} {
		g := good
		change(&g)
		if o.wants().permits(g, "token", "api.example.com:443", now) {
			t.Errorf("%s: it is permitted", name)
		}
	}
}

func TestToolsOfASecret(t *testing.T) {
	now := time.Now()
	g := sandbox.SecretGrant{Secret: "a", Mode: sandbox.SecretPlaceholder, Tools: []string{"search_*", "get"}}
	for name, tt := range map[string]struct {
		tools []string
		want  bool
	}{
		"none under way":          {nil, false},
		"the one":                 {[]string{"get"}, true},
		"one by pattern":          {[]string{"search_issues"}, true},
		"another":                 {[]string{"delete"}, false},
		"the one beside another":  {[]string{"get", "delete"}, false},
		"two that may":            {[]string{"get", "search_x"}, true},
		"a name that only begins": {[]string{"getter"}, false},
	} {
		t.Run(name, func(t *testing.T) {
			if got := mayUse(g, tt.tools, now); got != tt.want {
				t.Errorf("got %v", got)
			}
		})
	}
	g.Until = now
	if mayUse(g, []string{"get"}, now) || mayUse(sandbox.SecretGrant{}, nil, now) {
		t.Error("what has ended, and what grants nothing, may be used")
	}
	if !mayUse(sandbox.SecretGrant{Secret: "a", Mode: sandbox.SecretPlaceholder}, nil, now) {
		t.Error("without tools it may be used whenever the server runs")
	}
}

// TestWhatAServerSees: the names of its variables and no values, and nothing of ours.
func TestWhatAServerSees(t *testing.T) {
	t.Run("report_E08", func(t *testing.T) {
		t.Setenv("AWS_SECRET_ACCESS_KEY", "hunter2")
		t.Setenv("SSH_AUTH_SOCK", "/run/agent")
		got := variables(sandbox.Spec{
			Env:     map[string]string{"XDG_DATA_HOME": "/data", "LANG": "de_DE.UTF-8"},
			Secrets: []sandbox.SecretGrant{envGrant(), {Secret: "github", Mode: sandbox.SecretPlaceholder, Env: "GITHUB_TOKEN"}},
		}, false)
		want := []string{"GITHUB_TOKEN (a placeholder of the secret github)", "HOME", "LANG", "PATH", "SEARCH_KEY (the secret search.key)", "SSL_CERT_FILE", "TMPDIR", "USER", "XDG_DATA_HOME"}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Error(diff)
		}
	})
}
