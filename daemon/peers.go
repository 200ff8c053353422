package daemon

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"

	"golang.org/x/sys/unix"

	"github.com/garita-dev/garita/daemon/httpapi"
)

// attached is the client processes that have had a session, for as long as they live: ending the
// session does not make an agent a person. Each is held by a pidfd, so that a reused pid is never
// taken for it. What descends from one of them may not answer for the person.
type attached struct {
	mu   sync.Mutex
	held map[int]*held // by pid
}

type held struct {
	pidfd int
	start string // as httpapi.Process.Start
}

func newAttached() *attached { return &attached{held: map[int]*held{}} }

// hold marks pid as an attached client until it ends.
func (a *attached) hold(pid int) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.prune()
	if a.held[pid] != nil {
		return nil
	}
	fd, err := unix.PidfdOpen(pid, 0)
	if err != nil {
		return fmt.Errorf("hold the client process %d: %w", pid, err)
	}
	a.held[pid] = &held{pidfd: fd, start: startOf(pid)}
	return nil
}

// prune forgets clients that have ended.
func (a *attached) prune() {
	for pid, h := range a.held {
		if !h.alive() {
			_ = unix.Close(h.pidfd)
			delete(a.held, pid)
		}
	}
}

// alive says whether the process runs; one that has ended and is not reaped does not.
func (h *held) alive() bool {
	p := []unix.PollFd{{Fd: int32(h.pidfd), Events: unix.POLLIN}} //nolint:gosec // a descriptor fits
	n, err := unix.Poll(p, 0)
	return err == nil && n == 0
}

// close lets go of all.
func (a *attached) close() {
	a.mu.Lock()
	defer a.mu.Unlock()
	for pid, h := range a.held {
		_ = unix.Close(h.pidfd)
		delete(a.held, pid)
	}
}

// among returns the attached client that is one of the processes, or 0.
func (a *attached) among(processes httpapi.Opener) int {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.prune()
	for _, p := range processes {
		if h := a.held[p.PID]; h != nil && h.start == p.Start {
			return p.PID
		}
	}
	return 0
}

// opener is a process and its ancestors.
func opener(pid int) httpapi.Opener {
	var o httpapi.Opener
	for _, p := range lineage(pid) {
		o = append(o, httpapi.Process{PID: p, Start: startOf(p)})
	}
	return o
}

// startOf is when a process started, in ticks since the boot; "" when it cannot be told.
func startOf(pid int) string {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return ""
	}
	const field = 22 - 3 // proc(5) counts from 1, and the first two are the pid and the command
	if parts := afterCommand(string(stat)); len(parts) > field {
		return parts[field]
	}
	return ""
}

// lineage is pid and its ancestors, nearest first, without init.
func lineage(pid int) []int {
	const deepest = 512 // a loop cannot be, but a process tree is not ours to trust
	var line []int
	for pid > 1 && len(line) < deepest {
		line = append(line, pid)
		pid = parent(pid)
	}
	return line
}

// parent is a process's parent, 0 when it cannot be told.
func parent(pid int) int {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0
	}
	parts := afterCommand(string(stat))
	if len(parts) < 2 {
		return 0
	}
	ppid, err := strconv.Atoi(parts[1])
	if err != nil {
		return 0
	}
	return ppid
}

// terminal says whether a process has a controlling terminal and is in its foreground.
func terminal(pid int) bool {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return false
	}
	parts := afterCommand(string(stat)) // state ppid pgrp session tty_nr tpgid
	return len(parts) > 5 && parts[4] != "0" && parts[2] == parts[5]
}

// afterCommand is the fields of /proc/PID/stat behind the command, which stands in brackets and
// may hold anything, brackets too.
func afterCommand(stat string) []string {
	i := strings.LastIndex(stat, ") ")
	if i < 0 {
		return nil
	}
	return strings.Fields(stat[i+2:])
}
