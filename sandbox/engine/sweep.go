package engine

import (
	"fmt"
	"net/http"
	"os"
	"strings"

	"github.com/garita-dev/garita/sandbox/engine/wire"
)

func (e *Engine) getSweep(r *http.Request) (any, error) {
	e.mu.Lock()
	running := len(e.boxes)
	e.mu.Unlock()
	var s wire.Sweep
	if running == 0 { // with sandboxes running, what exists has an owner
		s.Processes, s.Netns = e.sweepProcesses(&s)
	}
	s.Mounts = e.sweepMounts(&s)
	s.Cgroups = max(0, e.cfg.Cgroups.Left()-running*len(e.cfg.Cgroups.Dirs))
	keys, err := e.temporarySnapshots(r.Context())
	if err != nil {
		return nil, err
	}
	for _, key := range keys {
		id, _, _ := strings.Cut(key, "-")
		if !e.runs(id) && (running == 0 || !strings.HasPrefix(key, "install/")) {
			s.Snapshots++
			s.Details = append(s.Details, "snapshot "+key)
		}
	}
	s.Sockets = e.sweepDirs(&s)
	return s, nil
}

// runs reports whether a sandbox with this id exists.
func (e *Engine) runs(id string) bool {
	for _, b := range e.all() {
		if string(b.launch.ID) == id {
			return true
		}
	}
	return false
}

// sweepProcesses counts processes of this pid namespace other than this one, and their network namespaces.
func (e *Engine) sweepProcesses(s *wire.Sweep) (processes, netns int) {
	own, _ := os.Readlink("/proc/self/ns/net")
	seen := map[string]bool{}
	entries, _ := os.ReadDir("/proc")
	for _, entry := range entries {
		var pid int
		if n, _ := fmt.Sscanf(entry.Name(), "%d", &pid); n != 1 || pid == os.Getpid() {
			continue
		}
		state, _ := statOf(pid)
		if state == "" || state == "Z" {
			continue
		}
		processes++
		name, _ := os.ReadFile(fmt.Sprintf("/proc/%d/comm", pid))
		s.Details = append(s.Details, fmt.Sprintf("process %d %s", pid, strings.TrimSpace(string(name))))
		if ns, err := os.Readlink(fmt.Sprintf("/proc/%d/ns/net", pid)); err == nil && ns != own {
			seen[ns] = true
		}
	}
	return processes, len(seen)
}

// sweepMounts counts mounts of ours that belong to no running sandbox.
func (e *Engine) sweepMounts(s *wire.Sweep) int {
	text, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return 0
	}
	n := 0
	for line := range strings.Lines(string(text)) {
		fields := strings.Fields(line)
		if len(fields) < 5 || !ours(fields[4]) || e.ownedMount(fields[4]) {
			continue
		}
		n++
		s.Details = append(s.Details, "mount "+fields[4])
	}
	return n
}

func ours(mountPoint string) bool {
	for _, dir := range []string{"/run/garita/i/", "/run/garita/ws/", "/run/containerd/"} {
		if strings.HasPrefix(mountPoint, dir) {
			return true
		}
	}
	return false
}

// ownedMount reports whether a running sandbox's id, or its workspace's, is in the path.
func (e *Engine) ownedMount(mountPoint string) bool {
	for _, b := range e.all() {
		if strings.Contains(mountPoint, string(b.launch.ID)) {
			return true
		}
		for _, f := range b.launch.Folders {
			if f.Workspace != "" && strings.Contains(mountPoint, string(f.Workspace)) {
				return true
			}
		}
	}
	return false
}

// sweepDirs counts directories with private sockets that belong to no running sandbox.
func (e *Engine) sweepDirs(s *wire.Sweep) int {
	entries, _ := os.ReadDir("/run/garita/i")
	n := 0
	for _, entry := range entries {
		if !e.runs(entry.Name()) {
			n++
			s.Details = append(s.Details, "sandbox directory "+entry.Name())
		}
	}
	return n
}
