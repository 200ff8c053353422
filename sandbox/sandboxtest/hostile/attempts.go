package main

import (
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// attempts are ways out that have worked somewhere once. Each returns nil when the kernel let it
// happen.
var attempts = map[string]func() error{
	"unshare-user":     func() error { return unix.Unshare(unix.CLONE_NEWUSER) },
	"unshare-mount":    func() error { return unix.Unshare(unix.CLONE_NEWNS) },
	"unshare-net":      func() error { return unix.Unshare(unix.CLONE_NEWNET) },
	"clone-user":       cloneUser,
	"setns-init":       setnsInit,
	"chroot":           func() error { return unix.Chroot("/tmp") },
	"pivot-root":       func() error { return unix.PivotRoot("/tmp", "/tmp") },
	"remount-root":     func() error { return unix.Mount("", "/", "", unix.MS_REMOUNT|unix.MS_BIND, "") },
	"umount-proc":      func() error { return unix.Unmount("/proc/keys", unix.MNT_DETACH) },
	"fsopen":           fsopen,
	"open-tree":        openTree,
	"handle-of-root":   openByHandle,
	"keyring-session":  joinSessionKeyring,
	"keyring-add":      addKey,
	"keyring-read":     func() error { return raw(unix.SYS_KEYCTL, 11, 0xfffffffc, 0) }, // KEYCTL_READ of the user keyring
	"bpf":              func() error { return raw(unix.SYS_BPF, 0, 0, 0) },
	"perf":             perf,
	"io-uring":         ioUring,
	"userfaultfd":      func() error { return newFD(unix.SYS_USERFAULTFD, unix.O_CLOEXEC) },
	"kexec":            func() error { return raw(unix.SYS_KEXEC_LOAD, 0, 0, 0) },
	"init-module":      func() error { return raw(unix.SYS_INIT_MODULE, 0, 0, 0) },
	"reboot":           func() error { return unix.Reboot(unix.LINUX_REBOOT_CMD_CAD_OFF) },
	"settime":          func() error { return unix.Settimeofday(&unix.Timeval{Sec: 1}) },
	"sethostname":      func() error { return unix.Sethostname([]byte("pwned")) },
	"acct":             func() error { return unix.Acct("") },
	"swapon":           func() error { return raw(unix.SYS_SWAPON, 0, 0, 0) },
	"iopl":             func() error { return unix.Iopl(3) },
	"personality":      personality,
	"syslog":           func() error { _, err := unix.Klogctl(unix.SYSLOG_ACTION_READ_ALL, make([]byte, 64)); return err },
	"tiocsti":          tiocsti,
	"console":          func() error { return open("/dev/console", unix.O_RDWR) },
	"kmsg":             func() error { return open("/dev/kmsg", unix.O_RDWR) },
	"mem":              func() error { return open("/dev/mem", unix.O_RDWR) },
	"fuse":             func() error { return open("/dev/fuse", unix.O_RDWR) },
	"kvm":              func() error { return open("/dev/kvm", unix.O_RDWR) },
	"tun":              func() error { return open("/dev/net/tun", unix.O_RDWR) },
	"init-memory":      func() error { return open("/proc/1/mem", unix.O_RDWR) },
	"init-root":        func() error { return open("/proc/1/root/etc/shadow", unix.O_RDONLY) },
	"init-cwd":         func() error { return open("/proc/1/cwd/etc/shadow", unix.O_RDONLY) },
	"init-fds":         func() error { _, err := os.ReadDir("/proc/1/fd"); return err },
	"init-environ":     func() error { return readSome("/proc/1/environ") },
	"init-maps":        func() error { return readSome("/proc/1/maps") },
	"init-trace":       func() error { return unix.PtraceAttach(1) },
	"init-seize":       func() error { return unix.PtraceSeize(1) },
	"init-vm-read":     vmRead,
	"init-pidfd-getfd": pidfdGetfd,
	"init-kill":        initDies,
	"init-program":     func() error { return open("/.garita/init", unix.O_WRONLY) },
	"init-replace":     func() error { return os.WriteFile("/.garita/x", nil, 0o644) },
	"sysrq":            func() error { return writeTo("/proc/sysrq-trigger", "h") },
	"core-pattern":     func() error { return writeTo("/proc/sys/kernel/core_pattern", "|/tmp/x") },
	"modprobe-path":    func() error { return writeTo("/proc/sys/kernel/modprobe", "/tmp/x") },
	"overcommit":       func() error { return writeTo("/proc/sys/vm/overcommit_memory", "1") },
	"uid-map":          func() error { return writeTo("/proc/self/uid_map", "0 0 1") },
	"oom-score":        func() error { return writeTo("/proc/self/oom_score_adj", "-1000") },
	"cgroup-release":   func() error { return writeAny("/sys/fs/cgroup", "release_agent", "notify_on_release", "cgroup.procs") },
	"uevent-helper":    func() error { return writeTo("/sys/kernel/uevent_helper", "/tmp/x") },
	"sys-write":        func() error { return writeTo("/sys/power/state", "mem") },
	"raw-socket":       func() error { return socket(unix.AF_INET, unix.SOCK_RAW, unix.IPPROTO_ICMP) },
	"packet-socket":    func() error { return socket(unix.AF_PACKET, unix.SOCK_RAW, 0) },
	"vsock":            vsock,
	"netlink-audit":    audit,
	"alg-socket":       func() error { return socket(unix.AF_ALG, unix.SOCK_SEQPACKET, 0) },
	"set-dumpable":     func() error { return unix.Prctl(unix.PR_SET_MM, unix.PR_SET_MM_EXE_FILE, 0, 0, 0) },
	"raise-nofile":     func() error { return unix.Setrlimit(unix.RLIMIT_NOFILE, &unix.Rlimit{Cur: 1 << 20, Max: 1 << 20}) },
	"nice":             func() error { return unix.Setpriority(unix.PRIO_PROCESS, 0, -20) },
	"chown-root":       func() error { return chownOwn() },
	"setuid-file":      setuidFile,
	"drop-seccomp":     func() error { return unix.Prctl(unix.PR_SET_SECCOMP, 0, 0, 0, 0) },
	"add-capability":   addCapability,
	"lifeline-in-fds":  foreignFDs,
	"handover-again":   handOverAgain,
}

func attemptNames() string { return strings.Join(slices.Sorted(maps.Keys(attempts)), " ") }

func try(a arguments) (string, error) {
	f := attempts[a.What]
	if f == nil {
		return "", fmt.Errorf("no attempt %q", a.What)
	}
	return permitted(f())
}

func raw(nr, a, b, c uintptr) error {
	if _, _, errno := unix.Syscall6(nr, a, b, c, 0, 0, 0); errno != 0 {
		return errno
	}
	return nil
}

// shut closes a descriptor that was only got to see whether it can be.
func shut(fd int) { _ = unix.Close(fd) }

func newFD(nr, flags uintptr) error {
	fd, _, errno := unix.Syscall(nr, flags, 0, 0)
	if errno != 0 {
		return errno
	}
	return unix.Close(int(fd))
}

func open(path string, flags int) error {
	fd, err := unix.Open(path, flags|unix.O_CLOEXEC|unix.O_NONBLOCK, 0)
	if err != nil {
		return err
	}
	return unix.Close(fd)
}

func readSome(path string) error {
	data, err := os.ReadFile(path)
	if err == nil && len(data) == 0 {
		return errors.New("empty")
	}
	return err
}

func writeTo(path, text string) error { return os.WriteFile(path, []byte(text), 0) }

// writeAny tries files of these names anywhere below dir.
func writeAny(dir string, names ...string) error {
	last := error(unix.ENOENT)
	var walk func(dir string, depth int) error
	walk = func(dir string, depth int) error {
		entries, err := os.ReadDir(dir)
		if err != nil {
			last = err
			return last
		}
		for _, e := range entries {
			path := dir + "/" + e.Name()
			if e.IsDir() && depth < 3 {
				if walk(path, depth+1) == nil {
					return nil
				}
				continue
			}
			if slices.Contains(names, e.Name()) {
				if last = writeTo(path, "0"); last == nil {
					return nil
				}
			}
		}
		return last
	}
	return walk(dir, 0)
}

func socket(domain, kind, proto int) error {
	fd, err := unix.Socket(domain, kind|unix.SOCK_CLOEXEC, proto)
	if err != nil {
		return err
	}
	return unix.Close(fd)
}

// audit asks the kernel's audit for its state. Making the socket is allowed to everybody.
func audit() error {
	fd, err := unix.Socket(unix.AF_NETLINK, unix.SOCK_RAW|unix.SOCK_CLOEXEC, unix.NETLINK_AUDIT)
	if err != nil {
		return err
	}
	defer shut(fd)
	get := []byte{16, 0, 0, 0, 0xe8, 3, unix.NLM_F_REQUEST | unix.NLM_F_ACK, 0, 1, 0, 0, 0, 0, 0, 0, 0}
	if err := unix.Sendto(fd, get, 0, &unix.SockaddrNetlink{Family: unix.AF_NETLINK}); err != nil {
		return err
	}
	answer := make([]byte, 4096)
	n, _, err := unix.Recvfrom(fd, answer, 0)
	if err != nil || n < 20 {
		return err
	}
	if code := int32(binary.NativeEndian.Uint32(answer[16:])); binary.NativeEndian.Uint16(answer[4:]) == unix.NLMSG_ERROR && code < 0 {
		return syscall.Errno(-code)
	}
	return nil
}

// vsock goes for the hypervisor's well-known address: making the socket is harmless.
func vsock() error {
	fd, err := unix.Socket(unix.AF_VSOCK, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer shut(fd)
	return unix.Connect(fd, &unix.SockaddrVM{CID: unix.VMADDR_CID_HOST, Port: 1})
}

func cloneUser() error {
	pid, _, errno := unix.RawSyscall6(unix.SYS_CLONE, unix.CLONE_NEWUSER|uintptr(unix.SIGCHLD), 0, 0, 0, 0, 0)
	if errno != 0 {
		return errno
	}
	if pid == 0 {
		_, _, _ = unix.RawSyscall(unix.SYS_EXIT_GROUP, 0, 0, 0)
	}
	return nil
}

func setnsInit() error {
	fd, err := unix.Open("/proc/1/ns/mnt", unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer shut(fd)
	return unix.Setns(fd, unix.CLONE_NEWNS)
}

func fsopen() error {
	fd, err := unix.Fsopen("tmpfs", unix.FSOPEN_CLOEXEC)
	if err != nil {
		return err
	}
	return unix.Close(fd)
}

func openTree() error {
	fd, err := unix.OpenTree(unix.AT_FDCWD, "/", unix.OPEN_TREE_CLONE|unix.OPEN_TREE_CLOEXEC)
	if err != nil {
		return err
	}
	return unix.Close(fd)
}

// openByHandle asks for inode 2 of the file system of the working directory: its root (the escape
// known as shocker).
func openByHandle() error {
	dir, err := unix.Open("/", unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer shut(dir)
	fd, err := unix.OpenByHandleAt(dir, unix.NewFileHandle(1, []byte{2, 0, 0, 0, 0, 0, 0, 0}), unix.O_RDONLY)
	if err != nil {
		return err
	}
	return unix.Close(fd)
}

func joinSessionKeyring() error {
	_, err := unix.KeyctlJoinSessionKeyring("x")
	return err
}

func addKey() error {
	_, err := unix.AddKey("user", "x", []byte("x"), unix.KEY_SPEC_USER_KEYRING)
	return err
}

func perf() error {
	fd, err := unix.PerfEventOpen(&unix.PerfEventAttr{Type: unix.PERF_TYPE_SOFTWARE, Size: uint32(unsafe.Sizeof(unix.PerfEventAttr{}))}, 0, -1, -1, 0)
	if err != nil {
		return err
	}
	return unix.Close(fd)
}

func ioUring() error {
	var params [120]byte
	fd, _, errno := unix.Syscall(unix.SYS_IO_URING_SETUP, 1, uintptr(unsafe.Pointer(&params)), 0) //nolint:gosec // the call has no other form
	if errno != 0 {
		return errno
	}
	return unix.Close(int(fd))
}

// personality asks for READ_IMPLIES_EXEC, which makes exploits easier.
func personality() error { return raw(unix.SYS_PERSONALITY, 0x0400000, 0, 0) }

// tiocsti types into the terminal, if there is one.
func tiocsti() error {
	fd, err := unix.Open("/dev/tty", unix.O_RDWR|unix.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer shut(fd)
	c := byte('x')
	return raw(unix.SYS_IOCTL, uintptr(fd), unix.TIOCSTI, uintptr(unsafe.Pointer(&c))) //nolint:gosec // the call has no other form
}

// vmRead reads memory of PID 1 at an address that a static program has mapped.
func vmRead() error {
	buf := make([]byte, 8)
	_, err := unix.ProcessVMReadv(1,
		[]unix.Iovec{{Base: &buf[0], Len: 8}},
		[]unix.RemoteIovec{{Base: 0x400000, Len: 8}}, 0)
	return err
}

// pidfdGetfd steals any descriptor of PID 1: the lifeline, the engine's socket.
func pidfdGetfd() error {
	p, err := unix.PidfdOpen(1, 0)
	if err != nil {
		return err
	}
	defer shut(p)
	last := error(unix.EBADF)
	for fd := range 32 {
		stolen, err := unix.PidfdGetfd(p, fd, 0)
		if err == nil {
			return unix.Close(stolen)
		}
		last = err
	}
	return last
}

// initDies is permitted when PID 1 can be stopped, or killed: then we would not come back. Signals
// that a Go program handles (SIGSEGV, SIGQUIT) do end it, and with it this sandbox and nothing else.
func initDies() error {
	for _, s := range []unix.Signal{unix.SIGKILL, unix.SIGSTOP} {
		if err := unix.Kill(1, s); err != nil {
			return err
		}
	}
	status, err := os.ReadFile("/proc/1/status")
	if err != nil {
		return nil // PID 1 is gone
	}
	for _, l := range strings.Split(string(status), "\n") {
		if strings.HasPrefix(l, "State:") && strings.Contains(l, "T (") {
			return nil
		}
	}
	return errors.New("the signals are ignored")
}

func chownOwn() error {
	const path = "/tmp/chown-me"
	if err := os.WriteFile(path, nil, 0o644); err != nil {
		return err
	}
	return os.Chown(path, 0, 0)
}

// setuidFile makes a set-id copy of a program where it would count: on a mount without nosuid.
func setuidFile() error {
	const path = "/tmp/setuid-me"
	if err := os.WriteFile(path, nil, 0o755); err != nil {
		return err
	}
	if err := unix.Chmod(path, 0o4755); err != nil {
		return err
	}
	var fs unix.Statfs_t
	if err := unix.Statfs(path, &fs); err != nil {
		return err
	}
	if fs.Flags&unix.ST_NOSUID != 0 {
		return errors.New("the mount ignores the bit")
	}
	return nil
}

// addCapability raises an ambient capability, which needs it to be permitted.
func addCapability() error {
	return unix.Prctl(unix.PR_CAP_AMBIENT, unix.PR_CAP_AMBIENT_RAISE, unix.CAP_SYS_ADMIN, 0, 0)
}

// foreignFDs looks for a descriptor that nobody meant us to have: anything but stdio and what the
// Go runtime opens itself.
func foreignFDs() error {
	entries, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		return err
	}
	for _, e := range entries {
		target, err := os.Readlink("/proc/self/fd/" + e.Name())
		if err != nil {
			continue
		}
		if strings.HasPrefix(target, "socket:") || strings.HasPrefix(target, "/") && !strings.HasPrefix(target, "/proc/") {
			fmt.Fprintln(os.Stderr, "hostile: descriptor", e.Name(), "is", target)
			return nil
		}
	}
	return errors.New("only pipes and the runtime's own")
}

// handOverAgain plays garita-init: whoever answers there might hand over somebody's stdio.
func handOverAgain() error {
	fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer shut(fd)
	return unix.Connect(fd, &unix.SockaddrUnix{Name: "/.garita/socket"})
}
