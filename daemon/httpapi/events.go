package httpapi

import (
	"context"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/gorilla/websocket"

	"github.com/garita-dev/garita/daemon/api"
	"github.com/garita-dev/garita/daemon/events"
)

// How often a silent stream is pinged, and how long the other end may take.
const (
	pingEvery  = 30 * time.Second
	pongWithin = 75 * time.Second
	sendWithin = 10 * time.Second
)

// Events writes a log's events as the API's. Detail goes along where it is a *api.Progress.
func Events(found []events.Event) []api.Event {
	out := make([]api.Event, 0, len(found))
	for _, e := range found {
		progress, _ := e.Detail.(*api.Progress)
		out = append(out, api.Event{Seq: e.Seq, Kind: e.Kind, ID: e.ID, Progress: progress})
	}
	return out
}

// events streams what changes after a cursor over a WebSocket, one event a message.
func (s *Server) events(w http.ResponseWriter, r *http.Request) {
	since, err := cursor(r.URL.Query().Get("since"))
	if err != nil {
		writeProblem(w, &api.Problem{Status: http.StatusBadRequest, Code: "invalid", Title: "The cursor cannot be understood", Detail: err.Error()})
		return
	}
	if peerOf(r.Context()).Page && !sameOrigin(r) {
		s.refuse(w, r, http.StatusForbidden, "event stream without our origin")
		return
	}
	up := websocket.Upgrader{
		Subprotocols:    []string{protocolOf(r)},
		CheckOrigin:     func(*http.Request) bool { return true }, // checked by the door and above
		Error:           upgradeFailed,
		WriteBufferSize: 4 << 10,
		ReadBufferSize:  1 << 10,
	}
	conn, err := up.Upgrade(w, r, nil)
	if err != nil {
		return // answered by upgradeFailed
	}
	s.stream(r.Context(), conn, since)
}

func cursor(text string) (int64, error) {
	if text == "" {
		return 0, nil
	}
	return strconv.ParseInt(text, 10, 64)
}

// protocolOf chooses the subprotocol to confirm: browsers give up when none is. The one with the
// token is the last choice.
func protocolOf(r *http.Request) string {
	offered := websocket.Subprotocols(r)
	for _, p := range offered {
		if !strings.HasPrefix(p, api.TokenProtocol) {
			return p
		}
	}
	if len(offered) > 0 {
		return offered[0]
	}
	return ""
}

func upgradeFailed(w http.ResponseWriter, _ *http.Request, status int, reason error) {
	writeProblem(w, &api.Problem{Status: status, Code: "invalid", Title: "This route is a WebSocket", Detail: reason.Error()})
}

// stream sends events on conn until ctx or the other end ends. It closes conn and leaves nothing running.
func (s *Server) stream(ctx context.Context, conn *websocket.Conn, since int64) {
	ctx, cancel := context.WithCancel(ctx)
	var wg sync.WaitGroup
	wg.Go(func() { defer cancel(); listen(conn) })
	wg.Go(func() { ping(ctx, conn) })
	s.send(ctx, conn, since)
	cancel()
	_ = conn.Close()
	wg.Wait()
}

// listen reads nothing but the other end's life signs.
func listen(conn *websocket.Conn) {
	conn.SetReadLimit(1 << 10)
	_ = conn.SetReadDeadline(time.Now().Add(pongWithin))
	conn.SetPongHandler(func(string) error { return conn.SetReadDeadline(time.Now().Add(pongWithin)) })
	for {
		if _, _, err := conn.NextReader(); err != nil {
			return
		}
	}
}

func ping(ctx context.Context, conn *websocket.Conn) {
	tick := time.NewTicker(pingEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			_ = conn.WriteControl(websocket.PingMessage, nil, time.Now().Add(sendWithin)) // a dead end fails to answer
		}
	}
}

func (s *Server) send(ctx context.Context, conn *websocket.Conn, since int64) {
	for {
		found, err := s.backend.Events(ctx, since)
		if err != nil {
			bye := websocket.FormatCloseMessage(websocket.CloseGoingAway, "")
			_ = conn.WriteControl(websocket.CloseMessage, bye, time.Now().Add(time.Second))
			return
		}
		for _, e := range found {
			if err := sendOne(conn, e); err != nil {
				return
			}
			since = e.Seq
		}
	}
}

func sendOne(conn *websocket.Conn, e api.Event) error {
	msg, err := json.Marshal(e)
	if err != nil {
		return err
	}
	if err := conn.SetWriteDeadline(time.Now().Add(sendWithin)); err != nil {
		return err
	}
	return conn.WriteMessage(websocket.TextMessage, msg)
}
