package door

import (
	"context"
	"strconv"
	"sync"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/garita-dev/garita/daemon/protocol"
)

// sharedKey is whose a shared session is, and with which server.
type sharedKey struct {
	access Access
	server string
}

// shared is one session for all modern requests of one token to one server. What clients number
// freely has numbers of ours in it, so that no two requests meet: ids, progress tokens and
// subscription ids.
type shared struct {
	d     *Door
	key   sharedKey
	pipe  *pipe
	tools toolHeaders
	lease *lease

	mu    sync.Mutex
	calls map[string]*call // by the number that is its id and its progress token
	count int64
	ended bool
	err   error // why, then
}

// call is one request in flight.
type call struct {
	number string
	id     protocol.ID    // as its sender wrote it
	token  jsontext.Value // its progress token, likewise; nil without
	logs   bool           // it asked for log messages
	lists  bool           // it is tools/list
	first  bool           // for the first page
	listen bool
	stream *stream
	ours   chan protocol.Message // for the answer, when we asked it ourselves
}

// join is the session that v's requests go to; it is opened where there is none. The caller releases its lease.
func (d *Door) join(v visit) (*shared, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	key := sharedKey{v.access, v.server}
	if s := d.shared[key]; s != nil && s.enter() {
		return s, nil
	}
	s := &shared{d: d, key: key, calls: map[string]*call{}}
	s.pipe = newPipe(s.out)
	s.lease = newLease(d.Idle, func() { _ = s.pipe.Close() })
	if err := d.run(v.access, v.server, s.pipe, s.over); err != nil {
		return nil, err
	}
	d.shared[key] = s
	return s, nil
}

func (s *shared) enter() bool {
	s.lease.take()
	if s.pipe.isGone() {
		s.lease.release()
		return false
	}
	return true
}

// over is called when what stands behind the session has ended: whoever still waits is told.
func (s *shared) over(err error) {
	s.d.mu.Lock()
	if s.d.shared[s.key] == s {
		delete(s.d.shared, s.key)
	}
	s.d.mu.Unlock()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ended, s.err = true, err
	s.lease.end()
	for _, c := range s.calls {
		c.fail(err)
	}
}

// expect makes room for the answer to m, and gives m with numbers of ours.
func (s *shared) expect(m protocol.Message) (*call, protocol.Message, error) {
	meta, err := protocol.Meta(m.Params)
	if err != nil {
		return nil, m, err
	}
	c := &call{
		id: m.ID, token: meta["progressToken"], logs: meta[protocol.MetaLogLevel] != nil,
		lists: m.Method == protocol.MethodToolsList, listen: m.Method == protocol.MethodListen, stream: newStream(""),
	}
	if c.lists {
		members, err := protocol.Members(m.Params)
		c.first = err == nil && members["cursor"] == nil
	}
	s.number(c)
	if c.token != nil {
		params, err := protocol.WithMeta(m.Params, "progressToken", jsontext.Value(c.number))
		if err != nil {
			return nil, m, err
		}
		m = m.WithBody(params)
	}
	return c, m.WithID(protocol.ID(c.number)), nil
}

// number adds c to the requests in flight.
func (s *shared) number(c *call) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.count++
	c.number = strconv.FormatInt(s.count, 10)
	s.calls[c.number] = c
	if s.ended {
		c.fail(s.err)
	}
}

func (s *shared) forget(c *call) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.calls, c.number)
}

// cancel tells the session that nobody waits for c any more, if it has not answered.
func (s *shared) cancel(c *call) {
	s.mu.Lock()
	waits := s.calls[c.number] == c
	s.mu.Unlock()
	if !waits {
		return
	}
	m, err := protocol.Parse(protocol.NewCancelled(protocol.ID(c.number), "the client closed the stream"))
	if err != nil {
		return
	}
	ctx, stop := context.WithTimeout(context.Background(), writeTime)
	defer stop()
	_ = s.pipe.send(ctx, m) // a session that takes nothing is ending
}

// answer ends c with what its asker reads.
func (c *call) answer(raw []byte) { c.stream.put(event{raw: raw, must: true, last: true}) }

// fail ends c when its session has ended. What we asked ourselves sees that for itself.
func (c *call) fail(err error) {
	if c.stream != nil {
		c.answer(protocol.NewError(c.id, protocol.CodeInternal, why(err)))
	}
}

// out puts what the session writes where it belongs: nothing goes to a request that it may not be of.
func (s *shared) out(m protocol.Message) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch m.Kind {
	case protocol.Response:
		s.answer(m)
	case protocol.Notification:
		s.notify(m)
	default:
		s.d.Log.Warn("a server of the modern era sent a request; dropped", "server", s.key.server, "method", m.Method)
	}
}

func (s *shared) answer(m protocol.Message) {
	c := s.calls[string(m.ID)]
	if c == nil {
		s.d.Log.Debug("an answer was dropped: nobody asked", "server", s.key.server)
		return
	}
	delete(s.calls, c.number)
	if c.ours != nil {
		c.ours <- m // has room for the one answer
		return
	}
	c.answer(s.restored(c, m))
}

// restored is an answer with the numbers its asker knows.
func (s *shared) restored(c *call, m protocol.Message) []byte {
	if c.lists && m.Result != nil {
		m = m.WithBody(s.callable(c, m.Result))
	}
	if c.listen && m.Result != nil {
		m = withSubscription(m, m.Result, c.id)
	}
	return m.WithID(c.id).Raw
}

// notify finds out which request a notification is about.
func (s *shared) notify(m protocol.Message) {
	if m.Method == protocol.MethodToolsChange {
		s.tools.stale()
	}
	c, m := s.addressee(m)
	if c == nil || c.stream == nil || !c.stream.put(event{raw: m.Raw}) {
		s.d.Log.Debug("a notification was dropped: it is about no request", "server", s.key.server, "method", m.Method)
	}
}

// addressee is the request that m is about, and m with the numbers that its asker knows.
func (s *shared) addressee(m protocol.Message) (*call, protocol.Message) {
	members, err := protocol.Members(m.Params)
	if err != nil {
		return s.only(m), m
	}
	meta, err := protocol.Meta(m.Params)
	if err != nil {
		return nil, m
	}
	if id := meta[protocol.MetaSubscription]; id != nil {
		c := s.calls[number(id)]
		if c == nil || !c.listen {
			return nil, m
		}
		return c, withSubscription(m, m.Params, c.id)
	}
	if token := members["progressToken"]; m.Method == protocol.MethodProgress {
		c := s.calls[number(token)]
		if c == nil || c.token == nil {
			return nil, m
		}
		params, err := protocol.Replace(m.Params, "progressToken", c.token)
		if err != nil {
			return nil, m
		}
		return c, m.WithBody(params)
	}
	return s.only(m), m
}

// only is the one request that m can be about when nothing in m says so; nil when there are several.
func (s *shared) only(m protocol.Message) *call {
	var found *call
	for _, c := range s.calls {
		if c.stream == nil || c.listen || (m.Method == "notifications/message" && !c.logs) {
			continue
		}
		if found != nil {
			return nil
		}
		found = c
	}
	return found
}

// number is an id of ours that a server may have made a string of.
func number(v jsontext.Value) string {
	if v != nil && v.Kind() == '"' {
		return protocol.Text(v)
	}
	return string(v)
}

// withSubscription is m with the subscription's id as its asker knows it in the _meta of body.
func withSubscription(m protocol.Message, body jsontext.Value, id protocol.ID) protocol.Message {
	meta, err := protocol.Meta(body)
	if err != nil || meta[protocol.MetaSubscription] == nil {
		return m
	}
	body, err = protocol.WithMeta(body, protocol.MetaSubscription, jsontext.Value(id))
	if err != nil {
		return m
	}
	return m.WithBody(body)
}
