package daemon

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/garita-dev/garita/daemon/config"
	"github.com/garita-dev/garita/daemon/gateway"
	"github.com/garita-dev/garita/daemon/protocol"
	"github.com/garita-dev/garita/daemon/supervisor"
	"github.com/garita-dev/garita/sandbox"
	"github.com/garita-dev/garita/sandbox/sandboxtest"
)

// listenAt is the variable that makes a copy of this program an MCP server: on HTTP at an address, or
// on "stdio".
const listenAt = "GARITA_TEST_LISTEN_AT"

func init() {
	at := os.Getenv(listenAt)
	if at == "" {
		return
	}
	server := mcp.NewServer(&mcp.Implementation{Name: "inside", Version: "1"}, nil)
	server.AddTool(&mcp.Tool{Name: "die", InputSchema: map[string]any{"type": "object"}}, func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		fmt.Fprintln(os.Stderr, "dying")
		os.Exit(3)
		return nil, nil
	})
	if at == "stdio" {
		_ = server.Run(context.Background(), &mcp.StdioTransport{})
		os.Exit(0)
	}
	mux := http.NewServeMux()
	mux.Handle("/mcp", mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server }, nil))
	mux.Handle("/away", http.RedirectHandler("http://127.0.0.1:1/mcp", http.StatusTemporaryRedirect))
	fmt.Println("a banner that is no message")
	if err := http.ListenAndServe(at, mux); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// inHost is the machine as it is.
type inHost struct{}

func (inHost) LookPath(p string) (string, error)     { return p, nil }
func (inHost) EvalSymlinks(p string) (string, error) { return p, nil }
func (inHost) Image(context.Context, sandbox.ServerName, string) (sandbox.Digest, error) {
	return "", errors.New("no images here")
}

// newListeningTest is a daemon of what opening a server takes, without walls.
func newListeningTest(t *testing.T) *Daemon {
	t.Helper()
	t.Setenv("GARITA_HOME", t.TempDir())
	paths, err := config.FindPaths()
	if err != nil {
		t.Fatal(err)
	}
	settings, err := config.Open(paths)
	if err != nil {
		t.Fatal(err)
	}
	d := &Daemon{config: settings, log: slog.New(slog.DiscardHandler)}
	d.supervisor = supervisor.New(supervisor.Options{
		Runtime: sandboxtest.NewFake(), Host: inHost{}, Logger: d.log,
		Changed: func(sandbox.ServerName) {}, Ended: func(supervisor.Status, sandbox.Exit) {},
	})
	t.Cleanup(func() {
		if err := d.supervisor.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return d
}

// freePort is one that nobody listens on.
func freePort(t *testing.T, host string) int {
	t.Helper()
	l, err := net.Listen("tcp", net.JoinHostPort(host, "0"))
	if err != nil {
		t.Skipf("this machine has no %s: %v", host, err)
	}
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port
}

func openTest(t *testing.T, d *Daemon, server sandbox.Server) (gateway.Upstream, error) {
	t.Helper()
	i, err := d.supervisor.Start(t.Context(), server, supervisor.NewInstanceID(), supervisor.Owner{Group: "g"})
	if err != nil {
		t.Fatal(err)
	}
	return d.openListening(t.Context(), server, i)
}

func serverAt(host string, port int, path string) sandbox.Server {
	return sandbox.Server{
		Name:   "web",
		Source: sandbox.Source{Command: []string{os.Args[0]}, Listen: sandbox.Listen{Port: port, Path: path}},
		Spec:   sandbox.Spec{Env: map[string]string{listenAt: net.JoinHostPort(host, fmt.Sprint(port))}},
	}
}

// ask sends a request and returns its answer.
func ask(t *testing.T, u gateway.Upstream, id, method, params string) protocol.Message {
	t.Helper()
	if err := u.Write(protocol.NewRequest(protocol.ID(id), method, []byte(params))); err != nil {
		t.Fatal(err)
	}
	for {
		m, err := u.Read()
		if err != nil {
			t.Fatalf("%s: %v", method, err)
		}
		if m.Kind == protocol.Response && string(m.ID) == id {
			return m
		}
	}
}

const hello = `{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"t","version":"1"}}`

func TestAServerThatListensInside(t *testing.T) {
	t.Run("report_T07", func(t *testing.T) {
		for _, host := range []string{"127.0.0.1", "::1"} {
			t.Run(host, func(t *testing.T) {
				d := newListeningTest(t)
				u, err := openTest(t, d, serverAt(host, freePort(t, host), "/mcp"))
				if err != nil {
					t.Fatal(err)
				}
				if m := ask(t, u, "1", "initialize", hello); m.Result == nil {
					t.Errorf("initialize: %s", m.Raw)
				}
				u.Ready()
				if m := ask(t, u, "2", "tools/list", `{}`); !strings.Contains(string(m.Raw), `"die"`) {
					t.Errorf("tools/list: %s", m.Raw)
				}
				if log := d.supervisor.Log("web"); len(log) != 1 || !strings.Contains(log[0], "a banner") {
					t.Errorf("log: %q", log)
				}
				if err := u.Stop(t.Context()); err != nil {
					t.Error(err)
				}
				if _, err := u.Read(); !errors.Is(err, io.EOF) {
					t.Errorf("after the stop: %v", err)
				}
				if n := len(d.supervisor.Instances("")); n != 0 {
					t.Errorf("%d instances are left", n)
				}
			})
		}
	})
	t.Run("its end ends the stream", func(t *testing.T) {
		d := newListeningTest(t)
		u, err := openTest(t, d, serverAt("127.0.0.1", freePort(t, "127.0.0.1"), "/mcp"))
		if err != nil {
			t.Fatal(err)
		}
		ask(t, u, "1", "initialize", hello)
		u.Ready()
		if err := u.Write(protocol.NewRequest("2", "tools/call", []byte(`{"name":"die","arguments":{}}`))); err != nil {
			t.Fatal(err)
		}
		for err == nil {
			_, err = u.Read()
		}
		if !errors.Is(err, io.EOF) {
			t.Errorf("the stream ended with %v", err)
		}
		if state, reason := d.supervisor.State("web"); state != sandbox.Failed || reason != "exited (3)" {
			t.Errorf("state %s: %s", state, reason)
		}
		if err := u.Stop(t.Context()); err != nil {
			t.Error(err)
		}
	})
	t.Run("a redirect is not followed", func(t *testing.T) {
		d := newListeningTest(t)
		u, err := openTest(t, d, serverAt("127.0.0.1", freePort(t, "127.0.0.1"), "/away"))
		if err != nil {
			t.Fatal(err)
		}
		defer u.Stop(context.Background())
		if m := ask(t, u, "1", "initialize", hello); !strings.Contains(string(m.Error), "307") {
			t.Errorf("initialize: %s", m.Raw)
		}
	})
	t.Run("nothing listens in time", func(t *testing.T) {
		d := newListeningTest(t)
		server := serverAt("127.0.0.1", freePort(t, "127.0.0.1"), "/mcp")
		server.Source.Listen.Port = freePort(t, "127.0.0.1")
		server.Spec.Lifecycle.Start = 300 * time.Millisecond
		_, err := openTest(t, d, server)
		want := fmt.Sprintf("web does not listen where servers.yaml says: nothing listens on %d", server.Source.Listen.Port)
		if err == nil || !strings.HasPrefix(err.Error(), want) || !strings.Contains(err.Error(), "after 300ms") || !strings.Contains(err.Error(), "garita server logs web") {
			t.Errorf("got %v", err)
		}
		if n := len(d.supervisor.Instances("")); n != 0 {
			t.Errorf("%d instances are left", n)
		}
	})
	t.Run("it ends before it listens", func(t *testing.T) {
		d := newListeningTest(t)
		server := serverAt("127.0.0.1", freePort(t, "127.0.0.1"), "/mcp")
		server.Spec.Env[listenAt] = "nowhere"
		_, err := openTest(t, d, server)
		if err == nil || !strings.Contains(err.Error(), "exited (1) before handshake") || !strings.Contains(err.Error(), "nowhere") {
			t.Errorf("got %v", err)
		}
	})
}
