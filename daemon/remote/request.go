package remote

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"

	"github.com/garita-dev/garita/daemon/protocol"
	"github.com/garita-dev/garita/daemon/remote/dial"
)

var (
	errCancelled = errors.New("nobody waits for it any more")
	errTooSlow   = errors.New("it did not answer in time")
)

// request carries one request out: exactly one answer comes of it, unless it was cancelled, the
// session was lost or the Conn ended.
func (c *Conn) request(k *call) {
	if !c.enter(k) {
		return
	}
	defer c.leave(k)
	if c.isLost() {
		c.lose("", k.message.ID)
		return
	}
	header, err := c.headersOf(k.message, k.version)
	if err != nil {
		c.fail(k, "is not sent this: "+err.Error())
		return
	}
	if !k.taken.CompareAndSwap(false, true) {
		return
	}
	c.exchange(k, header)
}

// enter waits until k may be under way, and reports whether it may. A subscription takes no place:
// it would never give it back.
func (c *Conn) enter(k *call) bool {
	if k.message.Method == protocol.MethodListen {
		return true
	}
	select {
	case c.slots <- struct{}{}:
		return true
	case <-k.ctx.Done():
		return false
	}
}

func (c *Conn) leave(k *call) {
	if k.message.Method != protocol.MethodListen {
		<-c.slots
	}
}

// exchange sends k and takes what comes of it.
func (c *Conn) exchange(k *call, header http.Header) {
	stop := within(c.opt.Limits.Answer, k.cancel, errTooSlow)
	res, err := c.do(k.ctx, http.MethodPost, c.target(), k.message, header)
	stop()
	if err != nil {
		c.failed(k, err)
		return
	}
	defer res.Body.Close()
	c.take(k, res)
}

// take reads what a request was answered with.
func (c *Conn) take(k *call, res *http.Response) {
	switch {
	case res.StatusCode >= 300:
		c.refused(k, res)
	case c.isOld():
		c.await(k)
	case mediaType(res) == "text/event-stream":
		c.begun(k, res)
		c.stream(k, res.Body)
	case res.StatusCode == http.StatusOK:
		c.begun(k, res)
		c.document(k, res.Body)
	default:
		c.fail(k, fmt.Sprintf("answered %d %s, without an answer", res.StatusCode, http.StatusText(res.StatusCode)))
	}
}

// begun keeps the session that an answer to initialize names.
func (c *Conn) begun(k *call, res *http.Response) {
	if k.message.Method != protocol.MethodInitialize {
		return
	}
	id := res.Header.Get(protocol.HeaderSession)
	if len(id) > 1024 || bytes.ContainsFunc([]byte(id), func(r rune) bool { return r < 0x21 || r > 0x7e }) {
		c.log.Warn("a remote server's session id is not one")
		id = ""
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.session, c.version, c.hearing = id, "", false
}

// document reads an answer that is one JSON document.
func (c *Conn) document(k *call, body io.Reader) {
	defer within(c.opt.Limits.Answer, k.cancel, errTooSlow)()
	raw, err := io.ReadAll(io.LimitReader(body, int64(c.opt.Limits.Message)+1))
	switch {
	case err != nil:
		c.failed(k, err)
	case len(raw) > c.opt.Limits.Message:
		c.fail(k, c.tooLong())
	case !c.handle(k, bytes.TrimSpace(raw)):
		c.fail(k, "answered with something that is no answer to it")
	}
}

// handle passes on what a server sends in answer to k, one message or, in the legacy era, an
// array of them; it reports whether the answer itself was among it.
func (c *Conn) handle(k *call, raw []byte) (answered bool) {
	m, err := protocol.Parse(raw)
	switch {
	case err != nil:
		return c.unreadable(k, raw, err)
	case m.Kind != protocol.Batch:
		return c.message(k, m)
	case k.version != "":
		c.log.Warn("a remote server sent a batch, which its revision does not know")
		return false
	}
	all, errs, err := m.Batch()
	if err != nil {
		return c.unreadable(k, raw, err)
	}
	for i, m := range all {
		if errs[i] != nil {
			answered = c.unreadable(k, m.Raw, errs[i]) || answered
		} else {
			answered = c.message(k, m) || answered
		}
	}
	return answered
}

// message passes on one message that came in answer to k.
func (c *Conn) message(k *call, m protocol.Message) (answered bool) {
	switch {
	case m.Kind == protocol.Response && m.ID == k.message.ID:
		c.deliver(k.ctx, c.learn(k, m))
		return true
	case m.Kind == protocol.Response:
		c.log.Warn("a remote server answered a request on another's stream")
	case m.Kind == protocol.Request && k.version != "":
		c.log.Warn("a remote server asked something, which its revision does not know", "method", m.Method)
	default:
		c.deliver(k.ctx, m)
	}
	return false
}

// learn takes from an answer what later requests need.
func (c *Conn) learn(k *call, m protocol.Message) protocol.Message {
	switch {
	case m.Result == nil:
	case k.message.Method == protocol.MethodInitialize:
		if members, err := protocol.Members(m.Result, "protocolVersion"); err == nil {
			c.mu.Lock()
			if v := protocol.Revision(protocol.Text(members["protocolVersion"])); v.Era() != protocol.Unknown {
				c.version = v
			}
			c.mu.Unlock()
		}
	case k.message.Method == protocol.MethodToolsList && k.version != "":
		return c.learnTools(m)
	}
	return m
}

// unreadable passes on that something was not a message. If it was surely the answer to k, that
// fails, and true is reported.
func (c *Conn) unreadable(k *call, raw []byte, err error) bool {
	var p *protocol.ParseError
	if errors.As(err, &p) && p.ID == k.message.ID && !p.Request {
		c.fail(k, "sent an answer that cannot be read: "+p.Why)
		return true
	}
	c.put(k.ctx, item{err: &protocol.LineError{Err: err, Prefix: bytes.Clone(raw[:min(len(raw), 200)])}})
	return false
}

// refused reads an answer that is no success: a JSON-RPC error is the answer, anything else is put
// into words. It may say that the session is gone, or that the server speaks the oldest transport.
func (c *Conn) refused(k *call, res *http.Response) {
	stop := within(c.opt.Limits.Accept, k.cancel, errTooSlow)
	said, ok := excuse(res)
	stop()
	switch {
	case c.forgotten(res, said, ok):
		c.lose(fmt.Sprintf("the server answered %d to its id", res.StatusCode), k.message.ID)
	case ok && k.version != "" && errorCode(said) == protocol.CodeHeaderMismatch && c.corrected(k):
	case ok && (said.ID == "" || said.ID == k.message.ID):
		c.answer(protocol.NewErrorAnswer(k.message.ID, said.Error))
	case k.message.Method == protocol.MethodInitialize && c.mayBeOld(res) && c.fallBack(k):
	default:
		c.answer(protocol.NewError(k.message.ID, protocol.CodeInternal, c.refusal(k.message.Method, res)))
	}
}

// failed puts into words why a request got no HTTP answer, or not the whole of it.
func (c *Conn) failed(k *call, err error) {
	if cause := context.Cause(k.ctx); cause != nil {
		if errors.Is(cause, errCancelled) || c.ctx.Err() != nil {
			return
		}
		err = cause
	}
	var address *dial.AddressError
	var refused *refusedError
	switch {
	case isWithheld(err):
		c.fail(k, fmt.Sprintf("was not sent %s: %v", k.message.Method, err))
	case errors.As(err, &refused):
		c.fail(k, fmt.Sprintf("did not carry out %s, it wants a login: %v", k.message.Method, err))
	case errors.As(err, &address):
		c.fail(k, "is not connected to: "+address.Error()+", and nothing in its declaration allows that")
	case errors.Is(err, errTooSlow):
		c.fail(k, fmt.Sprintf("did not answer %s within %s; whether it was carried out is not known", k.message.Method, c.opt.Limits.Answer))
	case !k.isOnWire():
		c.fail(k, fmt.Sprintf("cannot be asked: %v. %s was not sent", err, k.message.Method))
	default:
		c.fail(k, fmt.Sprintf("did not answer %s: %v; whether it was carried out is not known", k.message.Method, err))
	}
}

// fail answers k with an error of ours. What is a predicate of the server.
func (c *Conn) fail(k *call, what string) {
	if errors.Is(context.Cause(k.ctx), errCancelled) {
		return
	}
	c.answer(protocol.NewError(k.message.ID, protocol.CodeInternal,
		fmt.Sprintf("The remote server %q (%s) %s.", c.opt.Name, where(c.url), what)))
}

// answer delivers an answer of ours.
func (c *Conn) answer(raw []byte) {
	m, err := protocol.Parse(raw)
	if err != nil {
		c.log.Error("an answer of ours cannot be read", "err", err)
		return
	}
	c.deliver(c.ctx, m)
}

func (c *Conn) tooLong() string {
	return fmt.Sprintf("sent a message over %d MiB", c.opt.Limits.Message>>20)
}
