package daemon

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/garita-dev/garita/approvals"
	"github.com/garita-dev/garita/daemon/api"
	"github.com/garita-dev/garita/daemon/config"
	"github.com/garita-dev/garita/daemon/httpapi"
	"github.com/garita-dev/garita/daemon/protocol"
	"github.com/garita-dev/garita/sandbox"
	"github.com/garita-dev/garita/store"
)

// far is an MCP server at a URL, and a second origin beside it. It tells what it was sent.
type far struct {
	*secretHome
	url, other string
	want       string // what Authorization or X-Api-Key has to be; "" for whatever

	mu      sync.Mutex // guards the fields below
	got     []string   // "POST tools/call Bearer x", in order
	away    []string   // what the other origin got
	streams int        // GETs under way
	answers func(to http.ResponseWriter, r *http.Request) bool
}

func newFar(t *testing.T) *far {
	t.Helper()
	f := &far{secretHome: newSecretHome(t)}
	server := mcp.NewServer(&mcp.Implementation{Name: "far", Version: "1"}, nil)
	for _, name := range []string{"search", "other"} {
		server.AddTool(&mcp.Tool{Name: name, InputSchema: map[string]any{"type": "object"}}, func(_ context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "you sent " + r.Extra.Header.Get("Authorization") + r.Extra.Header.Get("X-Api-Key")}}}, nil
		})
	}
	inner := mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server }, nil)
	here := httptest.NewServer(http.HandlerFunc(func(to http.ResponseWriter, r *http.Request) { f.serveHTTP(to, r, inner) }))
	t.Cleanup(here.Close)
	t.Cleanup(here.CloseClientConnections)
	there := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		f.mu.Lock()
		defer f.mu.Unlock()
		f.away = append(f.away, fmt.Sprint(r.URL, r.Header))
	}))
	t.Cleanup(there.Close)
	f.url, f.other = here.URL+"/mcp", there.URL
	ctx, cancel := context.WithCancel(context.Background())
	var over sync.WaitGroup
	over.Go(func() { _ = f.secrets.run(ctx) })
	t.Cleanup(func() { cancel(); over.Wait() })
	return f
}

func (f *far) serveHTTP(to http.ResponseWriter, r *http.Request, inner http.Handler) {
	body, _ := io.ReadAll(r.Body)
	r.Body = io.NopCloser(bytes.NewReader(body))
	m, _ := protocol.Parse(body)
	key := r.Header.Get("Authorization") + r.Header.Get("X-Api-Key")
	f.mu.Lock()
	f.got = append(f.got, strings.Join(strings.Fields(r.Method+" "+m.Method+" "+key+" "+r.URL.RawQuery), " "))
	answers, listens := f.answers, r.Method == http.MethodGet
	if listens {
		f.streams++
	}
	f.mu.Unlock()
	switch {
	case answers != nil && answers(to, r):
	case f.want != "" && key != f.want:
		to.Header().Set("WWW-Authenticate", "Bearer")
		to.WriteHeader(http.StatusUnauthorized)
	default:
		inner.ServeHTTP(to, r)
	}
	if listens {
		f.mu.Lock()
		f.streams--
		f.mu.Unlock()
	}
}

func (f *far) listening() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.streams
}

// sent are the requests so far, and none of them from here on.
func (f *far) sent() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	got := f.got
	f.got = nil
	return got
}

func (f *far) at(grants ...sandbox.SecretGrant) sandbox.Server {
	f.t.Helper()
	s := sandbox.Server{Name: "search", Source: sandbox.Source{URL: f.url}, Spec: sandbox.Spec{Workspace: sandbox.None}}
	for _, g := range grants {
		g, err := config.CheckSecret(g, s)
		if err != nil {
			f.t.Fatal(err)
		}
		s.Spec.Secrets = append(s.Spec.Secrets, g)
	}
	if err := f.config.Put(s); err != nil {
		f.t.Fatal(err)
	}
	return s
}

func bearer(name string) sandbox.SecretGrant {
	return sandbox.SecretGrant{Secret: name, Mode: sandbox.SecretSent, Places: []sandbox.SecretPlace{{In: sandbox.InHeader, Name: "Authorization"}}, Scheme: "Bearer"}
}

const farValue = "sk-0123456789abcdefghij"

// TestASecretIsSentToAURL, with every request, and is nowhere else.
func TestASecretIsSentToAURL(t *testing.T) {
	f := newFar(t)
	var log bytes.Buffer
	f.log = slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	f.want = "Bearer " + farValue
	f.purse.set("token", farValue, time.Time{})
	f.approving()
	c := f.attach(f.at(bearer("token")))
	c.ask(protocol.MethodToolsList, `{}`)
	if text := c.tool("search", `{}`); !strings.Contains(text, "you sent Bearer [redacted") || strings.Contains(text, farValue) {
		t.Errorf("what came back: %s", text)
	}
	for _, line := range f.sent() {
		if !strings.HasSuffix(line, f.want) {
			t.Errorf("without it: %s", line)
		}
	}
	poll(t, "the stream is open", func() bool { return f.listening() == 1 })
	if got := f.versions(); !slices.Equal(got, []string{"token, version 1"}) {
		t.Errorf("the call's record: %q", got)
	}
	f.purse.mu.Lock()
	var uses []string
	for _, u := range f.purse.uses {
		uses = append(uses, fmt.Sprintf("%s %s %v %d %d", u.Server, u.Mode, u.Host == strings.TrimSuffix(strings.TrimPrefix(f.url, "http://"), "/mcp"), len(u.Calls), u.Version))
	}
	f.purse.mu.Unlock()
	if want := []string{"search sent true 0 1", "search sent true 1 1"}; !slices.Equal(uses, want) {
		t.Errorf("uses %q, want %q", uses, want)
	}
	if strings.Contains(log.String(), farValue) {
		t.Errorf("it is in the log: %s", log.String())
	}
	_ = filepath.WalkDir(filepath.Dir(f.said), func(path string, e fs.DirEntry, err error) error {
		if text, _ := os.ReadFile(path); err == nil && !e.IsDir() && bytes.Contains(text, []byte(farValue)) {
			t.Errorf("it is in %s", path)
		}
		return nil
	})
}

// TestWhatBecomesOfAConnection when what was sent on it changes, is taken away, or comes to its end.
func TestWhatBecomesOfAConnection(t *testing.T) {
	begin := func(t *testing.T, g sandbox.SecretGrant) (*far, *searcher) {
		f := newFar(t)
		f.purse.set("token", farValue, time.Time{})
		f.approving()
		c := f.attach(f.at(g))
		c.tool("search", `{}`)
		poll(t, "the stream is open", func() bool { return f.listening() == 1 })
		f.sent()
		return f, c
	}
	t.Run("a new value is sent from the next request on", func(t *testing.T) {
		f, c := begin(t, bearer("token"))
		f.purse.set("token", "another-value-0002", time.Time{})
		f.secretsChanged(t.Context(), "token")
		c.tool("search", `{}`)
		if got := f.sent(); !slices.Contains(got, "POST tools/call Bearer another-value-0002") || strings.Contains(strings.Join(got, "\n"), farValue) {
			t.Errorf("%q", got)
		}
	})
	t.Run("revoked", func(t *testing.T) {
		f, c := begin(t, bearer("token"))
		if _, err := f.RevokeSecret(t.Context(), httpapi.Peer{UID: f.uid, Page: true}, "token", "search"); err != nil {
			t.Fatal(err)
		}
		poll(t, "the stream has ended", func() bool { return f.listening() == 0 })
		f.want = "Bearer " + farValue
		if text := c.tool("search", `{}`); !strings.Contains(text, `"error"`) {
			t.Errorf("%s", text)
		}
		if got := strings.Join(f.sent(), "\n"); strings.Contains(got, farValue) {
			t.Errorf("it is sent: %s", got)
		}
	})
	for name, take := range map[string]func(f *far){
		"removed": func(f *far) { f.purse.mu.Lock(); delete(f.purse.values, "token"); f.purse.mu.Unlock() },
		"expired": func(f *far) { f.purse.set("token", farValue, time.Now().Add(-time.Second)) },
		"over": func(f *far) {
			g := bearer("token")
			g.Until = time.Now().Add(-time.Minute).UTC().Truncate(time.Second)
			f.at(g)
		},
	} {
		t.Run(name, func(t *testing.T) {
			f, c := begin(t, bearer("token"))
			take(f)
			if ended := f.secretsChanged(t.Context(), "token"); ended != 1 {
				t.Errorf("%d connections were ended", ended)
			}
			poll(t, "the stream has ended", func() bool { return f.listening() == 0 })
			if text := c.tool("search", `{}`); !strings.Contains(text, "not started: ") || !strings.Contains(text, "token (header Authorization)") {
				t.Errorf("%s", text)
			}
			if got := f.sent(); len(got) > 0 {
				t.Errorf("it is asked all the same: %q", got)
			}
		})
	}
	t.Run("when its time comes", func(t *testing.T) {
		g := bearer("token")
		g.Until = time.Now().Add(3 * time.Second).UTC().Truncate(time.Second)
		f, _ := begin(t, g)
		poll(t, "the stream has ended", func() bool { return f.listening() == 0 })
	})
	t.Run("the server is declared at another address", func(t *testing.T) {
		f, c := begin(t, bearer("token"))
		f.url = f.other + "/mcp"
		f.at(bearer("token"))
		f.secretsChanged(t.Context())
		poll(t, "the stream has ended", func() bool { return f.listening() == 0 })
		if text := c.tool("search", `{}`); !strings.Contains(text, `"error"`) { // this session is with the old address
			t.Errorf("%s", text)
		}
		if got := strings.Join(f.sent(), "\n"); strings.Contains(got, farValue) {
			t.Errorf("it is sent to the address that is not declared any more: %s", got)
		}
	})
}

func TestMissingSecretsAreNotDoneWithout(t *testing.T) {
	f := newFar(t)
	c := f.attach(f.at(bearer("token")))
	if text := string(c.search().Raw); !strings.Contains(text, "not started: missing secret token (header Authorization). Next: garita secret set token") {
		t.Errorf("%s", text)
	}
	f.purse.set("token", "two\nlines", time.Time{})
	if text := string(f.attach(f.at(bearer("token"))).search().Raw); !strings.Contains(text, "no header can hold") || strings.Contains(text, "two") {
		t.Errorf("%s", text)
	}
	if got := f.sent(); len(got) > 0 {
		t.Errorf("it is asked all the same: %q", got)
	}
}

// TestToolsOfASecretAtAURL: with other tools' calls it does not go, and neither do they.
func TestToolsOfASecretAtAURL(t *testing.T) {
	f := newFar(t)
	f.want = "Bearer " + farValue
	f.purse.set("token", farValue, time.Time{})
	f.approving()
	g := bearer("token")
	g.Tools = []string{"sea*"}
	c := f.attach(f.at(g))
	c.ask(protocol.MethodToolsList, `{}`)
	if text := c.tool("search", `{}`); !strings.Contains(text, "you sent") {
		t.Errorf("%s", text)
	}
	if text := c.tool("other", `{}`); !strings.Contains(text, "the secret token may not be used for it: it is for other tools") {
		t.Errorf("%s", text)
	}
	c.ask("resources/read", `{"uri":"file:///x"}`)
	for _, line := range f.sent() {
		if strings.Contains(line, "resources/read") {
			t.Errorf("%s", line)
		}
	}
	if n := f.recorded(t, store.SecretRefused); n != 2 {
		t.Errorf("%d refusals on record", n)
	}
}

func (h *secretHome) recorded(t *testing.T, kind store.Kind) (n int) {
	t.Helper()
	events, err := h.db.Events(t.Context(), 0, 1000, "")
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range events {
		if e.Kind == kind {
			n++
		}
	}
	return n
}

func TestASecretAtAURLIsAskedAbout(t *testing.T) {
	f := newFar(t)
	f.purse.set("token", farValue, time.Time{})
	g := bearer("token")
	g.Ask = true
	ctx, cancel := context.WithCancel(context.Background())
	var over sync.WaitGroup
	var asked []string
	over.Go(func() { // the session is allowed it, calls are allowed
		for ctx.Err() == nil {
			list, err := f.gate.Await(ctx)
			for _, r := range list {
				if err != nil {
					continue
				}
				answer := approvals.Answer{Approve: true, By: "test", Binding: r.Binding}
				if r.Subject.Secret != nil {
					asked = append(asked, r.Subject.Secret.Secret+" "+strings.Join(r.Subject.Secret.Hosts, " "))
					answer.Permit = &approvals.Permission{Scope: approvals.ScopeSession}
				}
				_, _ = f.gate.Answer(ctx, r.ID, answer)
			}
		}
	})
	c := f.attach(f.at(g))
	if text := c.tool("search", `{}`); !strings.Contains(text, "you sent") {
		t.Errorf("%s", text)
	}
	cancel()
	over.Wait()
	if len(asked) != 1 || asked[0] != "token "+strings.TrimSuffix(strings.TrimPrefix(f.url, "http://"), "/mcp") {
		t.Errorf("asked %q", asked)
	}
}

// TestASecretAtAURLThatNobodyAllows is not sent, and neither is the request.
func TestASecretAtAURLThatNobodyAllows(t *testing.T) {
	f := newFar(t)
	f.purse.set("token", farValue, time.Time{})
	g := bearer("token")
	g.Ask = true
	server := f.at(g)
	ctx, cancel := context.WithCancel(context.Background())
	var over sync.WaitGroup
	over.Go(func() {
		for ctx.Err() == nil {
			list, err := f.gate.Await(ctx)
			for _, r := range list {
				if err == nil {
					_, _ = f.gate.Answer(ctx, r.ID, approvals.Answer{By: "test", Binding: r.Binding})
				}
			}
		}
	})
	defer over.Wait()
	defer cancel()
	if text := string(f.attach(server).ask(protocol.MethodToolsList, `{}`).Raw); !strings.Contains(text, "nobody has allowed it") {
		t.Errorf("%s", text)
	}
	if got := f.sent(); len(got) > 0 {
		t.Errorf("%q", got)
	}
}

// TestASecretStaysAtItsOrigin, whereto the server sends on, and whatever it says about a login.
func TestASecretStaysAtItsOrigin(t *testing.T) {
	f := newFar(t)
	f.purse.set("token", farValue, time.Time{})
	key := sandbox.SecretGrant{Secret: "key", Mode: sandbox.SecretSent, Places: []sandbox.SecretPlace{{In: sandbox.InHeader, Name: "X-Api-Key"}, {In: sandbox.InQuery, Name: "key"}}}
	f.purse.set("key", "k3y&0123456789", time.Time{})
	for name, status := range map[string]int{"a redirect": http.StatusTemporaryRedirect, "a login": http.StatusUnauthorized} {
		for _, grants := range [][]sandbox.SecretGrant{{bearer("token")}, {key}} {
			t.Run(name+" with "+grants[0].Secret, func(t *testing.T) {
				f.mu.Lock()
				f.answers = func(to http.ResponseWriter, r *http.Request) bool {
					to.Header().Set("Location", f.other+"/mcp")
					to.Header().Set("WWW-Authenticate", `Bearer resource_metadata="`+f.other+`/meta"`)
					if r.URL.Path != "/mcp" {
						status = http.StatusNotFound
					}
					to.WriteHeader(status)
					return true
				}
				f.mu.Unlock()
				if text := string(f.attach(f.at(grants...)).ask(protocol.MethodToolsList, `{}`).Raw); !strings.Contains(text, `"error"`) || strings.Contains(text, farValue) || strings.Contains(text, "k3y") {
					t.Errorf("%s", text)
				}
				f.mu.Lock()
				defer f.mu.Unlock()
				for _, line := range f.away {
					if strings.Contains(line, farValue) || strings.Contains(line, "k3y") {
						t.Errorf("another origin got %s", line)
					}
				}
				for _, line := range f.got {
					if strings.Contains(line, "GET") && strings.Contains(line, "well-known") && (strings.Contains(line, farValue) || strings.Contains(line, "k3y")) {
						t.Errorf("what is asked about the login has it: %s", line)
					}
				}
			})
		}
	}
}

func TestWhereAValueIsPut(t *testing.T) {
	authorization := []sandbox.SecretPlace{{In: sandbox.InHeader, Name: "Authorization"}}
	for name, tt := range map[string]struct {
		grant             sandbox.SecretGrant
		value             string
		header, is, query string
	}{
		"a token":                    {sandbox.SecretGrant{Places: authorization, Scheme: "Bearer"}, "abc", "Authorization", "Bearer abc", "team=7"},
		"with a scheme of its own":   {sandbox.SecretGrant{Places: authorization, Scheme: "Bearer"}, "token abc", "Authorization", "token abc", "team=7"},
		"without one":                {sandbox.SecretGrant{Places: authorization}, "abc", "Authorization", "abc", "team=7"},
		"a user and a password":      {sandbox.SecretGrant{Places: authorization, Scheme: "Basic"}, "me:my word", "Authorization", "Basic bWU6bXkgd29yZA==", "team=7"},
		"these encoded already":      {sandbox.SecretGrant{Places: authorization, Scheme: "Basic"}, "bWU6bXkgd29yZA==", "Authorization", "Basic bWU6bXkgd29yZA==", "team=7"},
		"another header":             {sandbox.SecretGrant{Places: []sandbox.SecretPlace{{In: sandbox.InHeader, Name: "X-Api-Key"}}}, "abc", "X-Api-Key", "abc", "team=7"},
		"a parameter, beside others": {sandbox.SecretGrant{Places: []sandbox.SecretPlace{{In: sandbox.InQuery, Name: "api key"}}}, "a&b", "X-Api-Key", "", "team=7&api+key=a%26b"},
	} {
		t.Run(name, func(t *testing.T) {
			req := httptest.NewRequest(http.MethodPost, "https://example.com/mcp?team=7", nil)
			given{grant: tt.grant, value: store.NewSecretValue([]byte(tt.value))}.put(req)
			if got := req.Header.Get(tt.header); got != tt.is || req.URL.RawQuery != tt.query {
				t.Errorf("%q, %q", got, req.URL.RawQuery)
			}
		})
	}
}

// TestGrantsToAURL as a person gives them.
func TestGrantsToAURL(t *testing.T) {
	f := newFar(t)
	f.at()
	ctx, peer := t.Context(), httpapi.Peer{UID: f.uid, Page: true}
	s, err := f.GrantSecret(ctx, peer, "token", api.SecretGrant{Server: "search"})
	if err != nil || len(s.Grants) != 1 || s.Grants[0].Mode != "sent" || s.Grants[0].Scheme != "Bearer" || s.Grants[0].Weaker {
		t.Fatalf("%+v, %v", s, err)
	}
	if words := s.Grants[0].Words; !strings.Contains(words, "Garita sends the value to 127.0.0.1:") || !strings.Contains(words, "header Authorization") {
		t.Error(words)
	}
	for name, g := range map[string]api.SecretGrant{
		"a host":     {Server: "search", Hosts: []string{"evil.example.com"}},
		"a variable": {Server: "search", Env: "TOKEN"},
		"a mode":     {Server: "search", Env: "TOKEN", Mode: "env"},
	} {
		if s, err := f.GrantSecret(ctx, peer, "token", g); err == nil {
			t.Errorf("%s: %+v", name, s)
		}
	}
	g := s.Grants[0]
	g.Scheme = "none"
	for range 2 { // what is told can be set again
		if s, err = f.GrantSecret(ctx, peer, "token", g); err != nil || s.Grants[0].Scheme != "none" {
			t.Fatalf("%+v, %v", s, err)
		}
		g = s.Grants[0]
	}
}

// TestWhatIsNotGrantedIsNotOnRecordAsGranted.
func TestWhatIsNotGrantedIsNotOnRecordAsGranted(t *testing.T) {
	h := newSecretHome(t)
	h.declare()
	peer := httpapi.Peer{UID: h.uid, Page: true}
	file := h.config.Paths().ServersFile()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	taken := strings.Replace(string(text), searchServer+":", "SEARCH_KEY: taken\n      "+searchServer+":", 1)
	if err := os.WriteFile(file, []byte(taken), 0o600); err != nil { // meanwhile, and not read yet
		t.Fatal(err)
	}
	if s, err := h.GrantSecret(t.Context(), peer, "token", api.SecretGrant{Server: "search", Mode: "env", Env: "SEARCH_KEY"}); err == nil {
		t.Errorf("granted: %+v", s)
	}
	if n := h.recorded(t, store.SecretGranted); n != 0 {
		t.Errorf("%d grants on record", n)
	}
	if _, err := h.GrantSecret(t.Context(), peer, "token", api.SecretGrant{Server: "search", Mode: "env", Env: "OTHER"}); err != nil || h.recorded(t, store.SecretGranted) != 1 {
		t.Errorf("%v, %d on record", err, h.recorded(t, store.SecretGranted))
	}
}

// TestAPlaceholderAmongTheArguments: what stands behind the flag is a sentinel.
func TestAPlaceholderAmongTheArguments(t *testing.T) {
	h := newSecretHome(t)
	h.purse.set("token", farValue, time.Time{})
	for arg, n := range map[string]int{"--api-key": 4, "--api-key=": 3} {
		g := toward("token", "", "Authorization")
		g.Arg = arg
		s := h.declare(g)
		l := sandbox.Launch{ID: standInID, Server: s.Name, Argv: []string{"program", "x"}}
		if _, err := h.secrets.Equip(t.Context(), s, &l); err != nil {
			t.Fatal(err)
		}
		if line := strings.Join(l.Argv, " "); len(l.Argv) != n || !strings.Contains(line, arg) || !strings.Contains(line, "sk-") || strings.Contains(line, farValue) || len(l.Env[""]) > 0 {
			t.Errorf("%q, %q", l.Argv, l.Env)
		}
	}
}

func TestGrantsAreProposed(t *testing.T) {
	h := newSecretHome(t)
	h.declare()
	g, err := h.ProposeGrant(t.Context(), "github-token", api.SecretGrant{Server: "search"})
	if err != nil || g.Env != "GITHUB_TOKEN" || !slices.Equal(g.Hosts, []string{"api.github.com:443"}) || g.Words == "" {
		t.Errorf("%+v, %v", g, err)
	}
	for secret, says := range map[string]string{"db": "garita secret grant db search --env VARIABLE --host HOST"} {
		g, err := h.ProposeGrant(t.Context(), secret, api.SecretGrant{Server: "search"})
		if err != nil || g.Lacks == nil || g.Lacks.Next != says {
			t.Errorf("%+v, %v", g, err)
		}
	}
	if s, _ := h.config.Server("search"); len(s.Spec.Secrets) > 0 {
		t.Errorf("it is granted: %+v", s.Spec.Secrets)
	}
}
