// Package oauthtest is a server that wants a login and the authorization server it trusts, both as
// hostile as they are told to be, for tests of whoever logs in.
package oauthtest

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/go-json-experiment/json"
)

// Vault keeps secrets in memory. The zero Vault is empty.
type Vault struct {
	mu sync.Mutex
	m  map[string][]byte
}

// Load is what was saved under key; nil when nothing was.
func (v *Vault) Load(key string) ([]byte, error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.m[key], nil
}

// Save keeps a copy of value.
func (v *Vault) Save(key string, value []byte) error {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.m == nil {
		v.m = map[string][]byte{}
	}
	v.m[key] = slices.Clone(value)
	return nil
}

// Delete forgets.
func (v *Vault) Delete(key string) error {
	v.mu.Lock()
	defer v.mu.Unlock()
	delete(v.m, key)
	return nil
}

// World is an authorization server and a server that trusts it, both hostile where told. Its fields
// are read and set while nothing is under way.
type World struct {
	Server  *httptest.Server // the MCP server
	AS      *httptest.Server
	mu      sync.Mutex
	Options Options
	MCP     http.Handler // answers who has a token; nil answers 200

	Opened    []string              // pages shown
	Registers int                   // clients registered
	codes     map[string]url.Values // authorization requests by code
	Asked     []url.Values          // token requests
	Valid     map[string][]string   // access token to its scopes
	refresh   map[string]bool
	Seen      []string // Authorization headers the MCP server got
	next      int
}

// Options are what is out of the ordinary in a World.
type Options struct {
	Scope      string // what the challenge asks for
	MetadataAt string // where the challenge says the metadata are
	NoMetadata bool   // the server has none of its own
	Resource   string // what they say the server is; "" for the truth
	Useless    bool   // the server accepts no token

	Path       string   // of the issuer
	Page       string   // the authorization endpoint; "" for the right one
	Iss        string   // what it answers as iss; "" for none, "right" for the right one
	Advertise  bool     // that it sends iss
	CIMD       bool     // it knows metadata documents
	NoRegister bool     // it registers nobody
	Methods    []string // of the token endpoint
	Secret     string   // given to who registers

	Deny        bool   // the person says no
	Never       bool   // the person says nothing
	NoRefresh   bool   // tokens cannot be renewed
	BadRefresh  bool   // nor does it say so beforehand
	TokenBody   string // all that the token endpoint answers
	RedirectsTo string // where the token endpoint sends
}

// New is a World until t ends.
func New(t *testing.T, opts Options) *World {
	w := &World{Options: opts, codes: map[string]url.Values{}, Valid: map[string][]string{}, refresh: map[string]bool{}}
	w.AS = httptest.NewServer(w.Authorization())
	t.Cleanup(w.AS.Close)
	w.Server = httptest.NewServer(http.HandlerFunc(w.serve))
	t.Cleanup(w.Server.Close)
	return w
}

// URL is the MCP server's.
func (w *World) URL() string { return w.Server.URL + "/mcp" }

// Issuer is the authorization server's name for itself.
func (w *World) Issuer() string { return w.AS.URL + w.Options.Path }

func reply(rw http.ResponseWriter, status int, v any) {
	rw.Header().Set("Content-Type", "application/json")
	rw.WriteHeader(status)
	_ = json.MarshalWrite(rw, v)
}

// serve is the MCP server: metadata, and MCP for who has a token.
func (w *World) serve(rw http.ResponseWriter, r *http.Request) {
	if strings.HasPrefix(r.URL.Path, "/.well-known/") {
		w.resource(rw, r)
	} else if w.admits(rw, r) && w.MCP != nil {
		w.MCP.ServeHTTP(rw, r)
	}
}

func (w *World) resource(rw http.ResponseWriter, r *http.Request) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.Options.NoMetadata || r.URL.Path != "/.well-known/oauth-protected-resource/mcp" {
		rw.WriteHeader(http.StatusNotFound)
		return
	}
	resource := w.URL()
	if w.Options.Resource != "" {
		resource = w.Options.Resource
	}
	reply(rw, http.StatusOK, map[string]any{"resource": resource, "authorization_servers": []string{w.Issuer()}, "scopes_supported": []string{"basic"}})
}

// admits refuses who has no token, or too little of one.
func (w *World) admits(rw http.ResponseWriter, r *http.Request) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	got := r.Header.Get("Authorization")
	w.Seen = append(w.Seen, got)
	scopes, ok := w.Valid[strings.TrimPrefix(got, "Bearer ")]
	need := r.URL.Query().Get("need")
	switch {
	case !ok || w.Options.Useless:
		rw.Header().Set("WWW-Authenticate", w.challenge())
		rw.WriteHeader(http.StatusUnauthorized)
	case need != "" && !slices.Contains(scopes, need):
		rw.Header().Set("WWW-Authenticate", fmt.Sprintf(`Bearer error="insufficient_scope", scope=%q`, need))
		rw.WriteHeader(http.StatusForbidden)
	default:
		return true
	}
	return false
}

func (w *World) challenge() string {
	var params []string
	if w.Options.MetadataAt != "" {
		params = append(params, fmt.Sprintf(`resource_metadata=%q`, w.Options.MetadataAt))
	}
	if w.Options.Scope != "" {
		params = append(params, fmt.Sprintf(`scope=%q`, w.Options.Scope))
	}
	return strings.TrimSpace("Bearer " + strings.Join(params, ", "))
}

// Authorization is the authorization server.
func (w *World) Authorization() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("/.well-known/oauth-authorization-server", w.metadata)
	mux.HandleFunc("/.well-known/openid-configuration/tenant", w.metadata)
	mux.HandleFunc("/register", w.register)
	mux.HandleFunc("/authorize", w.authorize)
	mux.HandleFunc("/token", w.token)
	return mux
}

func (w *World) metadata(rw http.ResponseWriter, _ *http.Request) {
	w.mu.Lock()
	defer w.mu.Unlock()
	page := w.AS.URL + "/authorize"
	if w.Options.Page != "" {
		page = w.Options.Page
	}
	m := map[string]any{
		"issuer": w.Issuer(), "authorization_endpoint": page, "token_endpoint": w.AS.URL + "/token",
		"code_challenge_methods_supported": []string{"S256"}, "response_types_supported": []string{"code"},
		"authorization_response_iss_parameter_supported": w.Options.Advertise,
		"client_id_metadata_document_supported":          w.Options.CIMD,
		"scopes_supported":                               []string{"offline_access", "basic"},
	}
	if !w.Options.NoRegister {
		m["registration_endpoint"] = w.AS.URL + "/register"
	}
	if w.Options.Methods != nil {
		m["token_endpoint_auth_methods_supported"] = w.Options.Methods
	}
	reply(rw, http.StatusOK, m)
}

func (w *World) register(rw http.ResponseWriter, r *http.Request) {
	w.mu.Lock()
	defer w.mu.Unlock()
	var m map[string]any
	_ = json.UnmarshalRead(r.Body, &m)
	w.Registers++
	m["client_id"] = fmt.Sprintf("client-%d", w.Registers)
	if w.Options.Secret != "" {
		m["client_secret"], m["client_secret_expires_at"] = w.Options.Secret, 0
	}
	reply(rw, http.StatusCreated, m)
}

func (w *World) authorize(rw http.ResponseWriter, r *http.Request) {
	w.mu.Lock()
	defer w.mu.Unlock()
	q := r.URL.Query()
	w.next++
	code := fmt.Sprintf("code-%d", w.next)
	w.codes[code] = q
	back := url.Values{"state": {q.Get("state")}, "code": {code}}
	if w.Options.Deny {
		back = url.Values{"state": {q.Get("state")}, "error": {"access_denied"}, "error_description": {"<b>zzz</b>"}}
	}
	switch w.Options.Iss {
	case "":
	case "right":
		back.Set("iss", w.Issuer())
	default:
		back.Set("iss", w.Options.Iss)
	}
	http.Redirect(rw, r, q.Get("redirect_uri")+"?"+back.Encode(), http.StatusFound)
}

func (w *World) token(rw http.ResponseWriter, r *http.Request) {
	w.mu.Lock()
	defer w.mu.Unlock()
	_ = r.ParseForm()
	if id, secret, ok := r.BasicAuth(); ok {
		r.PostForm.Set("basic", id+":"+secret)
	}
	w.Asked = append(w.Asked, r.PostForm)
	if w.Options.RedirectsTo != "" {
		http.Redirect(rw, r, w.Options.RedirectsTo, http.StatusTemporaryRedirect)
		return
	}
	if w.Options.TokenBody != "" {
		rw.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(rw, w.Options.TokenBody)
		return
	}
	scopes, ok := w.granted(r.PostForm)
	if !ok {
		reply(rw, http.StatusBadRequest, map[string]any{"error": "invalid_grant", "error_description": "zzz"})
		return
	}
	access, refresh := "secret-access-"+rand.Text(), "secret-refresh-"+rand.Text()
	w.Valid[access] = scopes
	m := map[string]any{"access_token": access, "token_type": "Bearer", "expires_in": 3600, "scope": strings.Join(scopes, " ")}
	if !w.Options.NoRefresh {
		m["refresh_token"], w.refresh[refresh] = refresh, true
	}
	reply(rw, http.StatusOK, m)
}

// granted is the scopes that a token request gets.
func (w *World) granted(form url.Values) ([]string, bool) {
	if form.Get("grant_type") == "refresh_token" {
		ok := w.refresh[form.Get("refresh_token")] && !w.Options.BadRefresh
		delete(w.refresh, form.Get("refresh_token"))
		return nil, ok
	}
	q, ok := w.codes[form.Get("code")]
	delete(w.codes, form.Get("code"))
	sum := sha256.Sum256([]byte(form.Get("code_verifier")))
	if !ok || base64.RawURLEncoding.EncodeToString(sum[:]) != q.Get("code_challenge") ||
		q.Get("redirect_uri") != form.Get("redirect_uri") || q.Get("resource") != w.URL() || form.Get("resource") != w.URL() {
		return nil, false
	}
	return strings.Fields(q.Get("scope")), true
}

// Open is the person's browser: it follows where it is sent, all the way back.
func (w *World) Open(ctx context.Context, page string) error {
	w.mu.Lock()
	w.Opened = append(w.Opened, page)
	never := w.Options.Never
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

// Pages is how many were shown, also while something is under way.
func (w *World) Pages() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.Opened)
}
