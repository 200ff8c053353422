// Package rootless gives a child process namespaces of its own without any rights on the host:
// user, mount and pid namespaces, ids mapped by newuidmap and newgidmap, control groups where the
// host delegates them, and the checks that say which of all this a host allows.
//
// It has two sides. The daemon calls Start, PrepareCgroups and Checks in its own process; the
// child calls Enter before anything else. Run as real root there is no outer user namespace.
package rootless

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"syscall"
)

// stageVariable tells a re-executed child how far it is: "map" before its ids are mapped, "mount"
// once they are.
const stageVariable = "GARITA_ROOTLESS_STAGE"

// Child is a process to start in namespaces of its own. It must call Enter first thing.
type Child struct {
	Path   string
	Args   []string   // without the program's name
	Env    []string   // nil means the caller's environment
	Files  []*os.File // become fd 3, 4 … of the child; they stay the caller's
	Stderr io.Writer  // nil discards
	Config []byte     // what Enter returns; at most 32 KiB
}

// maxConfig keeps Child.Config within a pipe's buffer, so that writing it never blocks.
const maxConfig = 32 << 10

// Start starts c as PID 1 of a new pid namespace, maps its ids and hands it its configuration.
// The caller waits for the returned command. When Start fails nothing is left running.
func Start(c Child) (*exec.Cmd, error) {
	if len(c.Config) > maxConfig {
		return nil, fmt.Errorf("start %s: configuration of %d bytes is too large", c.Path, len(c.Config))
	}
	r, w, err := os.Pipe()
	if err != nil {
		return nil, fmt.Errorf("start %s: %w", c.Path, err)
	}
	defer r.Close()
	defer w.Close()
	cmd := c.command(r)
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("start %s in namespaces of its own: %w", c.Path, explainClone(err))
	}
	if err := release(cmd, w, c.Config); err != nil {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		return nil, fmt.Errorf("start %s: %w", c.Path, err)
	}
	return cmd, nil
}

func (c Child) command(sync *os.File) *exec.Cmd {
	cmd := exec.Command(c.Path, c.Args...)
	cmd.Stderr = c.Stderr
	cmd.ExtraFiles = append(append([]*os.File{}, c.Files...), sync)
	env := c.Env
	if env == nil {
		env = os.Environ()
	}
	flags, stage := uintptr(syscall.CLONE_NEWNS|syscall.CLONE_NEWPID), "mount"
	if os.Geteuid() != 0 {
		flags, stage = flags|syscall.CLONE_NEWUSER, "map"
	}
	cmd.Env = append(append([]string{}, env...), stageVariable+"="+stage+":"+strconv.Itoa(3+len(c.Files)))
	// A group of its own: an interrupt at the terminal reaches the daemon, which ends its children in order.
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: flags, Setpgid: true}
	return cmd
}

// release maps the child's ids where it has a user namespace, then lets it go on.
func release(cmd *exec.Cmd, w *os.File, config []byte) error {
	if os.Geteuid() != 0 {
		if err := mapIDs(cmd.Process.Pid); err != nil {
			return err
		}
		if _, err := w.Write([]byte{1}); err != nil {
			return fmt.Errorf("release the child: %w", err)
		}
	}
	if _, err := w.Write(config); err != nil {
		return fmt.Errorf("hand over the configuration: %w", err)
	}
	return nil
}

func explainClone(err error) error {
	switch {
	case errors.Is(err, syscall.EPERM), errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EUSERS):
		return fmt.Errorf("this host forbids unprivileged user namespaces (see garita doctor): %w", err)
	default:
		return err
	}
}
