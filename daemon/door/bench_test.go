package door

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// BenchmarkCall is one modern call of a server that answers at once, over a kept connection.
func BenchmarkCall(b *testing.B) {
	s := newStub()
	s.answers["tools/call"] = result(`{"content":[{"type":"text","text":"x"}]}`)
	d := New(Options{Backend: one(s.serve)})
	srv := httptest.NewServer(d)
	defer srv.Close()
	defer d.Close()
	body := modernBody("1", "tools/call", `"name":"echo","arguments":{}`)
	for b.Loop() {
		r, _ := http.NewRequest(http.MethodPost, srv.URL+"/mcp/srv", strings.NewReader(body))
		r.Header = http.Header{
			"Authorization": {"Bearer secret"}, "Content-Type": {"application/json"}, "Accept": {"application/json, text/event-stream"},
			"Mcp-Protocol-Version": {"2026-07-28"}, "Mcp-Method": {"tools/call"}, "Mcp-Name": {"echo"},
		}
		resp, err := http.DefaultClient.Do(r)
		if err != nil {
			b.Fatal(err)
		}
		_, _ = io.Copy(io.Discard, resp.Body)
		resp.Body.Close()
	}
}

// BenchmarkHTTP is the same exchange without a door, to compare with.
func BenchmarkHTTP(b *testing.B) {
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		jsonBody(w, http.StatusOK, []byte(`{}`))
	}))
	defer srv.Close()
	for b.Loop() {
		resp, err := http.Post(srv.URL, "application/json", strings.NewReader("{}"))
		if err != nil {
			b.Fatal(err)
		}
		_, _ = io.Copy(io.Discard, resp.Body)
		resp.Body.Close()
	}
}
