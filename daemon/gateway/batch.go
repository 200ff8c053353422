package gateway

import (
	"bytes"
	"context"
	"sync"

	"github.com/garita-dev/garita/daemon/protocol"
)

// batch judges a client's array element by element, and answers with one array. Only one revision
// knows arrays; in any other it is refused whole, before anything of it is done.
func (s *Session) batch(ctx context.Context, m protocol.Message) {
	s.mu.Lock()
	revision := s.hello.revision
	s.mu.Unlock()
	if revision != protocol.V20250326 {
		s.say(protocol.NewError("", protocol.CodeInvalidRequest, "batches exist in revision 2025-03-26 alone, and this session does not speak it"))
		return
	}
	all, errs, err := m.Batch()
	if err != nil {
		s.say(badLine(err))
		return
	}
	b := newBatch(all, s.respond)
	for i, one := range all {
		switch {
		case errs[i] != nil:
			b.add(badLine(errs[i]))
		case one.Kind == protocol.Request && one.Method == protocol.MethodInitialize:
			b.add(protocol.NewError(one.ID, protocol.CodeInvalidRequest, "initialize cannot be part of a batch"))
		default:
			s.clientMessage(ctx, one, b.add)
		}
	}
}

// batch collects the answers to an array's requests, in the order they come.
type batch struct {
	to reply

	mu      sync.Mutex
	left    int // answers that are still to come
	answers [][]byte
}

// newBatch expects an answer for each request and for each element that is no message.
func newBatch(all []protocol.Message, to reply) *batch {
	b := &batch{to: to}
	for _, m := range all {
		if m.Kind == protocol.Request || m.Kind == 0 {
			b.left++
		}
	}
	return b
}

func (b *batch) add(raw []byte) {
	b.mu.Lock()
	b.left--
	if raw != nil {
		b.answers = append(b.answers, raw)
	}
	done, answers := b.left == 0, b.answers
	b.mu.Unlock()
	if done && len(answers) > 0 {
		b.to(append(append([]byte{'['}, bytes.Join(answers, []byte{','})...), ']'))
	}
}
