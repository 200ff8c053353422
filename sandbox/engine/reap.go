package engine

import (
	"context"
	"os"
	"os/signal"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// reapDelay is how long a dead child may wait for whoever started it. Children that nobody in this
// process started (shims, and the tasks of dead shims) are collected after it. It is long, for a
// loaded machine: collecting a child of os/exec would make its owner believe that it failed.
const reapDelay = 5 * time.Second

// Reap collects orphans until ctx ends: as PID 1 of the namespace the engine inherits them all. It
// must not take the children of os/exec from their owners, which collect them at once; so only
// those that are still dead after reapDelay are collected. Without dead children no timer runs.
func Reap(ctx context.Context) { reap(ctx, reapDelay) }

func reap(ctx context.Context, delay time.Duration) {
	died := make(chan os.Signal, 1)
	signal.Notify(died, unix.SIGCHLD)
	defer signal.Stop(died)
	dead := map[int]bool{}
	var later <-chan time.Time
	for {
		select {
		case <-ctx.Done():
			return
		case <-died:
			if later == nil {
				later = time.After(delay)
			}
		case <-later:
			later = nil
			dead = collect(dead)
			if len(dead) > 0 {
				later = time.After(delay)
			}
		}
	}
}

// collect reaps the children that were dead already, and returns those that are dead now.
func collect(before map[int]bool) map[int]bool {
	now := map[int]bool{}
	for _, pid := range deadChildren() {
		if before[pid] {
			var status unix.WaitStatus
			_, _ = unix.Wait4(pid, &status, unix.WNOHANG, nil) // it may be collected meanwhile
			continue
		}
		now[pid] = true
	}
	return now
}

// deadChildren lists this process's zombies.
func deadChildren() []int {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return nil
	}
	self := strconv.Itoa(os.Getpid())
	var pids []int
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil {
			continue
		}
		if state, parent := statOf(pid); state == "Z" && parent == self {
			pids = append(pids, pid)
		}
	}
	return pids
}

// statOf reads a process's state letter and its parent's pid.
func statOf(pid int) (state, parent string) {
	text, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return "", ""
	}
	// The command's name is in parentheses and may hold any character; the fields follow the last one.
	fields := strings.Fields(string(text[strings.LastIndexByte(string(text), ')')+1:]))
	if len(fields) < 2 {
		return "", ""
	}
	return fields[0], fields[1]
}
