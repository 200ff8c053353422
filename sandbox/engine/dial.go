package engine

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/containerd/errdefs"
	"golang.org/x/sys/unix"
)

// connectTime bounds one attempt to connect inside a sandbox. Loopback answers at once, unless the
// server's queue is full.
const connectTime = 2 * time.Second

// loopbacks are where a port is looked for inside a sandbox. A server that listens on "localhost"
// has only one of the two, and which one is up to its resolver.
var loopbacks = []netip.Addr{netip.MustParseAddr("127.0.0.1"), netip.IPv6Loopback()}

// dial returns a socket that is connected to a port of a sandbox's own loopback; nil, and what
// listens instead, when nothing listens there.
func (e *Engine) dial(b *box, port int) (*os.File, []netip.AddrPort, error) {
	if port < 1 || port > 65535 {
		return nil, nil, fmt.Errorf("port %d: %w", port, errdefs.ErrInvalidArgument)
	}
	var sockets []socket
	var listening []netip.AddrPort
	err := b.insideNetwork(func() {
		sockets, listening = openSockets(loopbacks), listeners()
	})
	if err != nil {
		return nil, nil, fmt.Errorf("reach into %s: %w", b.launch.Server, err)
	}
	var connected *os.File
	for _, s := range sockets {
		if connected == nil && s.connect(port) == nil {
			connected = os.NewFile(uintptr(s.fd), "inside")
			continue
		}
		_ = unix.Close(s.fd)
	}
	return connected, listening, nil
}

// insideNetwork runs f on a thread that is in the sandbox's network namespace. What f opens stays
// there; the thread ends with f, for there may be no way back.
func (b *box) insideNetwork(f func()) error {
	b.mu.Lock()
	defer b.mu.Unlock() // the descriptor may not become another's meanwhile
	if b.pidfd < 0 {
		return fmt.Errorf("it has ended: %w", errdefs.ErrNotFound)
	}
	var err error
	onThreadThatEnds(func() {
		if err = unix.Setns(b.pidfd, unix.CLONE_NEWNET); err == nil {
			f()
		}
	})
	if err != nil {
		return fmt.Errorf("enter its network: %w", err)
	}
	return nil
}

// onThreadThatEnds runs f on a thread of its own, which ends with it. That cannot be the process's
// first thread: it would stay, as f has left it.
func onThreadThatEnds(f func()) {
	var run func(done chan<- struct{})
	run = func(done chan<- struct{}) {
		defer close(done)
		runtime.LockOSThread()
		if unix.Gettid() == unix.Getpid() {
			elsewhere := make(chan struct{})
			go run(elsewhere) // this thread is taken as long as this waits
			<-elsewhere
			runtime.UnlockOSThread()
			return
		}
		f() // never unlocked: the thread ends
	}
	done := make(chan struct{})
	go run(done)
	<-done
}

// socket is one that belongs to a sandbox's network, whoever uses it.
type socket struct {
	fd int
	to netip.Addr
}

// openSockets opens one for each address whose family there is.
func openSockets(to []netip.Addr) []socket {
	var all []socket
	for _, addr := range to {
		family := unix.AF_INET
		if addr.Is6() {
			family = unix.AF_INET6
		}
		fd, err := unix.Socket(family, unix.SOCK_STREAM|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, 0)
		if err == nil {
			all = append(all, socket{fd, addr})
		}
	}
	return all
}

func (s socket) connect(port int) error {
	err := unix.Connect(s.fd, address(s.to, port))
	if !errors.Is(err, unix.EINPROGRESS) {
		return err
	}
	p := []unix.PollFd{{Fd: int32(s.fd), Events: unix.POLLOUT}} //nolint:gosec // a descriptor fits
	n, err := unix.Poll(p, int(connectTime.Milliseconds()))
	if err != nil || n == 0 {
		return errors.Join(err, unix.ETIMEDOUT)
	}
	code, err := unix.GetsockoptInt(s.fd, unix.SOL_SOCKET, unix.SO_ERROR)
	if err != nil || code == 0 {
		return err
	}
	return unix.Errno(code)
}

func address(ip netip.Addr, port int) unix.Sockaddr {
	if ip.Is4() {
		return &unix.SockaddrInet4{Port: port, Addr: ip.As4()}
	}
	return &unix.SockaddrInet6{Port: port, Addr: ip.As16()}
}

// listeners are the TCP sockets that listen in this thread's network, in order.
func listeners() []netip.AddrPort {
	var all []netip.AddrPort
	for _, name := range []string{"tcp", "tcp6"} {
		f, err := os.Open("/proc/thread-self/net/" + name)
		if err != nil {
			continue // no such family
		}
		all = append(all, parseListeners(f)...)
		_ = f.Close()
	}
	slices.SortFunc(all, netip.AddrPort.Compare)
	return slices.Compact(all)
}

// maxListeners bounds what one sandbox can make an error say.
const maxListeners = 16

// parseListeners reads the kernel's table of TCP sockets: "sl local_address rem_address st …", where
// state 0A listens.
func parseListeners(r io.Reader) []netip.AddrPort {
	var all []netip.AddrPort
	lines := bufio.NewScanner(r)
	for lines.Scan() && len(all) < maxListeners {
		fields := strings.Fields(lines.Text())
		if len(fields) < 4 || fields[3] != "0A" {
			continue
		}
		if at, ok := parseHexAddress(fields[1]); ok {
			all = append(all, at)
		}
	}
	return all
}

// parseHexAddress reads "0100007F:1F90": words of 32 bits in the machine's order, then the port.
func parseHexAddress(text string) (netip.AddrPort, bool) {
	host, port, ok := strings.Cut(text, ":")
	n, err := strconv.ParseUint(port, 16, 16)
	if !ok || err != nil || len(host)%8 != 0 {
		return netip.AddrPort{}, false
	}
	var bytes []byte
	for ; len(host) >= 8; host = host[8:] {
		word, err := strconv.ParseUint(host[:8], 16, 32)
		if err != nil {
			return netip.AddrPort{}, false
		}
		bytes = binary.NativeEndian.AppendUint32(bytes, uint32(word))
	}
	ip, ok := netip.AddrFromSlice(bytes)
	return netip.AddrPortFrom(ip, uint16(n)), ok
}
