package httpapi

import (
	"context"
	"net/http"
	"os"
	"strings"

	"github.com/garita-dev/garita/daemon/api"
)

// claimPath is the one route a browser may call before it has a session.
const claimPath = "/api/v1/browser-sessions/claim"

// tokenHeader carries the page's second token.
const tokenHeader = "X-Garita-Token"

// page is the door for browsers on one port. The steps, outermost first: what every answer says to
// the browser, the Host, then for /api the origin and the session, for all else the files.
type page struct {
	*Server
	hosts  map[string]bool
	cookie string
}

// pageDoor serves the routes that the page may call, and the page.
func (s *Server) pageDoor(port string) http.Handler {
	p := &page{
		Server: s,
		hosts:  map[string]bool{"127.0.0.1:" + port: true, "localhost:" + port: true},
		cookie: cookieName(port),
	}
	calls := p.ownOrigin(p.withSession(readWhole(p.routed())))
	files := p.ownFiles(newFiles(s.opts.Page))
	return harden(p.knownHost(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/api" || strings.HasPrefix(r.URL.Path, "/api/") {
			w.Header().Set("Cache-Control", "no-store")
			calls.ServeHTTP(w, r)
			return
		}
		files.ServeHTTP(w, r)
	})))
}

// cookieName differs by port: cookies do not, and two daemons would overwrite each other's.
func cookieName(port string) string { return "garita-" + port }

// routed serves the table's routes; those for programs only are there to be refused.
func (p *page) routed() http.Handler {
	mux := http.NewServeMux()
	h := newAPI(mux, p.opts.Version)
	for _, r := range p.routes() {
		if r.doors&(byPage|byClaim) != 0 {
			r.endpoint(mux, h, r.operation())
			continue
		}
		mux.HandleFunc(r.method+" "+r.path, func(w http.ResponseWriter, r *http.Request) {
			p.refuse(w, r, http.StatusForbidden, "route for programs only")
		})
	}
	mux.HandleFunc("/", noRoute)
	return mux
}

// knownHost refuses names that are not ours: with them a foreign site's page could pass for ours
// (DNS rebinding).
func (p *page) knownHost(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !p.hosts[r.Host] {
			p.refuse(w, r, http.StatusForbidden, "foreign host")
			return
		}
		next.ServeHTTP(w, r)
	})
}

// ownOrigin refuses requests that a page other than ours made the browser send. Other ports of
// this machine are "same-site" and get our cookies, so only the very same origin will do.
func (p *page) ownOrigin(next http.Handler) http.Handler {
	cross := http.NewCrossOriginProtection()
	cross.SetDenyHandler(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		p.refuse(w, r, http.StatusForbidden, "cross-origin request")
	}))
	checked := cross.Handler(next)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.Header.Get("Origin") != "" && !sameOrigin(r):
			p.refuse(w, r, http.StatusForbidden, "foreign origin")
		case r.Header.Get("Sec-Fetch-Site") != "" && r.Header.Get("Sec-Fetch-Site") != "same-origin":
			p.refuse(w, r, http.StatusForbidden, "cross-origin request")
		default:
			checked.ServeHTTP(w, r)
		}
	})
}

// sameOrigin says whether the request names this page as its origin.
func sameOrigin(r *http.Request) bool {
	return len(r.Header.Values("Origin")) == 1 && r.Header.Get("Origin") == "http://"+r.Host
}

// withSession refuses requests without both halves of a session, and ends them with it.
func (p *page) withSession(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		peer := Peer{UID: os.Getuid(), Page: true}
		if r.URL.Path == claimPath && r.Method == http.MethodPost {
			next.ServeHTTP(w, r.WithContext(withPeer(r.Context(), peer)))
			return
		}
		found, ok := p.sessions.find(p.cookieOf(r), tokenOf(r))
		if !ok {
			p.refuse(w, r, http.StatusUnauthorized, "no session")
			return
		}
		peer.Opened = found.opened
		ctx, cancel := context.WithDeadline(withPeer(r.Context(), peer), found.until)
		defer cancel()
		defer context.AfterFunc(found.live, cancel)()
		next.ServeHTTP(w, r.WithContext(ctx))
	})
}

func (p *page) cookieOf(r *http.Request) string { return cookieOf(r, p.cookie) }

func cookieOf(r *http.Request, name string) string {
	c, err := r.Cookie(name)
	if err != nil {
		return ""
	}
	return c.Value
}

// tokenOf finds the page's token in the header, or where a WebSocket, which can set none, puts it.
func tokenOf(r *http.Request) string {
	if t := r.Header.Get(tokenHeader); t != "" {
		return t
	}
	for _, line := range r.Header.Values("Sec-WebSocket-Protocol") {
		for protocol := range strings.SplitSeq(line, ",") {
			if t, ok := strings.CutPrefix(strings.TrimSpace(protocol), api.TokenProtocol); ok {
				return t
			}
		}
	}
	return ""
}

// ownFiles keeps other sites from loading the page's files as parts of theirs; following a link is fine.
func (p *page) ownFiles(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		site := r.Header.Get("Sec-Fetch-Site")
		foreign := site == "cross-site" || site == "same-site"
		visit := r.Header.Get("Sec-Fetch-Mode") == "navigate" && r.Header.Get("Sec-Fetch-Dest") == "document"
		if foreign && !visit {
			p.refuse(w, r, http.StatusForbidden, "page file wanted by another site")
			return
		}
		next.ServeHTTP(w, r)
	})
}

// harden says to the browser what may never be done with any answer of this door.
func harden(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Content-Security-Policy", "default-src 'none'; frame-ancestors 'none'")
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("X-Frame-Options", "DENY")
		h.Set("Referrer-Policy", "no-referrer")
		h.Set("Cross-Origin-Opener-Policy", "same-origin")
		h.Set("Cross-Origin-Resource-Policy", "same-origin")
		next.ServeHTTP(w, r)
	})
}
