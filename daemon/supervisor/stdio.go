package supervisor

import (
	"fmt"
	"os"

	"golang.org/x/sys/unix"

	"github.com/garita-dev/garita/sandbox"
)

// ends is one side of an instance's pipes and lifeline.
type ends struct{ in, out, err, life *os.File }

func (e ends) stdio() sandbox.Stdio {
	return sandbox.Stdio{In: e.in, Out: e.out, Err: e.err, Lifeline: e.life}
}

func (e ends) close() {
	for _, f := range []*os.File{e.in, e.out, e.err, e.life} {
		if f != nil {
			_ = f.Close()
		}
	}
}

// send writes a frame to the other end of the lifeline, and says on the channel what came of it. It is
// over once the frame has been read or the other end is closed.
func (e ends) send(frame []byte) <-chan error {
	done := make(chan error, 1)
	if len(frame) == 0 {
		done <- nil
		return done
	}
	go func() {
		if _, err := e.life.Write(frame); err != nil {
			done <- fmt.Errorf("send secrets to the sandbox: %w", err)
			return
		}
		done <- nil
	}()
	return done
}

// openStdio makes real pipes, so that no process stands between the gateway and the server.
func openStdio() (ours, theirs ends, err error) {
	defer func() {
		if err != nil {
			ours.close()
			theirs.close()
			err = fmt.Errorf("make pipes: %w", err)
		}
	}()
	if theirs.in, ours.in, err = os.Pipe(); err != nil {
		return ours, theirs, err
	}
	if ours.out, theirs.out, err = os.Pipe(); err != nil {
		return ours, theirs, err
	}
	if ours.err, theirs.err, err = os.Pipe(); err != nil {
		return ours, theirs, err
	}
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return ours, theirs, err
	}
	ours.life, theirs.life = os.NewFile(uintptr(fds[0]), "lifeline"), os.NewFile(uintptr(fds[1]), "lifeline")
	return ours, theirs, nil
}
