package bridge

import (
	"bytes"
	"errors"
	"fmt"
	"log/slog"
	"strconv"
	"sync"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/garita-dev/garita/daemon/protocol"
)

// Bounds of the queues. Writers wait while the soft one is reached; what the bridge itself has to
// say to a server that does not read is dropped at the hard one.
const (
	softQueue = 1024
	hardQueue = 4 * softQueue
	softBytes = 64 << 20
	hardBytes = 4 * softBytes
)

// errUnread is a client that asks and asks and reads no answer.
var errUnread = errors.New("the client does not read what it is sent")

// translator is the protocol half of a bridge. Its methods are called one at a time.
type translator interface {
	fromClient(m protocol.Message)
	fromServer(m protocol.Message)
	ended() // the server is gone
}

// link is the transport half: a queue to either side, so that a translation never waits for a pipe
// and what it says is said in the order it was decided in.
type link struct {
	server    protocol.Stream
	log       *slog.Logger
	translate translator

	got     chan received // what the Read of the server that is under way brought; holds one
	reading bool          // one is under way; of the reader alone
	ready   chan struct{} // something is there for the client; holds one

	mu       sync.Mutex // guards what follows, and the translator's state
	room     sync.Cond  // toServer became shorter
	toClient []protocol.Message
	toServer [][]byte
	bytes    int   // of toServer
	writing  bool  // flush is running
	end      error // how the server's Read ended
	lastID   int
	awaited  map[protocol.ID]awaited // requests at the server, by our id
}

// awaited is whom an answer of the server's goes to.
type awaited struct {
	done  func(protocol.Message)
	timer *time.Timer // of a request that is given up some time; else nil
}

func (a awaited) stop() {
	if a.timer != nil {
		a.timer.Stop()
	}
}

type received struct {
	m   protocol.Message
	err error
}

func newLink(server protocol.Stream, o Options, t translator) *link {
	l := &link{
		server: server, log: o.Log, translate: t,
		got: make(chan received, 1), ready: make(chan struct{}, 1),
		awaited: map[protocol.ID]awaited{},
	}
	l.room.L = &l.mu
	return l
}

// Read is the next message to the client.
func (l *link) Read() (protocol.Message, error) {
	for {
		if m, err, ok := l.next(); ok {
			return m, err
		}
		l.fetch()
		select {
		case <-l.ready:
		case r := <-l.got:
			l.reading = false
			var bad *protocol.LineError
			if errors.As(r.err, &bad) {
				return protocol.Message{}, r.err
			}
			l.receive(r)
		}
	}
}

// next is what is there for the client; after the last of it, how the server ended.
func (l *link) next() (protocol.Message, error, bool) { //nolint:revive // a message and its error, as Read returns them
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.toClient) == 0 {
		return protocol.Message{}, l.end, l.end != nil
	}
	m := l.toClient[0]
	l.toClient[0] = protocol.Message{}
	l.toClient = l.toClient[1:]
	return m, nil, true
}

// fetch reads one message of the server's beside whoever waits for it: the client is also told
// what the server does not say. Where nobody waits any more the goroutine still ends with the
// server's Read.
func (l *link) fetch() {
	if l.reading {
		return
	}
	l.reading = true
	go func() {
		m, err := l.server.Read()
		l.got <- received{m, err}
	}()
}

func (l *link) receive(r received) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if r.err != nil {
		l.end = r.err
		l.toServer, l.bytes = nil, 0
		for _, a := range l.awaited {
			a.stop()
		}
		l.translate.ended()
		l.room.Broadcast()
		return
	}
	l.each(r.m, l.fromServer)
}

// fromServer hands an answer to whoever waits for it, and all else to the translator.
func (l *link) fromServer(m protocol.Message) {
	if m.Kind != protocol.Response {
		l.translate.fromServer(m)
		return
	}
	a, ok := l.awaited[m.ID]
	if !ok {
		l.log.Debug("an answer to no request was dropped")
		return
	}
	delete(l.awaited, m.ID)
	a.stop()
	a.done(m)
}

// Write takes one message of the client's. The error is a *protocol.ParseError, how the server's
// Read ended, or that the client reads nothing; a message that cannot be sent to the server later
// is answered with an error.
func (l *link) Write(raw []byte) error {
	m, err := protocol.Parse(bytes.Clone(raw)) // kept beyond this call
	if err != nil {
		return fmt.Errorf("read the client's message: %w", err)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	for l.end == nil && (len(l.toServer) >= softQueue || l.bytes >= softBytes) {
		l.room.Wait()
	}
	switch {
	case l.end != nil:
		return l.end
	case len(l.toClient) >= hardQueue:
		return errUnread
	}
	l.each(m, l.translate.fromClient)
	return nil
}

// each calls f for the message, or for those of a batch.
func (l *link) each(m protocol.Message, f func(protocol.Message)) {
	if m.Kind != protocol.Batch {
		f(m)
		return
	}
	all, errs, err := m.Batch()
	if err != nil {
		l.log.Warn("a broken batch was dropped", "err", err)
		return
	}
	for i, m := range all {
		if errs[i] != nil {
			l.log.Warn("a broken message of a batch was dropped", "err", errs[i])
			continue
		}
		f(m)
	}
}

// tell queues a message for the client.
func (l *link) tell(m protocol.Message) {
	l.toClient = append(l.toClient, m)
	select {
	case l.ready <- struct{}{}:
	default:
	}
}

// say tells the client a message of our own.
func (l *link) say(raw []byte) {
	m, err := protocol.Parse(raw)
	if err != nil {
		l.log.Error("a message of our own is broken", "err", err)
		return
	}
	l.tell(m)
}

// refuse answers a request of the client's with an error of ours.
func (l *link) refuse(id protocol.ID, code int, why string) { l.say(protocol.NewError(id, code, why)) }

// newID is an id that no other request of the bridge has.
func (l *link) newID() protocol.ID {
	l.lastID++
	return protocol.ID(strconv.Itoa(l.lastID))
}

// ask sends the server a request, and its answer to done. A nil done wants none.
func (l *link) ask(id protocol.ID, raw []byte, done func(protocol.Message)) {
	switch {
	case done != nil:
		l.awaited[id] = awaited{done: done}
	case len(l.awaited) < hardQueue: // else the answer is one to no request, which is logged
		l.awaited[id] = awaited{done: func(protocol.Message) {}}
	}
	l.send(raw)
}

// askWithin is ask, with an error answer of ours when the server has given none in time.
func (l *link) askWithin(d time.Duration, id protocol.ID, method string, params jsontext.Value, done func(protocol.Message)) {
	late := protocol.NewError(id, protocol.CodeInternal, fmt.Sprintf("the server did not answer %s in %v", method, d))
	l.ask(id, protocol.NewRequest(id, method, params), done)
	if a, ok := l.awaited[id]; ok { // else it has been answered already
		a.timer = l.after(d, func() { l.answerWith(late) })
		l.awaited[id] = a
	}
}

// answerWith answers a request of ours as if the server had.
func (l *link) answerWith(raw []byte) {
	if m, err := protocol.Parse(raw); err == nil {
		l.fromServer(m)
	}
}

// after calls f later, unless the server is gone then.
func (l *link) after(d time.Duration, f func()) *time.Timer {
	return time.AfterFunc(d, func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		if l.end == nil {
			f()
		}
	})
}

// send queues a message for the server.
func (l *link) send(raw []byte) {
	if l.end != nil {
		return
	}
	if len(l.toServer) >= hardQueue || l.bytes >= hardBytes {
		l.unsent(raw, errors.New("it does not read what it is sent"))
		return
	}
	l.toServer = append(l.toServer, raw)
	l.bytes += len(raw)
	if !l.writing {
		l.writing = true
		go l.flush()
	}
}

// flush writes what is queued, and ends when nothing is.
func (l *link) flush() {
	l.mu.Lock()
	defer l.mu.Unlock()
	for len(l.toServer) > 0 {
		raw := l.toServer[0]
		l.toServer[0] = nil
		l.toServer = l.toServer[1:]
		l.bytes -= len(raw)
		l.mu.Unlock()
		err := l.server.Write(raw)
		l.mu.Lock()
		if err != nil {
			l.unsent(raw, err)
		}
		l.room.Broadcast()
	}
	l.writing = false
}

// unsent answers a request that did not reach the server.
func (l *link) unsent(raw []byte, err error) {
	l.log.Warn("a message did not reach the server", "err", err)
	m, perr := protocol.Parse(raw)
	if perr != nil || m.Kind != protocol.Request {
		return
	}
	l.answerWith(protocol.NewError(m.ID, protocol.CodeInternal, "the server cannot be reached: "+err.Error()))
}
