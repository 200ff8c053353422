package supervisor

import (
	"context"
	"errors"
	"fmt"
	"net"
	"time"

	"github.com/containerd/errdefs"

	"github.com/garita-dev/garita/sandbox"
)

const (
	// firstLook and longestLook are how soon a server's port is looked for again.
	firstLook, longestLook = 10 * time.Millisecond, 500 * time.Millisecond
)

// Dial connects to the port a server listens on inside its sandbox. Its error is a
// *sandbox.DialError when nothing listens there. A frozen server is thawed for it, and for what is sent.
func (i *Instance) Dial(ctx context.Context, port int) (net.Conn, error) {
	if err := i.awake(); err != nil {
		return nil, err
	}
	defer i.ice.RUnlock()
	d, ok := i.running.(sandbox.Dialer)
	if !ok {
		return nil, fmt.Errorf("reach %s: nothing can be dialed where it runs: %w", i.server, errdefs.ErrUnavailable)
	}
	conn, err := d.Dial(ctx, port)
	if err != nil {
		return nil, err
	}
	return thawing{conn, i}, nil
}

// AwaitListening waits until something listens on a port inside, as long as the handshake may take.
// The error says what listens instead, or how the server ended.
func (i *Instance) AwaitListening(ctx context.Context, port int) error {
	ctx, cancel := context.WithTimeout(ctx, i.limit)
	defer cancel()
	for pause := firstLook; ; pause = min(2*pause, longestLook) {
		conn, err := i.Dial(ctx, port)
		if err == nil {
			return conn.Close()
		}
		var none *sandbox.DialError
		if !errors.As(err, &none) {
			return i.instead(err)
		}
		select {
		case <-i.ended:
			return i.instead(err)
		case <-time.After(pause):
		case <-ctx.Done():
			return fmt.Errorf("%w, after %s", err, i.limit)
		}
	}
}

// instead is how the server ended, if it has, which explains err.
func (i *Instance) instead(err error) error {
	select {
	case <-i.ended:
		return errors.New(ending(*i.Now().Exit, false))
	default:
		return err
	}
}
