package daemon

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"

	"golang.org/x/sys/unix"
)

// attached is the client processes whose sessions are open, each held by a pidfd so that a reused
// pid is never taken for it. What descends from one of them may not answer for the person.
type attached struct {
	mu   sync.Mutex
	held map[int]*held // by pid
}

type held struct {
	pidfd int
	count int // sessions
}

func newAttached() *attached { return &attached{held: map[int]*held{}} }

// hold marks pid as an attached client until release is called.
func (a *attached) hold(pid int) (release func(), err error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	h := a.held[pid]
	if h == nil || !h.alive() {
		fd, err := unix.PidfdOpen(pid, 0)
		if err != nil {
			return nil, fmt.Errorf("hold the client process %d: %w", pid, err)
		}
		if h != nil {
			_ = unix.Close(h.pidfd)
		}
		h = &held{pidfd: fd}
		a.held[pid] = h
	}
	h.count++
	return sync.OnceFunc(func() { a.release(pid, h) }), nil
}

func (a *attached) release(pid int, h *held) {
	a.mu.Lock()
	defer a.mu.Unlock()
	h.count--
	if h.count > 0 {
		return
	}
	_ = unix.Close(h.pidfd)
	if a.held[pid] == h {
		delete(a.held, pid)
	}
}

func (h *held) alive() bool { return unix.PidfdSendSignal(h.pidfd, 0, nil, 0) == nil }

// ancestor returns the attached client that pid is or descends from, or 0.
func (a *attached) ancestor(pid int) int {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, p := range lineage(pid) {
		if h := a.held[p]; h != nil && h.alive() {
			return p
		}
	}
	return 0
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
