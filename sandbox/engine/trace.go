package engine

import (
	"errors"
	"fmt"

	"golang.org/x/sys/unix"
)

// A tracee is a thread that is about to execute a program, held so that it stops before the first
// instruction of what it executes. What it would execute by then cannot be changed any more by who asked
// for it. All is done on one thread of ours, which has no other child to wait for.
type tracee int

// hold begins to trace a thread, without stopping it. It dies with us.
func hold(thread uint32) (tracee, error) {
	t := tracee(thread)
	if err := t.request(unix.PTRACE_SEIZE, unix.PTRACE_O_TRACEEXEC|unix.PTRACE_O_EXITKILL); err != nil {
		return t, fmt.Errorf("trace it: %w", err)
	}
	return t, nil
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
func (t tracee) await() (now tracee, executed, alive bool, err error) {
	// It also stops when the system call is over. Where it has executed a program already that is too late,
	// and not needed.
	if err := t.request(unix.PTRACE_INTERRUPT, 0); err != nil && !errors.Is(err, unix.ESRCH) {
		return t, false, false, fmt.Errorf("stop it: %w", err)
	}
	for {
		var status unix.WaitStatus
		pid, err := unix.Wait4(-1, &status, unix.WALL|unix.WNOTHREAD, nil)
		switch {
		case errors.Is(err, unix.EINTR):
			continue
		case errors.Is(err, unix.ECHILD):
			return t, false, false, nil
		case err != nil:
			return t, false, false, fmt.Errorf("wait for it to stop: %w", err)
		case !status.Stopped():
			return t, false, false, nil
		}
		now = tracee(pid)
		if uint32(status)>>16 == unix.PTRACE_EVENT_EXEC {
			return now, true, true, nil
		}
		return now, false, true, now.release(status)
	}
}

// release lets a stopped thread go on, with the signal that it was stopped by, if it was one.
func (t tracee) release(status unix.WaitStatus) error {
	signal := uintptr(0)
	if status != 0 && uint32(status)>>16 == 0 {
		signal = uintptr(status.StopSignal())
	}
	if err := t.request(unix.PTRACE_DETACH, signal); err != nil && !errors.Is(err, unix.ESRCH) {
		return fmt.Errorf("let it go on: %w", err)
	}
	return nil
}

// kill ends a stopped process: nothing of what it executed has happened.
func (t tracee) kill() {
	_ = unix.Kill(int(t), unix.SIGKILL)
	for {
		var status unix.WaitStatus
		_, err := unix.Wait4(int(t), &status, unix.WALL|unix.WNOTHREAD, nil)
		if err != nil && !errors.Is(err, unix.EINTR) || err == nil && !status.Stopped() {
			return
		}
	}
}
