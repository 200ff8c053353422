package visitors

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/cgi"
	"os/exec"
	"strings"

	"github.com/gorilla/websocket"
	"google.golang.org/grpc"
	"google.golang.org/grpc/health"
	"google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/metadata"
)

// Host is a host at which every visitor finds what it looks for: a page, a repository, a package, a
// WebSocket, a gRPC service. It says "hello from" and its name, whether it was given the value or the
// sentinel, and the token as it came; the wall must not let the value back in.
type Host struct {
	Value, Sentinel string
	// Private is the name at which the repository is shown to those with the value only; "" is none.
	Private string
	// Repositories is a folder of bare ones for git to serve; "" is one without content, by hand.
	Repositories string

	grpc *grpc.Server
}

// Open makes it ready to answer over HTTP/1.1 and, for gRPC, HTTP/2.
func (h *Host) Open() *Host {
	h.grpc = grpc.NewServer(grpc.UnaryInterceptor(h.greetCaller))
	grpc_health_v1.RegisterHealthServer(h.grpc, health.NewServer())
	return h
}

func (h *Host) greetCaller(ctx context.Context, req any, _ *grpc.UnaryServerInfo, handle grpc.UnaryHandler) (any, error) {
	md, _ := metadata.FromIncomingContext(ctx)
	said := h.greeting(strings.Join(md.Get(":authority"), ""), strings.Join(md.Get("authorization"), ""))
	if err := grpc.SetHeader(ctx, metadata.Pairs("x-answer", said)); err != nil {
		return nil, err
	}
	return handle(ctx, req)
}

func (h *Host) greeting(host, authorization string) string {
	return fmt.Sprintf("hello from %s header[%s] echo[%s]", host, h.Which(authorization), authorization)
}

// Which tells what of the two is in a text.
func (h *Host) Which(text string) string {
	in := func(what string) bool { return what != "" && strings.Contains(text, what) }
	return fmt.Sprintf("value:%v sentinel:%v", in(h.Value), in(h.Sentinel))
}

// ServeHTTP implements http.Handler.
func (h *Host) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	authorization := r.Header.Get("Authorization")
	if user, password, ok := r.BasicAuth(); ok {
		authorization = user + ":" + password
	}
	switch said := h.greeting(r.Host, authorization); {
	case strings.HasPrefix(r.Header.Get("Content-Type"), "application/grpc"):
		h.grpc.ServeHTTP(w, r)
	case websocket.IsWebSocketUpgrade(r):
		h.converse(w, r, said)
	case strings.HasPrefix(r.URL.Path, "/repo.git"):
		h.repository(w, r, authorization)
	case r.URL.Path == "/some-package":
		w.Header().Set("Content-Type", "application/json")
		_, _ = fmt.Fprintf(w, `{"name":"some-package","dist-tags":{"latest":"1.2.3"},"versions":{"1.2.3":{"name":"some-package","version":"1.2.3","description":%q,"dist":{}}}}`, said)
	case strings.HasPrefix(r.URL.Path, "/simple/"):
		w.Header().Set("Content-Type", "text/html")
		_, _ = io.WriteString(w, `<!DOCTYPE html><a href="/some_package-1.2.3.tar.gz">some_package-1.2.3.tar.gz</a>`)
	case r.URL.Path == "/page": // which offers HTTP/3, too
		w.Header().Set("Alt-Svc", `h3=":443"; ma=3600`)
		_, _ = io.WriteString(w, `<!DOCTYPE html><p id="p"></p><script src="/script"></script>`)
	case r.URL.Path == "/script":
		_, _ = fmt.Fprintf(w, `document.getElementById("p").textContent = %q`, said)
	default:
		_, _ = io.WriteString(w, said)
	}
}

// converse says what came with the upgrade, and what is in the first message.
func (h *Host) converse(w http.ResponseWriter, r *http.Request, said string) {
	c, err := new(websocket.Upgrader).Upgrade(w, r, nil)
	if err != nil {
		return
	}
	defer c.Close()
	if _, text, err := c.ReadMessage(); err == nil && c.WriteMessage(websocket.TextMessage, []byte(said)) == nil {
		_ = c.WriteMessage(websocket.TextMessage, []byte("message["+h.Which(string(text))+"]"))
		_, _, _ = c.ReadMessage() // until it closes
	}
}

// repository speaks git's protocol, as far as is wanted.
func (h *Host) repository(w http.ResponseWriter, r *http.Request, authorization string) {
	if h.Private != "" && strings.HasPrefix(r.Host, h.Private) && (h.Value == "" || !strings.HasSuffix(authorization, ":"+h.Value)) {
		w.Header().Set("WWW-Authenticate", `Basic realm="x"`)
		w.WriteHeader(http.StatusUnauthorized)
		return
	}
	if h.Repositories == "" {
		const head = "95dcfa3633004da0049d3d0fa03f80589cbcaf31 HEAD\x00multi_ack\n"
		w.Header().Set("Content-Type", "application/x-git-upload-pack-advertisement")
		_, _ = fmt.Fprintf(w, "001e# service=git-upload-pack\n0000%04x%s0000", len(head)+4, head)
		return
	}
	git, err := exec.LookPath("git")
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	served := &cgi.Handler{Path: git, Args: []string{"http-backend"}, Root: "/", Env: []string{
		"GIT_PROJECT_ROOT=" + h.Repositories, "GIT_HTTP_EXPORT_ALL=1", "REMOTE_USER=x", "GIT_CONFIG_NOSYSTEM=1", "HOME=" + h.Repositories,
	}}
	served.ServeHTTP(w, r)
}
