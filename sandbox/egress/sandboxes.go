package egress

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"os"
	"sync"

	"github.com/containerd/errdefs"
	"github.com/go-json-experiment/json"

	"github.com/garita-dev/garita/sandbox"
	"github.com/garita-dev/garita/sandbox/egress/netstack"
	"github.com/garita-dev/garita/sandbox/egress/outlet"
	"github.com/garita-dev/garita/sandbox/egress/resolve"
	"github.com/garita-dev/garita/sandbox/egress/wire"
	"github.com/garita-dev/garita/sandbox/handover"
)

// sandboxServer is the way out of sandboxes, one for each request, as long as the request lasts.
type sandboxServer struct {
	log *slog.Logger

	mu      sync.Mutex // guards outlets
	outlets map[sandbox.InstanceID]served
}

// served is an outlet while its request lasts.
type served struct {
	*outlet.Outlet
	end context.CancelFunc
}

func newSandboxServer(log *slog.Logger) *sandboxServer {
	return &sandboxServer{log: log, outlets: map[sandbox.InstanceID]served{}}
}

func (s *sandboxServer) routes(mux *http.ServeMux) {
	mux.Handle("POST "+wire.SandboxesPath, s)
	mux.HandleFunc("POST "+wire.RulesPath, s.rules)
	mux.HandleFunc("POST "+wire.AnswersPath, s.answer)
	mux.HandleFunc("POST "+wire.SecretsPath, s.secrets)
	mux.HandleFunc("POST "+wire.LeavesPath, s.leave)
	mux.HandleFunc("POST "+wire.EndPath, s.end)
	mux.HandleFunc("POST "+wire.LivePath, s.live)
}

// ServeHTTP opens a way out and streams what happens at it. The sandbox's packet socket may come
// much later, or again.
func (s *sandboxServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var request wire.Sandbox
	if err := decode(r, &request); err != nil {
		fail(w, err)
		return
	}
	secrets, err := outlet.OpenSecrets(request)
	if err != nil {
		fail(w, err)
		return
	}
	files, err := filesOf(r, 2)
	if err != nil {
		fail(w, err)
		return
	}
	control, err := handover.Conn(files[0])
	if err != nil {
		_ = files[1].Close()
		fail(w, err)
		return
	}
	defer control.Close()
	counter, err := wire.OpenCounter(files[1])
	if err != nil {
		fail(w, err)
		return
	}
	out := unbegun(w)
	defer out.close()
	report := func(e wire.Event) { out.number(counter, e) }
	o := outlet.New(outlet.Options{Sandbox: request, Resolver: resolve.New(request.Host), Secrets: secrets, Report: report, Sent: counter.Send, Log: s.log})
	s.serve(r.Context(), request.ID, o, control, report, func() {
		out.begin()
		for _, seen := range secrets.Unusable() {
			report(wire.Event{Secret: &seen})
		}
	})
	_ = counter.Close() // nothing reports any more
}

// number counts an event and sends it, in one order.
func (s *stream) number(c *wire.Counter, e wire.Event) {
	s.order.Lock()
	defer s.order.Unlock()
	e.N = c.Add()
	s.send(e)
}

// serve lists o, so that it is found once begun is told, and serves it until ctx ends.
func (s *sandboxServer) serve(ctx context.Context, id sandbox.InstanceID, o *outlet.Outlet, control *net.UnixConn, report func(wire.Event), begun func()) {
	ctx, end := context.WithCancel(ctx)
	defer end()
	if !s.enlist(id, served{o, end}) {
		o.Close()
		report(wire.Event{Failed: "this sandbox has a way out already"})
		return
	}
	begun()
	defer s.strike(id)
	defer o.Close()
	stop := context.AfterFunc(ctx, func() { _ = control.Close() })
	defer stop()
	l := &link{outlet: o, log: s.log, report: report}
	defer l.close()
	for {
		text, files, err := receive(control)
		switch {
		case ctx.Err() != nil:
			closeFiles(files)
			return
		case errors.Is(err, io.EOF):
			<-ctx.Done() // the engine has let go of its end; what it sent works on
			return
		case err != nil:
			s.log.Warn("a sandbox's network could not be received", "err", err)
			report(wire.Event{Failed: err.Error()})
			return
		}
		l.take(text, files)
	}
}

func receive(control *net.UnixConn) (text string, files []*os.File, err error) {
	buf := make([]byte, 64)
	n, files, err := handover.Receive(control, buf)
	return string(buf[:n]), files, err
}

func (s *sandboxServer) enlist(id sandbox.InstanceID, o served) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, there := s.outlets[id]; there || id == "" {
		return false
	}
	s.outlets[id] = o
	return true
}

func (s *sandboxServer) strike(id sandbox.InstanceID) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.outlets, id)
}

func (s *sandboxServer) find(id sandbox.InstanceID) (served, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if o, there := s.outlets[id]; there {
		return o, nil
	}
	return served{}, fmt.Errorf("sandbox %s has no way out: %w", id, errdefs.ErrNotFound)
}

func (s *sandboxServer) rules(w http.ResponseWriter, r *http.Request) {
	var request wire.Rules
	err := decode(r, &request)
	if err == nil {
		var o served
		if o, err = s.find(request.ID); err == nil {
			o.SetOutside(request.Outside)
			o.SetRules(request.Rules)
		}
	}
	if err != nil {
		fail(w, err)
	}
}

func (s *sandboxServer) answer(w http.ResponseWriter, r *http.Request) {
	var request wire.Answer
	err := decode(r, &request)
	if err == nil {
		var o served
		if o, err = s.find(request.ID); err == nil {
			o.Answer(request)
		}
	}
	if err != nil {
		fail(w, err)
	}
}

func (s *sandboxServer) secrets(w http.ResponseWriter, r *http.Request) {
	var request wire.Secrets
	err := decode(r, &request)
	if err == nil {
		var o served
		if o, err = s.find(request.ID); err == nil {
			err = o.SetSecrets(request.Placeholders)
		}
	}
	if err != nil {
		fail(w, err)
	}
}

func (s *sandboxServer) leave(w http.ResponseWriter, r *http.Request) {
	var request wire.Leave
	err := decode(r, &request)
	if err == nil {
		var o served
		if o, err = s.find(request.ID); err == nil {
			o.Leave(request)
		}
	}
	if err != nil {
		fail(w, err)
	}
}

func (s *sandboxServer) end(w http.ResponseWriter, r *http.Request) {
	var request wire.End
	err := decode(r, &request)
	if err == nil {
		var o served
		if o, err = s.find(request.ID); err == nil {
			o.end()
		}
	}
	if err != nil {
		fail(w, err)
	}
}

// live answers with the connections that are open, and what has passed on each.
func (s *sandboxServer) live(w http.ResponseWriter, r *http.Request) {
	var request wire.End
	err := decode(r, &request)
	if err == nil {
		var o served
		if o, err = s.find(request.ID); err == nil {
			w.Header().Set("Content-Type", "application/json")
			err = json.MarshalWrite(w, o.Live())
		}
	}
	if err != nil {
		fail(w, err)
	}
}

// link is a sandbox's network as it arrives from the engine.
type link struct {
	outlet *outlet.Outlet
	log    *slog.Logger
	report func(wire.Event)
	stack  *netstack.Stack

	listeners []net.Listener
	serving   sync.WaitGroup
}

// take uses what the engine has sent: the packet socket, or a socket that listens on the sandbox's
// own loopback for a service of this machine.
func (l *link) take(text string, files []*os.File) {
	if len(files) != 1 {
		closeFiles(files)
		return
	}
	if err := l.use(text, files[0]); err != nil {
		l.log.Warn("a sandbox's network cannot be used", "err", err)
		l.report(wire.Event{Failed: err.Error()})
	}
}

func (l *link) use(text string, file *os.File) error {
	if text != wire.PacketSocket {
		return l.listen(file)
	}
	if l.stack != nil {
		_ = l.stack.Close()
		l.stack = nil
	}
	stack, err := netstack.Open(file, handler{l.outlet})
	if err != nil {
		return err
	}
	l.stack = stack
	l.report(wire.Event{Attached: true})
	return nil
}

func (l *link) listen(file *os.File) error {
	ln, err := tcpListener(file)
	if err != nil {
		return err
	}
	if len(l.listeners) >= maxHostPorts {
		_ = ln.Close()
		return errors.New("too many listening sockets arrived")
	}
	l.listeners = append(l.listeners, ln)
	l.serving.Go(func() {
		for {
			c, err := ln.Accept()
			if err != nil {
				return
			}
			at, _ := netip.ParseAddrPort(ln.Addr().String())
			l.serving.Go(func() { l.outlet.TCP(&accepted{c, at.Port(), l.outlet.HostAddress()}) })
		}
	})
	return nil
}

// maxHostPorts bounds the services of this machine that one sandbox has on its own loopback, twice
// over: for IPv4 and IPv6.
const maxHostPorts = 64

// close ends everything; the outlet has been closed before, or is closed next.
func (l *link) close() {
	for _, ln := range l.listeners {
		_ = ln.Close()
	}
	if l.stack != nil {
		_ = l.stack.Close()
	}
	l.outlet.Close()
	l.serving.Wait()
}

// handler is an outlet as a stack's handler.
type handler struct{ *outlet.Outlet }

// TCP implements netstack.Handler.
func (h handler) TCP(c *netstack.Incoming) { h.Outlet.TCP(c) }

// accepted is a connection to the sandbox's own loopback.
type accepted struct {
	conn net.Conn
	port uint16
	host netip.Addr
}

// Target is this machine, at the same port.
func (a *accepted) Target() netip.AddrPort { return netip.AddrPortFrom(a.host, a.port) }

// Refuse resets the connection.
func (a *accepted) Refuse() {
	if c, ok := a.conn.(*net.TCPConn); ok {
		_ = c.SetLinger(0)
	}
	_ = a.conn.Close()
}

// Accept returns it.
func (a *accepted) Accept() (net.Conn, error) { return a.conn, nil }
