// Package oauth logs the person in to remote servers: OAuth 2.1 as MCP wants it.
//
// A server that answers 401 says, directly or by well-known addresses, which authorization server
// it trusts. The person allows Garita there, in a browser; what comes back is a token for that one
// server, kept in the Vault under its name and sent nowhere else. However many sessions need it,
// there is one login at a time for each server: the others wait for it.
package oauth

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"slices"
	"sync"
	"time"

	"github.com/garita-dev/garita/daemon/remote/dial"
)

// Vault keeps secrets. Keys are plain words and hexadecimal.
type Vault interface {
	// Load is what was saved; nil, and no error, when nothing was.
	Load(key string) ([]byte, error)
	Save(key string, value []byte) error
	// Delete forgets; there may be nothing.
	Delete(key string) error
}

// Config is what all logins have in common.
type Config struct {
	Vault Vault
	Open  Opener // nil: nobody can be asked, and a login fails with ErrNobody
	// ClientID is the https address of Garita's client metadata document; "" when there is none.
	ClientID string
	// Patience is how long a person has for one login; 0 is five minutes.
	Patience time.Duration
	Log      *slog.Logger // nil: nowhere
}

// Registered is a client the person registered with an authorization server by hand.
type Registered struct {
	ID     string
	Secret Secret // empty for a public client
	Issuer string // whose it is; "" for whichever the server names
	// Port is where the redirect must come back to, at http://127.0.0.1:Port/callback; 0 for any.
	Port int
}

// Server is one remote server.
type Server struct {
	Name       string
	URL        string
	Client     *http.Client // guarded, as of remote.Client; for all that concerns the login
	Registered *Registered  // nil: register as the authorization server lets us
}

// What a login can end with, besides what a network ends with.
var (
	ErrNobody   = errors.New("nobody can be asked to log in")
	ErrDenied   = errors.New("the login was not allowed")
	ErrIssuer   = errors.New("the answer is not from the authorization server that was asked")
	ErrScopes   = errors.New("the server asks for permissions that it has been given")
	ErrUseless  = errors.New("the server does not accept what was just allowed")
	ErrResource = errors.New("the server's metadata are another server's")
)

// Times. A failed login is not tried again at once: every call of an agent would open a page.
const (
	patience = 5 * time.Minute
	cooling  = 30 * time.Second
	// machineTime bounds what no person has a part in.
	machineTime = 30 * time.Second
	// early is how long before its end a token is renewed.
	early = 30 * time.Second
	// lately is how old a token may be for its refusal to be no matter of age.
	lately = time.Minute
)

// Logins are the logins of a daemon, one for each server. It is safe for concurrent use.
type Logins struct {
	cfg      Config
	ctx      context.Context
	cancel   context.CancelFunc
	wg       sync.WaitGroup
	mu       sync.Mutex // guards byServer
	byServer map[string]*Login
}

// New is no logins yet. The caller calls Close.
func New(cfg Config) *Logins {
	if cfg.Patience <= 0 {
		cfg.Patience = patience
	}
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	l := &Logins{cfg: cfg, byServer: map[string]*Login{}}
	l.ctx, l.cancel = context.WithCancel(context.Background())
	return l
}

// Close ends logins under way, and waits for them.
func (l *Logins) Close() {
	l.cancel()
	l.wg.Wait()
}

// Server is the login of s, the same for every session that uses it.
func (l *Logins) Server(s Server) (*Login, error) {
	u, err := url.Parse(s.URL)
	if err != nil || u.Host == "" {
		return nil, fmt.Errorf("log in to server %s: its url is not one", s.Name)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	key := s.Name + "\n" + s.URL
	one := l.byServer[key]
	if one == nil {
		one = &Login{all: l, url: u, key: vaultKey("token", key)}
		l.byServer[key] = one
	}
	one.mu.Lock()
	one.server = s
	one.mu.Unlock()
	return one, nil
}

// Login is one server's. It is safe for concurrent use.
type Login struct {
	all *Logins
	url *url.URL
	key string

	mu          sync.Mutex // guards the fields below
	server      Server
	loaded      bool
	token       *token // nil: none
	mark        int    // counts tokens; 0 before the first
	round       *round // under way; nil when none is
	failed      error  // what the last login ended with, until failedUntil
	failedUntil time.Time
}

// round is one attempt to get a token, shared by all who need it.
type round struct {
	cancel context.CancelFunc
	asked  bool // a person was
	done   chan struct{}
	err    error // once done is closed
}

// Apply puts the server's token on a request to it, renewed first when it has run out. Mark is 0
// when there is none.
func (l *Login) Apply(ctx context.Context, req *http.Request) (mark int, err error) {
	if !dial.SameOrigin(req.URL, l.url) {
		return 0, fmt.Errorf("log in to server %s: a request to %s is not given its token", l.name(), req.URL.Host)
	}
	t, mark, err := l.current()
	if err != nil || t == nil {
		return 0, err
	}
	if t.runsOut() && !t.refresh.empty() {
		if err := l.share(ctx, mark, l.refreshOnly); err != nil {
			l.all.cfg.Log.Warn("a login was not renewed", "server", l.name(), "err", err)
		}
		if t, mark, err = l.current(); err != nil || t == nil {
			return 0, err
		}
	}
	NewSecret("Bearer "+t.access.open()).SetHeader(req.Header, "Authorization")
	return mark, nil
}

// Renew gets a token after the server refused the one of mark: by renewing it, or by asking the
// person. It reports whether there is one to try again with.
func (l *Login) Renew(ctx context.Context, mark, status int, header http.Header) (again bool, err error) {
	c := readChallenge(header)
	if status == http.StatusForbidden && c.fault != "insufficient_scope" {
		return false, nil
	}
	err = l.share(ctx, mark, func(ctx context.Context) error { return l.renew(ctx, status, c) })
	return err == nil, err
}

// Begin logs in now, whether or not the server was asked or a login just failed.
func (l *Login) Begin(ctx context.Context) error {
	l.mu.Lock()
	l.failed = nil
	mark := l.mark
	l.mu.Unlock()
	return l.share(ctx, mark, func(ctx context.Context) error { return l.ask(ctx, challenge{}, nil) })
}

// Cancel gives up the login under way, if there is one.
func (l *Login) Cancel() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.round != nil {
		l.round.cancel()
	}
}

// Forget ends what was allowed, as far as we know of it.
func (l *Login) Forget() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.token, l.loaded = nil, true
	l.mark++
	return l.all.cfg.Vault.Delete(l.key)
}

func (l *Login) name() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.server.Name
}

func (l *Login) config() Server {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.server
}

// share runs f, or waits for the round that is under way. The round goes on when those who wait
// leave: a person who is slower than a client's patience has not logged in for nothing.
func (l *Login) share(ctx context.Context, mark int, f func(context.Context) error) error {
	r, err := l.join(mark, f)
	if r == nil {
		return err
	}
	select {
	case <-r.done:
		return r.err
	case <-ctx.Done():
		return fmt.Errorf("log in to server %s: %w", l.name(), ctx.Err())
	}
}

// join is the round to wait for; nil, with or without an error, when there is nothing to wait for.
func (l *Login) join(mark int, f func(context.Context) error) (*round, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case l.mark != mark && l.token != nil:
		return nil, nil // somebody else got a new one since
	case l.round == nil && l.failed != nil && time.Now().Before(l.failedUntil):
		return nil, l.failed
	case l.all.ctx.Err() != nil:
		return nil, fmt.Errorf("log in to server %s: %w", l.server.Name, l.all.ctx.Err())
	case l.round == nil:
		l.start(f)
	}
	return l.round, nil
}

// start begins a round. The caller holds mu.
func (l *Login) start(f func(context.Context) error) {
	ctx, cancel := context.WithTimeout(l.all.ctx, l.all.cfg.Patience)
	r := &round{cancel: cancel, done: make(chan struct{})}
	l.round = r
	l.all.wg.Go(func() {
		defer cancel()
		r.err = f(ctx)
		l.mu.Lock()
		defer l.mu.Unlock()
		if r.err != nil {
			r.err = fmt.Errorf("log in to server %s: %w", l.server.Name, r.err)
		}
		l.round = nil
		if r.asked {
			l.failed, l.failedUntil = r.err, time.Now().Add(cooling)
		}
		close(r.done)
	})
}

// refreshOnly renews the token without asking anybody.
func (l *Login) refreshOnly(ctx context.Context) error {
	t, _, err := l.current()
	if err != nil || t == nil {
		return err
	}
	return l.refresh(ctx, t)
}

func (l *Login) refresh(ctx context.Context, t *token) error {
	next, err := t.refreshed(ctx, l.config().Client)
	var refused *refusal
	if errors.As(err, &refused) && refused.final() {
		return errors.Join(err, l.drop(t, refused))
	}
	if err != nil {
		return err
	}
	return l.keep(next)
}

// renew decides what a refusal calls for.
func (l *Login) renew(ctx context.Context, status int, c challenge) error {
	t, _, err := l.current()
	if err != nil {
		return err
	}
	if t == nil {
		return l.ask(ctx, c, nil)
	}
	more := slices.ContainsFunc(c.scopes, func(s string) bool { return !slices.Contains(t.scopes, s) })
	switch {
	case more:
		return l.ask(ctx, c, t)
	case status == http.StatusForbidden:
		return ErrScopes
	}
	found, err := l.discover(ctx, c)
	switch {
	case err != nil:
		return err
	case found.meta.Issuer != t.issuer: // nothing of the old one's goes to the new one
		return l.askAt(ctx, found, c, nil)
	case !t.refresh.empty() && time.Since(t.got) > lately:
		if err := l.refresh(ctx, t); err == nil || ctx.Err() != nil {
			return err
		}
	case time.Since(t.got) < lately:
		return ErrUseless
	}
	return l.askAt(ctx, found, c, t)
}

// ask finds out where to log in, and does.
func (l *Login) ask(ctx context.Context, c challenge, before *token) error {
	found, err := l.discover(ctx, c)
	if err != nil {
		return err
	}
	if before != nil && before.issuer != found.meta.Issuer {
		before = nil
	}
	return l.askAt(ctx, found, c, before)
}
