package gateway

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/garita-dev/garita/daemon/protocol"
)

// upstream is the server as a session sees it: requests under way, and who waits for their answers.
type upstream struct {
	server Upstream
	out    *protocol.Writer
	own    string // prefix of the ids of our own requests; unguessable, so no client's id meets them

	mu      sync.Mutex                            // guards the fields below
	waiting map[protocol.ID]chan protocol.Message // calls and our own requests
	open    map[protocol.ID]struct{}              // requests the server answers to the client
	count   int
	err     error         // why nothing more can be sent
	quiet   chan struct{} // closed when nothing passed on is unanswered any more
}

func newUpstream(server Upstream) *upstream {
	return &upstream{
		server: server, out: protocol.NewWriter(server), own: "garita-" + rand.Text(),
		waiting: map[protocol.ID]chan protocol.Message{}, open: map[protocol.ID]struct{}{},
	}
}

func (u *upstream) write(raw []byte) error {
	if err := u.failed(); err != nil {
		return err
	}
	return u.out.Write(raw)
}

func (u *upstream) failed() error {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.err
}

// pass sends a request on whose answer goes to the client.
func (u *upstream) pass(m protocol.Message) error {
	u.mu.Lock()
	if u.err != nil {
		defer u.mu.Unlock()
		return u.err
	}
	u.open[m.ID] = struct{}{}
	u.mu.Unlock()
	return u.out.Write(m.Raw)
}

// passed says that the answer to a request passed on has gone to the client.
func (u *upstream) passed(id protocol.ID) {
	u.mu.Lock()
	defer u.mu.Unlock()
	delete(u.open, id)
	u.settle()
}

func (u *upstream) settle() {
	if u.quiet != nil && (len(u.open) == 0 || u.err != nil) {
		close(u.quiet)
		u.quiet = nil
	}
}

// idle waits until nothing passed on is unanswered.
func (u *upstream) idle() {
	u.mu.Lock()
	quiet := make(chan struct{})
	u.quiet = quiet
	u.settle()
	u.mu.Unlock()
	<-quiet
}

// ask sends a request of our own.
func (u *upstream) ask(ctx context.Context, method string, params []byte) (protocol.Message, error) {
	u.mu.Lock()
	u.count++
	id := protocol.ID(protocol.Quote(fmt.Sprintf("%s-%d", u.own, u.count)))
	u.mu.Unlock()
	return u.await(ctx, id, protocol.NewRequest(id, method, params), 0)
}

// forward sends a call on and waits for its answer. A cancelled call is waited for a little
// longer: servers may still answer, and what it did is to be known.
func (u *upstream) forward(ctx context.Context, req protocol.Message, limit time.Duration) (answer, error) {
	if err := ctx.Err(); err != nil {
		return answer{}, fmt.Errorf("%w: %w", errUnsent, err)
	}
	ctx, cancel := context.WithTimeoutCause(ctx, limit, errSlow)
	defer cancel()
	m, err := u.await(ctx, req.ID, req.Raw, cancelGrace)
	if errors.Is(err, errSlow) {
		_ = u.write(protocol.NewCancelled(req.ID, "it took too long"))
	}
	if err != nil {
		return answer{}, err
	}
	return answer{result: m.Result, fault: m.Error}, nil
}

func (u *upstream) await(ctx context.Context, id protocol.ID, raw []byte, grace time.Duration) (protocol.Message, error) {
	ch, err := u.expect(id)
	if err != nil {
		return protocol.Message{}, err
	}
	defer u.unexpect(id)
	if err := u.out.Write(raw); err != nil {
		return protocol.Message{}, fmt.Errorf("send to the server: %w", err)
	}
	done := ctx.Done()
	var timer <-chan time.Time
	for {
		select {
		case m, ok := <-ch:
			if !ok {
				return protocol.Message{}, u.failed()
			}
			return m, nil
		case <-done:
			done, timer = nil, time.After(grace)
		case <-timer:
			return protocol.Message{}, context.Cause(ctx)
		}
	}
}

func (u *upstream) expect(id protocol.ID) (<-chan protocol.Message, error) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.err != nil {
		return nil, u.err
	}
	ch := make(chan protocol.Message, 1)
	u.waiting[id] = ch
	return ch, nil
}

func (u *upstream) unexpect(id protocol.ID) {
	u.mu.Lock()
	defer u.mu.Unlock()
	delete(u.waiting, id)
}

// has says whether the server has this call.
func (u *upstream) has(id protocol.ID) bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	_, ok := u.waiting[id]
	return ok
}

// deliver gives an answer to who waits for it here; false: it is the client's.
func (u *upstream) deliver(m protocol.Message) bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	ch, ok := u.waiting[m.ID]
	if ok {
		ch <- m
		delete(u.waiting, m.ID)
	}
	return ok
}

// fail ends every wait with err and returns the requests whose answers the client will not get.
// Later calls do nothing.
func (u *upstream) fail(err error) []protocol.ID {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.err != nil {
		return nil
	}
	u.err = err
	for id, ch := range u.waiting {
		close(ch)
		delete(u.waiting, id)
	}
	var lost []protocol.ID
	for id := range u.open {
		lost = append(lost, id)
	}
	u.settle()
	return lost
}
