package gateway

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/garita-dev/garita/daemon/protocol"
)

// reply takes the answer to one of the client's requests; nil when the client wants none any more.
type reply func(raw []byte)

// respond answers the client directly.
func (s *Session) respond(raw []byte) {
	if raw != nil {
		s.say(raw)
	}
}

// fromClient reads the client's messages until its end of file.
func (s *Session) fromClient(ctx context.Context) error {
	for {
		m, err := s.client.Read()
		var bad *protocol.LineError
		switch {
		case errors.As(err, &bad):
			s.say(badLine(bad))
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return fmt.Errorf("read from the client: %w", err)
		default:
			s.shown(FromClient)(m.Raw)
			s.clientMessage(ctx, m, s.respond)
		}
	}
}

// badLine answers what could not be read; the session goes on.
func badLine(bad error) []byte {
	code, id := protocol.CodeInvalidRequest, protocol.ID("")
	var p *protocol.ParseError
	if errors.As(bad, &p) {
		code, id = p.Code, p.ID
	}
	return protocol.NewError(id, code, bad.Error())
}

func (s *Session) clientMessage(ctx context.Context, m protocol.Message, to reply) {
	if uses(m) {
		s.touch()
	}
	switch {
	case m.Kind == protocol.Batch:
		s.batch(ctx, m)
	case m.Kind == protocol.Request:
		s.greet(m)
		s.request(ctx, m, to)
	case m.Kind == protocol.Response:
		s.answeredByClient(m)
	case m.Method == protocol.MethodCancelled:
		s.cancelled(m)
	default:
		s.notify(m)
	}
}

// greet learns from the client's first request which era it speaks. That it names a revision for
// itself is what makes a request modern.
func (s *Session) greet(m protocol.Message) {
	s.mu.Lock()
	defer s.mu.Unlock()
	modern := protocol.VersionOf(m.Params) != "" || m.Method == protocol.MethodDiscover
	switch {
	case s.hello.greeted, m.Method == protocol.MethodPing && !modern: // a ping may come before everything
		return
	case modern:
		s.hello.era = protocol.ModernEra
		s.hello.noteModern(m)
	default:
		s.hello.era = protocol.LegacyEra
	}
	if modern || m.Method != protocol.MethodInitialize { // which greets once all of it has been noted
		s.greets()
	}
}

// greets lets the opening of the link go on. s.mu is held.
func (s *Session) greets() {
	s.hello.greeted = true
	close(s.greeted)
}

// noteModern keeps what a modern client says of itself in each request.
func (h *hello) noteModern(m protocol.Message) {
	h.first = m
	meta, err := protocol.Meta(m.Params)
	if err != nil {
		return
	}
	info, _ := protocol.Members(meta[protocol.MetaClientInfo])
	h.label = bounded(protocol.Text(info["name"]))
}

// params are those of a request of ours, in the words the client uses for itself.
func (h *hello) params() jsontext.Value {
	if h.era != protocol.ModernEra {
		return nil
	}
	meta, _ := protocol.Meta(h.first.Params)
	params := jsontext.Value(`{}`)
	for _, key := range []string{protocol.MetaVersion, protocol.MetaCapabilities, protocol.MetaClientInfo} {
		value := meta[key]
		if key == protocol.MetaVersion && value == nil {
			value = protocol.Quote(string(protocol.V20260728))
		}
		if key == protocol.MetaCapabilities && value == nil {
			value = jsontext.Value(`{}`)
		}
		if value != nil {
			params, _ = protocol.WithMeta(params, key, value)
		}
	}
	return params
}

// request answers, or has answered, one request of the client's.
func (s *Session) request(ctx context.Context, m protocol.Message, to reply) {
	if s.inUse(m.ID) {
		to(protocol.NewError(m.ID, protocol.CodeInvalidRequest, errIDInUse.Error()))
		return
	}
	if m.Method == protocol.MethodInitialize {
		s.initialize(ctx, m, to)
		return
	}
	counted, ok := s.load.take(m, to)
	if !ok {
		to(protocol.NewError(m.ID, protocol.CodeInternal, errTooMuch.Error()))
		return
	}
	s.serve(ctx, m, counted)
}

// serve answers one request that has been counted in; to is called once.
func (s *Session) serve(ctx context.Context, m protocol.Message, to reply) {
	switch {
	case m.Method == protocol.MethodToolsCall:
		s.startCall(ctx, m, to)
	case m.Method == protocol.MethodPing && s.busy():
		to(protocol.NewResult(m.ID, jsontext.Value(`{}`))) // the server may be deaf while it works, and is not dead
	case s.beyond(m.Method):
		to(protocol.NewError(m.ID, protocol.CodeNoMethod, wordsLimited))
	default:
		m = s.narrowed(m)
		if why := s.withheldItem(m); why != "" {
			to(protocol.NewError(m.ID, protocol.CodeInvalidParams, why))
			return
		}
		s.noteAsked(m)
		s.noteUnknown(m)
		s.pass(ctx, m, to)
	}
}

// noteUnknown records that a method went to the server which nobody here can judge: a server may
// have verbs of its own, and a client that knows them.
func (s *Session) noteUnknown(m protocol.Message) {
	if !protocol.Known(m.Method) {
		s.noted(m.Method, []string{"the client sent a method that no revision of the protocol has; it was passed on unjudged"})
	}
}

func (s *Session) inUse(id protocol.ID) bool {
	s.mu.Lock()
	_, calling := s.calls[id]
	way := s.way
	s.mu.Unlock()
	return calling || way != nil && way.known(id) != ""
}

// busy says whether the server cannot be asked for a sign of life, or should not be: it works, it
// starts, or it is to start when it is needed.
func (s *Session) busy() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.calls) > 0 || !s.way.alive() || !s.way.isOpen()
}

// initialize has the server shake hands. It is for the opening of the link to send it, now and at
// each later life of the server; a session has one.
func (s *Session) initialize(ctx context.Context, m protocol.Message, to reply) {
	s.mu.Lock()
	removed := s.hello.era == protocol.ModernEra
	again := s.hello.answered || s.hello.first.ID != ""
	late := s.hello.greeted && s.hello.first.ID == "" && s.way.alive() // the server was reached without it
	if !removed && !again {
		s.hello.first = s.permitted(m)
		s.hello.noteLegacy(m.Params)
	}
	if !removed && !again && !late && !s.closing {
		s.hello.waits = true
		s.underWay.Add(1) // until helloAnswered
	}
	if !s.hello.greeted {
		s.greets()
	}
	s.mu.Unlock()
	if removed { // and not passed on: a server of both eras would take it for another client's
		to(protocol.NewError(m.ID, protocol.CodeNoMethod, "there is no initialize in this revision"))
		return
	}
	if again {
		to(protocol.NewError(m.ID, protocol.CodeInvalidRequest, "this session has been initialized already"))
		return
	}
	if late {
		s.pass(ctx, m, to)
		return
	}
	s.link()
}

// helloAnswered says that the client has an answer to its initialize, or will never have one.
func (s *Session) helloAnswered() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.hello.waits {
		s.hello.waits = false
		s.underWay.Done()
	}
}

// noteLegacy remembers what the client calls itself and what it can be asked.
func (h *hello) noteLegacy(params jsontext.Value) {
	members, err := protocol.Members(params, "clientInfo", "capabilities", "protocolVersion")
	if err != nil {
		return
	}
	info, _ := protocol.Members(members["clientInfo"])
	capabilities, _ := protocol.Members(members["capabilities"])
	h.label = bounded(protocol.Text(info["name"]))
	for name := range capabilities {
		h.declared[name] = true
	}
}

// noteInitialize remembers what the server agreed to.
func (s *Session) noteInitialize(answer protocol.Message) {
	members, _ := protocol.Members(answer.Result)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.hello.answered = answer.Result != nil
	s.hello.revision = protocol.Revision(protocol.Text(members["protocolVersion"]))
	if !s.hello.answered {
		s.hello.first = protocol.Message{} // it may be tried again
	}
}

// notify passes a notification on. It is not worth a server's start. A call that wants no answer is
// still a call, and is not let past the gate: servers there are that would run it.
func (s *Session) notify(m protocol.Message) {
	if m.Method == protocol.MethodToolsCall {
		s.Logger.Warn("dropped a tools/call without an id", "server", s.Server.Name, "session", s.ID)
		return
	}
	s.noteUnknown(m)
	s.mu.Lock()
	if m.Method == protocol.MethodInitialized {
		s.hello.initialized = m.Raw
	}
	way := s.way
	s.mu.Unlock()
	if way == nil {
		return
	}
	if err := way.write(m.Raw); err != nil {
		s.Logger.Debug("a message did not reach the server", "server", s.Server.Name, "err", err)
	}
}

// pass sends a request on, to be answered by the server alone.
func (s *Session) pass(ctx context.Context, m protocol.Message, to reply) {
	s.passOn(ctx, m, to, true)
}

func (s *Session) passOn(ctx context.Context, m protocol.Message, to reply, retry bool) {
	way := s.link() // before it is said what to make of the answer, which depends on whose it is
	see := s.sees(m)
	r := &request{id: m.ID, method: m.Method, awaits: m.Method != protocol.MethodListen}
	limit := s.callLimit()
	if !r.awaits {
		limit = 0
	}
	r.answer = func(a protocol.Message, err error) {
		if uses(m) {
			s.touch()
		}
		switch {
		case errors.Is(err, errUnsent) && retry:
			s.passOn(ctx, m, to, false)
		case err != nil:
			to(protocol.NewError(m.ID, protocol.CodeInternal, err.Error()))
		default:
			s.keeps(m, a)
			to(s.passed(m.Method, s.asksOf(m, see(a))).Raw)
		}
	}
	err := way.send(s.permitted(m), r, limit)
	for errors.Is(err, errIdle) && !s.over() { // it was about to be stopped: the next life gets it
		err = s.link().send(s.permitted(m), r, limit)
	}
	if err != nil {
		to(protocol.NewError(m.ID, protocol.CodeInternal, err.Error()))
	}
}

// sees is what to do with the answer to a request before the client gets it.
func (s *Session) sees(m protocol.Message) func(protocol.Message) protocol.Message {
	switch m.Method {
	case protocol.MethodToolsList:
		see := s.listing(m.Params, &s.tools.theirs)
		return func(a protocol.Message) protocol.Message { return private(see(a)) }
	case methodPrompts, methodResources, methodTemplates:
		see := s.shows(catalogs[m.Method], m.Params)
		return func(a protocol.Message) protocol.Message { return private(see(a)) }
	case methodResource:
		return private
	case protocol.MethodDiscover:
		return func(a protocol.Message) protocol.Message { return private(s.introduced(m.Method, a)) }
	case protocol.MethodListen:
		return func(a protocol.Message) protocol.Message { s.listenOver(m.ID); return withSubscription(a, m.ID) }
	case protocol.MethodInitialize:
		return func(a protocol.Message) protocol.Message { s.noteInitialize(a); return s.introduced(m.Method, a) }
	default:
		return func(a protocol.Message) protocol.Message { return a }
	}
}

// withSubscription names a subscription by the id the client gave it.
func withSubscription(m protocol.Message, id protocol.ID) protocol.Message {
	body := m.Params
	if m.Kind == protocol.Response {
		body = m.Result
	}
	meta, err := protocol.Meta(body)
	if err != nil || meta[protocol.MetaSubscription] == nil {
		return m
	}
	changed, err := protocol.WithMeta(body, protocol.MetaSubscription, jsontext.Value(id))
	if err != nil {
		return m
	}
	return m.WithBody(changed)
}

// startCall runs one tools/call beside the others; pings, lists and other calls do not wait for it.
func (s *Session) startCall(ctx context.Context, m protocol.Message, to reply) {
	ctx, cancel := context.WithCancel(ctx)
	if err := s.begin(m.ID, cancel); err != nil {
		cancel()
		to(protocol.NewError(m.ID, protocol.CodeInvalidRequest, err.Error()))
		return
	}
	go func() {
		defer s.underWay.Done()
		defer cancel()
		a, err := s.callTool(ctx, m)
		if cancelled := s.end(m.ID); cancelled {
			to(nil)
			return
		}
		to(a.wire(m.ID, err, s.era()))
	}()
}

func (s *Session) begin(id protocol.ID, cancel context.CancelFunc) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closing {
		return errEnded
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
	s.used = time.Now()
	return r.cancelled
}

// cancelled withdraws a call that still waits; what the server has is cancelled there, too.
func (s *Session) cancelled(m protocol.Message) {
	id := protocol.Cancelled(m.Params)
	s.mu.Lock()
	r, way := s.calls[id], s.way
	if r != nil {
		r.cancelled = true
	}
	s.mu.Unlock()
	if way != nil {
		s.cancelAt(way, m, way.known(id))
	}
	if r != nil {
		r.cancel()
	}
}

func (s *Session) cancelAt(way *link, m protocol.Message, ours protocol.ID) {
	if ours == "" {
		return
	}
	params, err := protocol.With(m.Params, "requestId", jsontext.Value(ours))
	if err == nil {
		err = way.write(m.WithBody(params).Raw)
	}
	if err != nil {
		s.Logger.Debug("a cancellation did not reach the server", "server", s.Server.Name, "err", err)
	}
}
