package main

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

// close ends what still runs. It is safe to call again.
func (s *stage) close() error {
	err := s.session.leave()
	s.session = nil
	err = errors.Join(err, s.daemon.stop(30*time.Second))
	s.daemon = nil
	return err
}

// end stops everything and looks for what is left.
func (s *stage) end() error {
	act("The daemon stops. What is left of it?")
	if err := s.close(); err != nil {
		return err
	}
	processes, mounts, groups := s.left()
	for end := time.Now().Add(5 * time.Second); len(processes)+len(mounts)+len(groups) > 0 && time.Now().Before(end); {
		time.Sleep(100 * time.Millisecond)
		processes, mounts, groups = s.left()
	}
	say("%d processes, %d mounts, %d control groups.", len(processes), len(mounts), len(groups))
	if left := slices.Concat(processes, mounts, groups); len(left) > 0 {
		return fmt.Errorf("left behind: %s", strings.Join(left, "; "))
	}
	say("Done.")
	return nil
}

// left names processes that run our binaries or name our folder, mounts anywhere that do, and
// control groups that were not there before.
func (s *stage) left() (processes, mounts, groups []string) {
	all, _ := filepath.Glob("/proc/[0-9]*")
	bin := filepath.Dir(s.garita)
	for _, dir := range all {
		if filepath.Base(dir) == strconv.Itoa(os.Getpid()) {
			continue
		}
		exe, _ := os.Readlink(dir + "/exe")
		args, _ := os.ReadFile(dir + "/cmdline")
		if strings.HasPrefix(exe, bin+"/") || bytes.Contains(args, []byte(s.dir)) {
			processes = append(processes, "process "+filepath.Base(dir)+" "+string(bytes.ReplaceAll(args, []byte{0}, []byte{' '})))
		}
		table, _ := os.ReadFile(dir + "/mountinfo")
		for line := range bytes.Lines(table) {
			if bytes.Contains(line, []byte(s.dir)) {
				mounts = append(mounts, "mount "+strings.TrimSpace(string(line)))
			}
		}
	}
	for group := range controlGroups() {
		if !s.groups[group] {
			groups = append(groups, "control group "+group)
		}
	}
	return processes, mounts, groups
}

// controlGroups is every control group below our own.
func controlGroups() map[string]bool {
	found := map[string]bool{}
	own, _ := os.ReadFile("/proc/self/cgroup")
	for line := range strings.Lines(string(own)) {
		fields := strings.SplitN(strings.TrimSpace(line), ":", 3)
		if len(fields) != 3 || fields[2] == "/" {
			continue // the top holds everyone's
		}
		dir := filepath.Join("/sys/fs/cgroup", strings.TrimPrefix(fields[1], "name="), fields[2])
		_ = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
			if err == nil && d.IsDir() {
				found[path] = true
			}
			return nil
		})
	}
	return found
}

// remove removes the temporary folder. Files of a sandbox's other users are deleted in a user
// namespace that maps them.
func (s *stage) remove() error {
	if os.RemoveAll(s.dir) == nil {
		return nil
	}
	out, err := exec.Command("unshare", "--user", "--map-root-user", "--map-auto", "rm", "-rf", s.dir).CombinedOutput()
	if err != nil {
		return fmt.Errorf("remove %s: %w: %s", s.dir, err, bytes.TrimSpace(out))
	}
	return nil
}
