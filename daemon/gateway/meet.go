package gateway

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/garita-dev/garita/daemon/bridge"
	"github.com/garita-dev/garita/daemon/protocol"
)

// meet starts the server and brings it to where it can be talked to in the client's era: at its
// first life with the client's own initialize, later by repeating what the client has said. A
// server of the other era gets a bridge before it.
func (s *Session) meet(ctx context.Context, way *link) (Upstream, error) {
	server, err := s.introduce(ctx, way)
	if err != nil {
		way.fail(err) // first: who tries again is to get another
		s.refuseHello(err)
	}
	return server, err
}

func (s *Session) introduce(ctx context.Context, way *link) (Upstream, error) {
	server, err := s.Open(ctx)
	if err != nil {
		return nil, err
	}
	select {
	case <-s.greeted:
	case <-ctx.Done():
		return nil, errors.Join(context.Cause(ctx), server.Stop(context.WithoutCancel(ctx)))
	}
	m := &meeting{Session: s, way: way, server: server, hello: s.said()}
	if m.hello.era == protocol.ModernEra {
		err = m.modern(ctx)
	} else {
		err = m.legacy(ctx)
	}
	if err == nil {
		m.server.Ready()
		stop := func() { _ = m.server.CloseWrite(); _ = m.server.Stop(context.WithoutCancel(ctx)) }
		way.guard(s.callLimit(), stop)
		defer context.AfterFunc(ctx, stop)() // it may not read what has waited for it
		err = way.opened(m.server.Instance())
	}
	if err != nil {
		if ctx.Err() == nil {
			m.server.Fail(err.Error())
		}
		_ = m.server.Stop(context.WithoutCancel(ctx))
		return nil, fmt.Errorf("%s: %w. %s", s.Server.Name, err, s.Trouble())
	}
	return m.server, nil
}

// said is what the client has said of itself so far.
func (s *Session) said() hello {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.hello
}

// refuseHello answers an initialize that no server could be found for; the client may try again.
func (s *Session) refuseHello(err error) {
	s.mu.Lock()
	first, waits := s.hello.first, s.hello.era == protocol.LegacyEra && !s.hello.answered
	if waits {
		s.hello.first = protocol.Message{}
	}
	s.mu.Unlock()
	if waits && first.ID != "" {
		s.say(protocol.NewError(first.ID, protocol.CodeInternal, err.Error()))
	}
	s.helloAnswered()
}

// meeting is the opening of one life of the server.
type meeting struct {
	*Session
	way    *link
	hello  hello
	server Upstream
	stream protocol.Stream // to the server as the client's era speaks
	probes bool            // what comes beside the answer is not for the client
}

// direct speaks to the server as it is from now on.
func (m *meeting) direct() {
	m.stream = m.server
	m.way.by(m.stream, false)
}

// legacy shakes hands as the client did, or does. Its own initialize is passed on and answered;
// later lives get a repetition, whose answer the client does not need.
func (m *meeting) legacy(ctx context.Context) error {
	m.direct()
	if m.hello.first.ID == "" {
		return nil // a client that never shook hands: nothing to repeat
	}
	if m.era() == protocol.ModernEra {
		m.bridged(bridge.ToModern)
	}
	answer, err := m.converse(ctx, m.hello.first, m.startLimit())
	if err == nil && m.era() == protocol.Unknown && bridge.ModernOnly(answer) {
		m.learn(protocol.ModernEra)
		m.bridged(bridge.ToModern)
		answer, err = m.converse(ctx, m.hello.first, m.startLimit())
	}
	if err != nil {
		return err
	}
	return m.initialized(answer)
}

// initialized passes the answer on, or, when the client has had one, says what the client said next.
func (m *meeting) initialized(answer protocol.Message) error {
	shown := m.introduced(protocol.MethodInitialize, answer)
	if m.hello.answered {
		if answer.Error != nil {
			return fmt.Errorf("the server did not take initialize again: %s", bounded(string(answer.Error)))
		}
		return m.repeat()
	}
	m.noteInitialize(answer)
	m.say(shown.WithID(m.hello.first.ID).Raw)
	m.helloAnswered()
	return nil
}

// modern finds out whether the server speaks the modern era. One that dies of the question, or
// does not hear it, is started again and asked in the way it knows.
func (m *meeting) modern(ctx context.Context) error {
	m.direct()
	if m.era() != protocol.LegacyEra {
		m.server.Excuse()
		m.probes = true
		answer, err := m.discover(ctx, probeLimit)
		m.probes = false
		switch {
		case err == nil && bridge.EraOfDiscover(answer) == protocol.ModernEra:
			return nil
		case err == nil:
			m.learn(protocol.LegacyEra)
		default:
			if again := m.again(ctx, err); again != nil {
				return again
			}
		}
	}
	m.bridged(bridge.ToLegacy)
	answer, err := m.discover(ctx, m.startLimit())
	if err == nil && answer.Error != nil {
		err = fmt.Errorf("the server did not take initialize: %s", bounded(string(answer.Error)))
	}
	return err
}

// again starts the server once more after it has ended, or kept silent, at a probe.
func (m *meeting) again(ctx context.Context, probe error) error {
	if err := m.server.Stop(context.WithoutCancel(ctx)); err != nil {
		return err
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if errors.Is(probe, io.EOF) {
		m.learn(protocol.LegacyEra)
	}
	m.Logger.Info("the server did not answer a question of the modern era; it is started again", "server", m.Server.Name, "err", probe)
	server, err := m.Open(ctx)
	if err != nil {
		return err
	}
	m.server = server
	return nil
}

// discover asks what the server is, with what the client says of itself in each request.
func (m *meeting) discover(ctx context.Context, limit time.Duration) (protocol.Message, error) {
	q, err := protocol.Parse(protocol.NewRequest("0", protocol.MethodDiscover, m.hello.params()))
	if err != nil {
		return q, err
	}
	return m.converse(ctx, q, limit)
}

// converse sends one request and reads until its answer; what else comes meanwhile is handled as
// ever. A server that is silent for too long is stopped, which ends the reading.
func (m *meeting) converse(ctx context.Context, q protocol.Message, limit time.Duration) (protocol.Message, error) {
	const id = firstID
	ctx, cancel := context.WithTimeoutCause(ctx, limit, fmt.Errorf("no answer to %s within %s", q.Method, limit))
	defer cancel()
	defer context.AfterFunc(ctx, func() { _ = m.server.Stop(context.WithoutCancel(ctx)) })()
	q = q.WithID(id)
	m.shown(ToServer)(q.Raw)
	if err := m.stream.Write(q.Raw); err != nil {
		return q, fmt.Errorf("send %s to the server: %w", q.Method, err)
	}
	for {
		a, err := m.stream.Read()
		var bad *protocol.LineError
		switch {
		case ctx.Err() != nil:
			return a, context.Cause(ctx)
		case errors.As(err, &bad):
			m.noise(m.way, bad)
		case err != nil:
			return a, fmt.Errorf("the server ended before it answered %s: %w", q.Method, err)
		case a.Kind == protocol.Response && a.ID == id:
			m.shown(FromServer)(a.Raw)
			return a, nil
		case !m.probes:
			m.serverMessage(ctx, m.way, a)
		}
	}
}

// bridged speaks to the server through a translator from now on.
func (m *meeting) bridged(to func(protocol.Stream, bridge.Options) protocol.Stream) {
	m.stream = to(m.server, bridge.Options{Log: m.Logger, Handshake: m.startLimit()})
	m.way.by(m.stream, true)
}

// era is what is known of how the server speaks: what its owner declared, or what was learnt.
func (m *meeting) era() protocol.Era {
	if r := protocol.Revision(m.Server.Spec.Protocol); r.Era() != protocol.Unknown {
		return r.Era()
	}
	if m.Eras == nil {
		return protocol.Unknown
	}
	return m.Eras.Era()
}

func (m *meeting) learn(e protocol.Era) {
	if m.Eras != nil {
		m.Eras.Learn(e)
	}
}

// startLimit is how long the handshake may take.
func (s *Session) startLimit() time.Duration {
	if d := s.Server.Spec.Lifecycle.Start; d > 0 {
		return d
	}
	return defaultStart
}
