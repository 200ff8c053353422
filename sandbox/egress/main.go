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
	"time"

	"github.com/garita-dev/garita/sandbox/egress/wire"
	"github.com/garita-dev/garita/sandbox/handover"
	"github.com/garita-dev/garita/sandbox/trim"
)

// controlFD is where the daemon puts the far end of the control socket.
const controlFD = 3

// Main is the body of `garita-engine egress`, and returns the exit code. It gives up every right
// it has, then serves the daemon until the daemon is gone.
func Main() int {
	log := slog.New(slog.NewTextHandler(os.Stderr, nil))
	if err := run(log); err != nil {
		log.Error("the wall has ended", "err", err)
		return 1
	}
	return 0
}

func run(log *slog.Logger) error {
	if err := giveUpRights(); err != nil {
		return fmt.Errorf("give up rights: %w", err)
	}
	l, err := handover.Listen(os.NewFile(controlFD, "control"))
	if err != nil {
		return fmt.Errorf("this command is started by the daemon only: %w", err)
	}
	return Serve(l, log)
}

// Serve answers the daemon on the connections of l, until the other end is gone: then it returns
// nil at once, whatever is under way.
func Serve(l net.Listener, log *slog.Logger) error {
	settle := trim.Settle()
	defer settle.Stop()
	srv := &http.Server{
		Handler:           settling(settle, routes(log)),
		ReadHeaderTimeout: 10 * time.Second,
		ErrorLog:          slog.NewLogLogger(log.Handler(), slog.LevelWarn),
		ConnContext:       func(ctx context.Context, c net.Conn) context.Context { return context.WithValue(ctx, connKey{}, c) },
	}
	defer srv.Close()
	if err := srv.Serve(l); !errors.Is(err, io.EOF) {
		return fmt.Errorf("accept from the daemon: %w", err)
	}
	return nil
}

// connKey finds a request's connection, for the files that came with it.
type connKey struct{}

// settling has memory given back some time after the last request has begun or ended.
func settling(settle *time.Timer, h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		settle.Reset(trim.SettleAfter)
		defer settle.Reset(trim.SettleAfter)
		h.ServeHTTP(w, r)
	})
}

// routes is all that the daemon can ask for.
func routes(log *slog.Logger) http.Handler {
	mux := http.NewServeMux()
	mux.Handle("POST "+wire.RegistriesPath, &registryServer{log: log, bounds: usual})
	mux.Handle("POST "+wire.PullPath, &pullServer{log: log})
	newSandboxServer(log).routes(mux)
	return mux
}
