package rootless

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// checkKernel asks for the newest call that sandboxes need: mount_setattr, of Linux 5.12.
func checkKernel() Check {
	c := Check{Name: "kernel", State: OK, Found: "Linux " + kernelRelease()}
	err := unix.MountSetattr(-1, "", unix.AT_EMPTY_PATH, &unix.MountAttr{})
	if errors.Is(err, unix.ENOSYS) {
		c.State, c.Consequence = Fail, "No sandbox can start: read-only mounts would have writable parts."
		c.Mend = "use Linux 5.12 or newer"
	}
	return c
}

func kernelRelease() string { return setting("/proc/sys/kernel/osrelease") }

func checkCgroups() Check {
	c := Check{Name: "control groups", State: OK}
	g := FindCgroups()
	if g.Memory && g.PIDs && g.CPU {
		c.Found = fmt.Sprintf("version %d, delegated: memory, processes and CPU time are limited for whole sandboxes", g.Version)
		return c
	}
	c.State = Warn
	if g.Version == 0 {
		c.Found = g.Why
		c.Consequence = "Memory is limited for each process only, CPU time not at all, and sandboxes cannot be frozen. Processes are limited."
	} else {
		c.Found = fmt.Sprintf("version %d, delegated: memory %v, processes %v, CPU %v", g.Version, g.Memory, g.PIDs, g.CPU)
		c.Consequence = "What is not delegated is limited for each process only, or not at all."
	}
	c.Mend = "systemd-run --user --scope -p Delegate=yes garita daemon"
	if _, err := os.Stat(filepath.Join(cgroupRoot, "cgroup.controllers")); err != nil {
		c.Mend = "boot with control groups version 2 (systemd.unified_cgroup_hierarchy=1), or have root give you a group in every hierarchy"
	}
	return c
}

func checkRunc(path string) Check {
	c := Check{Name: "runc", State: OK}
	if path == "" {
		return Check{
			Name: "runc", State: Fail, Found: "not found beside garita or in PATH",
			Consequence: "No sandbox can start.", Mend: "sudo apt install runc",
		}
	}
	c.Found = firstLine(path, "--version") + " (" + path + ")"
	return c
}

func checkParts(s Subject) Check {
	c := Check{Name: "garita's programs", State: OK, Found: "garita-engine, garita-init and the containerd shim are in place"}
	for name, path := range map[string]string{"garita-init": s.Init, "containerd-shim-runc-v2": s.Shim} {
		if path == "" {
			c.State, c.Found = Fail, name+" is not beside garita-engine or in PATH"
			c.Consequence, c.Mend = "No sandbox can start.", "install garita again, or ./task build"
		}
	}
	return c
}

func checkNode() Check {
	node, npm := findTool("node"), findTool("npm")
	if node != "" && npm != "" {
		return Check{Name: "toolchains", State: OK, Found: "node " + firstLine(node, "--version") + ", npm " + firstLine(npm, "--version")}
	}
	return Check{
		Name: "toolchains", State: Warn, Found: "node or npm is not in PATH",
		Consequence: "Servers started by npx cannot be installed, unless a version manager has them.",
		Mend:        "sudo apt install nodejs npm",
	}
}

// lowDisk is less than a few servers' packages and workspaces take.
const lowDisk = 2 << 30

func checkDisk(data string) Check {
	c := Check{Name: "disk", State: OK}
	dir := data
	for _, err := os.Stat(dir); errors.Is(err, fs.ErrNotExist) && dir != "/"; _, err = os.Stat(dir) {
		dir = filepath.Dir(dir)
	}
	var st unix.Statfs_t
	if err := unix.Statfs(dir, &st); err != nil {
		c.State, c.Found, c.Consequence = Warn, err.Error(), "It is not known whether packages and workspaces have room."
		return c
	}
	free := int64(st.Bavail) * st.Bsize
	c.Found = Bytes(free) + " free at " + dir
	if free < lowDisk {
		c.State, c.Consequence, c.Mend = Warn, "Packages, images and workspaces may not fit.", "make room at "+dir
	}
	return c
}

func findTool(name string) string {
	path, err := exec.LookPath(name)
	if err != nil {
		return ""
	}
	return path
}

// firstLine is what a program says of its version; it gets two seconds.
func firstLine(path string, args ...string) string {
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
	defer cancel()
	out, err := exec.CommandContext(ctx, path, args...).Output()
	if err != nil {
		return "of unknown version"
	}
	line, _, _ := strings.Cut(string(out), "\n")
	return strings.TrimSpace(line)
}
