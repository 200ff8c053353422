package remote

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"time"

	"github.com/garita-dev/garita/daemon/protocol"
)

// How streams are taken up again.
const (
	minRetry = 100 * time.Millisecond // however soon the server wants us back
	maxRetry = time.Minute
	// maxFutile is how often a request's stream is taken up again without anything new on it.
	maxFutile = 5
)

// cursor is where in a stream we are.
type cursor struct {
	last   string        // the newest event's id, "" when there are none
	retry  time.Duration // what the server wants us to wait; 0 when it does not say
	fresh  bool          // something came since the cursor was last looked at
	opened bool          // the stream was there at least once
	open   func()        // called when it is
}

func (at *cursor) see(e protocol.Event) {
	if e.ID != "" && e.ID != at.last && len(e.ID) <= 4096 {
		at.last, at.fresh = e.ID, true
	}
	if e.Retry > 0 {
		at.retry = e.Retry
	}
	at.fresh = at.fresh || len(e.Data) > 0
}

// wait is how long to wait before try number n, counted from 0, without anything new.
func (at *cursor) wait(n int) time.Duration {
	d := at.retry
	if d == 0 {
		d = time.Second
	}
	d = min(max(d, minRetry)<<min(n, 6), maxRetry)
	if n > 0 {
		d += rand.N(d/4 + 1) //nolint:gosec // So that clients of one server do not all come back at once.
	}
	return d
}

// stream reads the events that answer k, and takes them up again where a legacy server lets it.
func (c *Conn) stream(k *call, body io.ReadCloser) {
	var at cursor
	defer func() { body.Close() }()
	for futile := 0; ; {
		done, err := c.events(k, body, &at)
		switch {
		case done, context.Cause(k.ctx) != nil && !errors.Is(context.Cause(k.ctx), errTooSlow):
			return
		case errors.Is(err, protocol.ErrTooLong):
			c.fail(k, c.tooLong())
			return
		case k.version != "" || at.last == "":
			c.fail(k, fmt.Sprintf("ended its answer to %s before it was whole; whether it was carried out is not known", k.message.Method))
			return
		}
		if at.fresh {
			futile = 0
		}
		body.Close()
		if body = c.resume(k, &at, &futile); body == http.NoBody {
			return
		}
	}
}

// events reads one connection's events until k is answered (true) or it ends.
func (c *Conn) events(k *call, body io.Reader, at *cursor) (bool, error) {
	at.fresh = false
	events := protocol.NewEventReader(body, c.opt.Limits.Message)
	for {
		e, err := events.Read()
		if err != nil {
			return false, err
		}
		at.see(e)
		if carries(e) && c.handle(k, e.Data) {
			return true, nil
		}
	}
}

// carries tells whether an event carries a message: others only move the cursor.
func carries(e protocol.Event) bool {
	return len(e.Data) > 0 && (e.Name == "" || e.Name == "message")
}

// resume takes k's stream up again; http.NoBody when that came to nothing, which k then knows.
func (c *Conn) resume(k *call, at *cursor, futile *int) io.ReadCloser {
	for ; *futile <= maxFutile; *futile++ {
		select {
		case <-time.After(at.wait(*futile)):
		case <-k.ctx.Done():
			return http.NoBody
		}
		res, err := c.get(k.ctx, k.cancel, at.last)
		switch {
		case err != nil && (k.ctx.Err() != nil || isWithheld(err)):
			c.failed(k, err)
			return http.NoBody
		case err != nil:
			continue
		case c.gone(res):
			res.Body.Close()
			c.lose("the server answered 404 to its id", "")
			return http.NoBody
		case res.StatusCode == http.StatusOK && mediaType(res) == "text/event-stream":
			*futile++ // until something new comes
			return res.Body
		case res.StatusCode < 500 && res.StatusCode != http.StatusTooManyRequests:
			*futile = maxFutile
		}
		discard(res)
	}
	c.fail(k, fmt.Sprintf("broke off its answer to %s and does not take it up again; whether it was carried out is not known", k.message.Method))
	return http.NoBody
}

// get asks for a stream. The caller closes its body.
func (c *Conn) get(ctx context.Context, cancel context.CancelCauseFunc, last string) (*http.Response, error) {
	h := http.Header{}
	h.Set("Accept", "text/event-stream")
	if last != "" {
		h.Set(protocol.HeaderLastEvent, last)
	}
	c.mu.Lock()
	c.setSession(h)
	c.mu.Unlock()
	defer within(c.opt.Limits.Accept, cancel, errTooSlow)()
	return c.do(ctx, http.MethodGet, c.url, protocol.Message{}, h)
}

// hearingTime bounds how long what is written waits for the stream on which a server asks. One that
// opens it only when it has something to say is not waited for longer.
const hearingTime = time.Second

// startHearing opens the stream on which a legacy server speaks of its own accord, and waits for
// it: a server that asks there while it answers the next request, and finds no stream, may drop the
// question.
func (c *Conn) startHearing() {
	c.mu.Lock()
	start := !c.hearing && c.endpoint == nil && c.version.Era() != protocol.ModernEra
	c.hearing = c.hearing || start
	c.mu.Unlock()
	if !start {
		return
	}
	ctx, open := context.WithTimeout(c.ctx, hearingTime)
	defer open()
	c.spawn(func() { c.hear(open) })
	<-ctx.Done()
}

// hear reads that stream for as long as the server offers it. open is called when the server has
// said whether it does.
func (c *Conn) hear(open func()) {
	defer open()
	at := cursor{open: open}
	for futile := 0; ; futile++ {
		fresh, more := c.hearOnce(&at)
		if fresh {
			futile = 0
		}
		if !more {
			return
		}
		select {
		case <-time.After(at.wait(futile)):
		case <-c.ctx.Done():
			return
		}
	}
}

// hearOnce reads one connection of it; more is whether there may be another.
func (c *Conn) hearOnce(at *cursor) (fresh, more bool) {
	ctx, cancel := context.WithCancelCause(c.ctx)
	defer cancel(nil)
	res, err := c.get(ctx, cancel, at.last)
	if err != nil {
		return false, c.ctx.Err() == nil && !isWithheld(err)
	}
	defer res.Body.Close()
	switch {
	case c.gone(res) && at.opened: // else it may be a server's way to say that it offers none
		c.lose("the server answered 404 to its id", "")
		return false, false
	case res.StatusCode >= 500 || res.StatusCode == http.StatusTooManyRequests:
		return false, true
	case res.StatusCode != http.StatusOK || mediaType(res) != "text/event-stream":
		return false, false // it offers none
	}
	at.fresh, at.opened = false, true
	at.open()
	c.unasked(ctx, protocol.NewEventReader(res.Body, c.opt.Limits.Message), at)
	return at.fresh, c.ctx.Err() == nil
}

// unasked passes on what a server says of its own accord, until the stream ends. No request is
// answered there.
func (c *Conn) unasked(ctx context.Context, events *protocol.EventReader, at *cursor) {
	for {
		e, err := events.Read()
		var bad *protocol.LineError
		if errors.As(err, &bad) {
			c.put(ctx, item{err: bad})
			continue
		}
		if err != nil {
			return
		}
		at.see(e)
		if carries(e) {
			c.heard(ctx, e.Data)
		}
	}
}

func (c *Conn) heard(ctx context.Context, raw []byte) {
	m, err := protocol.Parse(raw)
	switch {
	case err != nil:
		c.put(ctx, item{err: &protocol.LineError{Err: err, Prefix: raw[:min(len(raw), 200)]}})
	case m.Kind == protocol.Batch:
		all, errs, err := m.Batch()
		for i := range all {
			if err == nil && errs[i] == nil {
				c.heard(ctx, all[i].Raw)
			}
		}
	case m.Kind == protocol.Response && !c.isOld():
		c.log.Warn("a remote server answered a request on another's stream")
	case m.Kind == protocol.Response:
		c.answeredOld(ctx, m)
	default:
		c.deliver(ctx, m)
	}
}

// farewellTime bounds telling a server that its session is over.
const farewellTime = 5 * time.Second

// farewell ends the server's session, if there is one.
func (c *Conn) farewell(ctx context.Context) {
	c.mu.Lock()
	h := http.Header{}
	c.setSession(h)
	there := c.session != "" && c.err == nil
	c.session, c.closing = "", true
	c.mu.Unlock()
	if !there {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, farewellTime)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodDelete, c.url.String(), nil)
	if err != nil {
		return
	}
	req.Header = h
	if _, err := c.authorize(ctx, req, protocol.Message{}); err != nil {
		return
	}
	if res, err := c.http.Do(req); err == nil { // no login is worth saying goodbye
		discard(res)
	}
}
