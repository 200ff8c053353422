package main

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// awaitHangup returns when nobody can read what we write to f any more: the client has gone, which
// the end of its input alone does not say. It returns at once where that cannot be told.
// It holds a thread and cannot be interrupted.
func awaitHangup(f *os.File) bool {
	raw, err := f.SyscallConn()
	if err != nil {
		return false
	}
	fds := make([]unix.PollFd, 1)
	// Not by Fd, which would make a stream block that the daemon has been handed.
	if err := raw.Control(func(fd uintptr) { fds[0].Fd = int32(fd) }); err != nil { //nolint:gosec // a descriptor fits
		return false
	}
	for {
		n, err := unix.Poll(fds, -1)
		switch {
		case errors.Is(err, unix.EINTR):
			continue
		case err != nil || n != 1:
			return false
		default:
			return fds[0].Revents&(unix.POLLERR|unix.POLLHUP) != 0
		}
	}
}
