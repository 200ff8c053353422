package daemon

import (
	"errors"
	"io"
	"net"
	"os"
	"sync"
	"time"

	"github.com/garita-dev/garita/daemon/api"
	"github.com/garita-dev/garita/daemon/protocol"
)

// handoverLimit is how long garita connect may take to hand its client's stdio over.
const handoverLimit = 10 * time.Second

// pipeClient is an MCP client whose own pipes we read and write: garita connect has handed them
// over, and no process copies bytes in between. Connect stays for the client to see and to end; the
// socket to it says how long it does.
type pipeClient struct {
	protocol.Lines
	conn    net.Conn
	in, out *os.File
	gone    chan struct{}
	goneFor sync.Once
	watched sync.WaitGroup
}

// newPipeClient takes the client's stdio over; conn stays the caller's when that fails.
func newPipeClient(conn net.Conn) (*pipeClient, error) {
	stdio, ok := conn.(*api.Stdio)
	if !ok {
		return nil, errors.New("standard input and output can be handed over on a unix socket only")
	}
	if err := conn.SetReadDeadline(time.Now().Add(handoverLimit)); err != nil {
		return nil, err
	}
	in, out, err := stdio.TakeOver()
	if err == nil {
		err = conn.SetReadDeadline(time.Time{})
	}
	if err != nil {
		return nil, err
	}
	c := &pipeClient{conn: conn, in: in, out: out, gone: make(chan struct{})}
	c.Lines = protocol.Lines{Reader: protocol.NewReader(in, protocol.MaxMessage), Writer: protocol.NewWriter(output{c})}
	c.watched.Go(c.watch)
	return c, nil
}

// watch waits for connect to end or to hang up. The client's stdout is closed at once: with connect
// gone, its end is what the client waits for.
func (c *pipeClient) watch() {
	_, _ = io.Copy(io.Discard, c.conn)
	c.left()
	_ = c.out.Close()
}

func (c *pipeClient) left() { c.goneFor.Do(func() { close(c.gone) }) }

// Gone implements gateway.Client.
func (c *pipeClient) Gone() <-chan struct{} { return c.gone }

// SetReadDeadline bounds reading, for a client that is turned away.
func (c *pipeClient) SetReadDeadline(t time.Time) error { return c.in.SetReadDeadline(t) }

// Close ends the session as its client sees it.
func (c *pipeClient) Close() error {
	err := c.conn.Close()
	c.watched.Wait()
	_ = c.in.Close()
	return err
}

// output is the client's stdout; who writes to it notices a client that is no longer there.
type output struct{ *pipeClient }

func (o output) Write(p []byte) (int, error) {
	n, err := o.out.Write(p)
	if err != nil {
		o.left()
	}
	return n, err
}
