package httpapi_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/gorilla/websocket"
)

func TestSigningOutEndsTheSessionAndWhatItHasOpen(t *testing.T) {
	d := serve(t)
	b, other := d.visit(t), d.visit(t)
	cookies := b.Jar.Cookies(mustURL(t, b.page))
	dialer := websocket.Dialer{Jar: b.Jar, Subprotocols: []string{"garita.v1", "garita.token." + b.token}}
	conn, resp, err := dialer.DialContext(t.Context(), "ws"+strings.TrimPrefix(b.page, "http")+"/api/v1/events", http.Header{"Origin": {b.page}})
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	resp.Body.Close()

	if status, body := b.do(t, "DELETE", "/api/v1/browser-sessions", "", nil); status != 204 {
		t.Fatalf("got %d %s", status, body)
	}
	if left := b.Jar.Cookies(mustURL(t, b.page)); len(left) != 0 {
		t.Errorf("the cookie is still there: %v", left)
	}
	if err := conn.SetReadDeadline(time.Now().Add(time.Minute)); err != nil {
		t.Fatal(err)
	}
	for err == nil { // until the stream is over
		_, _, err = conn.ReadMessage()
	}
	if !websocket.IsCloseError(err, websocket.CloseGoingAway) {
		t.Errorf("the event stream ended with %v", err)
	}
	b.Jar.SetCookies(mustURL(t, b.page), cookies) // as somebody who kept it
	if status, _ := b.do(t, "GET", "/api/v1/status", "", nil); status != 401 {
		t.Errorf("the kept cookie: got %d", status)
	}
	if status, _ := other.do(t, "GET", "/api/v1/status", "", nil); status != 200 {
		t.Errorf("another browser: got %d", status)
	}
}

func mustURL(t *testing.T, text string) *url.URL {
	t.Helper()
	u, err := url.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	return u
}
