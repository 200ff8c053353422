package door

import (
	"context"
	"crypto/subtle"
	"errors"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"

	"github.com/garita-dev/garita/daemon/protocol"
	"github.com/garita-dev/garita/sandbox/sandboxtest"
)

// fake is a Backend whose servers are functions.
type fake struct {
	tokens  map[string]Access // by token
	reach   map[string][]string
	servers map[string]func(ctx context.Context, a Access, c Client) error

	mu      sync.Mutex
	refused []Refusal
	started map[string]int
}

func (f *fake) Authenticate(_ context.Context, token string) (Access, error) {
	for t, a := range f.tokens {
		if subtle.ConstantTimeCompare([]byte(t), []byte(token)) == 1 {
			return a, nil
		}
	}
	return Access{}, errors.New("unknown token")
}

func (f *fake) Servers(a Access) []string { return f.reach[a.ID] }

func (f *fake) Serve(ctx context.Context, a Access, server string, c Client) error {
	f.mu.Lock()
	if f.started == nil {
		f.started = map[string]int{}
	}
	f.started[server]++
	f.mu.Unlock()
	return f.servers[server](ctx, a, c)
}

func (f *fake) Refused(_ context.Context, r Refusal) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.refused = append(f.refused, r)
}

// take is the refusals since the last take.
func (f *fake) take() []Refusal {
	f.mu.Lock()
	defer f.mu.Unlock()
	all := f.refused
	f.refused = nil
	return all
}

func (f *fake) starts(server string) int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.started[server]
}

func copyMessages(write func([]byte) error, read func() (protocol.Message, error)) error {
	for {
		m, err := read()
		if err == nil {
			err = write(m.Raw)
		}
		if err != nil {
			return err
		}
	}
}

// open listens on loopback with a door over f, and tells the address; all ends with the test.
func open(t *testing.T, o Options, wrap ...func(http.Handler) http.Handler) (*Door, string) {
	t.Helper()
	d := New(o)
	var h http.Handler = d
	for _, w := range wrap {
		h = w(h)
	}
	s := httptest.NewServer(h)
	t.Cleanup(func() {
		s.CloseClientConnections()
		d.Close()
		s.Close()
	})
	return d, s.URL
}

// one is a fake with one server that the token "secret" may reach.
func one(serve func(context.Context, Access, Client) error) *fake {
	return &fake{
		tokens:  map[string]Access{"secret": {ID: "tok1"}, "second": {ID: "tok2"}, "none": {ID: "tok3"}},
		reach:   map[string][]string{"tok1": {"srv"}, "tok2": {"srv"}},
		servers: map[string]func(context.Context, Access, Client) error{"srv": serve},
	}
}

// TestMain finds goroutines that are left when all tests are done.
func TestMain(m *testing.M) { sandboxtest.Main(m) }
