package door

import (
	"context"
	"errors"
	"strconv"
	"sync"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/garita-dev/garita/daemon/protocol"
)

// memberTime bounds how long one server may keep the others waiting, when all are asked.
const memberTime = 60 * time.Second

// member is one server in a session with all.
type member struct {
	x    *all
	name string

	starting sync.Mutex // held while it is started
	mu       sync.Mutex
	pipe     *pipe // nil before it was started
	err      error // why the last run ended
	greeting jsontext.Value
}

// running is m's pipe; it is started, or started again, where it does not run. In the legacy era
// the server is greeted as the client greeted us.
func (m *member) running(ctx context.Context) (*pipe, error) {
	m.starting.Lock()
	defer m.starting.Unlock()
	m.mu.Lock()
	p := m.pipe
	m.mu.Unlock()
	if p != nil && !p.isGone() {
		return p, nil
	}
	p = m.start()
	params := m.x.greeting()
	if params == nil {
		return p, nil
	}
	answer, err := m.askAt(ctx, p, protocol.MethodInitialize, params)
	if err != nil {
		_ = p.Close()
		return nil, err
	}
	m.mu.Lock()
	m.greeting = answer.Result
	m.mu.Unlock()
	initialized, err := protocol.Parse(protocol.NewNotification(protocol.MethodInitialized, jsontext.Value("{}")))
	if err == nil {
		err = p.send(ctx, initialized)
	}
	return p, err
}

func (m *member) start() *pipe {
	var p *pipe
	p = newPipe(func(msg protocol.Message) { m.x.fromServer(m, p, msg) })
	m.mu.Lock()
	m.pipe, m.err = p, nil
	m.mu.Unlock()
	m.x.runs.Go(func() {
		err := m.x.o.Backend.Serve(m.x.ctx, m.x.access, m.name, p)
		m.mu.Lock()
		m.err = err
		m.mu.Unlock()
		_ = p.Close()
		m.x.ended(p, err)
	})
	return p
}

// greeted is what the server answered to initialize; nil in the modern era.
func (m *member) greeted() jsontext.Value {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.greeting
}

// ask asks the server something of our own. An error of the server is an error.
func (m *member) ask(ctx context.Context, method string, params jsontext.Value) (protocol.Message, error) {
	p, err := m.running(ctx)
	if err != nil {
		return protocol.Message{}, err
	}
	return m.askAt(ctx, p, method, params)
}

func (m *member) askAt(ctx context.Context, p *pipe, method string, params jsontext.Value) (protocol.Message, error) {
	f := &flight{member: m, pipe: p, ours: make(chan protocol.Message, 1)}
	m.x.number(f)
	defer m.x.forget(f)
	ask, err := protocol.Parse(protocol.NewRequest(protocol.ID(f.number), method, params))
	if err == nil {
		err = p.send(ctx, ask)
	}
	if err == nil {
		select {
		case answer := <-f.ours:
			return answer, asError(answer)
		case <-p.gone:
			err = errGone
		case <-ctx.Done():
			err = ctx.Err()
		}
	}
	if reason := m.reason(); reason != nil && p.isGone() {
		err = reason
	}
	return protocol.Message{}, err
}

// reason is why the server's last run ended; nil when it did not say.
func (m *member) reason() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.err
}

func asError(answer protocol.Message) error {
	if answer.Error == nil {
		return nil
	}
	return &serverError{answer.Error}
}

// serverError is an error answer.
type serverError struct{ object jsontext.Value }

func (e *serverError) Error() string {
	members, err := protocol.Members(e.object)
	if err != nil {
		return "the server answered with an error"
	}
	return protocol.Text(members["message"])
}

// noMethod tells whether err is that a server does not know what it was asked.
func noMethod(err error) bool {
	var s *serverError
	if !errors.As(err, &s) {
		return false
	}
	members, _ := protocol.Members(s.object)
	return string(members["code"]) == strconv.Itoa(protocol.CodeNoMethod)
}
