package daemon

import (
	"context"
	"net"
	"os"
	"slices"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

func TestTheHolderOfAConnectionIsFound(t *testing.T) {
	ln := loopback(t)
	for what, dial := range map[string]func(*testing.T, net.Addr){
		"IPv4": func(t *testing.T, to net.Addr) { connect(t, net.Dialer{}, to) },
		"an IPv6 socket": func(t *testing.T, to net.Addr) {
			fd, err := unix.Socket(unix.AF_INET6, unix.SOCK_STREAM, 0)
			if err != nil {
				t.Skipf("no IPv6: %v", err)
			}
			t.Cleanup(func() { _ = unix.Close(fd) })
			mapped := [16]byte{10: 0xff, 11: 0xff, 12: 127, 15: 1}
			if err := unix.Connect(fd, &unix.SockaddrInet6{Port: to.(*net.TCPAddr).Port, Addr: mapped}); err != nil {
				t.Skipf("no IPv6: %v", err)
			}
		},
		"a port that others have, too": func(t *testing.T, to net.Addr) {
			shared := net.ListenConfig{Control: func(_, _ string, c syscall.RawConn) error { return reusePort(c) }}
			decoy, err := shared.Listen(t.Context(), "tcp4", "127.0.0.1:0")
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = decoy.Close() })
			connect(t, net.Dialer{LocalAddr: decoy.Addr(), Control: func(_, _ string, c syscall.RawConn) error { return reusePort(c) }}, to)
		},
	} {
		t.Run(what, func(t *testing.T) {
			dial(t, ln.Addr())
			conn, err := ln.Accept()
			if err != nil {
				t.Fatal(err)
			}
			defer conn.Close()
			from, to := conn.RemoteAddr().(*net.TCPAddr), conn.LocalAddr().(*net.TCPAddr)
			if pids, err := ownersOf(conn, os.Getuid()); err != nil || !slices.Contains(pids, os.Getpid()) {
				t.Errorf("%s to %s is held by %v, %v; want %d", from, to, pids, err, os.Getpid())
			}
		})
	}
}

func TestAConnectionThatNobodyHoldsIsRefused(t *testing.T) {
	ln := loopback(t)
	client, err := net.Dial("tcp4", ln.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	conn, err := ln.Accept()
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	_ = client.Close()
	v, _ := withVisitor(context.Background(), conn).Value(visitorKey{}).(*visitor)
	if err := v.hold(newAttached()); err == nil {
		t.Error("nobody is at the other end, and is let in")
	}
}

func loopback(t *testing.T) net.Listener {
	t.Helper()
	ln, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = ln.Close() })
	return ln
}

func connect(t *testing.T, d net.Dialer, to net.Addr) {
	t.Helper()
	conn, err := d.DialContext(t.Context(), "tcp4", to.String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
}

func reusePort(c syscall.RawConn) error {
	var err error
	if bad := c.Control(func(fd uintptr) { err = unix.SetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_REUSEPORT, 1) }); bad != nil {
		return bad
	}
	return err
}
