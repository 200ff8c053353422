package oauth

import (
	"context"
	"net/http"
	"testing"
	"time"

	"github.com/garita-dev/garita/daemon/remote/dial"
	"github.com/garita-dev/garita/daemon/remote/oauth/oauthtest"
	"github.com/garita-dev/garita/sandbox/sandboxtest"
)

// TestMain finds goroutines that are left when all tests are done.
func TestMain(m *testing.M) { sandboxtest.Main(m) }

const long = 20 * time.Second

// world is an oauthtest.World with the logins of a daemon in it.
type world struct {
	*oauthtest.World
	t *testing.T
}

func newWorld(t *testing.T, opts oauthtest.Options) *world {
	return &world{oauthtest.New(t, opts), t}
}

// logins are the logins of a daemon in this world.
func (w *world) logins(cfg Config) *Logins {
	if cfg.Vault == nil {
		cfg.Vault = &oauthtest.Vault{}
	}
	if cfg.Open == nil {
		cfg.Open = w.Open
	}
	l := New(cfg)
	w.t.Cleanup(l.Close)
	return l
}

func (w *world) login(l *Logins, change func(*Server)) *Login {
	w.t.Helper()
	client := dial.New(dial.Rules{Declared: []string{"127.0.0.1"}}, nil).Client()
	w.t.Cleanup(client.CloseIdleConnections)
	s := Server{Name: "far", URL: w.URL(), Client: client}
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
