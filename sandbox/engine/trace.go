package engine

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// A tracee is a thread that is about to execute a program, held so that it stops before the first
// instruction of what it executes. What it would execute by then cannot be changed any more by who asked
// for it. All is done on one thread of ours, which has no other child to wait for.
type tracee int

// hold begins to trace a thread of a process, without stopping it. It dies with us.
func hold(thread uint32) (t, process tracee, err error) {
	t = tracee(thread)
	process = processOf(t)
	if err := t.request(unix.PTRACE_SEIZE, unix.PTRACE_O_TRACEEXEC|unix.PTRACE_O_EXITKILL); err != nil {
		return t, process, fmt.Errorf("trace it: %w", err)
	}
	return t, process, nil
}

func (t tracee) request(what, data uintptr) error {
	if _, _, errno := unix.Syscall6(unix.SYS_PTRACE, what, uintptr(t), 0, data, 0, 0); errno != 0 {
		return errno
	}
	return nil
}

// await returns once the thread has executed a program, and stands before its first instruction, or has
// come back without. alive is false where it has ended instead. Whose thread it is after executing a
// program is another number: that of its process.
func (t tracee) await(process tracee) (now tracee, executed, alive bool, err error) {
	// It also stops when the system call is over. Where it has executed a program already that is too late,
	// and not needed.
	if err := t.request(unix.PTRACE_INTERRUPT, 0); err != nil && !errors.Is(err, unix.ESRCH) {
		return t, false, false, fmt.Errorf("stop it: %w", err)
	}
	now, status, err := t.wait(process)
	switch {
	case errors.Is(err, unix.ECHILD), err == nil && !status.Stopped():
		return now, false, false, nil
	case err != nil:
		return now, false, false, fmt.Errorf("wait for it to stop: %w", err)
	case uint32(status)>>16 == unix.PTRACE_EVENT_EXEC:
		return now, true, true, nil
	}
	return now, false, true, now.release(status)
}

// lookAgain is how often it is looked whether a thread stands that may be another number by then.
const lookAgain = 200 * time.Microsecond

// wait waits for what becomes of the thread, by its own number, and by its process's: of no other child of
// ours may anything be taken.
func (t tracee) wait(process tracee) (now tracee, status unix.WaitStatus, err error) {
	if process == t {
		err = t.waitOnce(&status, 0, nil)
		return t, status, err
	}
	for {
		pid := 0
		for _, one := range []tracee{process, t} {
			err = one.waitOnce(&status, unix.WNOHANG, &pid)
			if pid > 0 || err != nil && !errors.Is(err, unix.ECHILD) {
				return one, status, err
			}
		}
		if errors.Is(err, unix.ECHILD) && unix.Kill(int(process), 0) != nil {
			return t, status, err
		}
		time.Sleep(lookAgain)
	}
}

func (t tracee) waitOnce(status *unix.WaitStatus, options int, pid *int) error {
	for {
		got, err := unix.Wait4(int(t), status, unix.WALL|options, nil)
		if !errors.Is(err, unix.EINTR) {
			if pid != nil {
				*pid = got
			}
			return err
		}
	}
}

// processOf is the process that a thread is of; the thread itself where that cannot be told.
func processOf(t tracee) tracee {
	text, err := os.ReadFile(proc(uint32(t), "status"))
	if err != nil {
		return t
	}
	for line := range strings.Lines(string(text)) {
		if id, ok := strings.CutPrefix(line, "Tgid:"); ok {
			if n, err := strconv.Atoi(strings.TrimSpace(id)); err == nil && n > 0 {
				return tracee(n)
			}
		}
	}
	return t
}

// release lets a stopped thread go on, with the signal that it was stopped by, if it was one.
func (t tracee) release(status unix.WaitStatus) error {
	signal := uintptr(0)
	if status != 0 && uint32(status)>>16 == 0 {
		signal = uintptr(status.StopSignal())
	}
	err := t.request(unix.PTRACE_DETACH, signal)
	switch {
	case errors.Is(err, unix.ESRCH): // it was killed meanwhile
		t.bury()
	case err != nil:
		return fmt.Errorf("let it go on: %w", err)
	}
	return nil
}

// kill ends a stopped process: nothing of what it executed has happened.
func (t tracee) kill() {
	_ = unix.Kill(int(t), unix.SIGKILL)
	t.bury()
}

// bury waits for the end of a thread that has been killed. Until then it would be there for others.
func (t tracee) bury() {
	for {
		var status unix.WaitStatus
		_, err := unix.Wait4(int(t), &status, unix.WALL, nil)
		if err != nil && !errors.Is(err, unix.EINTR) || err == nil && !status.Stopped() {
			return
		}
	}
}
