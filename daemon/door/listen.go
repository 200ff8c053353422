package door

import (
	"fmt"
	"sync"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/garita-dev/garita/daemon/protocol"
)

// listening is one subscription of the client, at all servers.
type listening struct {
	id protocol.ID // the client's request

	mu    sync.Mutex
	heard map[*flight]bool // servers that acknowledged, or ended
	open  int              // servers that have not ended
	of    int              // servers
	all   chan struct{}    // closed when all were heard
	acked bool             // the client was told
	ended bool             // and that it is over
	about jsontext.Value   // what they acknowledged
	queue [][]byte         // what came before that
	held  int              // bytes of it
}

const (
	// ackTime bounds how long a server may keep a subscription from being acknowledged.
	ackTime = 10 * time.Second
	// maxEarly bounds what is kept until then, in messages, and maxEarlyBytes in bytes: what comes beyond
	// is not waited with, and the client is told what has been acknowledged so far.
	maxEarly, maxEarlyBytes = 256, 1 << 20
)

// listen subscribes at all servers.
func (x *all) listen(m protocol.Message) error {
	l := &listening{id: m.ID, heard: map[*flight]bool{}, open: len(x.members), of: len(x.members), all: make(chan struct{})}
	for _, mb := range x.members {
		f := &flight{name: mb.name, id: m.ID, listen: l}
		var err error
		if f.run, err = mb.running(x.ctx); err != nil {
			l.over(x, f)
			continue
		}
		x.fly(f, m)
	}
	late := time.NewTimer(ackTime)
	defer late.Stop()
	if len(x.members) > 0 {
		select {
		case <-l.all:
		case <-late.C:
		case <-x.ctx.Done():
		}
	}
	l.acknowledge(x)
	return nil
}

// subscribed passes on what a server says to a subscription.
func (x *all) subscribed(r *run, m protocol.Message, id jsontext.Value) {
	x.mu.Lock()
	f := x.flights[number(id)]
	x.mu.Unlock()
	if f == nil || f.run != r || f.listen == nil {
		return
	}
	m = withSubscription(m, m.Params, f.id)
	l := f.listen
	l.mu.Lock()
	defer l.mu.Unlock()
	if m.Method == "notifications/subscriptions/acknowledged" {
		l.about = merge(l.about, memberOf(m.Params, "notifications"))
		l.hear(f)
		return
	}
	if !l.acked && len(l.queue) < maxEarly && l.held+len(m.Raw) <= maxEarlyBytes {
		l.queue = append(l.queue, m.Raw)
		l.held += len(m.Raw)
		return
	}
	l.tell(x)
	x.write(m.Raw)
}

// hear notes that a server acknowledged, or ended. l.mu is held.
func (l *listening) hear(f *flight) {
	if l.heard[f] {
		return
	}
	l.heard[f] = true
	if len(l.heard) == l.of {
		close(l.all)
	}
}

// acknowledge tells the client what all servers together acknowledged, and what came since. Where
// all have ended by then, so has the subscription.
func (l *listening) acknowledge(x *all) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.tell(x)
	if l.open == 0 {
		l.end(x)
	}
}

// tell is the acknowledgment and what waited for it, once. l.mu is held.
func (l *listening) tell(x *all) {
	if l.acked {
		return
	}
	l.acked = true
	x.write(protocol.NewNotification("notifications/subscriptions/acknowledged", fmt.Appendf(nil,
		`{"_meta":{%q:%s},"notifications":%s}`, protocol.MetaSubscription, l.id, merge(l.about, jsontext.Value("{}")))))
	for _, raw := range l.queue {
		x.write(raw)
	}
	l.queue, l.held = nil, 0
}

// over is called when the subscription at one server has ended; the last one ends it all.
func (l *listening) over(x *all, f *flight) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.hear(f)
	if l.open--; l.open == 0 && l.acked {
		l.end(x)
	}
}

// end tells the client that it is over, once. l.mu is held.
func (l *listening) end(x *all) {
	if l.ended {
		return
	}
	l.ended = true
	x.write(protocol.NewResult(l.id, fmt.Appendf(nil, `{"resultType":"complete","_meta":{%q:%s}}`, protocol.MetaSubscription, l.id)))
}
