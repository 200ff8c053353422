package api

import (
	"errors"
	"fmt"
	"net"
	"os"

	"golang.org/x/sys/unix"
)

// handOver sends a client's standard input and output along a connection.
func handOver(conn *net.UnixConn, files ...*os.File) error {
	fds := make([]int, len(files))
	for i, f := range files {
		fds[i] = descriptor(f)
	}
	if _, _, err := conn.WriteMsgUnix([]byte{0}, unix.UnixRights(fds...), nil); err != nil {
		return fmt.Errorf("hand standard input and output over: %w", err)
	}
	return nil
}

// descriptor is f's, -1 when it is closed. Unlike Fd it leaves a stream that does not block as it is.
func descriptor(f *os.File) int {
	fd := -1
	raw, err := f.SyscallConn()
	if err == nil {
		err = raw.Control(func(n uintptr) { fd = int(n) }) //nolint:gosec // a descriptor fits
	}
	if err != nil {
		return -1
	}
	return fd
}

// TakeOver receives what AttachStdio hands over: the client's standard input and output, which the
// caller closes. The connection's read deadline bounds the wait.
func (s *Stdio) TakeOver() (in, out *os.File, err error) {
	if s.ahead != nil && s.ahead.Buffered() > 0 {
		return nil, nil, errors.New("something came before standard input and output were handed over")
	}
	message, oob := make([]byte, 1), make([]byte, unix.CmsgSpace(2*4))
	n, oobn, flags, _, err := s.ReadMsgUnix(message, oob)
	if err != nil {
		return nil, nil, fmt.Errorf("receive standard input and output: %w", err)
	}
	fds, err := rights(oob[:oobn])
	if err != nil || n != 1 || len(fds) != 2 || flags&unix.MSG_CTRUNC != 0 {
		closeAll(fds)
		return nil, nil, errors.Join(errors.New("standard input and output were not handed over"), err)
	}
	if err := errors.Join(streams(fds), nonblocking(fds)); err != nil {
		closeAll(fds)
		return nil, nil, err
	}
	return os.NewFile(uintptr(fds[0]), "the client's stdin"), os.NewFile(uintptr(fds[1]), "the client's stdout"), nil
}

// rights are the descriptors that came with a message.
func rights(oob []byte) (fds []int, err error) {
	messages, err := unix.ParseSocketControlMessage(oob)
	for _, m := range messages {
		if some, notRights := unix.ParseUnixRights(&m); notRights == nil {
			fds = append(fds, some...)
		}
	}
	for _, fd := range fds {
		unix.CloseOnExec(fd)
	}
	return fds, err
}

// streams says whether all are of the kinds that can be handed over.
func streams(fds []int) error {
	for _, fd := range fds {
		if !isStream(fd) {
			return errors.New("standard input or output is neither a pipe nor a socket")
		}
	}
	return nil
}

func isStream(fd int) bool {
	var st unix.Stat_t
	if unix.Fstat(fd, &st) != nil {
		return false
	}
	kind := st.Mode & unix.S_IFMT
	return kind == unix.S_IFIFO || kind == unix.S_IFSOCK
}

// nonblocking makes reads and writes wait without a thread. It holds for all who share the stream's
// open file: see CanHandOver.
func nonblocking(fds []int) error {
	for _, fd := range fds {
		if err := unix.SetNonblock(fd, true); err != nil {
			return fmt.Errorf("use standard input and output: %w", err)
		}
	}
	return nil
}

// Blocking returns what makes those of files that block now block again, for whoever shares them
// with a process that has handed them over.
func Blocking(files ...*os.File) (again func()) {
	var fds []int
	for _, f := range files {
		fd := descriptor(f)
		if flags, err := unix.FcntlInt(uintptr(fd), unix.F_GETFL, 0); err == nil && flags&unix.O_NONBLOCK == 0 {
			fds = append(fds, fd)
		}
	}
	return func() {
		for _, fd := range fds {
			_ = unix.SetNonblock(fd, false)
		}
	}
}

func closeAll(fds []int) {
	for _, fd := range fds {
		_ = unix.Close(fd)
	}
}

// CanHandOver says whether standard input and output may be given to AttachStdio: each is a pipe
// or a socket, and none is standard error too, which would be left not to block.
func CanHandOver(in, out, err *os.File) bool {
	if !isStream(descriptor(in)) || !isStream(descriptor(out)) {
		return false
	}
	return !same(in, err) && !same(out, err)
}

func same(a, b *os.File) bool {
	x, errX := a.Stat()
	y, errY := b.Stat()
	return errX != nil || errY != nil || os.SameFile(x, y)
}
