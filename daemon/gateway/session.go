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

	"github.com/containerd/errdefs"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/garita-dev/garita/approvals"
	"github.com/garita-dev/garita/daemon/protocol"
	"github.com/garita-dev/garita/sandbox"
)

// Session is one client attached to one server. Its methods are for Run's goroutines only.
type Session struct {
	Options
	client   *protocol.Writer
	upstream *upstream

	broken atomic.Pointer[error] // why further calls are refused

	underWay sync.WaitGroup // the goroutines of calls
	mu       sync.Mutex     // guards the fields below
	closing  bool           // no call starts any more
	label    string         // what the client calls itself
	declared map[string]bool
	tools    map[string]tool
	listed   bool                                   // tools holds the server's whole list
	calls    map[protocol.ID]*running               // the client's tools/call under way
	passing  map[protocol.ID]func(protocol.Message) // what to do with the answer to a request passed on
}

// running is one tools/call under way.
type running struct {
	cancel    context.CancelFunc
	cancelled bool // by the client, which wants no answer any more
}

// New joins a session; Run makes it live.
func New(o Options) *Session {
	return &Session{
		Options: o, declared: map[string]bool{}, tools: map[string]tool{},
		calls: map[protocol.ID]*running{}, passing: map[protocol.ID]func(protocol.Message){},
	}
}

// Run passes messages both ways until the client is gone or has been answered everything after
// its end of file, or the server has ended. Then it stops the server, closes both sides and
// returns: nil when the client ended it.
func (s *Session) Run(ctx context.Context, client Client, server Upstream) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	s.client, s.upstream = protocol.NewWriter(client), newUpstream(server)
	served, read := make(chan error, 1), make(chan error, 1)
	var reading sync.WaitGroup
	reading.Go(func() { served <- s.fromServer(server) })
	reading.Go(func() { read <- s.fromClient(ctx, client) })

	err := s.untilOver(ctx, client, read, served)
	s.close(cancel)
	stopped := s.stopServer(ctx, server)
	_ = client.Close()
	reading.Wait()
	return errors.Join(err, stopped)
}

// close withdraws what still waits for a person and waits until every call has been recorded.
func (s *Session) close(cancel context.CancelFunc) {
	s.mu.Lock()
	s.closing = true
	s.mu.Unlock()
	cancel()
	s.upstream.fail(errEnded)
	s.underWay.Wait()
}

func (s *Session) stopServer(ctx context.Context, server Upstream) error {
	_ = server.CloseWrite()
	return server.Stop(context.WithoutCancel(ctx))
}

// untilOver waits for the first end: the server's, the client's going away, or everything
// answered after the client's end of file.
func (s *Session) untilOver(ctx context.Context, client Client, read, served <-chan error) error {
	var answered chan struct{}
	for {
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-client.Gone():
			return nil
		case <-answered:
			return nil
		case err := <-served:
			return s.serverEnded(err)
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
		s.upstream.idle()
		close(done)
	}()
	return done
}

// serverEnded tells the client what became of the server, in an answer to each waiting request.
func (s *Session) serverEnded(err error) error {
	if err == nil || errors.Is(err, io.EOF) {
		err = errors.New("the server has ended")
	}
	trouble := fmt.Errorf("%s: %w. %s", s.Server.Name, err, s.Trouble())
	for _, id := range s.upstream.fail(trouble) {
		_ = s.client.Write(protocol.NewError(id, protocol.CodeInternal, trouble.Error()))
	}
	return trouble
}

// fromClient reads the client's messages until its end of file.
func (s *Session) fromClient(ctx context.Context, client io.Reader) error {
	r := protocol.NewReader(client, protocol.MaxMessage)
	for {
		m, err := r.Read()
		var bad *protocol.LineError
		switch {
		case errors.As(err, &bad):
			s.answerBadLine(bad)
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return fmt.Errorf("read from the client: %w", err)
		default:
			s.clientMessage(ctx, m)
		}
	}
}

// answerBadLine answers what could not be read; the session goes on.
func (s *Session) answerBadLine(bad *protocol.LineError) {
	code, id := protocol.CodeInvalidRequest, protocol.ID("")
	var p *protocol.ParseError
	if errors.As(bad, &p) {
		code, id = p.Code, p.ID
	}
	_ = s.client.Write(protocol.NewError(id, code, bad.Error()))
}

func (s *Session) clientMessage(ctx context.Context, m protocol.Message) {
	switch {
	case m.Kind == protocol.Batch:
		_ = s.client.Write(protocol.NewError("", protocol.CodeInvalidRequest, "batches are not accepted"))
	case m.Kind == protocol.Request && m.Method == protocol.MethodToolsCall:
		s.startCall(ctx, m)
	case m.Kind == protocol.Request:
		s.pass(m)
	case m.Method == protocol.MethodCancelled:
		s.cancelled(m)
	default: // a notification, or the answer to a request of the server's
		s.send(m.Raw)
	}
}

// startCall runs one tools/call beside the others; pings, lists and other calls do not wait for it.
func (s *Session) startCall(ctx context.Context, m protocol.Message) {
	ctx, cancel := context.WithCancel(ctx)
	if err := s.begin(m.ID, cancel); err != nil {
		cancel()
		_ = s.client.Write(protocol.NewError(m.ID, protocol.CodeInvalidRequest, err.Error()))
		return
	}
	go func() {
		defer s.underWay.Done()
		defer cancel()
		a, err := s.callTool(ctx, m)
		if cancelled := s.end(m.ID); cancelled {
			return // the client wants no answer any more
		}
		_ = s.client.Write(a.message(m.ID, err))
	}()
}

func (s *Session) begin(id protocol.ID, cancel context.CancelFunc) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	_, calling := s.calls[id]
	_, passing := s.passing[id]
	switch {
	case s.closing:
		return errEnded
	case calling || passing:
		return errIDInUse
	}
	s.underWay.Add(1)
	s.calls[id] = &running{cancel: cancel}
	return nil
}

// end forgets a call; it reports whether the client had cancelled it.
func (s *Session) end(id protocol.ID) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	r := s.calls[id]
	delete(s.calls, id)
	return r.cancelled
}

// cancelled withdraws a call that still waits; one that the server has is cancelled there, too.
func (s *Session) cancelled(m protocol.Message) {
	id := protocol.Cancelled(m.Params)
	s.mu.Lock()
	r := s.calls[id]
	_, passing := s.passing[id]
	if r != nil {
		r.cancelled = true
	}
	s.mu.Unlock()
	has := s.upstream.has(id)
	if r != nil {
		r.cancel()
	}
	if has || passing {
		s.send(m.Raw)
	}
}

// pass sends a request on, to be answered by the server alone.
func (s *Session) pass(m protocol.Message) {
	note := func(protocol.Message) {}
	switch m.Method {
	case protocol.MethodInitialize:
		s.noteClient(m.Params)
	case protocol.MethodToolsList:
		note = s.noteTools(m.Params)
	}
	s.mu.Lock()
	_, calling := s.calls[m.ID]
	_, passing := s.passing[m.ID]
	if !calling && !passing {
		s.passing[m.ID] = note
	}
	s.mu.Unlock()
	if calling || passing {
		_ = s.client.Write(protocol.NewError(m.ID, protocol.CodeInvalidRequest, errIDInUse.Error()))
		return
	}
	if err := s.upstream.pass(m); err != nil {
		s.forget(m.ID)
		_ = s.client.Write(protocol.NewError(m.ID, protocol.CodeInternal, err.Error()))
	}
}

func (s *Session) forget(id protocol.ID) func(protocol.Message) {
	s.mu.Lock()
	defer s.mu.Unlock()
	note := s.passing[id]
	delete(s.passing, id)
	return note
}

func (s *Session) send(raw []byte) {
	if err := s.upstream.write(raw); err != nil {
		s.Logger.Debug("a message did not reach the server", "server", s.Server.Name, "err", err)
	}
}

// noteClient remembers what the client calls itself and what it can be asked.
func (s *Session) noteClient(params jsontext.Value) {
	members, err := protocol.Members(params, "clientInfo", "capabilities", "protocolVersion")
	if err != nil {
		return
	}
	info, _ := protocol.Members(members["clientInfo"])
	capabilities, _ := protocol.Members(members["capabilities"])
	s.mu.Lock()
	defer s.mu.Unlock()
	s.label = bounded(protocol.Text(info["name"]))
	for name := range capabilities {
		s.declared[name] = true
	}
}

// fromServer reads the server's messages until its end of file. Lines that are no messages are
// dropped: servers print banners.
func (s *Session) fromServer(server io.Reader) error {
	r := protocol.NewReader(server, protocol.MaxMessage)
	for {
		m, err := r.Read()
		var bad *protocol.LineError
		switch {
		case errors.As(err, &bad):
			s.Logger.Warn("dropped a line that is no message", "server", s.Server.Name, "err", bad)
			s.failUnreadable(bad)
		case err != nil:
			return err
		default:
			s.serverMessage(m)
		}
	}
}

// failUnreadable fails the request that an unreadable answer was meant for, where that can be told:
// nobody is to wait for an answer that has come and cannot be passed on.
func (s *Session) failUnreadable(bad *protocol.LineError) {
	var p *protocol.ParseError
	if !errors.As(bad, &p) || p.ID == "" || p.Request {
		return
	}
	m, err := protocol.Parse(protocol.NewError(p.ID, protocol.CodeInternal, "the server's answer was refused: "+p.Why))
	if err == nil && (s.upstream.has(p.ID) || s.isPassing(p.ID)) {
		s.answerTo(m)
	}
}

func (s *Session) isPassing(id protocol.ID) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	_, ok := s.passing[id]
	return ok
}

func (s *Session) serverMessage(m protocol.Message) {
	switch {
	case m.Kind == protocol.Batch:
		s.Logger.Warn("dropped a batch", "server", s.Server.Name)
	case m.Kind == protocol.Response:
		s.answerTo(m)
	case m.Kind == protocol.Request && !s.mayAsk(m.Method):
		s.send(protocol.NewError(m.ID, protocol.CodeNoMethod, "the client has not declared that it answers "+m.Method))
	default:
		if m.Method == protocol.MethodToolsChange {
			s.relist()
		}
		_ = s.client.Write(m.Raw)
	}
}

// answerTo delivers a response: to the call that waits for it, or on to the client.
func (s *Session) answerTo(m protocol.Message) {
	if s.upstream.deliver(m) {
		return
	}
	note := s.forget(m.ID)
	if note == nil {
		s.Logger.Warn("dropped an answer to no request", "server", s.Server.Name)
		return
	}
	note(m)
	if m.Result != nil && len(s.Server.Spec.Tools.Allow) > 0 {
		m = s.filtered(m)
	}
	_ = s.client.Write(m.Raw)
	s.upstream.passed(m.ID)
}

// mayAsk says whether the client declared that it answers such requests of the server.
func (s *Session) mayAsk(method string) bool {
	if method == "ping" {
		return true
	}
	capability, _, _ := cut(method)
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.declared[capability]
}

// refuseFurtherCalls closes the session for calls: nothing runs that cannot be recorded.
func (s *Session) refuseFurtherCalls(err error) {
	s.Logger.Error("calls are refused: the record cannot be written", "server", s.Server.Name, "session", s.ID, "err", err)
	s.broken.CompareAndSwap(nil, &err)
}

// describe tells exactly which call this is.
func (s *Session) describe(ctx context.Context, req protocol.Message) (approvals.Call, error) {
	if broken := s.broken.Load(); broken != nil {
		return approvals.Call{}, fmt.Errorf("calls are refused, the record cannot be written: %w", *broken)
	}
	tc, err := protocol.ParseToolCall(req.Params)
	if err != nil {
		return approvals.Call{}, err
	}
	call := approvals.Call{
		ID: newCallID(), Session: s.ID, Principal: s.Principal, Server: s.Server.Name, Spec: s.Spec,
		Instance: s.Instance, Workspace: s.Workspace, Mode: s.mode(), Tool: tc.Name, Arguments: tc.Arguments,
		At: time.Now().UTC(),
	}
	t, err := s.tool(ctx, tc.Name)
	if err != nil && !errdefs.IsNotFound(err) {
		return approvals.Call{}, err
	}
	s.mu.Lock()
	call.Label = s.label
	s.mu.Unlock()
	call.Pin = t.pin // none for a tool that was never listed: that is denied
	call.Class, call.ClassWhy, call.Sentence = t.describe(tc.Arguments)
	call.Sentence = s.shortened(call.Sentence)
	return call, nil
}

// forward sends a decided call and waits for its answer, if the tool is still defined as it was
// when the call was described: a person may take minutes to answer, and the server may list
// another tool under the name meanwhile.
func (s *Session) forward(ctx context.Context, call approvals.Call, req protocol.Message) (answer, error) {
	t, err := s.tool(ctx, call.Tool)
	switch {
	case err != nil:
		return answer{}, fmt.Errorf("%w: %w", errUnsent, err)
	case t.pin != call.Pin:
		return answer{}, fmt.Errorf("%w: %s changed its definition after it was decided about", errUnsent, call.Tool)
	}
	return s.upstream.forward(ctx, req, s.callLimit())
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
	patterns := s.Server.Spec.Tools.Allow
	for _, p := range patterns {
		if ok, err := path.Match(p, name); ok && err == nil {
			return true
		}
	}
	return len(patterns) == 0
}

// keepAlive tells a client that gave a progress token that its call still waits.
func (s *Session) keepAlive(ctx context.Context, req protocol.Message, ask func(context.Context) (approvals.Decision, error)) (approvals.Decision, error) {
	tc, err := protocol.ParseToolCall(req.Params)
	if err != nil || tc.ProgressToken == nil {
		return ask(ctx)
	}
	stop := make(chan struct{})
	var ticking sync.WaitGroup
	ticking.Go(func() {
		tick := time.NewTicker(aliveEvery)
		defer tick.Stop()
		for step := 1; ; step++ {
			select {
			case <-tick.C:
				_ = s.client.Write(protocol.NewProgress(tc.ProgressToken, step, "waiting for a person to approve this call"))
			case <-stop:
				return
			}
		}
	})
	defer ticking.Wait()
	defer close(stop)
	return ask(ctx)
}

// callLimit is how long one call may take.
func (s *Session) callLimit() time.Duration {
	if d := s.Server.Spec.Lifecycle.Call; d > 0 {
		return d
	}
	return defaultCall
}
