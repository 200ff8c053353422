package gateway

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/garita-dev/garita/daemon/protocol"
	"github.com/garita-dev/garita/sandbox"
)

// link is the way to the server for one of its lives: opening, then open, then ended. What is sent
// while it opens waits in order. Requests go out under ids of ours and come back under their
// sender's, so whatever a client writes as an id, it gets back; a server cannot be confused by it.
type link struct {
	sent func([]byte) // sees what goes out

	out     sync.Mutex // orders what is sent; guards the fields below
	stream  protocol.Stream
	bridged bool // stream is a bridge
	open    bool // the server is ready; until then what is sent waits in queue
	queue   [][]byte
	limit   time.Duration // how long one message may wait for a server that does not read
	stop    func()        // ends a server that does not

	ready atomic.Bool // is open; for those who do not wait for a message to be sent

	mu       sync.Mutex // guards the fields below
	instance sandbox.InstanceID
	last     int                      // id of ours
	requests map[protocol.ID]*request // that the server has, or will have, by our id
	ours     map[protocol.ID]protocol.ID
	err      error         // why it has ended
	quiet    chan struct{} // closed when nothing that idle waits for is unanswered any more
	ended    chan struct{} // closed when nothing can be sent any more
	over     chan struct{} // closed when nothing is left of the server
}

// request is one request on its way.
type request struct {
	id     protocol.ID // the client's own; "" for requests of ours
	method string
	awaits bool // idle waits for its answer
	// answer is called once: with the answer under the client's id, or with why there is none.
	answer func(protocol.Message, error)
	timer  *time.Timer
}

// firstID is the id of the handshake's requests, before others are sent.
const firstID = "1"

func newLink(sent func([]byte)) *link {
	return &link{
		sent: sent, last: 1 /* firstID */, requests: map[protocol.ID]*request{}, ours: map[protocol.ID]protocol.ID{}, ended: make(chan struct{}), over: make(chan struct{}),
	}
}

// alive says whether something can be sent, now or once it has opened.
func (l *link) alive() bool { return l != nil && l.failed() == nil }

func (l *link) failed() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.err
}

// by says how to reach the server, which is not ready for what waits yet.
func (l *link) by(stream protocol.Stream, bridged bool) {
	l.out.Lock()
	defer l.out.Unlock()
	l.stream, l.bridged = stream, bridged
}

// reads is where the server's messages come from.
func (l *link) reads() protocol.Stream {
	l.out.Lock()
	defer l.out.Unlock()
	return l.stream
}

// guard has a server stopped that does not read what it is sent within limit: whoever waits for it
// would wait for ever.
func (l *link) guard(limit time.Duration, stop func()) {
	l.out.Lock()
	defer l.out.Unlock()
	l.limit, l.stop = limit, stop
}

// opened says that the server is ready, and sends what has waited.
func (l *link) opened(instance sandbox.InstanceID) error {
	l.mu.Lock()
	l.instance = instance
	l.mu.Unlock()
	l.out.Lock()
	defer l.out.Unlock()
	for _, raw := range l.queue {
		if err := l.put(raw); err != nil {
			return err
		}
	}
	l.open, l.queue = true, nil
	l.ready.Store(true)
	return nil
}

// reply answers the server, which may ask before it is ready.
func (l *link) reply(raw []byte) error {
	l.out.Lock()
	defer l.out.Unlock()
	if l.stream == nil {
		return errEnded
	}
	return l.put(raw)
}

func (l *link) put(raw []byte) error {
	l.sent(raw)
	if stop := l.stop; stop != nil {
		defer time.AfterFunc(l.limit, func() { l.fail(errDeaf); stop() }).Stop()
	}
	if err := l.stream.Write(raw); err != nil {
		return fmt.Errorf("send to the server: %w", err)
	}
	return nil
}

// isOpen says whether the server can be talked to already.
func (l *link) isOpen() bool { return l.ready.Load() }

// runs names the sandbox behind the link, once it is open.
func (l *link) runs() sandbox.InstanceID {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.instance
}

// write sends one message as it is, or keeps it until the link is open.
func (l *link) write(raw []byte) error {
	if err := l.failed(); err != nil {
		return err
	}
	l.out.Lock()
	defer l.out.Unlock()
	switch {
	case l.open:
		return l.put(raw)
	case len(l.queue) >= maxQueued:
		return errors.New("too many messages wait for the server to start")
	}
	l.queue = append(l.queue, raw)
	return nil
}

// send sends a request, and r.answer gets what comes of it, within limit if there is one.
func (l *link) send(m protocol.Message, r *request, limit time.Duration) error {
	id, err := l.enter(r)
	if err != nil {
		return err
	}
	if err := l.write(m.WithID(id).Raw); err != nil {
		if l.take(id) == nil {
			return nil // the link has failed meanwhile, and told r
		}
		return err
	}
	if limit > 0 {
		l.bound(id, r, limit)
	}
	return nil
}

func (l *link) enter(r *request) (protocol.ID, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.err != nil {
		return "", l.err
	}
	if _, twice := l.ours[r.id]; twice && r.id != "" {
		return "", errIDInUse
	}
	l.last++
	id := protocol.ID(strconv.Itoa(l.last))
	l.requests[id] = r
	if r.id != "" {
		l.ours[r.id] = id
	}
	return id, nil
}

// bound gives a request up after a time.
func (l *link) bound(id protocol.ID, r *request, limit time.Duration) {
	timer := time.AfterFunc(limit, func() {
		if l.take(id) != nil {
			_ = l.write(protocol.NewCancelled(id, "it took too long"))
			r.answer(protocol.Message{}, errSlow)
			l.settle()
		}
	})
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.requests[id] == nil { // answered already
		timer.Stop()
		return
	}
	r.timer = timer
}

// take removes a request by our id; nil when there is none (any more).
func (l *link) take(id protocol.ID) *request {
	l.mu.Lock()
	defer l.mu.Unlock()
	r := l.requests[id]
	if r == nil {
		return nil
	}
	delete(l.requests, id)
	delete(l.ours, r.id)
	if r.timer != nil {
		r.timer.Stop()
	}
	return r
}

// deliver gives an answer to who waits for it; false: it is the answer to no request.
func (l *link) deliver(m protocol.Message) bool {
	r := l.take(m.ID)
	if r == nil {
		return false
	}
	if r.id != "" {
		m = m.WithID(r.id)
	}
	r.answer(m, nil)
	if r.awaits {
		l.settle()
	}
	return true
}

// known is our id of a client's request, and the client's of ours; "" when it is not under way.
func (l *link) known(client protocol.ID) (ours protocol.ID) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.ours[client]
}

func (l *link) theirs(ours protocol.ID) protocol.ID {
	l.mu.Lock()
	defer l.mu.Unlock()
	if r := l.requests[ours]; r != nil {
		return r.id
	}
	return ""
}

// only is the one request under way, "" when there is none or more.
func (l *link) only() protocol.ID {
	l.mu.Lock()
	defer l.mu.Unlock()
	for id := range l.requests {
		if len(l.requests) == 1 {
			return id
		}
	}
	return ""
}

// ask sends a request of our own and waits for its answer.
func (l *link) ask(ctx context.Context, method string, params []byte, limit time.Duration) (protocol.Message, error) {
	m, err := protocol.Parse(protocol.NewRequest("0", method, params))
	if err != nil {
		return m, err
	}
	ctx, cancel := context.WithTimeoutCause(ctx, limit, errSlow)
	defer cancel()
	return l.await(ctx, m, &request{method: method}, 0)
}

// call sends a client's tools/call and waits for its answer. A cancelled call is waited for a
// little longer: servers may still answer, and what it did is to be known.
func (l *link) call(ctx context.Context, m protocol.Message, limit time.Duration) (protocol.Message, error) {
	if err := ctx.Err(); err != nil {
		return protocol.Message{}, fmt.Errorf("%w: %w", errUnsent, err)
	}
	ctx, cancel := context.WithTimeoutCause(ctx, limit, errSlow)
	defer cancel()
	return l.await(ctx, m, &request{id: m.ID, method: m.Method}, cancelGrace)
}

func (l *link) await(ctx context.Context, m protocol.Message, r *request, grace time.Duration) (protocol.Message, error) {
	type result struct {
		m   protocol.Message
		err error
	}
	answered := make(chan result, 1)
	r.answer = func(m protocol.Message, err error) { answered <- result{m, err} }
	id, err := l.enter(r)
	if err != nil {
		return protocol.Message{}, fmt.Errorf("%w: %w", errUnsent, err)
	}
	defer l.take(id)
	if err := l.write(m.WithID(id).Raw); err != nil {
		return protocol.Message{}, err
	}
	done := ctx.Done()
	var timer <-chan time.Time
	for {
		select {
		case a := <-answered:
			return a.m, a.err
		case <-done:
			if errors.Is(context.Cause(ctx), errSlow) {
				_ = l.write(protocol.NewCancelled(id, "it took too long"))
			}
			done, timer = nil, time.After(grace)
		case <-timer:
			return protocol.Message{}, context.Cause(ctx)
		}
	}
}

// idle waits until every request that awaits its answer has it.
func (l *link) idle() {
	l.mu.Lock()
	quiet := make(chan struct{})
	l.quiet = quiet
	l.mu.Unlock()
	l.settle()
	<-quiet
}

func (l *link) settle() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.quiet == nil {
		return
	}
	for _, r := range l.requests {
		if r.awaits {
			return
		}
	}
	close(l.quiet)
	l.quiet = nil
}

// fail ends the link: every request gets err for an answer. Later calls do nothing.
func (l *link) fail(err error) {
	l.mu.Lock()
	if l.err != nil {
		l.mu.Unlock()
		return
	}
	l.err = err
	lost := l.requests
	l.requests, l.ours = map[protocol.ID]*request{}, map[protocol.ID]protocol.ID{}
	close(l.ended)
	l.mu.Unlock()
	for id, r := range lost {
		if r.timer != nil {
			r.timer.Stop()
		}
		r.answer(protocol.Message{}, unsent(id, err))
	}
	l.settle()
}

// unsent marks err for a request that the server certainly has not begun.
func unsent(id protocol.ID, err error) error {
	var lost *protocol.LostError
	if errors.As(err, &lost) && lost.Has(id) {
		return fmt.Errorf("%w: %w", errUnsent, err)
	}
	return err
}
