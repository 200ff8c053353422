package netstack

import (
	"io"
	"net"
	"net/netip"
	"os"
	"runtime"
	"testing"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"github.com/garita-dev/garita/sandbox/egress/wire"
)

// BenchmarkThroughput passes bytes through a pair of virtual Ethernet devices, as a sandbox has one. It
// needs the rights that root has in a user namespace: unshare -Urn go test -bench Throughput.
func BenchmarkThroughput(b *testing.B) {
	for name, talk := range map[string]func(*testing.B, net.Conn){
		"into the sandbox":   func(b *testing.B, c net.Conn) { drain(b, c) },
		"out of the sandbox": func(b *testing.B, c net.Conn) { fill(b, c) },
	} {
		b.Run(name, func(b *testing.B) {
			socket, inside := pair(b)
			s, err := Open(socket, &streaming{name == "into the sandbox"})
			if err != nil {
				b.Fatal(err)
			}
			defer s.Close()
			conn := connectInside(b, inside)
			defer conn.Close()
			b.SetBytes(block)
			before := cpu()
			b.ResetTimer()
			talk(b, conn)
			b.ReportMetric(float64(cpu()-before)/float64(b.N)/1e3, "cpu-µs/MiB")
		})
	}
}

const block = 1 << 20

// streaming sends without end, or takes all that comes.
type streaming struct{ sends bool }

func (s *streaming) TCP(c *Incoming) {
	conn, err := c.Accept()
	if err != nil {
		return
	}
	defer conn.Close()
	for buf := make([]byte, 256<<10); err == nil; {
		if s.sends {
			_, err = conn.Write(buf)
		} else {
			_, err = conn.Read(buf)
		}
	}
}

func (*streaming) Refused(string, netip.AddrPort) {}

func (*streaming) Datagram([]byte) []byte { return nil }

func drain(b *testing.B, c net.Conn) {
	buf := make([]byte, block)
	for range b.N {
		if _, err := io.ReadFull(c, buf); err != nil {
			b.Fatal(err)
		}
	}
}

func fill(b *testing.B, c net.Conn) {
	buf := make([]byte, block)
	for range b.N {
		if _, err := c.Write(buf); err != nil {
			b.Fatal(err)
		}
	}
}

// cpu is what this process has used, in nanoseconds.
func cpu() int64 {
	var u unix.Rusage
	_ = unix.Getrusage(unix.RUSAGE_SELF, &u)
	return u.Utime.Nano() + u.Stime.Nano()
}

// pair is the wall's packet socket and the namespace at the other end.
func pair(b *testing.B) (socket, inside *os.File) {
	b.Helper()
	gateway := namespace(b)
	inside = namespace(b)
	in(b, gateway, func() error {
		link := netlink.NewVeth(netlink.LinkAttrs{Name: "wall", MTU: wire.MTU})
		link.PeerName, link.PeerMTU, link.PeerHardwareAddr = wire.InsideName, wire.MTU, wire.InsideMAC
		link.PeerNamespace = netlink.NsFd(inside.Fd())
		if err := netlink.LinkAdd(link); err != nil {
			return err
		}
		if err := netlink.LinkSetUp(link); err != nil {
			return err
		}
		all := uint16(unix.ETH_P_ALL<<8 | unix.ETH_P_ALL>>8)
		fd, err := unix.Socket(unix.AF_PACKET, unix.SOCK_RAW|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, int(all))
		if err != nil {
			return err
		}
		socket = os.NewFile(uintptr(fd), "packets")
		for _, option := range []int{unix.SO_RCVBUF, unix.SO_SNDBUF} {
			_ = unix.SetsockoptInt(fd, unix.SOL_SOCKET, option, 4<<20)
		}
		return unix.Bind(fd, &unix.SockaddrLinklayer{Protocol: all, Ifindex: link.Attrs().Index})
	})
	in(b, inside, func() error {
		link, err := netlink.LinkByName(wire.InsideName)
		if err != nil {
			return err
		}
		four := wire.InsideAddress
		if err := netlink.AddrAdd(link, &netlink.Addr{IPNet: &net.IPNet{IP: four.Addr().AsSlice(), Mask: net.CIDRMask(four.Bits(), 32)}}); err != nil {
			return err
		}
		if err := netlink.LinkSetUp(link); err != nil {
			return err
		}
		wall := net.IP(wire.WallAddress.AsSlice())
		if err := netlink.NeighAdd(&netlink.Neigh{LinkIndex: link.Attrs().Index, Family: netlink.FAMILY_V4, State: netlink.NUD_PERMANENT, IP: wall, HardwareAddr: wire.WallMAC}); err != nil {
			return err
		}
		return netlink.RouteAdd(&netlink.Route{LinkIndex: link.Attrs().Index, Gw: wall, Flags: int(netlink.FLAG_ONLINK)})
	})
	return socket, inside
}

func namespace(b *testing.B) (ns *os.File) {
	b.Helper()
	done := make(chan error)
	go func() {
		runtime.LockOSThread() // for good: the thread ends with the goroutine
		err := unix.Unshare(unix.CLONE_NEWNET)
		if err == nil {
			ns, err = os.Open("/proc/thread-self/ns/net")
		}
		done <- err
	}()
	if err := <-done; err != nil {
		b.Skip("no network namespace can be made: ", err)
	}
	b.Cleanup(func() { _ = ns.Close() })
	return ns
}

func in(b *testing.B, ns *os.File, do func() error) {
	b.Helper()
	done := make(chan error)
	go func() {
		runtime.LockOSThread()
		err := unix.Setns(int(ns.Fd()), unix.CLONE_NEWNET)
		if err == nil {
			err = do()
		}
		done <- err
	}()
	if err := <-done; err != nil {
		b.Fatal(err)
	}
}

func connectInside(b *testing.B, ns *os.File) (conn net.Conn) {
	b.Helper()
	in(b, ns, func() error {
		fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
		if err != nil {
			return err
		}
		if err := unix.Connect(fd, &unix.SockaddrInet4{Port: int(accepted.Port()), Addr: accepted.Addr().As4()}); err != nil {
			return err
		}
		f := os.NewFile(uintptr(fd), "connection")
		defer f.Close()
		conn, err = net.FileConn(f)
		return err
	})
	return conn
}
