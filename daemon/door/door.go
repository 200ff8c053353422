// Package door is where MCP clients come in over HTTP: Streamable HTTP on loopback, at /mcp/SERVER
// for one server and at /mcp for all of them, in both eras of the protocol on the same address.
//
// The door knows who asks (guard.go), which messages belong together, and which answer goes into
// which response. What the messages mean it leaves to the session behind it: a Backend runs one for
// each legacy session (legacy.go), and one for each token and server in the modern era, shared by
// all its requests (modern.go). Over all servers at once it is aggregate.go that stands in between.
package door

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/garita-dev/garita/daemon/protocol"
)

// Backend is what stands behind the door. Its methods may be called at the same time.
type Backend interface {
	// Authenticate tells who a bearer token stands for. An error is a refusal; the caller never
	// learns which.
	Authenticate(ctx context.Context, token string) (Access, error)
	// Servers is the names of the servers that a may reach, sorted. They are of one path segment.
	Servers(a Access) []string
	// Serve runs one session of one server for c, and returns when it is over: c is gone, the
	// server is, or ctx ended. An error tells the client why requests stay unanswered.
	Serve(ctx context.Context, a Access, server string, c Client) error
	// Refused puts one line into the record.
	Refused(ctx context.Context, r Refusal)
}

// Access is what a token gives.
type Access struct {
	ID string // the token's, never the token
}

// Client is the client's side of a session, as the session sees it. Read never fails with a
// *protocol.LineError: what could not be read was refused at the door.
type Client interface {
	protocol.Stream
	// Gone is closed when the client will never read an answer again.
	Gone() <-chan struct{}
	// Close makes it gone.
	Close() error
}

// Refusal is one request that was turned away before it reached a session. All but Reason and
// Access are the caller's words, cut to a length that fits a log.
type Refusal struct {
	Reason string // "host", "origin", "token", "server" or "session"
	Access string // the token's id, where the token was good
	Status int
	Method string
	Path   string // without the query, which could hold a token
	Host   string
	Origin string
	Remote string
}

// Options are how a Door behaves. Zero means the default told.
type Options struct {
	Backend   Backend       // must be there
	Log       *slog.Logger  // default: none
	MaxBody   int           // bytes of a request; default protocol.MaxMessage
	Idle      time.Duration // a session without request and stream ends after; default 30 minutes
	KeepAlive time.Duration // a comment on a silent stream at most every; default 15 s
	Hold      time.Duration // a server's request waits for a stream so long; default 30 s
	Wait      time.Duration // all servers together wait for a slow one; default 15 s
	Sessions  int           // legacy sessions of one token; default 64
}

func (o Options) withDefaults() Options {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	o.MaxBody = or(o.MaxBody, protocol.MaxMessage)
	o.Idle = or(o.Idle, 30*time.Minute)
	o.KeepAlive = or(o.KeepAlive, 15*time.Second)
	o.Hold = or(o.Hold, 30*time.Second)
	o.Wait = or(o.Wait, 15*time.Second)
	o.Sessions = or(o.Sessions, 64)
	return o
}

func or[T comparable](v, otherwise T) T {
	var zero T
	if v == zero {
		return otherwise
	}
	return v
}

// Door is an http.Handler for /mcp and below. It must be closed.
type Door struct {
	Options

	ctx  context.Context // ends with the door
	stop context.CancelFunc
	runs sync.WaitGroup // the sessions

	mu       sync.Mutex
	closed   bool
	sessions map[string]*session   // legacy, by their id
	shared   map[sharedKey]*shared // modern
}

// New is a door that is open.
func New(o Options) *Door {
	ctx, stop := context.WithCancel(context.Background())
	return &Door{
		Options: o.withDefaults(), ctx: ctx, stop: stop,
		sessions: map[string]*session{}, shared: map[sharedKey]*shared{},
	}
}

// Close ends all sessions and waits for them. Requests that come later are answered 503.
func (d *Door) Close() error {
	d.mu.Lock()
	d.closed = true
	d.mu.Unlock()
	d.stop()
	d.Drop("")
	d.runs.Wait()
	return nil
}

// Drop ends all sessions of one token, as when it was revoked or may reach other servers now; "" is
// all of every token.
func (d *Door) Drop(access string) {
	d.mu.Lock()
	var pipes []*pipe
	for _, s := range d.sessions {
		if access == "" || s.access.ID == access {
			pipes = append(pipes, s.pipe)
		}
	}
	for k, s := range d.shared {
		if access == "" || k.access.ID == access {
			pipes = append(pipes, s.pipe)
		}
	}
	d.mu.Unlock()
	for _, p := range pipes {
		_ = p.Close()
	}
}

var errClosed = errors.New("Garita is shutting down")

// run starts the session of a server for p, and calls over when it has ended. d.mu is held.
func (d *Door) run(a Access, server string, p *pipe, over func(error)) error {
	if d.closed {
		return errClosed
	}
	d.runs.Go(func() {
		ctx, cancel := context.WithCancel(d.ctx)
		defer cancel()
		err := d.serve(ctx, a, server, p)
		_ = p.Close()
		over(err)
	})
	return nil
}

func (d *Door) serve(ctx context.Context, a Access, server string, p *pipe) error {
	if server == aggregate {
		return serveAll(ctx, d.Options, a, p)
	}
	return d.Backend.Serve(ctx, a, server, p)
}

// aggregate is the name that stands for all servers: no server has it.
const aggregate = ""

// visit is one HTTP request whose sender is known.
type visit struct {
	w      http.ResponseWriter
	r      *http.Request
	access Access
	server string // aggregate for all
}

// ServeHTTP answers one request.
func (d *Door) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	v := visit{w: w, r: r}
	if !d.guard(w, r) || !d.identify(&v) || !d.admit(&v) {
		return
	}
	switch r.Method {
	case http.MethodPost:
		d.post(v)
	case http.MethodGet:
		d.get(v)
	case http.MethodDelete:
		d.delete(v)
	default:
		methodNotAllowed(w, "GET, POST, DELETE")
	}
}

// admit finds the server that is asked for. One that the token may not reach is as one that is not.
func (d *Door) admit(v *visit) bool {
	if v.r.URL.Path == "/mcp" {
		return true
	}
	name, ok := strings.CutPrefix(v.r.URL.Path, "/mcp/")
	if ok && name != aggregate {
		for _, s := range d.Backend.Servers(v.access) {
			if s == name {
				v.server = name
				return true
			}
		}
	}
	d.refuse(v.w, v.r, v.access, "server", http.StatusNotFound)
	return false
}

func methodNotAllowed(w http.ResponseWriter, allow string) {
	w.Header().Set("Allow", allow)
	plain(w, http.StatusMethodNotAllowed, "method not allowed")
}
