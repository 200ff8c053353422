package egress

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"sync"
	"time"

	"github.com/garita-dev/garita/sandbox/handover"
)

// maxListeners bounds the listening sockets of one sandbox; it has one.
const maxListeners = 4

// attach serves h on every listening socket that arrives on control, until ctx ends; then it
// closes them all and returns once the last request is over. It takes ownership of control.
func attach(ctx context.Context, control *os.File, h http.Handler, log *slog.Logger, arrived func()) error {
	conn, err := handover.Conn(control)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	srv := newServer(ctx, h, log)
	var serving sync.WaitGroup
	serving.Go(func() {
		<-ctx.Done()
		_ = conn.Close()
		end(srv)
	})
	err = receiveListeners(ctx, conn, func(l net.Listener) {
		serving.Go(func() { _ = srv.Serve(l) })
		arrived()
	})
	if err != nil {
		cancel()
	}
	serving.Wait()
	return err
}

// newServer answers a sandbox, whose requests are small and whose patience is not trusted.
func newServer(ctx context.Context, h http.Handler, log *slog.Logger) *http.Server {
	return &http.Server{
		Handler:           h,
		ReadHeaderTimeout: 10 * time.Second,
		IdleTimeout:       2 * time.Minute,
		MaxHeaderBytes:    16 << 10,
		ErrorLog:          slog.NewLogLogger(log.Handler(), slog.LevelDebug),
		BaseContext:       func(net.Listener) context.Context { return ctx },
	}
}

// end lets requests notice that their context is over, then closes what is left.
func end(srv *http.Server) {
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
	defer cancel()
	if srv.Shutdown(ctx) != nil {
		_ = srv.Close()
	}
}

// receiveListeners hands on the listening sockets that arrive, until the sender is gone or ctx ends.
func receiveListeners(ctx context.Context, conn *net.UnixConn, take func(net.Listener)) error {
	taken := 0
	for {
		_, files, err := handover.Receive(conn, make([]byte, 16))
		switch {
		case ctx.Err() != nil:
			closeFiles(files)
			return nil
		case errors.Is(err, io.EOF):
			return nil // none at all: there was nothing to install, or the sandbox did not start
		case err != nil:
			return fmt.Errorf("receive a listening socket: %w", err)
		}
		for _, f := range files {
			l, err := tcpListener(f)
			if err == nil && taken == maxListeners {
				_ = l.Close()
				err = errors.New("too many listening sockets arrived")
			}
			if err != nil {
				return err
			}
			taken++
			take(l)
		}
	}
}

// tcpListener takes ownership of f, which must be a listening TCP socket.
func tcpListener(f *os.File) (net.Listener, error) {
	defer f.Close()
	l, err := net.FileListener(f)
	if err != nil {
		return nil, fmt.Errorf("use a socket that arrived: %w", err)
	}
	if _, ok := l.(*net.TCPListener); !ok {
		_ = l.Close()
		return nil, errors.New("a socket arrived that is not TCP")
	}
	return l, nil
}

func closeFiles(files []*os.File) {
	for _, f := range files {
		_ = f.Close()
	}
}
