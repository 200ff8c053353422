package main

import (
	"os"
	"os/signal"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/garita-dev/garita/sandbox/init/handoff"
)

// server is the one process this sandbox is for.
type server struct {
	pid    int
	mu     sync.Mutex // one report at a time
	engine *os.File
}

func started() []byte { return handoff.Frame(handoff.Started, nil) }

// report tells the engine; when the engine is gone, nobody needs to be told.
func (s *server) report(frame []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	_, _ = s.engine.Write(frame)
}

// forwardSignals passes what outside sends to PID 1 on to the server.
func (s *server) forwardSignals() {
	signals := make(chan os.Signal, 16)
	signal.Notify(signals, unix.SIGTERM, unix.SIGINT, unix.SIGHUP, unix.SIGUSR1, unix.SIGUSR2)
	for sig := range signals {
		if n, ok := sig.(syscall.Signal); ok {
			_ = unix.Kill(s.pid, n)
		}
	}
}

// holdLifeline waits for the daemon to let go; then the server gets the drain time and the sandbox
// ends. Frames it does not know are passed over.
func (s *server) holdLifeline(lifeline *os.File, drain time.Duration) {
	for {
		if _, _, err := handoff.ReadFrame(lifeline); err != nil {
			break
		}
	}
	s.report(handoff.Frame(handoff.Lifeline, nil))
	_ = unix.Kill(s.pid, unix.SIGTERM)
	<-time.After(drain)
	os.Exit(128 + int(unix.SIGKILL))
}

// reap collects every child, the server's orphans too, until the server ends, and returns its exit
// code as a shell shows it. The kernel kills what is left of the pid namespace once init exits.
func (s *server) reap() int {
	for {
		var status unix.WaitStatus
		pid, err := unix.Wait4(-1, &status, 0, nil)
		if err == unix.EINTR {
			continue
		}
		if err != nil {
			return complain("wait for the server: " + err.Error())
		}
		if pid != s.pid {
			continue
		}
		code := status.ExitStatus()
		if status.Signaled() {
			code = 128 + int(status.Signal())
		}
		s.report(handoff.Frame(handoff.Exited, []byte{byte(code)}))
		return code
	}
}
