package main

import (
	"bufio"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/garita-dev/garita/daemon/api"
)

// A daemon of before standard input and output could be handed over gets the client's bytes instead.
func TestAnOlderDaemonIsSentTheBytes(t *testing.T) {
	c, _, _ := testCLI(t, "")
	socket := filepath.Join(t.TempDir(), "s")
	c.client = api.New(socket)
	asked := make(chan string, 2)
	go olderDaemon(t, socket, asked)
	in, ours := pipes(t)
	theirs, out := pipes(t)
	c.in, c.out = in, out
	if !api.CanHandOver(in, out, os.Stderr) {
		t.Log("nothing would be handed over here; the other way is taken at once")
	}
	done := make(chan error, 1)
	for _, err := os.Stat(socket); err != nil; _, err = os.Stat(socket) {
		<-time.After(time.Millisecond)
	}
	go func() { done <- c.bridge(t.Context(), api.Attach{Server: "files"}) }()
	if _, err := io.WriteString(ours, "hello\n"); err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(theirs).ReadString('\n')
	if err != nil || line != "you said hello\n" {
		t.Errorf("the client got %q, %v", line, err)
	}
	if err := <-done; err != nil {
		t.Error(err)
	}
	if api.CanHandOver(in, out, os.Stderr) {
		if first := <-asked; first != api.AttachHandover {
			t.Errorf("asked first for %q", first)
		}
	}
	if last := <-asked; last != api.AttachProtocol {
		t.Errorf("asked then for %q", last)
	}
}

func pipes(t *testing.T) (r, w *os.File) {
	t.Helper()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = r.Close(); _ = w.Close() })
	return r, w
}

// olderDaemon knows one way to attach. It answers one line and ends the session.
func olderDaemon(t *testing.T, socket string, asked chan<- string) {
	ln, err := net.Listen("unix", socket)
	if err != nil {
		t.Error(err)
		return
	}
	server := &http.Server{ReadHeaderTimeout: time.Second, Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked <- r.Header.Get("Upgrade")
		if r.Header.Get("Upgrade") != api.AttachProtocol {
			w.Header().Set("Content-Type", "application/problem+json")
			w.WriteHeader(http.StatusUpgradeRequired)
			_, _ = io.WriteString(w, `{"code":"invalid","title":"This route is an upgrade to garita-stdio"}`)
			return
		}
		conn, rw, err := http.NewResponseController(w).Hijack()
		if err != nil {
			t.Error(err)
			return
		}
		defer conn.Close()
		_, _ = io.WriteString(conn, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: "+api.AttachProtocol+"\r\n\r\n")
		line, _ := rw.ReadString('\n')
		_, _ = io.WriteString(conn, "you said "+line)
	})}
	t.Cleanup(func() { _ = server.Close() })
	_ = server.Serve(ln)
}
