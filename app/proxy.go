package app

import (
	"encoding/json"
	"io/fs"
	"net/http"
	"net/http/httputil"
	"path"
	"strings"

	"github.com/garita-dev/garita/daemon/api"
)

// pageRoutes are the resources the page needs. The socket offers more (attach, tool-calls,
// browser-sessions, shutdown); a fault in the page must not reach those.
var pageRoutes = []string{
	"status", "doctor", "calls", "approvals", "servers", "workspaces", "audit",
}

// proxy passes the page's /api/v1/* on to the daemon's unix socket and answers every other path
// with the page itself, whose own router knows what to show.
func proxy(daemon *api.Client, page fs.FS) http.Handler {
	forward := &httputil.ReverseProxy{
		Rewrite:      rewrite,
		Transport:    daemon.Transport(),
		ErrorHandler: unreachable,
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case allowed(r.URL.Path):
			forward.ServeHTTP(w, r)
		case strings.HasPrefix(r.URL.Path, "/api/"):
			problem(w, api.Problem{Status: http.StatusNotFound, Code: "not_found", Title: "The window does not use this route"})
		default:
			http.ServeFileFS(w, r, page, "index.html")
		}
	})
}

// allowed says whether a path is one of pageRoutes or below one. It looks at the cleaned path, so
// no dots lead elsewhere.
func allowed(p string) bool {
	rest, ok := strings.CutPrefix(p, "/api/v1/")
	if !ok || path.Clean(p) != p {
		return false
	}
	resource, _, _ := strings.Cut(rest, "/")
	for _, r := range pageRoutes {
		if r == resource {
			return true
		}
	}
	return false
}

// rewrite sends the request as the socket expects it: who we are is said by the kernel, and what
// a webview adds of its own (a wails:// origin) would only be refused.
func rewrite(r *httputil.ProxyRequest) {
	r.Out.URL.Scheme = "http"
	r.Out.URL.Host = "garita"
	r.Out.Host = "garita"
	for _, h := range []string{"Origin", "Referer", "Cookie", "Sec-Fetch-Site", "Sec-Fetch-Mode", "Sec-Fetch-Dest"} {
		r.Out.Header.Del(h)
	}
}

func unreachable(w http.ResponseWriter, _ *http.Request, err error) {
	problem(w, api.Problem{
		Status: http.StatusServiceUnavailable,
		Code:   "unavailable",
		Title:  "The daemon cannot be reached",
		Detail: err.Error(),
		Next:   "garita daemon",
	})
}

func problem(w http.ResponseWriter, p api.Problem) {
	w.Header().Set("Content-Type", "application/problem+json")
	w.WriteHeader(p.Status)
	_ = json.NewEncoder(w).Encode(p) // the webview may have gone
}

// strict adds the content policy to everything the window shows.
func strict(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Security-Policy", contentPolicy)
		w.Header().Set("X-Content-Type-Options", "nosniff")
		next.ServeHTTP(w, r)
	})
}
