package door

import (
	"context"
	"errors"
	"io"
	"sync"

	"github.com/garita-dev/garita/daemon/protocol"
)

// pipe is the Client that the door gives to a session: requests come in by send, and what the
// session writes goes to out.
type pipe struct {
	in   chan protocol.Message
	gone chan struct{}
	end  sync.Once
	out  func(protocol.Message)
}

func newPipe(out func(protocol.Message)) *pipe {
	return &pipe{in: make(chan protocol.Message, 16), gone: make(chan struct{}), out: out}
}

var errGone = errors.New("the session has ended")

// send hands the session a message, waiting until it has room for it.
func (p *pipe) send(ctx context.Context, m protocol.Message) error {
	select {
	case p.in <- m:
		return nil
	case <-p.gone:
		return errGone
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (p *pipe) Read() (protocol.Message, error) {
	select {
	case m := <-p.in:
		return m, nil
	case <-p.gone:
		return protocol.Message{}, io.EOF
	}
}

func (p *pipe) Write(raw []byte) error {
	if p.isGone() {
		return io.ErrClosedPipe
	}
	m, err := protocol.Parse(raw)
	if err != nil {
		return err
	}
	p.out(m)
	return nil
}

func (p *pipe) Gone() <-chan struct{} { return p.gone }

func (p *pipe) isGone() bool {
	select {
	case <-p.gone:
		return true
	default:
		return false
	}
}

func (p *pipe) Close() error {
	p.end.Do(func() { close(p.gone) })
	return nil
}
