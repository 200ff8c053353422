package gateway

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/garita-dev/garita/daemon/protocol"
	"github.com/garita-dev/garita/sandbox"
)

// Session is one client attached to one server, for as many lives as the server has meanwhile.
// Its methods are for Run's goroutines only.
type Session struct {
	Options
	client Client
	life   context.Context //nolint:containedctx // of Run: what outlives the call that began it ends with it

	own    Doubt // where nobody shares one
	load   load
	broken atomic.Pointer[error] // why further calls are refused

	underWay   sync.WaitGroup // the goroutines of calls
	unsettled  sync.WaitGroup // questions that have outlived their call and wait to be claimed
	background sync.WaitGroup // the server's lives and the relisting
	greeted    chan struct{}  // closed at the client's first request, which tells its era
	serverOver chan error     // how a life of the server ended, for a session that lives Once

	lists chan struct{} // holds one token while nobody lists the server's tools for us

	mu      sync.Mutex // guards the fields below
	closing bool       // no call starts any more
	hello   hello
	way     *link // to the server; nil before it is needed
	tools   toolbox
	calls   map[protocol.ID]*running // the client's tools/call under way
	open    map[sandbox.Digest]*question
	resumed map[string]resumption   // what a server's own question belongs to, by its request state
	asked   map[protocol.ID]askedOf // requests of the server's that the client has, by the id it knows
	askedNo int
	asked1  map[string]bool                           // lists the client has seen, by the notification of their change
	listens map[protocol.ID]map[string]jsontext.Value // what the client's subscriptions are about
	notes   map[string]bool                           // what was noted, see noted
	kept    kept                                      // of what the client has told the server
	used    time.Time                                 // when the server was last used
	start   error                                     // why the last life of the server did not get to where it can be used
}

// hello is what the client has said of itself.
type hello struct {
	era         protocol.Era
	first       protocol.Message  // its initialize; in the modern era its first request
	initialized []byte            // its notifications/initialized, once it has come
	revision    protocol.Revision // that was agreed on, legacy era only
	label       string            // what the client calls itself
	declared    map[string]bool   // capabilities
	answered    bool              // initialize has been answered
	waits       bool              // initialize waits for its answer
	greeted     bool              // the opening of the link may go on
}

// running is one tools/call under way.
type running struct {
	cancel    context.CancelFunc
	cancelled bool // by the client, which wants no answer any more
}

// New joins a session; Run makes it live.
func New(o Options) *Session {
	s := &Session{
		Options: o, lists: make(chan struct{}, 1), greeted: make(chan struct{}), serverOver: make(chan error, 1),
		hello: hello{declared: map[string]bool{}}, tools: newToolbox(),
		calls: map[protocol.ID]*running{}, open: map[sandbox.Digest]*question{},
		resumed: map[string]resumption{}, asked: map[protocol.ID]askedOf{},
		asked1: map[string]bool{}, listens: map[protocol.ID]map[string]jsontext.Value{},
		kept: kept{subscribed: map[string]jsontext.Value{}},
	}
	s.lists <- struct{}{}
	return s
}

// Run passes messages both ways until the client is gone or has been answered everything after
// its end of file. The server is started at once, and again when a request needs it after it has
// ended. Run stops the server and closes the client before it returns: nil when the client ended it
// and the server could be used, a *StartError when it could not.
func (s *Session) Run(ctx context.Context, client Client) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	s.client, s.life = client, ctx
	read := make(chan error, 1)
	var reading sync.WaitGroup
	s.link()
	reading.Go(func() { read <- s.fromClient(ctx) })

	err := s.untilOver(ctx, read)
	s.close(cancel)
	if err == nil {
		err = s.startError()
	}
	if s.Over != nil {
		s.Over(err)
	}
	_ = client.Close()
	reading.Wait()
	return err
}

// StartError is why a server could not be brought to where it can be used; the client was told.
type StartError struct{ Err error }

func (e *StartError) Error() string { return e.Err.Error() }
func (e *StartError) Unwrap() error { return e.Err }

func (s *Session) startError() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.start
}

// started notes what the last start came to. One that was called off came to nothing.
func (s *Session) started(ctx context.Context, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case err == nil:
		s.start = nil
	case ctx.Err() == nil:
		s.start = &StartError{err}
	}
}

// untilOver waits for the first end: the client's going away, everything answered after the
// client's end of file, or the server's where the session has only one.
func (s *Session) untilOver(ctx context.Context, read <-chan error) error {
	var answered chan struct{}
	for {
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-s.client.Gone():
			return nil
		case <-answered:
			return nil
		case err := <-s.serverOver:
			return err
		case err := <-read:
			if err != nil {
				return err
			}
			read, answered = nil, s.answered()
		}
	}
}

// answered is closed once every request of the client's has its answer.
func (s *Session) answered() chan struct{} {
	done := make(chan struct{})
	go func() {
		s.underWay.Wait()
		if way := s.current(); way != nil {
			way.idle()
		}
		close(done)
	}()
	return done
}

// close withdraws what still waits for a person, waits until every call has been recorded, and
// until nothing is left of the server.
func (s *Session) close(cancel context.CancelFunc) {
	s.mu.Lock()
	s.closing = true
	way := s.way
	s.mu.Unlock()
	cancel()
	if way != nil {
		way.fail(errEnded)
	}
	s.underWay.Wait()
	s.endQuestions()
	s.background.Wait()
}

// current is the way to the server, nil when there is none.
func (s *Session) current() *link {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.way
}

// link is the way to the server. When there is none, or its server has ended, a new one is opened
// behind it: what is sent meanwhile waits in order. One start serves all who wait, and whose request
// it was that began it does not matter: it lives as long as the session needs it.
func (s *Session) link() *link {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closing && s.way != nil || s.way.alive() {
		return s.way
	}
	before := s.way
	s.way = newLink(s.shown(ToServer))
	s.tools.forget()
	way := s.way
	s.background.Go(func() {
		defer close(way.over)
		s.live(s.life, before, way)
	})
	return way
}

// live is one life of the server, from its start to its end. It begins once nothing is left of the
// one before.
func (s *Session) live(ctx context.Context, before, way *link) {
	if before != nil {
		<-before.over
	}
	server, err := s.meet(ctx, way)
	s.started(ctx, err)
	if err != nil {
		s.serverEnded(way, err)
		return
	}
	defer context.AfterFunc(ctx, func() { _ = server.CloseWrite(); _ = server.Stop(context.WithoutCancel(ctx)) })()
	defer s.watchIdle(way, server)()
	defer s.watchSilence(way, server)()
	s.lookAgain(ctx, way)
	err = s.fromServer(ctx, way)
	s.serverEnded(way, s.told(err))
	_ = server.CloseWrite()
	if stopped := server.Stop(context.WithoutCancel(ctx)); stopped != nil {
		s.Logger.Warn("a server did not stop as it should", "server", s.Server.Name, "err", stopped)
	}
}

// serverEnded answers each waiting request with what became of the server.
func (s *Session) serverEnded(way *link, err error) {
	way.fail(err)
	s.mu.Lock()
	for id, a := range s.asked {
		if a.way == way {
			delete(s.asked, id)
		}
	}
	s.mu.Unlock()
	if s.Once {
		select {
		case s.serverOver <- err:
		default: // the first end was the session's
		}
	}
}

// told is the end of a server in words for the person: which server, what it said last, what next.
func (s *Session) told(err error) error {
	var lost *protocol.LostError
	if errors.Is(err, io.EOF) && !errors.As(err, &lost) {
		err = errors.New("the server has ended")
	}
	return fmt.Errorf("%s: %w. %s", s.Server.Name, err, s.Trouble())
}

// shown is a tap for what goes one way, nil when nobody looks.
func (s *Session) shown(to Side) func([]byte) {
	if s.Trace == nil {
		return func([]byte) {}
	}
	return func(raw []byte) { s.Trace(to, raw) }
}

// say sends the client one message.
func (s *Session) say(raw []byte) {
	s.shown(ToClient)(raw)
	_ = s.client.Write(raw) // a client that is gone is noticed by Gone
}

// refuseFurtherCalls closes the session for calls: nothing runs that cannot be recorded.
func (s *Session) refuseFurtherCalls(err error) {
	s.Logger.Error("calls are refused: the record cannot be written", "server", s.Server.Name, "session", s.ID, "err", err)
	s.broken.CompareAndSwap(nil, &err)
}

// mode is how the server's folders may be changed. A writable mount of another path is changed at
// once, and nobody watches it: then everything is as in direct mode.
func (s *Session) mode() sandbox.WorkspaceMode {
	for _, m := range s.Server.Spec.Mounts {
		if m.Writable {
			return sandbox.Direct
		}
	}
	if s.Server.Spec.Workspace == "" {
		return sandbox.Snapshot
	}
	return s.Server.Spec.Workspace
}

// shortened names files relative to the one folder a server has.
func (s *Session) shortened(sentence string) string {
	if folders := s.Server.Spec.Folders; len(folders) == 1 {
		return strings.ReplaceAll(sentence, folders[0]+"/", "")
	}
	return sentence
}

// allowed says whether a tool exists for this client.
func (s *Session) allowed(name string) bool {
	return matches(s.Server.Spec.Tools.Allow, name) && matches(s.Allow, name)
}

// matches says whether a name is as one of the patterns; no patterns match all.
func matches(patterns []string, name string) bool {
	for _, p := range patterns {
		if ok, err := path.Match(p, name); ok && err == nil {
			return true
		}
	}
	return len(patterns) == 0
}

// callLimit is how long one call may take.
func (s *Session) callLimit() time.Duration {
	if d := s.Server.Spec.Lifecycle.Call; d > 0 {
		return d
	}
	return defaultCall
}

// label is what the client calls itself.
func (s *Session) label() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.hello.label
}
