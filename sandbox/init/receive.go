package main

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"

	"github.com/garita-dev/garita/sandbox/init/handoff"
)

// files are what the engine hands over. wall is nil unless the launch listens.
type files struct {
	stdio    [3]int
	lifeline *os.File
	wall     *os.File
}

// receive connects to the private socket and takes the one Launch frame and its files.
func receive(path string) (*os.File, handoff.Request, files, error) {
	fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, handoff.Request{}, files{}, err
	}
	if err := unix.Connect(fd, &unix.SockaddrUnix{Name: path}); err != nil {
		return nil, handoff.Request{}, files{}, err
	}
	first := make([]byte, 1)
	f, err := receiveFiles(fd, first)
	if err != nil {
		return nil, handoff.Request{}, files{}, err
	}
	engine := os.NewFile(uintptr(fd), "engine")
	kind, body, err := handoff.ReadFrame(&rest{first: first, f: engine})
	if err != nil {
		return nil, handoff.Request{}, files{}, err
	}
	if kind != handoff.Launch {
		return nil, handoff.Request{}, files{}, errors.New("the first frame is not a launch")
	}
	launch, err := handoff.DecodeLaunch(body)
	return engine, launch, f, err
}

// receiveFiles reads the first byte of the frame, with which the files travel.
func receiveFiles(fd int, first []byte) (files, error) {
	oob := make([]byte, unix.CmsgSpace(4*(handoff.Stdio+1)))
	n, oobn, flags, _, err := unix.Recvmsg(fd, first, oob, unix.MSG_CMSG_CLOEXEC)
	if err != nil {
		return files{}, err
	}
	if n != 1 || flags&unix.MSG_CTRUNC != 0 {
		return files{}, errors.New("the files were cut")
	}
	messages, err := unix.ParseSocketControlMessage(oob[:oobn])
	if err != nil || len(messages) != 1 {
		return files{}, errors.New("no files came with the launch")
	}
	fds, err := unix.ParseUnixRights(&messages[0])
	if err != nil || len(fds) < handoff.Stdio {
		return files{}, errors.New("files are missing")
	}
	f := files{stdio: [3]int{fds[0], fds[1], fds[2]}}
	if err := unix.SetNonblock(fds[3], true); err != nil {
		return files{}, err
	}
	f.lifeline = os.NewFile(uintptr(fds[3]), "lifeline")
	if len(fds) > handoff.Stdio {
		f.wall = os.NewFile(uintptr(fds[4]), "wall")
	}
	return f, nil
}

// rest reads bytes that were read already, then the file.
type rest struct {
	first []byte
	f     *os.File
}

func (r *rest) Read(p []byte) (int, error) {
	if len(r.first) > 0 {
		n := copy(p, r.first)
		r.first = r.first[n:]
		return n, nil
	}
	return r.f.Read(p)
}
