package api

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/gorilla/websocket"
)

// EventProtocol is the WebSocket subprotocol of the event stream.
const EventProtocol = "garita.v1"

// TokenProtocol is what the subprotocol that carries the page's token begins with.
const TokenProtocol = "garita.token."

// eventSilence is how long an event stream may be silent: the daemon pings every 30 s.
const eventSilence = 75 * time.Second

// EventStream is an open stream of events. Next is for one goroutine; Close may come from any.
type EventStream struct {
	conn *websocket.Conn
}

// Events opens the stream of what changes after the cursor since, the Seq of the last event seen.
// since 0 begins with one reset that carries the cursor of now: fetch everything, then follow.
// ctx bounds opening only; the caller closes the stream.
func (c *Client) Events(ctx context.Context, since int64) (*EventStream, error) {
	d := websocket.Dialer{
		NetDialContext: func(ctx context.Context, _, _ string) (net.Conn, error) { return c.Dial(ctx) },
		Subprotocols:   []string{EventProtocol},
	}
	conn, resp, err := d.DialContext(ctx, "ws://garita/api/v1/events?since="+strconv.FormatInt(since, 10), nil)
	if err != nil {
		return nil, refused(resp, err)
	}
	conn.SetReadLimit(1 << 20)
	return &EventStream{conn: conn}, nil
}

// refused explains why a WebSocket did not open.
func refused(resp *http.Response, err error) error {
	if resp == nil {
		return err
	}
	defer resp.Body.Close()
	body, readErr := io.ReadAll(io.LimitReader(resp.Body, 64<<10))
	if readErr != nil {
		return errors.Join(err, readErr)
	}
	return problem(resp.StatusCode, body)
}

// Next waits for the next event. When ctx ends the stream is closed. Any error ends the stream:
// open another from the last Seq.
func (s *EventStream) Next(ctx context.Context) (Event, error) {
	stop := context.AfterFunc(ctx, func() { _ = s.conn.Close() })
	defer stop()
	if err := s.renew(); err != nil {
		return Event{}, err
	}
	s.conn.SetPingHandler(func(data string) error {
		return errors.Join(s.renew(), s.conn.WriteControl(websocket.PongMessage, []byte(data), time.Now().Add(5*time.Second)))
	})
	_, msg, err := s.conn.ReadMessage()
	if ctx.Err() != nil {
		return Event{}, ctx.Err()
	}
	if err != nil {
		return Event{}, fmt.Errorf("read events: %w", err)
	}
	var e Event
	if err := json.Unmarshal(msg, &e); err != nil {
		return Event{}, fmt.Errorf("read an event: %w", err)
	}
	return e, nil
}

func (s *EventStream) renew() error { return s.conn.SetReadDeadline(time.Now().Add(eventSilence)) }

// Close ends the stream.
func (s *EventStream) Close() error { return s.conn.Close() }
