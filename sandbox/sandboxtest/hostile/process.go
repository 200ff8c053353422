package main

import (
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// connect reads what the other side says within a second; silence is success too.
func connect(a arguments) (string, error) {
	d := net.Dialer{Timeout: 2 * time.Second}
	c, err := d.Dial(a.Network, a.Address)
	if err != nil {
		return "", err
	}
	defer c.Close()
	_ = c.SetDeadline(time.Now().Add(time.Second))
	if _, err := c.Write([]byte("GET / HTTP/1.0\r\n\r\n")); err != nil {
		return "", err
	}
	heard, _ := io.ReadAll(io.LimitReader(c, 4096))
	if len(heard) == 0 && strings.HasPrefix(a.Network, "udp") {
		return "", errors.New("sent, but nobody answers")
	}
	return "connected: " + string(heard), nil
}

// listen serves from here on, beside the tools.
func listen(a arguments) (string, error) {
	l, err := net.Listen(a.Network, a.Address)
	if err != nil {
		return "", err
	}
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer c.Close()
				_, _ = io.Copy(c, c)
			}()
		}
	}()
	return l.Addr().String(), nil
}

func environ(arguments) (string, error) { return strings.Join(os.Environ(), "\n"), nil }

// proc reads whatever kind of thing path is.
func proc(a arguments) (string, error) {
	if target, err := os.Readlink(a.Path); err == nil && a.Content == "" {
		if data, err := os.ReadFile(a.Path); err == nil {
			return target + "\n" + string(data), nil
		}
		return target, nil
	}
	info, err := os.Stat(a.Path)
	if err != nil {
		return "", err
	}
	if info.IsDir() {
		return listDir(a)
	}
	return readPath(a)
}

func forkBomb(a arguments) (string, error) {
	for i := range a.N {
		cmd := exec.Command("/proc/self/exe")
		cmd.Stdin, cmd.Env = nil, append(os.Environ(), stay+"=1")
		if err := cmd.Start(); err != nil {
			return "", fmt.Errorf("after %d processes: %w", i, err)
		}
	}
	return fmt.Sprintf("%d processes", a.N), nil
}

// stay is the variable that makes a copy of this program do nothing for ever.
const stay = "HOSTILE_STAY"

func init() {
	if os.Getenv(stay) == "" {
		return
	}
	signal.Ignore(syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP)
	for {
		time.Sleep(time.Hour)
	}
}

var hoard [][]byte

// memoryHog touches every page, so that it is really used.
func memoryHog(a arguments) (string, error) {
	const piece = 4 << 20
	for used := int64(0); used < a.Bytes; used += piece {
		b := make([]byte, piece)
		for i := 0; i < len(b); i += os.Getpagesize() {
			b[i] = 1
		}
		hoard = append(hoard, b)
	}
	return fmt.Sprintf("%d bytes", a.Bytes), nil
}

func setuid(arguments) (string, error) { return permitted(syscall.Setuid(0)) }

func ptrace(a arguments) (string, error) { return permitted(unix.PtraceAttach(a.PID)) }

func kill(a arguments) (string, error) {
	return permitted(unix.Kill(a.PID, syscall.Signal(a.Signal)))
}

func execute(a arguments) (string, error) {
	if len(a.Argv) == 0 {
		return "", errors.New("no program")
	}
	out, err := exec.Command(a.Argv[0], a.Argv[1:]...).CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("%w: %s", err, out)
	}
	return string(out), nil
}

// spawnOrphan leaves a grandchild in a session of its own: the child that starts it ends.
func spawnOrphan(arguments) (string, error) {
	cmd := exec.Command("/bin/sh", "-c", `setsid "$0" </dev/null >/dev/null 2>&1 & echo $!`, "/proc/self/exe")
	self, err := os.Executable()
	if err != nil {
		return "", err
	}
	cmd.Args[len(cmd.Args)-1] = self
	cmd.Env = append(os.Environ(), stay+"=1")
	out, err := cmd.Output()
	return strings.TrimSpace(string(out)), err
}

func floodStderr(a arguments) (string, error) {
	line := []byte(strings.Repeat("flood ", 170) + "\n")
	for sent := int64(0); sent < a.Bytes; sent += int64(len(line)) {
		if _, err := os.Stderr.Write(line); err != nil {
			return "", err
		}
	}
	return "done", nil
}

func hugeOutput(a arguments) (string, error) { return strings.Repeat("x", int(a.Bytes)), nil }

func sleep(a arguments) (string, error) {
	time.Sleep(time.Duration(a.MS) * time.Millisecond)
	return "slept", nil
}

func crash(arguments) (string, error) {
	os.Exit(134)
	return "", nil
}

func ignoreTerm(arguments) (string, error) {
	signal.Ignore(syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP)
	return "ignored", nil
}

func inside(arguments) (string, error) {
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return "", err
	}
	lines := []string{fmt.Sprintf("uid %d euid %d gid %d", os.Getuid(), os.Geteuid(), os.Getgid())}
	for _, l := range strings.Split(string(status), "\n") {
		if strings.HasPrefix(l, "Cap") || strings.HasPrefix(l, "NoNewPrivs") || strings.HasPrefix(l, "Seccomp") {
			lines = append(lines, l)
		}
	}
	for _, ns := range []string{"user", "mnt", "pid", "net", "ipc", "uts", "cgroup"} {
		target, err := os.Readlink("/proc/self/ns/" + ns)
		if err != nil {
			target = err.Error()
		}
		lines = append(lines, target)
	}
	return strings.Join(lines, "\n"), nil
}
