package engine

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"strconv"

	"github.com/containerd/errdefs"
	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	egress "github.com/garita-dev/garita/sandbox/egress/wire"
	"github.com/garita-dev/garita/sandbox/handover"
)

// gatewayName is the wall's end of a sandbox's link, in a network namespace with nothing else in it.
const gatewayName = "wall"

// connect gives a created sandbox its link to the wall, before anything runs inside: a pair of
// virtual Ethernet devices, one inside, the other in a network namespace of its own. What the wall
// gets is a packet socket there, and nothing with which it could reach further.
func (e *Engine) connect(b *box, wall *os.File) error {
	gateway, err := makeLink(int(b.task.Pid()))
	if err != nil {
		return fmt.Errorf("make the sandbox's network: %w", err)
	}
	b.mu.Lock()
	b.gateway = gateway
	b.mu.Unlock()
	b.onUndo(func() error {
		b.mu.Lock()
		defer b.mu.Unlock()
		b.gateway = nil
		return gateway.Close()
	})
	if err := b.insideNetwork(func() { err = configureInside() }); err != nil {
		return err
	}
	if err != nil {
		return fmt.Errorf("configure the sandbox's network: %w", err)
	}
	return b.sendNetwork(gateway, wall)
}

// makeLink makes the pair, one end with the process pid, and returns the namespace of the other.
func makeLink(pid int) (gateway *os.File, err error) {
	onThreadThatEnds(func() {
		if err = unix.Unshare(unix.CLONE_NEWNET); err != nil {
			return
		}
		if gateway, err = os.Open("/proc/thread-self/ns/net"); err != nil {
			return
		}
		if err = addPair(pid); err != nil {
			_ = gateway.Close()
		}
	})
	return gateway, err
}

func addPair(pid int) error {
	pair := netlink.NewVeth(netlink.LinkAttrs{Name: gatewayName, MTU: egress.MTU})
	pair.PeerName, pair.PeerMTU, pair.PeerHardwareAddr = egress.InsideName, egress.MTU, egress.InsideMAC
	pair.PeerNamespace = netlink.NsPid(pid)
	if err := netlink.LinkAdd(pair); err != nil {
		return fmt.Errorf("add the link: %w", err)
	}
	return netlink.LinkSetUp(pair)
}

// configureInside gives this thread's network the sandbox's address and one way out. The wall's
// link address is written down, so that nobody need be asked for it.
func configureInside() error {
	link, err := netlink.LinkByName(egress.InsideName)
	if err != nil {
		return err
	}
	four, six := egress.InsideAddress, egress.InsideAddress6
	address := func(ip net.IP, bits, size int) *netlink.Addr {
		return &netlink.Addr{IPNet: &net.IPNet{IP: ip, Mask: net.CIDRMask(bits, size)}, Flags: unix.IFA_F_NODAD | unix.IFA_F_NOPREFIXROUTE}
	}
	if err := netlink.AddrAdd(link, address(four.Addr().AsSlice(), four.Bits(), 32)); err != nil {
		return fmt.Errorf("add the address: %w", err)
	}
	withSix := netlink.AddrAdd(link, address(six.Addr().AsSlice(), six.Bits(), 128)) == nil // not every kernel has it
	if err := netlink.LinkSetUp(link); err != nil {
		return err
	}
	if err := wayOut(link, egress.WallAddress.AsSlice(), netlink.FAMILY_V4); err != nil {
		return err
	}
	if withSix {
		// So that the wall hears of what is tried over IPv6. Without it there is no way at all.
		_ = wayOut(link, egress.WallAddress6.AsSlice(), netlink.FAMILY_V6)
	}
	return nil
}

func wayOut(link netlink.Link, wall net.IP, family int) error {
	index := link.Attrs().Index
	if err := netlink.NeighAdd(&netlink.Neigh{
		LinkIndex: index, Family: family, State: netlink.NUD_PERMANENT, IP: wall, HardwareAddr: egress.WallMAC,
	}); err != nil {
		return fmt.Errorf("name the neighbor: %w", err)
	}
	if err := netlink.RouteAdd(&netlink.Route{LinkIndex: index, Family: family, Gw: wall, Flags: int(netlink.FLAG_ONLINK)}); err != nil {
		return fmt.Errorf("add the way out: %w", err)
	}
	return nil
}

// sendNetwork hands the wall a fresh packet socket, and sockets that listen inside for services of
// this machine where the launch wants those.
func (b *box) sendNetwork(gateway, wall *os.File) error {
	control, err := handover.Conn(dup(wall))
	if err != nil {
		return err
	}
	defer control.Close()
	socket, err := packetSocket(gateway)
	if err != nil {
		return fmt.Errorf("open the wall's packet socket: %w", err)
	}
	defer socket.Close()
	if err := handover.Send(control, []byte(egress.PacketSocket), socket); err != nil {
		return fmt.Errorf("hand the network over to the wall: %w", err)
	}
	if !b.launch.Network.Localhost {
		return nil
	}
	for _, port := range b.launch.Network.HostPorts {
		if err := b.listenInside(control, int(port)); err != nil {
			return err
		}
	}
	return nil
}

// dup is f once more; the caller closes it.
func dup(f *os.File) *os.File {
	fd, err := unix.FcntlInt(f.Fd(), unix.F_DUPFD_CLOEXEC, 0)
	if err != nil {
		return f
	}
	return os.NewFile(uintptr(fd), f.Name())
}

// packetSocket opens a socket on the wall's end of a link. Its frames are read as they are.
func packetSocket(gateway *os.File) (file *os.File, err error) {
	onThreadThatEnds(func() {
		if err = unix.Setns(int(gateway.Fd()), unix.CLONE_NEWNET); err == nil {
			file, err = openPacketSocket()
		}
	})
	return file, err
}

func openPacketSocket() (*os.File, error) {
	link, err := net.InterfaceByName(gatewayName)
	if err != nil {
		return nil, err
	}
	all := bigEndian(unix.ETH_P_ALL)
	fd, err := unix.Socket(unix.AF_PACKET, unix.SOCK_RAW|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, int(all))
	if err != nil {
		return nil, err
	}
	if err := unix.Bind(fd, &unix.SockaddrLinklayer{Protocol: all, Ifindex: link.Index}); err != nil {
		_ = unix.Close(fd)
		return nil, err
	}
	for _, option := range []int{unix.SO_RCVBUF, unix.SO_SNDBUF} {
		_ = unix.SetsockoptInt(fd, unix.SOL_SOCKET, option, socketBuffer) // the kernel gives what it may
	}
	return os.NewFile(uintptr(fd), "packets"), nil
}

// socketBuffer is some packets of the link's MTU, in bytes.
const socketBuffer = 4 << 20

func bigEndian(n uint16) uint16 { return n<<8 | n>>8 }

// listenInside opens a port of the sandbox's own loopback and hands it to the wall.
func (b *box) listenInside(control *net.UnixConn, port int) error {
	var sockets []*os.File
	var err error
	if outer := b.insideNetwork(func() { sockets, err = listenLoopback(port) }); outer != nil {
		return outer
	}
	if err != nil {
		return fmt.Errorf("listen at localhost:%d inside: %w", port, err)
	}
	defer closeFiles(sockets)
	for _, s := range sockets {
		if err := handover.Send(control, []byte(egress.HostSocket), s); err != nil {
			return fmt.Errorf("hand localhost:%d over to the wall: %w", port, err)
		}
	}
	return nil
}

func listenLoopback(port int) ([]*os.File, error) {
	var files []*os.File
	for _, s := range openSockets(loopbacks) {
		file := os.NewFile(uintptr(s.fd), "localhost:"+strconv.Itoa(port))
		if s.to.Is6() {
			_ = unix.SetsockoptInt(s.fd, unix.IPPROTO_IPV6, unix.IPV6_V6ONLY, 1)
		}
		_ = unix.SetsockoptInt(s.fd, unix.SOL_SOCKET, unix.SO_REUSEADDR, 1)
		err := unix.Bind(s.fd, address(s.to, port))
		if err == nil {
			err = unix.Listen(s.fd, 128)
		}
		if err != nil && s.to.Is4() {
			_ = file.Close()
			closeFiles(files)
			return nil, err
		}
		if err != nil { // no IPv6
			_ = file.Close()
			continue
		}
		files = append(files, file)
	}
	return files, nil
}

// reconnect hands a new wall what it needs of a running sandbox. The old wall's connections are
// known to nobody any more: they are ended, or who reads from them would wait for ever.
func (e *Engine) reconnect(r *http.Request, b *box) (any, error) {
	files, err := filesOf(r, 1)
	if err != nil {
		return nil, err
	}
	defer closeFiles(files)
	b.mu.Lock()
	var gateway *os.File
	if b.gateway != nil {
		gateway = dup(b.gateway)
	}
	b.mu.Unlock()
	if gateway == nil {
		return nil, fmt.Errorf("%s has no network: %w", b.launch.ID, errdefs.ErrFailedPrecondition)
	}
	defer gateway.Close()
	if err := b.insideNetwork(resetConnections); err != nil {
		return nil, err
	}
	return done{}, b.sendNetwork(gateway, files[0])
}

// resetConnections ends the TCP connections of this thread's network that go by way of the wall.
// Where the kernel cannot, they end at the next byte that is sent.
func resetConnections() {
	sockets, err := netlink.SocketDiagTCP(unix.AF_INET)
	if err != nil && !errors.Is(err, netlink.ErrDumpInterrupted) {
		return
	}
	for _, s := range sockets {
		if s.ID.Destination.IsUnspecified() || s.ID.Destination.IsLoopback() {
			continue
		}
		_ = netlink.SocketDestroy(
			&net.TCPAddr{IP: s.ID.Source, Port: int(s.ID.SourcePort)},
			&net.TCPAddr{IP: s.ID.Destination, Port: int(s.ID.DestinationPort)},
		)
	}
}
