package client

import (
	"context"
	"errors"
	"fmt"
	"net"

	"github.com/garita-dev/garita/sandbox"
	"github.com/garita-dev/garita/sandbox/engine/wire"
	"github.com/garita-dev/garita/sandbox/handover"
)

var _ sandbox.Dialer = (*instance)(nil)

// Dial implements sandbox.Dialer.
func (i *instance) Dial(ctx context.Context, port int) (net.Conn, error) {
	near, far, err := handover.Pair()
	if err != nil {
		return nil, err
	}
	defer far.Close()
	back, err := handover.Conn(near)
	if err != nil {
		return nil, err
	}
	defer back.Close()
	dialed, err := callWith[wire.Dialed](ctx, i.engine, i.path("/dial"), wire.Dial{Port: port}, far)
	switch {
	case err != nil:
		return nil, err
	case !dialed.Connected:
		return nil, &sandbox.DialError{Port: port, Listening: dialed.Listening}
	}
	return takeConn(back)
}

// takeConn receives the socket that the engine has sent.
func takeConn(back *net.UnixConn) (net.Conn, error) {
	_, files, err := handover.Receive(back, make([]byte, 1))
	if err != nil {
		return nil, fmt.Errorf("take the connection over: %w", err)
	}
	defer func() {
		for _, f := range files {
			_ = f.Close()
		}
	}()
	if len(files) != 1 {
		return nil, errors.New("a connection was announced but not handed over")
	}
	conn, err := net.FileConn(files[0])
	if err != nil {
		return nil, fmt.Errorf("use the connection: %w", err)
	}
	return conn, nil
}
