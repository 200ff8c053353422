package httpapi

import (
	"io"
	"net/http"
	"strings"

	"github.com/garita-dev/garita/daemon/api"
)

const switching = "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: "

// attach turns the connection into one MCP client's stdio and lets the backend serve it.
func (s *Server) attach(w http.ResponseWriter, r *http.Request) {
	a, err := api.ParseAttach(r.URL.Query())
	if err != nil {
		writeProblem(w, &api.Problem{Status: http.StatusBadRequest, Code: "invalid", Title: "The session cannot be opened", Detail: err.Error()})
		return
	}
	protocol := strings.ToLower(r.Header.Get("Upgrade"))
	a.Handover = protocol == api.AttachHandover
	if protocol != api.AttachProtocol && !a.Handover {
		writeProblem(w, &api.Problem{Status: http.StatusUpgradeRequired, Code: "invalid", Title: "This route is an upgrade to " + api.AttachProtocol})
		return
	}
	peer := peerOf(r.Context())
	if err := s.backend.Attachable(r.Context(), peer, a); err != nil {
		writeProblem(w, problemOf(err).Problem)
		return
	}
	conn, err := takeOver(w, protocol)
	if err != nil {
		s.opts.Log.Error("attach refused", "server", a.Server, "err", err)
		return
	}
	if err := s.backend.Attach(r.Context(), peer, a, conn); err != nil {
		s.opts.Log.Info("session ended", "server", a.Server, "err", err)
	}
}

// takeOver takes the connection from the HTTP server and says so to the other end.
func takeOver(w http.ResponseWriter, protocol string) (*api.Stdio, error) {
	conn, rw, err := http.NewResponseController(w).Hijack()
	if err != nil {
		return nil, err
	}
	if _, err := io.WriteString(conn, switching+protocol+"\r\n\r\n"); err != nil {
		_ = conn.Close()
		return nil, err
	}
	return api.NewStdio(conn.(*peerConn).UnixConn, rw.Reader), nil
}
