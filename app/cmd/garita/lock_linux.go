package main

import (
	"fmt"
	"os"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// lockHeld says whether a process holds a lock on path. It looks at /proc/locks: trying the lock
// could make the daemon that is just starting fail to get it.
func lockHeld(path string) bool {
	info, err := os.Stat(path)
	if err != nil {
		return false
	}
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return false
	}
	locks, err := os.ReadFile("/proc/locks")
	return err == nil && holds(string(locks), st.Dev, st.Ino)
}

// holds finds a file in the text of /proc/locks, whose sixth column is major:minor:inode.
func holds(locks string, dev, ino uint64) bool {
	want := fmt.Sprintf("%02x:%02x:%d", unix.Major(dev), unix.Minor(dev), ino)
	for line := range strings.SplitSeq(locks, "\n") {
		fields := strings.Fields(line)
		if len(fields) > 5 && fields[1] != "->" && fields[5] == want {
			return true
		}
	}
	return false
}
