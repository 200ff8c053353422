package httpapi

import (
	"context"
	"log/slog"
	"net"
	"net/http"
	"strings"

	"github.com/garita-dev/garita/daemon/api"
)

type peerKey struct{}

// withPeer notes who calls.
func withPeer(ctx context.Context, p Peer) context.Context {
	return context.WithValue(ctx, peerKey{}, p)
}

// peerOf says who calls. Every door notes it, so its absence is a fault of ours.
func peerOf(ctx context.Context) Peer {
	return ctx.Value(peerKey{}).(Peer)
}

// peerConn is a connection whose other end the kernel has named.
type peerConn struct {
	*net.UnixConn
	peer Peer
}

// peerListener lets in only connections of one user.
type peerListener struct {
	net.Listener
	uid int
	log *slog.Logger
}

// Accept returns a *peerConn. Connections of other users are closed without a word.
func (l *peerListener) Accept() (net.Conn, error) {
	for {
		conn, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		peer, err := peerOfConn(conn)
		if err == nil && peer.UID == l.uid {
			return &peerConn{UnixConn: conn.(*net.UnixConn), peer: peer}, nil
		}
		l.log.Warn("socket connection refused", "uid", peer.UID, "err", err)
		_ = conn.Close()
	}
}

// socketDoor serves all routes that programs may call.
func (s *Server) socketDoor() http.Handler {
	mux := http.NewServeMux()
	h := newAPI(mux, s.opts.Version)
	for _, r := range s.routes() {
		if r.doors&bySocket != 0 {
			r.endpoint(mux, h, r.operation())
		}
	}
	mux.HandleFunc("/", noRoute)
	return s.programsOnly(readWhole(mux))
}

// programsOnly refuses what only a browser says: one has come in through something that put the
// socket on the network.
func (s *Server) programsOnly(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if why := browserSign(r); why != "" {
			s.refuse(w, r, http.StatusForbidden, why+" on the socket")
			return
		}
		w.Header().Set("Cache-Control", "no-store")
		w.Header().Set("X-Content-Type-Options", "nosniff")
		next.ServeHTTP(w, r)
	})
}

// browserSign says what in r gives a browser or a proxy away; "" is nothing.
func browserSign(r *http.Request) string {
	if r.Host != "garita" && r.Host != "localhost" {
		return "foreign host"
	}
	for name := range r.Header {
		if name == "Origin" || name == "Referer" || name == "Cookie" || strings.HasPrefix(name, "Sec-Fetch-") {
			return "browser header " + name
		}
	}
	return ""
}

// noRoute answers for paths that do not exist, or not at this door.
func noRoute(w http.ResponseWriter, r *http.Request) {
	writeProblem(w, &api.Problem{
		Status: http.StatusNotFound, Code: "not_found", Title: "There is no such route", Detail: r.Method + " " + r.URL.Path,
	})
}
