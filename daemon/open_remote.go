package daemon

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"time"

	"github.com/garita-dev/garita/daemon/gateway"
	"github.com/garita-dev/garita/daemon/remote"
	"github.com/garita-dev/garita/daemon/remote/dial"
	"github.com/garita-dev/garita/daemon/remote/oauth"
	"github.com/garita-dev/garita/sandbox"
	"github.com/garita-dev/garita/store/keyring"
)

// reaching returns how a session reaches a server that somebody else runs. Nothing is started, and
// no wall is around it: all its tools ask.
func (d *Daemon) reaching(server sandbox.Server, o gateway.Options) func(context.Context) (gateway.Upstream, error) {
	return func(ctx context.Context) (gateway.Upstream, error) {
		keys, err := d.secrets.reaching(ctx, server, o)
		if err != nil {
			return nil, err
		}
		e, err := d.reachElsewhere(ctx, server, keys)
		if err != nil {
			keys.letGo()
			return nil, fmt.Errorf("reach %s: %w", server.Name, err)
		}
		if err := keys.cutBy(ctx, e.cut); err != nil {
			return nil, errors.Join(err, e.Stop(context.WithoutCancel(ctx)))
		}
		return e, nil
	}
}

func (d *Daemon) reachElsewhere(ctx context.Context, server sandbox.Server, keys *sending) (elsewhere, error) {
	client, err := remote.Client(server.Source.URL, dial.Rules{})
	if err != nil {
		return elsewhere{}, err
	}
	login, err := d.logins.Server(oauth.Server{Name: string(server.Name), URL: server.Source.URL, Client: client})
	if err != nil {
		return elsewhere{}, err
	}
	conn, err := remote.Open(ctx, remote.Options{
		Name: string(server.Name), URL: server.Source.URL, Headers: headersOf(server.Source.Headers), Keys: keys,
		Auth: login, Client: client, Log: d.log, Limits: remote.Limits{Message: int(d.config.Settings().Message)},
	})
	return elsewhere{conn, keys, client.CloseIdleConnections}, err
}

func headersOf(declared map[string]string) (all []remote.Header) {
	for name, value := range declared {
		all = append(all, remote.Header{Name: name, Value: oauth.NewSecret(value)})
	}
	return all
}

// elsewhere is a connection to a server that runs elsewhere, as the gateway uses it.
type elsewhere struct {
	*remote.Conn
	keys *sending
	idle func()
}

func (elsewhere) Instance() sandbox.InstanceID { return "" }
func (elsewhere) Ready()                       {}
func (elsewhere) Excuse()                      {}
func (elsewhere) Fail(string)                  {}

func (e elsewhere) Stop(ctx context.Context) error {
	defer e.idle()
	defer e.keys.letGo()
	return e.Conn.Stop(ctx)
}

// cutTime is how long a connection may take to end.
const cutTime = 5 * time.Second

// cut ends the connection at once.
func (e elsewhere) cut(why string) {
	ctx, cancel := context.WithTimeout(context.Background(), cutTime)
	defer cancel()
	_ = e.Conn.Cut(ctx, errors.New(why)) // it ends soon, if not now
	e.idle()
}

// newLogins asks the person in their own browser. What was allowed is kept in their keyring.
func (d *Daemon) newLogins() *oauth.Logins {
	return oauth.New(oauth.Config{Vault: keyring.New(d.vault.ring), Log: d.log, Open: d.showLogin, Patience: loginPatience})
}

// loginPatience is how long a person has for one login.
const loginPatience = 5 * time.Minute

// loginPage is a page on which a person is to allow Garita something.
type loginPage struct {
	url   string
	until time.Time
}

// showLogin opens a login's page, and tells where it is to whoever looks at the status: not every
// machine has a browser that a daemon can open.
func (d *Daemon) showLogin(ctx context.Context, page string) error {
	d.login.Store(&loginPage{page, time.Now().Add(loginPatience)})
	d.events.Publish("status", "", nil)
	path, err := exec.LookPath("xdg-open")
	if err == nil {
		err = oauth.Browser(path)(ctx, page)
	}
	if err != nil {
		d.log.Info("a login's page could not be opened; garita status says where it is", "err", err)
	}
	return nil
}

// loginNotice is where a person is awaited for a login, "" when nobody is.
func (d *Daemon) loginNotice() string {
	p := d.login.Load()
	if p == nil || time.Now().After(p.until) {
		return ""
	}
	return "A server elsewhere waits for you to log in: " + p.url
}
