// Package handover makes connections between parent and child processes that share one socket
// pair and nothing else: each Dial makes a fresh socket pair and hands one end, with any files
// that go with it, to the process at the other end of the control socket.
//
// So the daemon can speak plain HTTP to its children, and pass them file descriptors, without a
// socket in the file system that anyone else could connect to.
package handover

import (
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"sync"

	"golang.org/x/sys/unix"
)

// maxFiles bounds the files of one message; the kernel's own limit (SCM_MAX_FD) is 253.
const maxFiles = 16

// Pair returns the two ends of a fresh control socket (SOCK_SEQPACKET, close-on-exec). Give the
// far end to a child with exec.Cmd.ExtraFiles, and close it in the parent afterwards.
func Pair() (near, far *os.File, err error) {
	return pair(unix.SOCK_SEQPACKET, "control")
}

func pair(kind int, name string) (near, far *os.File, err error) {
	fds, err := unix.Socketpair(unix.AF_UNIX, kind|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, 0)
	if err != nil {
		return nil, nil, fmt.Errorf("make a socket pair: %w", err)
	}
	return os.NewFile(uintptr(fds[0]), name), os.NewFile(uintptr(fds[1]), name), nil
}

// Send writes one message with files to a control socket. The files stay the caller's.
func Send(control *net.UnixConn, message []byte, files ...*os.File) error {
	if len(files) > maxFiles {
		return fmt.Errorf("hand over %d files: at most %d", len(files), maxFiles)
	}
	fds := make([]int, len(files))
	for i, f := range files {
		fds[i] = int(f.Fd())
	}
	_, _, err := control.WriteMsgUnix(message, unix.UnixRights(fds...), nil)
	return err
}

// Receive reads one message of at most len(message) bytes and the files that came with it, which
// the caller closes. It returns io.EOF once the other end is closed.
func Receive(control *net.UnixConn, message []byte) (n int, files []*os.File, err error) {
	oob := make([]byte, unix.CmsgSpace(4*maxFiles))
	n, oobn, flags, _, err := control.ReadMsgUnix(message, oob)
	if err != nil {
		return 0, nil, err
	}
	files, err = parseFiles(oob[:oobn])
	if err != nil {
		return 0, nil, err
	}
	switch {
	case flags&(unix.MSG_CTRUNC|unix.MSG_TRUNC) != 0:
		closeAll(files)
		return 0, nil, errors.New("a handed-over message was cut")
	case n == 0 && len(files) == 0:
		return 0, nil, io.EOF
	}
	return n, files, nil
}

func parseFiles(oob []byte) ([]*os.File, error) {
	messages, err := unix.ParseSocketControlMessage(oob)
	if err != nil {
		return nil, fmt.Errorf("parse handed-over files: %w", err)
	}
	var files []*os.File
	for _, m := range messages {
		fds, err := unix.ParseUnixRights(&m)
		if err != nil {
			continue // credentials or the like; not ours
		}
		for _, fd := range fds {
			unix.CloseOnExec(fd)
			files = append(files, os.NewFile(uintptr(fd), "handed over"))
		}
	}
	return files, nil
}

func closeAll(files []*os.File) {
	for _, f := range files {
		_ = f.Close()
	}
}

// Conn is a control socket as a connection; it takes ownership of f.
func Conn(f *os.File) (*net.UnixConn, error) {
	defer f.Close()
	c, err := net.FileConn(f)
	if err != nil {
		return nil, fmt.Errorf("use the control socket: %w", err)
	}
	uc, ok := c.(*net.UnixConn)
	if !ok {
		_ = c.Close()
		return nil, fmt.Errorf("the control socket is a %s, not a unix socket", c.LocalAddr().Network())
	}
	return uc, nil
}

// Dialer hands connections to the process at the other end of a control socket. Dials may overlap.
type Dialer struct {
	mu      sync.Mutex // one message at a time
	control *net.UnixConn
}

// NewDialer takes ownership of control, the near end of Pair.
func NewDialer(control *os.File) (*Dialer, error) {
	c, err := Conn(control)
	if err != nil {
		return nil, err
	}
	return &Dialer{control: c}, nil
}

// Dial returns a new connection; the far end receives its peer together with files, which stay
// the caller's.
func (d *Dialer) Dial(files ...*os.File) (net.Conn, error) {
	near, far, err := pair(unix.SOCK_STREAM, "conn")
	if err != nil {
		return nil, err
	}
	defer far.Close()
	conn, err := Conn(near)
	if err != nil {
		return nil, err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if err := Send(d.control, []byte{1}, append([]*os.File{far}, files...)...); err != nil {
		_ = conn.Close()
		return nil, fmt.Errorf("hand over a connection: %w", err)
	}
	return conn, nil
}

// Close closes the control socket: the other end's Accept returns io.EOF.
func (d *Dialer) Close() error { return d.control.Close() }

// Listener accepts the connections a Dialer hands over. It is a net.Listener.
type Listener struct{ control *net.UnixConn }

// Listen takes ownership of control, the far end of Pair.
func Listen(control *os.File) (*Listener, error) {
	c, err := Conn(control)
	if err != nil {
		return nil, err
	}
	return &Listener{control: c}, nil
}

// Accept returns the next connection, a *FileConn. io.EOF means the other process is gone.
func (l *Listener) Accept() (net.Conn, error) {
	buf := make([]byte, 16)
	_, files, err := Receive(l.control, buf)
	if err != nil {
		return nil, err
	}
	if len(files) == 0 {
		return nil, errors.New("a connection was announced but not handed over")
	}
	conn, err := Conn(files[0])
	if err != nil {
		closeAll(files[1:])
		return nil, err
	}
	return &FileConn{UnixConn: conn, files: files[1:]}, nil
}

// Close closes the control socket.
func (l *Listener) Close() error { return l.control.Close() }

// Addr is the control socket's, which has no name.
func (l *Listener) Addr() net.Addr { return l.control.LocalAddr() }

// FileConn is an accepted connection and the files that came with it.
type FileConn struct {
	*net.UnixConn
	mu    sync.Mutex
	files []*os.File
}

// Files hands the files to the caller, who closes them; a second call returns none.
func (c *FileConn) Files() []*os.File {
	c.mu.Lock()
	defer c.mu.Unlock()
	files := c.files
	c.files = nil
	return files
}

// Close closes the connection and whatever files nobody took.
func (c *FileConn) Close() error {
	closeAll(c.Files())
	return c.UnixConn.Close()
}
