package main

import (
	"errors"
	"os"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/garita-dev/garita/sandbox/init/handoff"
)

// start executes the server with the handed-over stdio and closes init's own copies, so that the
// daemon sees the end of the pipes when the server does.
func start(l handoff.Request, f files) (pid int, err error) {
	defer func() {
		for _, fd := range f.stdio {
			_ = unix.Close(fd)
		}
	}()
	path, err := lookPath(l.Argv[0], l.Env, l.Dir)
	if err != nil {
		return 0, err
	}
	if info, err := os.Stat(l.Dir); err != nil || !info.IsDir() {
		return 0, &failure{handoff.NotFound, "no directory " + l.Dir + " inside the sandbox"}
	}
	if l.Data != 0 { // init keeps it too: it is small
		limit := unix.Rlimit{Cur: l.Data, Max: l.Data}
		if err := unix.Setrlimit(unix.RLIMIT_DATA, &limit); err != nil {
			return 0, &failure{handoff.Other, "limit the memory: " + err.Error()}
		}
	}
	pid, err = syscall.ForkExec(path, l.Argv, &syscall.ProcAttr{
		Dir:   l.Dir,
		Env:   l.Env,
		Files: []uintptr{uintptr(f.stdio[0]), uintptr(f.stdio[1]), uintptr(f.stdio[2])},
		Sys:   &syscall.SysProcAttr{Setsid: true},
	})
	if err != nil {
		return 0, executing(path, err)
	}
	return pid, nil
}

// executing says which of the things that the kernel reports alike is wrong.
func executing(path string, err error) error {
	_, statErr := os.Stat(path)
	switch {
	case errors.Is(err, syscall.ENOENT) && statErr == nil:
		return &failure{handoff.NotFound, path + " is there, but its interpreter or loader is not"}
	case errors.Is(err, syscall.ENOENT), errors.Is(err, syscall.ENOTDIR):
		return &failure{handoff.NotFound, "no program " + path + " inside the sandbox"}
	case errors.Is(err, syscall.EACCES):
		return &failure{handoff.NotFound, path + " is not executable"}
	case errors.Is(err, syscall.ENOEXEC):
		return &failure{handoff.NotFound, path + " is not a program for this machine"}
	default:
		return &failure{handoff.Other, "execute " + path + ": " + err.Error()}
	}
}

// lookPath finds a program as a shell would, by the server's own PATH.
func lookPath(name string, env []string, dir string) (string, error) {
	if strings.Contains(name, "/") {
		if !strings.HasPrefix(name, "/") {
			name = dir + "/" + name
		}
		return name, nil
	}
	for _, kv := range env {
		path, ok := strings.CutPrefix(kv, "PATH=")
		if !ok {
			continue
		}
		for d := range strings.SplitSeq(path, ":") {
			candidate := d + "/" + name
			if strings.HasPrefix(d, "/") && executable(candidate) {
				return candidate, nil
			}
		}
	}
	return "", &failure{handoff.NotFound, "no program " + name + " inside the sandbox"}
}

func executable(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular() && info.Mode().Perm()&0o111 != 0
}

// failure is why the server was not started.
type failure struct {
	kind byte
	text string
}

func (f *failure) Error() string { return f.text }

// refuse tells the engine why nothing was started.
func refuse(engine *os.File, err error) int {
	kind := handoff.Other
	var f *failure
	if errors.As(err, &f) {
		kind = f.kind
	}
	_ = handoff.WriteFrame(engine, handoff.Failed, append([]byte{kind}, err.Error()...))
	return 127
}
