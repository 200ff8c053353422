package oauth

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/oauthex"

	"github.com/garita-dev/garita/daemon/remote/dial"
)

const callbackPath = "/callback"

// askAt has the person log in at an authorization server, and keeps the token. Before is the token
// whose permissions the new one is to have too, nil for none.
func (l *Login) askAt(ctx context.Context, f found, c challenge, before *token) error {
	if l.all.cfg.Open == nil {
		return ErrNobody
	}
	back, err := l.listen(ctx, f.meta.Issuer)
	if err != nil {
		return err
	}
	defer back.Close()
	redirect := "http://" + back.Addr().String() + callbackPath
	us, err := l.client(ctx, f, redirect)
	if err != nil {
		return err
	}
	t := &token{issuer: f.meta.Issuer, endpoint: f.meta.TokenEndpoint, resource: f.resource, client: us, scopes: scopesFor(f, c, before)}
	verifier := rand.Text() + rand.Text()
	code, err := l.code(ctx, back, f.meta, t, verifier)
	if err != nil {
		return err
	}
	form := url.Values{
		"grant_type": {"authorization_code"}, "code": {code}, "redirect_uri": {redirect},
		"code_verifier": {verifier}, "resource": {t.resource},
	}
	err = t.request(ctx, l.config().Client, form)
	var refused *refusal
	if errors.As(err, &refused) && refused.code == "invalid_client" {
		_ = l.all.cfg.Vault.Delete(vaultKey("client", f.meta.Issuer)) // registered anew next time
	}
	if err != nil {
		return err
	}
	return l.keep(t)
}

// scopesFor is as little as will do: what the request needs, else what the server calls its
// basics; what was granted before; and leave to renew the token, where that is a scope.
func scopesFor(f found, c challenge, before *token) []string {
	scopes := c.scopes
	if len(scopes) == 0 {
		scopes = scopesIn(strings.Join(f.scopes, " "))
	}
	if before != nil {
		scopes = union(before.scopes, scopes)
	}
	if slices.Contains(f.meta.ScopesSupported, "offline_access") {
		scopes = union(scopes, []string{"offline_access"})
	}
	return scopes
}

// listen opens the place the browser is sent back to: the port an earlier registration names, if
// it is free, else any.
func (l *Login) listen(ctx context.Context, issuer string) (net.Listener, error) {
	port := 0
	if s := l.config(); s.Registered != nil {
		port = s.Registered.Port
	} else if known, ok := l.known(issuer); ok {
		port = portOf(known.redirect)
	}
	var lc net.ListenConfig
	back, err := lc.Listen(ctx, "tcp4", net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
	if err != nil && port != 0 && l.config().Registered == nil {
		back, err = lc.Listen(ctx, "tcp4", "127.0.0.1:0")
	}
	if err != nil {
		return nil, fmt.Errorf("listen for the browser to come back: %w", err)
	}
	return back, nil
}

func portOf(redirect string) int {
	u, err := url.Parse(redirect)
	if err != nil {
		return 0
	}
	port, _ := strconv.Atoi(u.Port())
	return port
}

// page is the address at which the person is asked.
func page(meta *oauthex.AuthServerMeta, t *token, state, verifier string, loopback bool) (string, error) {
	u, err := url.Parse(meta.AuthorizationEndpoint)
	if err != nil {
		return "", ErrPage
	}
	sum := sha256.Sum256([]byte(verifier))
	q := u.Query()
	for name, value := range map[string]string{
		"response_type": "code", "client_id": t.client.id, "redirect_uri": t.client.redirect, "resource": t.resource,
		"state": state, "code_challenge": base64.RawURLEncoding.EncodeToString(sum[:]), "code_challenge_method": "S256",
	} {
		q.Set(name, value)
	}
	q.Del("scope")
	if len(t.scopes) > 0 {
		q.Set("scope", strings.Join(t.scopes, " "))
	}
	if slices.Contains(t.scopes, "offline_access") {
		q.Set("prompt", "consent") // OpenID Connect grants it in no other way
	}
	u.RawQuery = q.Encode()
	return CheckURL(u.String(), loopback)
}

// code shows the person the page and waits for the browser to come back with the code.
func (l *Login) code(ctx context.Context, back net.Listener, meta *oauthex.AuthServerMeta, t *token, verifier string) (string, error) {
	state := rand.Text()
	show, err := page(meta, t, state, verifier, kindOf(l.url.Hostname()) == dial.Loopback)
	if err != nil {
		return "", fmt.Errorf("the authorization server's page: %w", err)
	}
	answers := make(chan answer, 1)
	server := &http.Server{
		Handler:           &callback{host: back.Addr().String(), state: state, meta: meta, answers: answers},
		ReadHeaderTimeout: 5 * time.Second, MaxHeaderBytes: 32 << 10,
	}
	served := make(chan struct{})
	go func() {
		defer close(served)
		_ = server.Serve(back) // it ends when the server is closed
	}()
	defer func() { <-served }()
	defer shut(ctx, server)
	l.noteAsked()
	if err := l.all.cfg.Open(ctx, show); err != nil {
		return "", fmt.Errorf("open a browser: %w", err)
	}
	select {
	case a := <-answers:
		return a.code, a.err
	case <-ctx.Done():
		return "", fmt.Errorf("nobody finished the login: %w", ctx.Err())
	}
}

// noteAsked says that the round under way has come to the person.
func (l *Login) noteAsked() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.round != nil {
		l.round.asked = true
	}
}

// shut lets the browser have its answer.
func shut(ctx context.Context, server *http.Server) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
	defer cancel()
	_ = server.Shutdown(ctx)
	_ = server.Close()
}

// answer is what the browser came back with.
type answer struct {
	code string
	err  error
}

// callback takes the browser's return, once. What does not carry our state changes nothing.
type callback struct {
	host    string
	state   string
	meta    *oauthex.AuthServerMeta
	answers chan<- answer
}

func (c *callback) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	w.Header().Set("Content-Security-Policy", "default-src 'none'; frame-ancestors 'none'")
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.Header().Set("Cache-Control", "no-store")
	w.Header().Set("Referrer-Policy", "no-referrer")
	if r.Method != http.MethodGet || r.URL.Path != callbackPath || r.Host != c.host || !c.ours(q["state"]) {
		w.WriteHeader(http.StatusBadRequest)
		_, _ = io.WriteString(w, "<!doctype html><title>Garita</title><p>This is not the login Garita waits for.")
		return
	}
	a := c.read(q)
	select {
	case c.answers <- a:
	default: // a second answer is none
	}
	text := "Garita has the answer. You can close this page."
	if a.err != nil {
		text = "The login did not succeed. Garita says why."
	}
	_, _ = io.WriteString(w, "<!doctype html><title>Garita</title><p>"+text)
}

func (c *callback) ours(state []string) bool {
	return len(state) == 1 && subtle.ConstantTimeCompare([]byte(state[0]), []byte(c.state)) == 1
}

// read judges an answer. Until it is known who it is from, nothing in it is repeated.
func (c *callback) read(q url.Values) answer {
	if err := checkIssuer(q["iss"], c.meta.Issuer, c.meta.AuthorizationResponseIssParameterSupported); err != nil {
		return answer{err: err}
	}
	switch code := q["code"]; {
	case len(q["error"]) > 0:
		return answer{err: fmt.Errorf("%w %s", ErrDenied, word(q["error"][0]))}
	case len(code) != 1 || code[0] == "":
		return answer{err: errors.New("the authorization server's answer holds no code")}
	default:
		return answer{code: code[0]}
	}
}

// checkIssuer compares the answer's iss to the issuer that was asked (RFC 9207), byte for byte.
func checkIssuer(iss []string, want string, advertised bool) error {
	switch {
	case len(iss) == 0 && !advertised:
		return nil
	case len(iss) == 0:
		return fmt.Errorf("%w: it does not say whose it is, which that server does", ErrIssuer)
	case len(iss) > 1 || iss[0] != want:
		return ErrIssuer
	}
	return nil
}
