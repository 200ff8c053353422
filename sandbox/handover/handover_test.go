package handover

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"testing"
)

func TestHTTPWithFilesOverHandedOverConnections(t *testing.T) {
	near, far, err := Pair()
	if err != nil {
		t.Fatal(err)
	}
	l, err := Listen(far)
	if err != nil {
		t.Fatal(err)
	}
	type connKey struct{}
	srv := &http.Server{
		ConnContext: func(ctx context.Context, c net.Conn) context.Context {
			return context.WithValue(ctx, connKey{}, c)
		},
		Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			c, _ := r.Context().Value(connKey{}).(*FileConn)
			for _, f := range c.Files() {
				_, _ = io.Copy(w, f)
				_ = f.Close()
			}
		}),
	}
	done := make(chan error, 1)
	go func() { done <- srv.Serve(l) }()

	d, err := NewDialer(near)
	if err != nil {
		t.Fatal(err)
	}
	r, w, _ := os.Pipe()
	client := &http.Client{Transport: &http.Transport{
		DisableKeepAlives: true,
		DialContext:       func(context.Context, string, string) (net.Conn, error) { return d.Dial(r) },
	}}
	go func() { _, _ = w.WriteString("through the pipe"); _ = w.Close() }()
	resp, err := client.Get("http://engine/x")
	if err != nil {
		t.Fatal(err)
	}
	got, _ := io.ReadAll(resp.Body)
	_ = resp.Body.Close()
	_ = r.Close()
	if string(got) != "through the pipe" {
		t.Errorf("got %q, want the pipe's text", got)
	}

	_ = d.Close()
	if err := <-done; !errors.Is(err, io.EOF) {
		t.Errorf("Serve ended with %v, want io.EOF once the parent is gone", err)
	}
}
