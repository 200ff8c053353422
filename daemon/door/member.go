package door

import (
	"context"
	"errors"
	"strconv"
	"sync"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/garita-dev/garita/daemon/protocol"
)

// member is one server in a session with all.
type member struct {
	x    *all
	name string

	mu      sync.Mutex
	run     *run // the last; nil before the first
	leftOut bool // the client was greeted without it
}

// run is one session with a server.
type run struct {
	pipe  *pipe
	ready chan struct{} // closed when it can be asked, or never will be

	greeting jsontext.Value // its answer to initialize, once ready; nil in the modern era
	failed   error          // why it never will be, once ready

	mu  sync.Mutex
	err error // why it ended
}

// running is m's run, once it can be asked; it is started, or started again, where it does not run.
// One that takes longer than ctx goes on starting.
func (m *member) running(ctx context.Context) (*run, error) {
	m.mu.Lock()
	if m.run == nil || m.run.pipe.isGone() {
		m.run = m.start()
	}
	r := m.run
	m.mu.Unlock()
	select {
	case <-r.ready:
		return r, r.failed
	case <-ctx.Done():
		return nil, errSlow
	}
}

var errSlow = errors.New("it is still starting")

func (m *member) start() *run {
	r := &run{ready: make(chan struct{})}
	r.pipe = newPipe(func(msg protocol.Message) { m.x.fromServer(r, msg) })
	m.x.runs.Go(func() {
		err := m.x.o.Backend.Serve(m.x.ctx, m.x.access, m.name, r.pipe)
		r.mu.Lock()
		r.err = err
		r.mu.Unlock()
		_ = r.pipe.Close()
		m.x.ended(r)
	})
	params := m.x.greeting()
	if params == nil {
		close(r.ready)
		return r
	}
	m.x.runs.Go(func() {
		r.failed = m.greet(r, params)
		close(r.ready)
		m.arrived(r)
	})
	return r
}

// greet greets a legacy server as the client greeted us.
func (m *member) greet(r *run, params jsontext.Value) error {
	answer, err := m.askAt(m.x.ctx, r, protocol.MethodInitialize, params)
	if err != nil {
		_ = r.pipe.Close()
		return err
	}
	r.greeting = answer.Result
	initialized, err := protocol.Parse(protocol.NewNotification(protocol.MethodInitialized, jsontext.Value("{}")))
	if err == nil {
		err = r.pipe.send(m.x.ctx, initialized)
	}
	return err
}

// arrived tells the client of a server that it was greeted without.
func (m *member) arrived(r *run) {
	m.mu.Lock()
	late := m.leftOut && r.failed == nil
	m.leftOut = m.leftOut && !late
	m.mu.Unlock()
	if !late {
		return
	}
	for _, of := range []string{"tools", "prompts", "resources"} {
		m.x.write(protocol.NewNotification("notifications/"+of+"/list_changed", jsontext.Value("{}")))
	}
}

// leave notes that the client is greeted without m.
func (m *member) leave() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.leftOut = true
}

// greeted is what the server answered to initialize; nil in the modern era, or when it did not.
func (m *member) greeted() jsontext.Value {
	m.mu.Lock()
	r := m.run
	m.mu.Unlock()
	if r == nil {
		return nil
	}
	select {
	case <-r.ready:
		return r.greeting
	default:
		return nil
	}
}

// why is why r ended; the session's end when it did not say.
func (r *run) why() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.err == nil {
		return errGone
	}
	return r.err
}

// ask asks the server something of our own. An error of the server is an error.
func (m *member) ask(ctx context.Context, method string, params jsontext.Value) (protocol.Message, error) {
	r, err := m.running(ctx)
	if err != nil {
		return protocol.Message{}, err
	}
	return m.askAt(ctx, r, method, params)
}

func (m *member) askAt(ctx context.Context, r *run, method string, params jsontext.Value) (protocol.Message, error) {
	f := &flight{name: m.name, run: r, ours: make(chan protocol.Message, 1)}
	m.x.number(f)
	defer m.x.forget(f)
	ask, err := protocol.Parse(protocol.NewRequest(protocol.ID(f.number), method, params))
	if err == nil {
		err = r.pipe.send(ctx, ask)
	}
	if err != nil && !errors.Is(err, errGone) {
		return protocol.Message{}, err
	}
	select {
	case answer := <-f.ours:
		return answer, asError(answer)
	case <-r.pipe.gone:
		return protocol.Message{}, r.why()
	case <-ctx.Done():
		return protocol.Message{}, ctx.Err()
	}
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
