package netstack

import (
	"bytes"
	"context"
	"io"
	"net"
	"net/netip"
	"os"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"
	"gvisor.dev/gvisor/pkg/tcpip"
	"gvisor.dev/gvisor/pkg/tcpip/adapters/gonet"
	"gvisor.dev/gvisor/pkg/tcpip/header"
	"gvisor.dev/gvisor/pkg/tcpip/link/fdbased"
	"gvisor.dev/gvisor/pkg/tcpip/network/arp"
	"gvisor.dev/gvisor/pkg/tcpip/network/ipv4"
	"gvisor.dev/gvisor/pkg/tcpip/stack"
	"gvisor.dev/gvisor/pkg/tcpip/transport/icmp"
	"gvisor.dev/gvisor/pkg/tcpip/transport/tcp"
	"gvisor.dev/gvisor/pkg/tcpip/transport/udp"
	"gvisor.dev/gvisor/pkg/waiter"

	"github.com/garita-dev/garita/sandbox/egress/wire"
)

// handling accepts one address and refuses the rest.
type handling struct {
	mu      sync.Mutex
	refused []string
}

var (
	accepted = netip.MustParseAddrPort("198.18.4.0:443")
	hasty    = netip.MustParseAddrPort("198.18.4.0:7") // hangs up first
)

func (h *handling) TCP(c *Incoming) {
	if c.Target() == hasty {
		if conn, err := c.Accept(); err == nil {
			_ = conn.Close()
		}
		return
	}
	if c.Target() != accepted {
		h.note("tcp " + c.Target().String())
		c.Refuse()
		return
	}
	conn, err := c.Accept()
	if err != nil {
		return
	}
	defer conn.Close()
	_, _ = io.Copy(conn, conn)
}

func (h *handling) Refused(protocol string, to netip.AddrPort) { h.note(protocol + " " + to.String()) }

func (h *handling) Datagram(question []byte) []byte { return append([]byte("re: "), question...) }

func (h *handling) note(what string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.refused = append(h.refused, what)
}

func (h *handling) saw(what string) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Contains(h.refused, what)
}

// sandbox is a stack where a sandbox's would be, on the other end of a pair of sockets.
func sandbox(t *testing.T, file *os.File) *stack.Stack {
	t.Helper()
	s := stack.New(stack.Options{
		NetworkProtocols:   []stack.NetworkProtocolFactory{ipv4.NewProtocol, arp.NewProtocol},
		TransportProtocols: []stack.TransportProtocolFactory{tcp.NewProtocol, udp.NewProtocol, icmp.NewProtocol4},
	})
	link, err := fdbased.New(&fdbased.Options{FDs: []int{int(file.Fd())}, MTU: 1500, EthernetHeader: true, Address: tcpip.LinkAddress(wire.InsideMAC)})
	if err != nil {
		t.Fatal(err)
	}
	own := tcpip.AddrFrom4(wire.InsideAddress.Addr().As4())
	wall := tcpip.AddrFrom4(wire.WallAddress.As4())
	for _, e := range []tcpip.Error{
		s.CreateNIC(1, link),
		s.AddProtocolAddress(1, tcpip.ProtocolAddress{Protocol: ipv4.ProtocolNumber, AddressWithPrefix: tcpip.AddressWithPrefix{Address: own, PrefixLen: 30}}, stack.AddressProperties{}),
		s.AddStaticNeighbor(1, ipv4.ProtocolNumber, wall, tcpip.LinkAddress(wire.WallMAC)),
	} {
		if e != nil {
			t.Fatal(e)
		}
	}
	s.SetRouteTable([]tcpip.Route{{Destination: header.IPv4EmptySubnet, Gateway: wall, NIC: 1}})
	return s
}

func full(at string) tcpip.FullAddress {
	ap := netip.MustParseAddrPort(at)
	return tcpip.FullAddress{NIC: 1, Addr: tcpip.AddrFrom4(ap.Addr().As4()), Port: ap.Port()}
}

func TestWhatASandboxSends(t *testing.T) {
	before := runtime.NumGoroutine()
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	h := &handling{}
	wall, err := Open(os.NewFile(uintptr(fds[0]), "wall"), h)
	if err != nil {
		t.Fatal(err)
	}
	far := os.NewFile(uintptr(fds[1]), "sandbox")
	in := sandbox(t, far)
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()

	conn, err := gonet.DialContextTCP(ctx, in, full("198.18.4.0:443"), ipv4.ProtocolNumber)
	if err != nil {
		t.Fatalf("what is accepted: %v", err)
	}
	if got := exchange(t, conn, "hello"); got != "hello" {
		t.Errorf("got %q", got)
	}
	_ = conn.Close()
	for _, to := range []string{"8.8.8.8:443", "198.18.0.1:80", "198.18.4.0:80"} {
		if c, err := gonet.DialContextTCP(ctx, in, full(to), ipv4.ProtocolNumber); err == nil || !strings.Contains(err.Error(), "refused") {
			t.Errorf("%s: %v, %v", to, c, err)
		}
	}
	dns, err := gonet.DialUDP(in, nil, ptr(full("198.18.0.1:53")), ipv4.ProtocolNumber)
	if err != nil {
		t.Fatal(err)
	}
	if got := exchange(t, dns, "a name"); got != "re: a name" {
		t.Errorf("got %q", got)
	}
	_ = dns.Close()
	other, err := gonet.DialUDP(in, nil, ptr(full("8.8.8.8:53")), ipv4.ProtocolNumber)
	if err != nil {
		t.Fatal(err)
	}
	_, _ = other.Write([]byte("a name"))
	_ = other.Close()
	ping(t, in)
	for _, what := range []string{"tcp 8.8.8.8:443", "tcp 198.18.4.0:80", "udp 8.8.8.8:53", "icmp 8.8.8.8:0"} {
		if !h.saw(what) {
			t.Errorf("not told of %s: %v", what, h.refused)
		}
	}

	if err := wall.Close(); err != nil {
		t.Error(err)
	}
	in.Destroy()
	_ = far.Close()
	for deadline := time.Now().Add(10 * time.Second); runtime.NumGoroutine() > before && time.Now().Before(deadline); {
		runtime.Gosched()
	}
	if n := runtime.NumGoroutine(); n > before {
		buf := make([]byte, 1<<20)
		t.Errorf("%d goroutines are left:\n%s", n-before, buf[:runtime.Stack(buf, true)])
	}
}

// TestAPortIsUsedAgain: a sandbox has some 28,000 ports towards one host, and uses them again soon. A
// connection that the wall has ended first may not be in the way of the next one.
func TestAPortIsUsedAgain(t *testing.T) {
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	wall, err := Open(os.NewFile(uintptr(fds[0]), "wall"), &handling{})
	if err != nil {
		t.Fatal(err)
	}
	defer wall.Close()
	far := os.NewFile(uintptr(fds[1]), "sandbox")
	defer far.Close()
	in := sandbox(t, far)
	defer in.Destroy()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	from := tcpip.FullAddress{NIC: 1, Addr: tcpip.AddrFrom4(wire.InsideAddress.Addr().As4()), Port: 40000}
	for i := range 3 {
		conn, err := gonet.DialTCPWithBind(ctx, in, from, full(hasty.String()), ipv4.ProtocolNumber)
		for err != nil && strings.Contains(err.Error(), "in use") && ctx.Err() == nil { // the last word is under way
			runtime.Gosched()
			conn, err = gonet.DialTCPWithBind(ctx, in, from, full(hasty.String()), ipv4.ProtocolNumber)
		}
		if err != nil {
			t.Fatalf("connection %d from the same port: %v", i, err)
		}
		if _, err := conn.Read(make([]byte, 1)); err == nil {
			t.Error("something was said")
		}
		_ = conn.Close()
	}
}

// TestAStackIsClosedWhileTheSandboxSends: it does not wait for ever for what is just being read.
func TestAStackIsClosedWhileTheSandboxSends(t *testing.T) {
	for range 50 {
		fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
		if err != nil {
			t.Fatal(err)
		}
		wall, err := Open(os.NewFile(uintptr(fds[0]), "wall"), &handling{})
		if err != nil {
			t.Fatal(err)
		}
		var sending sync.WaitGroup
		sending.Go(func() {
			for frame := datagram(); unix.Sendto(fds[1], frame, 0, nil) == nil; {
			}
		})
		closed := make(chan error, 1)
		go func() { closed <- wall.Close() }()
		select {
		case err := <-closed:
			if err != nil {
				t.Error(err)
			}
		case <-time.After(time.Minute):
			t.Fatal("it is not closed")
		}
		sending.Wait() // which has nobody to send to any more
		_ = unix.Close(fds[1])
	}
}

// datagram is a frame with an empty datagram for 8.8.8.8.
func datagram() []byte {
	frame := make([]byte, header.EthernetMinimumSize+header.IPv4MinimumSize+header.UDPMinimumSize)
	header.Ethernet(frame).Encode(&header.EthernetFields{
		SrcAddr: tcpip.LinkAddress(wire.InsideMAC), DstAddr: tcpip.LinkAddress(wire.WallMAC), Type: ipv4.ProtocolNumber,
	})
	ip := header.IPv4(frame[header.EthernetMinimumSize:])
	ip.Encode(&header.IPv4Fields{
		TotalLength: header.IPv4MinimumSize + header.UDPMinimumSize, TTL: 64, Protocol: uint8(udp.ProtocolNumber),
		SrcAddr: tcpip.AddrFrom4(wire.InsideAddress.Addr().As4()), DstAddr: full("8.8.8.8:9").Addr,
	})
	ip.SetChecksum(^ip.CalculateChecksum())
	header.UDP(ip.Payload()).Encode(&header.UDPFields{SrcPort: 9, DstPort: 9, Length: header.UDPMinimumSize})
	return frame
}

func ptr[T any](v T) *T { return &v }

func exchange(t *testing.T, c net.Conn, words string) string {
	t.Helper()
	_ = c.SetDeadline(time.Now().Add(10 * time.Second))
	if _, err := io.WriteString(c, words); err != nil {
		t.Fatal(err)
	}
	buf := make([]byte, 100)
	n, err := c.Read(buf)
	if err != nil {
		t.Fatal(err)
	}
	return string(buf[:n])
}

// ping sends one echo request to an address that the wall would answer for, if it answered.
func ping(t *testing.T, in *stack.Stack) {
	t.Helper()
	var wq waiter.Queue
	entry, heard := waiter.NewChannelEntry(waiter.ReadableEvents)
	wq.EventRegister(&entry)
	ep, e := in.NewEndpoint(icmp.ProtocolNumber4, ipv4.ProtocolNumber, &wq)
	if e != nil {
		t.Fatal(e)
	}
	defer ep.Close()
	echo := header.ICMPv4(make([]byte, header.ICMPv4MinimumSize))
	echo.SetType(header.ICMPv4Echo)
	if _, e := ep.Write(bytes.NewReader(echo), tcpip.WriteOptions{To: ptr(full("8.8.8.8:0"))}); e != nil {
		t.Fatal(e)
	}
	select {
	case <-heard:
		t.Error("a ping was answered")
	case <-time.After(200 * time.Millisecond):
	}
}
