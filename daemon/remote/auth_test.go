package remote

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/garita-dev/garita/daemon/protocol"
	"github.com/garita-dev/garita/daemon/remote/dial"
	"github.com/garita-dev/garita/daemon/remote/oauth"
	"github.com/garita-dev/garita/daemon/remote/oauth/oauthtest"
)

// keys is an Authorizer whose every key opens as many doors as uses says.
type keys struct {
	mu      sync.Mutex
	mark    int
	renewed []int // statuses
	err     error
}

func (k *keys) Apply(_ context.Context, req *http.Request) (int, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.mark > 0 {
		req.Header.Set("Authorization", fmt.Sprintf("Bearer key%d", k.mark))
	}
	return k.mark, nil
}

func (k *keys) Renew(_ context.Context, mark, status int, h http.Header) (bool, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.renewed = append(k.renewed, status)
	if k.err != nil || h.Get("WWW-Authenticate") == "" {
		return false, k.err
	}
	k.mark = mark + 1
	return true, nil
}

// locked asks for the key of that number.
func locked(key string, status int) http.Handler {
	return http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		m, _ := protocol.Parse(body)
		if r.Header.Get("Authorization") != "Bearer "+key {
			rw.Header().Set("WWW-Authenticate", "Bearer")
			rw.WriteHeader(status)
			return
		}
		rw.Header().Set("Content-Type", "application/json")
		fmt.Fprintf(rw, `{"jsonrpc":"2.0","id":%s,"result":{}}`, m.ID)
	})
}

func TestCredentials(t *testing.T) {
	for name, test := range map[string]struct {
		server http.Handler
		auth   *keys
		want   string // in the answer
		posts  int
	}{
		"none are wanted":            {locked("key0", 401), &keys{}, "log in again", 3},
		"after a login":              {locked("key1", 401), &keys{}, `"result":{}`, 2},
		"after a login and more":     {locked("key2", 403), &keys{}, `"result":{}`, 3},
		"never enough":               {locked("key9", 401), &keys{}, "log in again", 3},
		"nobody logs in":             {locked("key1", 401), &keys{err: errors.New("nobody is there")}, "did not carry out tools/list, it wants a login: nobody is there", 1},
		"forbidden, and that is all": {http.HandlerFunc(func(rw http.ResponseWriter, _ *http.Request) { rw.WriteHeader(403) }), &keys{}, "may not do this", 1},
	} {
		t.Run(name, func(t *testing.T) {
			url, w := serve(t, test.server)
			p := dialPeer(t, Options{URL: url, Auth: test.auth})
			m := p.ask("1", "tools/list", modern(""))
			if !strings.Contains(string(m.Raw), test.want) {
				t.Errorf("answer: %s, want in it %q", m.Raw, test.want)
			}
			if n := len(w.of("POST")); n != test.posts {
				t.Errorf("%d POST, want %d", n, test.posts)
			}
		})
	}
}

// report_T06 over the wire: four sessions with one server within a second, one page.
func TestFourSessionsOneLogin(t *testing.T) {
	t.Run("report_T06", func(t *testing.T) {
		world := oauthtest.New(t, oauthtest.Options{})
		world.MCP = sdkHandler(sdkServer(), mcp.StreamableHTTPOptions{Stateless: true})
		logins := oauth.New(oauth.Config{Vault: &oauthtest.Vault{}, Open: world.Open})
		defer logins.Close()
		client, err := Client(world.URL(), dial.Rules{})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(client.CloseIdleConnections)
		var peers []*peer
		for range 4 {
			login, err := logins.Server(oauth.Server{Name: "far", URL: world.URL(), Client: client})
			if err != nil {
				t.Fatal(err)
			}
			peers = append(peers, dialPeer(t, Options{URL: world.URL(), Client: client, Auth: login}))
		}
		for _, p := range peers {
			p.write(`{"jsonrpc":"2.0","id":1,"method":"tools/list","params":` + modern("") + `}`)
		}
		for _, p := range peers {
			if m := p.answer("1"); m.Result == nil {
				t.Errorf("tools/list: %s", m.Raw)
			}
		}
		if n := world.Pages(); n != 1 {
			t.Errorf("%d pages, want one", n)
		}
	})
}

func TestOnlySoManyRequestsAtOnce(t *testing.T) {
	release := make(chan struct{})
	url, w := serve(t, legacy(func(rw http.ResponseWriter, _ *http.Request, m protocol.Message) {
		<-release
		rw.Header().Set("Content-Type", "application/json")
		fmt.Fprintf(rw, `{"jsonrpc":"2.0","id":%s,"result":{}}`, m.ID)
	}))
	p := dialPeer(t, Options{URL: url, Limits: Limits{Streams: 1}})
	p.ask("0", "initialize", initParams)
	p.write(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{}}`)
	eventually(t, "the first", func() bool { return len(w.of("POST")) == 2 })
	p.write(`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{}}`)
	p.write(`{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{}}`)
	p.write(string(protocol.NewCancelled("2", "enough"))) // it waits still: it is never sent
	eventually(t, "the cancellation", func() bool { return inFlight(p.conn) == 2 })
	if n := len(w.of("POST")); n != 2 {
		t.Errorf("%d POST, want 2", n)
	}
	close(release)
	p.answer("3")
	for _, body := range w.bodies() {
		if strings.Contains(body, `"id":2`) || strings.Contains(body, "cancelled") {
			t.Errorf("sent: %s", body)
		}
	}
}

func TestTheOldestTransportEndsWithItsStream(t *testing.T) {
	hang := make(chan struct{})
	url, _ := serve(t, http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		m, _ := protocol.Parse(body)
		switch {
		case r.Method == "GET":
			events(rw, "event: endpoint\ndata: ?session=1\n\ndata: {\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"protocolVersion\":\"2024-11-05\"}}\n\n")
			<-hang
		case r.URL.RawQuery == "":
			rw.WriteHeader(404)
		case m.Method == "tools/call":
			rw.WriteHeader(202)
			close(hang)
		default:
			rw.WriteHeader(202)
		}
	}))
	p := dialPeer(t, Options{URL: url})
	if m := p.ask("1", "initialize", initParams); m.Result == nil {
		t.Fatalf("initialize: %s", m.Raw)
	}
	p.write(`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{}}`)
	var lost *protocol.LostError
	if err := p.end(); !errors.As(err, &lost) || len(lost.Unsent) > 0 {
		t.Errorf("the Conn ended with %v", err)
	}
}
