package daemon

import (
	"errors"
	"io"
	"net"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/garita-dev/garita/daemon/gateway"
	"github.com/garita-dev/garita/daemon/protocol"
)

// hangupEvery is how often a half-closed client, or one whose server is still starting, is looked
// at: is it still there to be answered? Nothing is polled while a session simply runs.
const hangupEvery = 250 * time.Millisecond

// connClient is an MCP client attached over the unix socket.
type connClient struct {
	protocol.Lines
	conn    net.Conn
	gone    chan struct{}
	goneFor sync.Once
	eof     sync.Once
	closed  chan struct{}
	closing sync.Once
	polling sync.WaitGroup
}

func newConnClient(conn net.Conn) *connClient {
	c := &connClient{conn: conn, gone: make(chan struct{}), closed: make(chan struct{})}
	c.Lines = protocol.NewLines(connBytes{c})
	return c
}

// connBytes is the connection as it is read and written.
type connBytes struct{ *connClient }

// clientOn is the client at a connection: one whose stdio the connection carries, or one whose
// stdio comes over it.
func clientOn(conn net.Conn, handover bool) (gateway.Client, error) {
	if !handover {
		return newConnClient(conn), nil
	}
	return newPipeClient(conn)
}

// SetReadDeadline bounds reading, for a client that is turned away.
func (c *connClient) SetReadDeadline(t time.Time) error { return c.conn.SetReadDeadline(t) }

// Gone implements gateway.Client.
func (c *connClient) Gone() <-chan struct{} { return c.gone }

// Read notices the client's end of file; from then on only its going away matters.
func (c connBytes) Read(p []byte) (int, error) {
	n, err := c.conn.Read(p)
	if errors.Is(err, io.EOF) {
		c.eof.Do(func() { c.poll(c.closed) })
	}
	return n, err
}

// Write notices a client that is no longer there.
func (c connBytes) Write(p []byte) (int, error) {
	n, err := c.conn.Write(p)
	if err != nil {
		c.left()
	}
	return n, err
}

// Close ends the connection.
func (c *connClient) Close() error {
	c.closing.Do(func() { close(c.closed) })
	err := c.conn.Close()
	c.polling.Wait()
	return err
}

func (c *connClient) left() { c.goneFor.Do(func() { close(c.gone) }) }

// poll looks for the hang-up until stop is closed.
func (c *connClient) poll(stop <-chan struct{}) {
	c.polling.Go(func() {
		tick := time.NewTicker(hangupEvery)
		defer tick.Stop()
		for {
			if hungUp(c.conn) {
				c.left()
				return
			}
			select {
			case <-tick.C:
			case <-stop:
				return
			case <-c.closed:
				return
			}
		}
	})
}

// hungUp says whether the other end of a socket is closed both ways.
func hungUp(conn net.Conn) (gone bool) {
	sc, ok := conn.(syscall.Conn)
	if !ok {
		return false
	}
	raw, err := sc.SyscallConn()
	if err != nil {
		return true
	}
	err = raw.Control(func(fd uintptr) {
		p := []unix.PollFd{{Fd: int32(fd)}} //nolint:gosec // a descriptor fits
		n, err := unix.Poll(p, 0)
		gone = err == nil && n == 1 && p[0].Revents&(unix.POLLHUP|unix.POLLERR|unix.POLLNVAL) != 0
	})
	return gone || err != nil
}
