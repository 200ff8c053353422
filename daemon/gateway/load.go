package gateway

import (
	"errors"
	"sync"

	"github.com/garita-dev/garita/daemon/protocol"
)

// What a client may have under way at once: each request is kept until it has its answer.
const (
	maxUnderWay      = 1024
	maxUnderWayBytes = 256 << 20
)

var errTooMuch = errors.New("too many requests, or too large ones, wait for their answers: send it again when some have come")

// load is what a client has under way.
type load struct {
	mu       sync.Mutex
	requests int
	bytes    int
}

// take counts a request in, and returns the reply that counts it out; false when there are too many.
func (l *load) take(m protocol.Message, to reply) (reply, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	size := len(m.Raw)
	if l.requests >= maxUnderWay || l.requests > 0 && l.bytes+size > maxUnderWayBytes {
		return nil, false
	}
	l.requests++
	l.bytes += size
	var once sync.Once
	return func(raw []byte) {
		once.Do(func() { l.give(size) })
		to(raw)
	}, true
}

func (l *load) give(size int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.requests--
	l.bytes -= size
}
