package daemon

import (
	"context"
	"fmt"
	"os/exec"

	"github.com/garita-dev/garita/daemon/gateway"
	"github.com/garita-dev/garita/daemon/remote"
	"github.com/garita-dev/garita/daemon/remote/dial"
	"github.com/garita-dev/garita/daemon/remote/oauth"
	"github.com/garita-dev/garita/sandbox"
	"github.com/garita-dev/garita/store/keyring"
)

// reaching returns how a session reaches a server that somebody else runs. Nothing is started, and
// no wall is around it: all its tools ask.
func (d *Daemon) reaching(server sandbox.Server) func(context.Context) (gateway.Upstream, error) {
	return func(ctx context.Context) (gateway.Upstream, error) {
		client, err := remote.Client(server.Source.URL, dial.Rules{})
		if err != nil {
			return nil, fmt.Errorf("reach %s: %w", server.Name, err)
		}
		login, err := d.logins.Server(oauth.Server{Name: string(server.Name), URL: server.Source.URL, Client: client})
		if err != nil {
			return nil, fmt.Errorf("reach %s: %w", server.Name, err)
		}
		conn, err := remote.Open(ctx, remote.Options{
			Name: string(server.Name), URL: server.Source.URL, Headers: headersOf(server.Source.Headers),
			Auth: login, Client: client, Log: d.log, Limits: remote.Limits{Message: int(d.config.Settings().Message)},
		})
		if err != nil {
			return nil, fmt.Errorf("reach %s: %w", server.Name, err)
		}
		return elsewhere{conn, client.CloseIdleConnections}, nil
	}
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
	idle func()
}

func (elsewhere) Instance() sandbox.InstanceID { return "" }
func (elsewhere) Ready()                       {}
func (elsewhere) Excuse()                      {}
func (elsewhere) Fail(string)                  {}

func (e elsewhere) Stop(ctx context.Context) error {
	defer e.idle()
	return e.Conn.Stop(ctx)
}

// newLogins asks the person in their own browser. What was allowed is kept in their
// keyring.
func (d *Daemon) newLogins() *oauth.Logins {
	cfg := oauth.Config{Vault: keyring.New(), Log: d.log}
	if path, err := exec.LookPath("xdg-open"); err == nil {
		cfg.Open = oauth.Browser(path)
	}
	return oauth.New(cfg)
}
