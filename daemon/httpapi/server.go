package httpapi

import (
	"context"
	"errors"
	"io/fs"
	"log/slog"
	"net"
	"net/http"
	"os"
	"sync"
	"time"
)

// Options are what a Server needs besides its Backend.
type Options struct {
	Version string       // for the API's description
	Page    fs.FS        // the web UI, index.html at its root; nil serves none
	Log     *slog.Logger // nil discards
}

// Server answers the API. Its methods may be called at the same time.
type Server struct {
	backend  Backend
	opts     Options
	sessions *sessions
	refusals *refusals

	mu   sync.Mutex // guards port
	port string     // of the page, "" while it is not served

	open sync.WaitGroup // requests under way, hijacked ones included
}

// New returns a Server that answers with what backend says. It starts nothing.
func New(backend Backend, opts Options) *Server {
	if opts.Log == nil {
		opts.Log = slog.New(slog.DiscardHandler)
	}
	return &Server{
		backend:  backend,
		opts:     opts,
		sessions: newSessions(time.Now),
		refusals: newRefusals(time.Now),
	}
}

// ServeSocket answers programs of this user on ln, a unix socket, until ctx ends; then nothing of
// it runs any more. It closes ln.
func (s *Server) ServeSocket(ctx context.Context, ln net.Listener) error {
	srv := s.httpServer(ctx, s.socketDoor())
	srv.ConnContext = func(ctx context.Context, c net.Conn) context.Context {
		return withPeer(ctx, c.(*peerConn).peer)
	}
	return s.serve(ctx, srv, &peerListener{Listener: ln, uid: os.Getuid(), log: s.opts.Log})
}

// ServePage answers browsers on ln, a loopback TCP socket, until ctx ends; then nothing of it runs
// any more. It closes ln. Links can be made while it runs.
func (s *Server) ServePage(ctx context.Context, ln net.Listener) error {
	addr, ok := ln.Addr().(*net.TCPAddr)
	if !ok || !addr.IP.IsLoopback() {
		return errors.Join(errors.New("serve the page: not a loopback address: "+ln.Addr().String()), ln.Close())
	}
	_, port, err := net.SplitHostPort(addr.String())
	if err != nil {
		return errors.Join(err, ln.Close())
	}
	s.setPort(port)
	defer s.setPort("")
	srv := s.httpServer(ctx, s.pageDoor(port))
	srv.MaxHeaderBytes = 32 << 10
	return s.serve(ctx, srv, ln)
}

// httpServer bounds what a slow or greedy caller can hold. There is no write timeout: questions
// wait for a person.
func (s *Server) httpServer(ctx context.Context, h http.Handler) *http.Server {
	return &http.Server{
		Handler:           s.counted(h),
		ReadHeaderTimeout: 5 * time.Second,
		IdleTimeout:       2 * time.Minute,
		MaxHeaderBytes:    1 << 20,
		BaseContext:       func(net.Listener) context.Context { return ctx },
		ErrorLog:          slog.NewLogLogger(s.opts.Log.Handler(), slog.LevelDebug),
	}
}

// serve runs srv on ln until ctx ends, and waits for everything under way.
func (s *Server) serve(ctx context.Context, srv *http.Server, ln net.Listener) error {
	done := make(chan error, 1)
	go func() { done <- srv.Serve(ln) }()
	var err error
	select {
	case err = <-done:
	case <-ctx.Done():
		err = errors.Join(stop(srv), asAsked(<-done))
	}
	s.open.Wait()
	return asAsked(err)
}

// asAsked is how Serve ended, nil when that was by Shutdown.
func asAsked(err error) error {
	if errors.Is(err, http.ErrServerClosed) {
		return nil
	}
	return err
}

// stop gives requests, whose context has just ended, a moment to say so.
func stop(srv *http.Server) error {
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
	defer cancel()
	if err := srv.Shutdown(ctx); err != nil {
		return srv.Close()
	}
	return nil
}

// counted keeps serve waiting for handlers that took their connection over.
func (s *Server) counted(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.open.Add(1)
		defer s.open.Done()
		next.ServeHTTP(w, r)
	})
}

func (s *Server) setPort(port string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.port = port
}

// PageURL is where the page is served, "" while it is not.
func (s *Server) PageURL() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.port == "" {
		return ""
	}
	return "http://127.0.0.1:" + s.port
}
