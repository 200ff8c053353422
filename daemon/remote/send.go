package remote

import (
	"context"
	"net/http"
	"net/http/httptrace"
	"sync"
	"sync/atomic"
	"time"

	"github.com/garita-dev/garita/daemon/protocol"
)

// send takes what is written in its order. A notification is accepted before anything after it is
// sent, so that nothing overtakes notifications/initialized; requests and answers go side by side.
func (c *Conn) send() {
	for {
		select {
		case m := <-c.out:
			c.dispatch(m)
		case <-c.ctx.Done():
			return
		}
	}
}

func (c *Conn) dispatch(m protocol.Message) {
	switch {
	case m.Kind == protocol.Request:
		c.begin(m)
	case m.Kind == protocol.Response:
		c.spawn(func() { c.tell(m) })
	case m.Method == protocol.MethodCancelled:
		c.cancelCall(m)
	default:
		c.tell(m)
	}
}

// begin starts a request.
func (c *Conn) begin(m protocol.Message) {
	k := newCall(c.ctx, m)
	c.mu.Lock()
	if k.version != "" || m.Method == protocol.MethodInitialize {
		c.version = k.version
	}
	c.calls[m.ID] = k
	c.mu.Unlock()
	c.spawn(func() {
		defer c.done()
		defer c.forget(k)
		c.request(k)
	})
}

func (c *Conn) forget(k *call) {
	k.cancel(nil)
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.calls[k.message.ID] == k {
		delete(c.calls, k.message.ID)
	}
}

// cancelCall ends a request nobody waits for any more: a modern one by closing its stream, a
// legacy one by saying so, and by closing its stream if the server goes on.
func (c *Conn) cancelCall(m protocol.Message) {
	c.mu.Lock()
	k := c.calls[protocol.Cancelled(m.Params)]
	c.mu.Unlock()
	switch {
	case k == nil:
		c.done() // it is answered already
	case k.version != "", k.taken.CompareAndSwap(false, true): // not sent yet: nothing to call back
		k.cancel(errCancelled)
		c.done()
	default:
		c.spawn(func() { c.callBack(k, m) })
	}
}

// callBack says that k is cancelled, once it has been said.
func (c *Conn) callBack(k *call, m protocol.Message) {
	select {
	case <-k.onWire:
	case <-k.ctx.Done():
	}
	k.linger()
	c.tell(m)
}

// tell sends what has no answer.
func (c *Conn) tell(m protocol.Message) {
	defer c.done()
	if c.isLost() {
		return
	}
	ctx, cancel := context.WithTimeout(c.ctx, c.opt.Limits.Accept)
	defer cancel()
	header, err := c.headersOf(m, protocol.VersionOf(m.Params))
	if err != nil {
		c.log.Warn("a message to a remote server cannot be sent", "err", err)
		return
	}
	res, err := c.do(ctx, http.MethodPost, c.target(), m, header)
	if err != nil {
		c.log.Warn("a remote server did not take a message", "err", err)
		return
	}
	defer res.Body.Close()
	switch {
	case c.gone(res):
		c.lose("the server answered 404 to its id", "")
	case res.StatusCode >= 300:
		c.log.Warn("a remote server did not take a message", "status", res.StatusCode)
	case m.Method == protocol.MethodInitialized:
		c.startHearing()
	}
}

// call is one request under way.
type call struct {
	message protocol.Message
	version protocol.Revision // of a modern request; "" of a legacy one
	ctx     context.Context
	cancel  context.CancelCauseFunc

	corrected bool          // it was refused for its headers, and sent again
	taken     atomic.Bool   // by the first who sends it, or cancels it before
	once      sync.Once     // closes onWire
	onWire    chan struct{} // closed when the request is written
	answered  chan struct{} // the oldest transport: the answer came
}

func newCall(ctx context.Context, m protocol.Message) *call {
	k := &call{message: m, version: protocol.VersionOf(m.Params), onWire: make(chan struct{}), answered: make(chan struct{}, 1)}
	k.ctx, k.cancel = context.WithCancelCause(ctx)
	k.ctx = httptrace.WithClientTrace(k.ctx, &httptrace.ClientTrace{
		WroteRequest: func(httptrace.WroteRequestInfo) { k.once.Do(func() { close(k.onWire) }) },
	})
	return k
}

func (k *call) isOnWire() bool {
	select {
	case <-k.onWire:
		return true
	default:
		return false
	}
}

// lingering is how long the stream of a cancelled legacy request is still read.
const lingering = time.Minute

func (k *call) linger() {
	stop := time.AfterFunc(lingering, func() { k.cancel(errCancelled) })
	context.AfterFunc(k.ctx, func() { stop.Stop() })
}
