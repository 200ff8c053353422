package remote

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"time"

	"github.com/garita-dev/garita/daemon/protocol"
	"github.com/garita-dev/garita/daemon/remote/dial"
)

// The oldest transport, HTTP with SSE of 2024-11-05: one GET whose stream begins by naming where
// messages are to be sent, and carries every answer. The stream is the session.

// mayBeOld tells whether this is how a server of the oldest transport answers a POST.
func (c *Conn) mayBeOld(res *http.Response) bool {
	switch res.StatusCode {
	case http.StatusBadRequest, http.StatusNotFound, http.StatusMethodNotAllowed:
		return !c.isOld()
	}
	return false
}

func (c *Conn) isOld() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.endpoint != nil
}

// fallBack tries the oldest transport with k, an initialize, and reports whether the server speaks
// it; k is then answered for.
func (c *Conn) fallBack(k *call) bool {
	ctx, cancel := context.WithCancelCause(c.ctx)
	res, err := c.get(ctx, cancel, "")
	if err != nil {
		cancel(nil)
		return false
	}
	events := protocol.NewEventReader(res.Body, c.opt.Limits.Message)
	if err := c.introduced(res, events, cancel); err != nil {
		c.log.Debug("a remote server does not speak HTTP with SSE", "err", err)
		cancel(nil)
		res.Body.Close()
		return false
	}
	c.spawn(func() {
		defer res.Body.Close()
		defer cancel(nil)
		c.unasked(ctx, events, &cursor{})
		c.loseOld()
	})
	c.again(k)
	return true
}

// introduced reads the event that names where messages go.
func (c *Conn) introduced(res *http.Response, events *protocol.EventReader, cancel context.CancelCauseFunc) error {
	if res.StatusCode != http.StatusOK || mediaType(res) != "text/event-stream" {
		return fmt.Errorf("it answered GET with %d", res.StatusCode)
	}
	defer within(15*time.Second, cancel, errTooSlow)()
	e, err := events.Read()
	if err != nil {
		return err
	}
	to, err := c.url.Parse(string(e.Data))
	if e.Name != "endpoint" || err != nil || len(e.Data) > 4096 {
		return errors.New("its stream does not begin with an endpoint")
	}
	return c.setEndpoint(to)
}

func (c *Conn) setEndpoint(to *url.URL) error {
	if !dial.SameOrigin(to, c.url) || to.User != nil {
		return errors.New("its endpoint is of another origin")
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.endpoint, c.session = to, ""
	return nil
}

// again sends k to the endpoint.
func (c *Conn) again(k *call) {
	header, err := c.headersOf(k.message, k.version)
	if err != nil {
		c.fail(k, "is not sent this: "+err.Error())
		return
	}
	stop := within(c.opt.Limits.Accept, k.cancel, errTooSlow)
	res, err := c.do(k.ctx, http.MethodPost, c.target(), k.message, header)
	stop()
	if err != nil {
		c.failed(k, err)
		return
	}
	defer res.Body.Close()
	if res.StatusCode >= 300 {
		c.answer(protocol.NewError(k.message.ID, protocol.CodeInternal, c.refusal(k.message.Method, res)))
		return
	}
	c.await(k)
}

// await waits for k's answer on the stream.
func (c *Conn) await(k *call) {
	defer within(c.opt.Limits.Answer, k.cancel, errTooSlow)()
	select {
	case <-k.answered:
	case <-k.ctx.Done():
		c.failed(k, context.Cause(k.ctx))
	}
}

// answeredOld passes on an answer that came on the stream, if somebody waits for it.
func (c *Conn) answeredOld(ctx context.Context, m protocol.Message) {
	c.mu.Lock()
	k := c.calls[m.ID]
	c.mu.Unlock()
	if k == nil {
		return
	}
	c.deliver(ctx, c.learn(k, m))
	select {
	case k.answered <- struct{}{}:
	default:
		c.log.Warn("a remote server answered a request twice")
	}
}

// loseOld ends the Conn with the stream: requests without an answer are of unknown outcome.
func (c *Conn) loseOld() {
	c.lose("the server ended its stream", "")
	c.mu.Lock()
	defer c.mu.Unlock()
	c.end(c.loss)
}
