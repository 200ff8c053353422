package oauth

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/garita-dev/garita/daemon/remote/dial"
)

// TestMain finds goroutines that are left when all tests are done.
func TestMain(m *testing.M) {
	code := m.Run()
	if code == 0 {
		code = leaks()
	}
	os.Exit(code)
}

func leaks() int {
	var left []string
	for deadline := time.Now().Add(5 * time.Second); time.Now().Before(deadline); runtime.Gosched() {
		buf := make([]byte, 4<<20)
		stacks := strings.Split(string(buf[:runtime.Stack(buf, true)]), "\n\n")
		left = slices.DeleteFunc(stacks, func(s string) bool {
			return !strings.Contains(s, "remote/oauth.") || strings.Contains(s, "oauth.leaks")
		})
		if len(left) == 0 {
			return 0
		}
	}
	fmt.Fprintln(os.Stderr, "goroutines are left:\n"+strings.Join(left, "\n\n"))
	return 1
}

const long = 20 * time.Second

// memory is a Vault.
type memory struct {
	mu sync.Mutex
	m  map[string][]byte
}

func (v *memory) Load(key string) ([]byte, error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.m[key], nil
}

func (v *memory) Save(key string, value []byte) error {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.m == nil {
		v.m = map[string][]byte{}
	}
	v.m[key] = slices.Clone(value)
	return nil
}

func (v *memory) Delete(key string) error {
	v.mu.Lock()
	defer v.mu.Unlock()
	delete(v.m, key)
	return nil
}

// world is an authorization server and a server that trusts it, both hostile where told.
type world struct {
	t    *testing.T
	srv  *httptest.Server // the MCP server
	as   *httptest.Server
	mu   sync.Mutex
	opts worldOptions

	opened    []string              // pages shown
	registers int                   // clients registered
	codes     map[string]url.Values // authorization requests by code
	asked     []url.Values          // token requests
	valid     map[string][]string   // access token to its scopes
	refresh   map[string]bool
	seen      []string // Authorization headers the MCP server got
	next      int
}

type worldOptions struct {
	iss         string // what to answer as iss; "" for none, "right" for the right one
	advertise   bool   // that iss is sent
	scope       string // what the challenge asks for
	metadataAt  string // where the challenge says the metadata are
	noMetadata  bool   // the server has no metadata of its own
	resource    string // what they say the resource is; "" for the truth
	page        string // the authorization endpoint; "" for the right one
	cimd        bool
	noRegister  bool
	methods     []string // of the token endpoint
	secret      string   // given to who registers
	deny        bool
	path        string // of the issuer
	noRefresh   bool
	badRefresh  bool
	useless     bool // the server accepts no token
	tokenBody   string
	never       bool // the person never answers
	redirectsTo string
}

func newWorld(t *testing.T, opts worldOptions) *world {
	w := &world{t: t, opts: opts, codes: map[string]url.Values{}, valid: map[string][]string{}, refresh: map[string]bool{}}
	w.as = httptest.NewServer(w.authorization())
	t.Cleanup(w.as.Close)
	w.srv = httptest.NewServer(http.HandlerFunc(w.server))
	t.Cleanup(w.srv.Close)
	return w
}

func (w *world) url() string    { return w.srv.URL + "/mcp" }
func (w *world) issuer() string { return w.as.URL + w.opts.path }

func reply(rw http.ResponseWriter, status int, v any) {
	rw.Header().Set("Content-Type", "application/json")
	rw.WriteHeader(status)
	_ = json.NewEncoder(rw).Encode(v)
}

// server is the MCP server: metadata, and 200 for who has a token.
func (w *world) server(rw http.ResponseWriter, r *http.Request) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if strings.HasPrefix(r.URL.Path, "/.well-known/") {
		if w.opts.noMetadata || r.URL.Path != "/.well-known/oauth-protected-resource/mcp" {
			rw.WriteHeader(404)
			return
		}
		resource := w.url()
		if w.opts.resource != "" {
			resource = w.opts.resource
		}
		reply(rw, 200, map[string]any{"resource": resource, "authorization_servers": []string{w.issuer()}, "scopes_supported": []string{"basic"}})
		return
	}
	got := r.Header.Get("Authorization")
	w.seen = append(w.seen, got)
	scopes, ok := w.valid[strings.TrimPrefix(got, "Bearer ")]
	switch {
	case !ok || w.opts.useless:
		challenge := "Bearer"
		if w.opts.metadataAt != "" {
			challenge += fmt.Sprintf(` resource_metadata=%q`, w.opts.metadataAt)
		}
		if w.opts.scope != "" {
			challenge += fmt.Sprintf(` scope=%q`, w.opts.scope)
		}
		rw.Header().Set("WWW-Authenticate", challenge)
		rw.WriteHeader(401)
	case r.URL.Query().Get("need") != "" && !slices.Contains(scopes, r.URL.Query().Get("need")):
		rw.Header().Set("WWW-Authenticate", fmt.Sprintf(`Bearer error="insufficient_scope", scope=%q`, r.URL.Query().Get("need")))
		rw.WriteHeader(403)
	default:
		_, _ = io.WriteString(rw, "welcome")
	}
}

func (w *world) authorization() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("/.well-known/oauth-authorization-server", w.metadata)
	mux.HandleFunc("/.well-known/openid-configuration/tenant", w.metadata)
	mux.HandleFunc("/register", w.register)
	mux.HandleFunc("/authorize", w.authorize)
	mux.HandleFunc("/token", w.token)
	return mux
}

func (w *world) metadata(rw http.ResponseWriter, _ *http.Request) {
	w.mu.Lock()
	defer w.mu.Unlock()
	page := w.as.URL + "/authorize"
	if w.opts.page != "" {
		page = w.opts.page
	}
	m := map[string]any{
		"issuer": w.issuer(), "authorization_endpoint": page, "token_endpoint": w.as.URL + "/token",
		"code_challenge_methods_supported": []string{"S256"}, "response_types_supported": []string{"code"},
		"authorization_response_iss_parameter_supported": w.opts.advertise,
		"client_id_metadata_document_supported":          w.opts.cimd,
		"scopes_supported":                               []string{"offline_access", "basic"},
	}
	if !w.opts.noRegister {
		m["registration_endpoint"] = w.as.URL + "/register"
	}
	if w.opts.methods != nil {
		m["token_endpoint_auth_methods_supported"] = w.opts.methods
	}
	reply(rw, 200, m)
}

func (w *world) register(rw http.ResponseWriter, r *http.Request) {
	w.mu.Lock()
	defer w.mu.Unlock()
	var m map[string]any
	_ = json.NewDecoder(r.Body).Decode(&m)
	w.registers++
	m["client_id"] = fmt.Sprintf("client-%d", w.registers)
	if w.opts.secret != "" {
		m["client_secret"], m["client_secret_expires_at"] = w.opts.secret, 0
	}
	reply(rw, 201, m)
}

func (w *world) authorize(rw http.ResponseWriter, r *http.Request) {
	w.mu.Lock()
	defer w.mu.Unlock()
	q := r.URL.Query()
	w.next++
	code := fmt.Sprintf("code-%d", w.next)
	w.codes[code] = q
	back := url.Values{"state": {q.Get("state")}, "code": {code}}
	if w.opts.deny {
		back = url.Values{"state": {q.Get("state")}, "error": {"access_denied"}, "error_description": {"<b>zzz</b>"}}
	}
	switch w.opts.iss {
	case "":
	case "right":
		back.Set("iss", w.issuer())
	default:
		back.Set("iss", w.opts.iss)
	}
	http.Redirect(rw, r, q.Get("redirect_uri")+"?"+back.Encode(), http.StatusFound)
}

func (w *world) token(rw http.ResponseWriter, r *http.Request) {
	w.mu.Lock()
	defer w.mu.Unlock()
	_ = r.ParseForm()
	if id, secret, ok := r.BasicAuth(); ok {
		r.PostForm.Set("basic", id+":"+secret)
	}
	w.asked = append(w.asked, r.PostForm)
	if w.opts.redirectsTo != "" {
		http.Redirect(rw, r, w.opts.redirectsTo, http.StatusTemporaryRedirect)
		return
	}
	if w.opts.tokenBody != "" {
		rw.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(rw, w.opts.tokenBody)
		return
	}
	scopes, ok := w.granted(r.PostForm)
	if !ok {
		reply(rw, 400, map[string]any{"error": "invalid_grant", "error_description": "zzz"})
		return
	}
	w.next++
	access, refresh := fmt.Sprintf("secret-access-%d", w.next), fmt.Sprintf("secret-refresh-%d", w.next)
	w.valid[access] = scopes
	m := map[string]any{"access_token": access, "token_type": "Bearer", "expires_in": 3600, "scope": strings.Join(scopes, " ")}
	if !w.opts.noRefresh {
		m["refresh_token"], w.refresh[refresh] = refresh, true
	}
	reply(rw, 200, m)
}

// granted is the scopes that a token request gets.
func (w *world) granted(form url.Values) ([]string, bool) {
	if form.Get("grant_type") == "refresh_token" {
		ok := w.refresh[form.Get("refresh_token")] && !w.opts.badRefresh
		delete(w.refresh, form.Get("refresh_token"))
		return nil, ok
	}
	q, ok := w.codes[form.Get("code")]
	delete(w.codes, form.Get("code"))
	sum := sha256.Sum256([]byte(form.Get("code_verifier")))
	if !ok || base64.RawURLEncoding.EncodeToString(sum[:]) != q.Get("code_challenge") ||
		q.Get("redirect_uri") != form.Get("redirect_uri") || q.Get("resource") != w.url() || form.Get("resource") != w.url() {
		return nil, false
	}
	return strings.Fields(q.Get("scope")), true
}

// open is the person's browser: it follows where it is sent, all the way back.
func (w *world) open(ctx context.Context, page string) error {
	w.mu.Lock()
	w.opened = append(w.opened, page)
	never := w.opts.never
	w.mu.Unlock()
	if never {
		return nil
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, page, nil)
	if err != nil {
		return err
	}
	browser := http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	res, err := browser.Do(req)
	if err != nil {
		return err
	}
	return res.Body.Close()
}

func (w *world) count(f func(*world) int) int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return f(w)
}

// logins are the logins of a daemon in this world.
func (w *world) logins(cfg Config) *Logins {
	if cfg.Vault == nil {
		cfg.Vault = &memory{}
	}
	if cfg.Open == nil {
		cfg.Open = w.open
	}
	l := New(cfg)
	w.t.Cleanup(l.Close)
	return l
}

func (w *world) login(l *Logins, change func(*Server)) *Login {
	w.t.Helper()
	client := dial.New(dial.Rules{Declared: []string{"127.0.0.1"}}, nil).Client()
	w.t.Cleanup(client.CloseIdleConnections)
	s := Server{Name: "far", URL: w.url(), Client: client}
	if change != nil {
		change(&s)
	}
	login, err := l.Server(s)
	if err != nil {
		w.t.Fatal(err)
	}
	return login
}

// visit does what a Conn does: a request with what there is, and again with more.
func visit(ctx context.Context, l *Login, at string) (int, error) {
	for try := 1; ; try++ {
		req, err := http.NewRequestWithContext(ctx, http.MethodPost, at, nil)
		if err != nil {
			return 0, err
		}
		mark, err := l.Apply(ctx, req)
		if err != nil {
			return 0, err
		}
		res, err := l.config().Client.Do(req)
		if err != nil {
			return 0, err
		}
		res.Body.Close()
		if (res.StatusCode != 401 && res.StatusCode != 403) || try == 3 {
			return res.StatusCode, nil
		}
		again, err := l.Renew(ctx, mark, res.StatusCode, res.Header)
		if err != nil || !again {
			return res.StatusCode, err
		}
	}
}
