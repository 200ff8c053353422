package engine

import (
	"context"
	"fmt"
	"net"
	"os"
	"time"

	"github.com/containerd/errdefs"
	"golang.org/x/sys/unix"

	"github.com/garita-dev/garita/sandbox/init/handoff"
)

// handOverTime bounds how long garita-init may take to connect and start the server.
const handOverTime = 20 * time.Second

// privateSocket is where one garita-init, and nobody else, receives what to run. It is bound into
// the sandbox and gone from the host's view once used.
type privateSocket struct{ l *net.UnixListener }

func listenPrivately(path string) (*privateSocket, error) {
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
	if err != nil {
		return nil, fmt.Errorf("listen for garita-init: %w", err)
	}
	return &privateSocket{l}, nil
}

// Close stops listening and unlinks the socket.
func (p *privateSocket) Close() { _ = p.l.Close() }

// handOver waits for garita-init, sends it the launch and the files, and returns the connection
// once the server has been executed.
func (p *privateSocket) handOver(ctx context.Context, b *box, r handoff.Request, files []*os.File) (*net.UnixConn, error) {
	deadline := time.Now().Add(handOverTime)
	if d, ok := ctx.Deadline(); ok && d.Before(deadline) {
		deadline = d
	}
	watched := make(chan struct{})
	defer close(watched)
	go p.giveUp(b.dead, ctx.Done(), watched)
	conn, err := p.accept(deadline, int32(b.task.Pid()))
	if err != nil {
		return nil, err
	}
	_ = conn.SetDeadline(deadline)
	if err := send(conn, r, files); err != nil {
		_ = conn.Close()
		return nil, err
	}
	if err := awaitStarted(conn); err != nil {
		_ = conn.Close()
		return nil, err
	}
	return conn, conn.SetDeadline(time.Time{})
}

// giveUp stops waiting for a garita-init that has died or is not wanted any more.
func (p *privateSocket) giveUp(dead, canceled, watched <-chan struct{}) {
	select {
	case <-dead:
		p.Close()
	case <-canceled:
		p.Close()
	case <-watched:
	}
}

func (p *privateSocket) accept(deadline time.Time, pid int32) (*net.UnixConn, error) {
	if err := p.l.SetDeadline(deadline); err != nil {
		return nil, err
	}
	conn, err := p.l.AcceptUnix()
	if err != nil {
		return nil, fmt.Errorf("garita-init did not connect: %w: %w", err, errdefs.ErrFailedPrecondition)
	}
	if who, err := peer(conn); err != nil || who != pid {
		_ = conn.Close()
		return nil, fmt.Errorf("process %d instead of garita-init connected: %w", who, errdefs.ErrPermissionDenied)
	}
	return conn, nil
}

func peer(conn *net.UnixConn) (pid int32, err error) {
	raw, err := conn.SyscallConn()
	if err != nil {
		return 0, err
	}
	ctlErr := raw.Control(func(fd uintptr) {
		var c *unix.Ucred
		if c, err = unix.GetsockoptUcred(int(fd), unix.SOL_SOCKET, unix.SO_PEERCRED); err == nil {
			pid = c.Pid
		}
	})
	if ctlErr != nil {
		return 0, ctlErr
	}
	return pid, err
}

// send writes the launch; the files travel with its first byte.
func send(conn *net.UnixConn, r handoff.Request, files []*os.File) error {
	fds := make([]int, len(files))
	for i, f := range files {
		fds[i] = int(f.Fd())
	}
	frame := handoff.Frame(handoff.Launch, handoff.EncodeLaunch(r))
	if _, _, err := conn.WriteMsgUnix(frame[:1], unix.UnixRights(fds...), nil); err != nil {
		return fmt.Errorf("hand over the server's files: %w", err)
	}
	if _, err := conn.Write(frame[1:]); err != nil {
		return fmt.Errorf("hand over what to run: %w", err)
	}
	return nil
}

func awaitStarted(conn *net.UnixConn) error {
	kind, body, err := handoff.ReadFrame(conn)
	switch {
	case err != nil:
		return fmt.Errorf("garita-init ended before the server started: %w: %w", err, errdefs.ErrFailedPrecondition)
	case kind == handoff.Started:
		return nil
	case kind == handoff.Failed && len(body) > 1 && body[0] == handoff.NotFound:
		return fmt.Errorf("%s: %w", body[1:], errdefs.ErrNotFound)
	case kind == handoff.Failed && len(body) > 1:
		return fmt.Errorf("%s: %w", body[1:], errdefs.ErrFailedPrecondition)
	default:
		return fmt.Errorf("garita-init said %q: %w", kind, errdefs.ErrInternal)
	}
}
