package app

import (
	"context"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/gorilla/websocket"

	"github.com/garita-dev/garita/daemon/api"
)

// listen serves h on a unix socket, as the daemon does, until the test ends.
func listen(t *testing.T, h http.Handler) *api.Client {
	t.Helper()
	path := filepath.Join(t.TempDir(), "garita.sock")
	ln, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	srv := &httptest.Server{Listener: ln, Config: &http.Server{Handler: h, ReadHeaderTimeout: time.Second}}
	srv.Start()
	t.Cleanup(srv.Close)
	c := api.New(path)
	t.Cleanup(c.Close)
	return c
}

var page = fstest.MapFS{"index.html": {Data: []byte("<title>Garita</title>")}}

func TestProxyPassesThePagesRequestsOn(t *testing.T) {
	var got *http.Request
	var body string
	daemon := listen(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		b, _ := io.ReadAll(r.Body)
		got, body = r, string(b)
		w.WriteHeader(http.StatusTeapot)
	}))
	r := httptest.NewRequest("POST", "wails://wails/api/v1/approvals/r1?x=1", strings.NewReader(`{"approve":true}`))
	for _, h := range []string{"Origin", "Referer", "Cookie", "Sec-Fetch-Site"} {
		r.Header.Set(h, "wails://wails")
	}
	w := httptest.NewRecorder()
	strict(proxy(daemon, page)).ServeHTTP(w, r)

	if w.Code != http.StatusTeapot {
		t.Fatalf("status %d, want the daemon's own", w.Code)
	}
	if got.Method != "POST" || got.URL.Path != "/api/v1/approvals/r1" || got.URL.RawQuery != "x=1" || body != `{"approve":true}` {
		t.Errorf("the daemon got %s %s with %q", got.Method, got.URL, body)
	}
	for _, h := range []string{"Origin", "Referer", "Cookie", "Sec-Fetch-Site"} {
		if v := got.Header.Get(h); v != "" {
			t.Errorf("the webview's %s reached the daemon: %q", h, v)
		}
	}
	if csp := w.Header().Get("Content-Security-Policy"); !strings.Contains(csp, "script-src 'self'") {
		t.Errorf("content policy %q", csp)
	}
}

func TestProxyKeepsOtherRoutesFromThePage(t *testing.T) {
	daemon := listen(t, http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		t.Errorf("the daemon was asked for %s", r.URL.Path)
	}))
	for _, path := range []string{
		"/api/v1/shutdown", "/api/v1/attach", "/api/v1/tool-calls", "/api/v1/browser-sessions",
		"/api/v1/calls/../shutdown", "/api/v1/", "/api/v2/status", "/api/v1/statuses",
	} {
		w := httptest.NewRecorder()
		proxy(daemon, page).ServeHTTP(w, httptest.NewRequest("POST", path, nil))
		if w.Code != http.StatusNotFound {
			t.Errorf("%s: status %d, want 404", path, w.Code)
		}
	}
}

func TestProxyAnswersEveryOtherPathWithThePage(t *testing.T) {
	w := httptest.NewRecorder()
	proxy(api.New("/nowhere"), page).ServeHTTP(w, httptest.NewRequest("GET", "/servers/files", nil))
	if !strings.Contains(w.Body.String(), "Garita") {
		t.Errorf("got %d %q", w.Code, w.Body)
	}
}

func TestProxySaysThatTheDaemonIsNotThere(t *testing.T) {
	w := httptest.NewRecorder()
	proxy(api.New(filepath.Join(t.TempDir(), "none")), page).ServeHTTP(w, httptest.NewRequest("GET", "/api/v1/status", nil))
	if w.Code != http.StatusServiceUnavailable || !strings.Contains(w.Body.String(), "garita daemon") {
		t.Errorf("got %d %s", w.Code, w.Body)
	}
}

// TestRelayGoesOnFromTheLastEvent drops the connection after each event and looks at the cursor
// of the next one.
func TestRelayGoesOnFromTheLastEvent(t *testing.T) {
	asked := make(chan string, 8)
	daemon := listen(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked <- r.URL.Query().Get("since")
		up := websocket.Upgrader{Subprotocols: []string{api.EventProtocol}}
		conn, err := up.Upgrade(w, r, nil)
		if err != nil {
			return
		}
		defer func() { _ = conn.Close() }()
		_ = conn.WriteMessage(websocket.TextMessage, []byte(`{"seq":7,"kind":"call","id":"c1"}`))
	}))
	ctx, cancel := context.WithCancel(t.Context())
	events := make(chan any, 8)
	done := make(chan struct{})
	go func() {
		defer close(done)
		relay(ctx, daemon, func(name string, data any) {
			if name == eventChanged {
				events <- data
			}
		})
	}()
	for _, want := range []string{"0", "7"} {
		if got := <-asked; got != want {
			t.Errorf("asked since %s, want %s", got, want)
		}
		if e, ok := (<-events).(api.Event); !ok || e.Seq != 7 || e.ID != "c1" {
			t.Errorf("repeated %v", e)
		}
	}
	cancel()
	<-done
}
