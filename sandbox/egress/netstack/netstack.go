// Package netstack is the wall's end of a sandbox's network: a TCP/IP stack in this process on a
// packet socket that the engine has opened. It owns every address there is, so whatever the sandbox
// sends arrives here, and what nobody wants is refused at once: a reset for TCP, "port unreachable"
// for the rest.
package netstack

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"time"

	"gvisor.dev/gvisor/pkg/tcpip"
	"gvisor.dev/gvisor/pkg/tcpip/adapters/gonet"
	"gvisor.dev/gvisor/pkg/tcpip/header"
	"gvisor.dev/gvisor/pkg/tcpip/link/fdbased"
	"gvisor.dev/gvisor/pkg/tcpip/network/arp"
	"gvisor.dev/gvisor/pkg/tcpip/network/ipv4"
	"gvisor.dev/gvisor/pkg/tcpip/network/ipv6"
	"gvisor.dev/gvisor/pkg/tcpip/stack"
	"gvisor.dev/gvisor/pkg/tcpip/transport/tcp"
	"gvisor.dev/gvisor/pkg/tcpip/transport/udp"
	"gvisor.dev/gvisor/pkg/waiter"

	"github.com/garita-dev/garita/sandbox/egress/wire"
)

const (
	nic = tcpip.NICID(1)
	// maxConnecting bounds the connections of one sandbox that wait for an answer; further ones are
	// tried again by the sandbox's own stack.
	maxConnecting = 1024
	// dnsPort is where names are asked for.
	dnsPort = 53
)

// Handler is told what a sandbox sends. Its methods may be called at the same time.
type Handler interface {
	// TCP is called on a goroutine of its own. It ends c by Refuse or Accept before it returns.
	TCP(c *Incoming)
	// Refused is told of what is neither TCP nor a question for a name to the wall; it must not block.
	// protocol is "udp", "icmp" or another's number.
	Refused(protocol string, to netip.AddrPort)
	// Datagram answers one question for a name; nil is no answer. It must not block.
	Datagram(question []byte) []byte
}

// Stack is one sandbox's network.
type Stack struct {
	stack *stack.Stack
	link  stack.LinkEndpoint
	file  *os.File
	names *gonet.UDPConn
	done  chan struct{} // closed when the answering of names has ended
}

// Open serves h on the packet socket file, which is the Stack's from then on. A socket serves one
// Stack only: after that the kernel refuses it (EALREADY). The caller closes the Stack.
func Open(file *os.File, h Handler) (*Stack, error) {
	s := &Stack{file: file, done: make(chan struct{}), stack: stack.New(stack.Options{
		NetworkProtocols:   []stack.NetworkProtocolFactory{ipv4.NewProtocol, ipv6.NewProtocol, arp.NewProtocol},
		TransportProtocols: []stack.TransportProtocolFactory{tcp.NewProtocol, udp.NewProtocol},
		HandleLocal:        false,
	})}
	if err := s.open(h); err != nil {
		s.stack.Destroy()
		_ = file.Close()
		return nil, err
	}
	go s.answerNames(h)
	return s, nil
}

func (s *Stack) open(h Handler) error {
	link, err := fdbased.New(&fdbased.Options{
		FDs: []int{int(s.file.Fd())}, MTU: wire.MTU, EthernetHeader: true,
		Address: tcpip.LinkAddress(wire.WallMAC), PacketDispatchMode: fdbased.RecvMMsg,
		RXChecksumOffload:    true, // the sandbox's kernel leaves the sums to a device that is none
		ProcessorsPerChannel: 1,
	})
	if err != nil {
		return fmt.Errorf("use the packet socket: %w", err)
	}
	s.link = link
	if err := s.tune(); err != nil {
		return err
	}
	if e := s.stack.CreateNIC(nic, newFilter(link, h)); e != nil {
		return failed("make the interface", e)
	}
	if err := s.address(); err != nil {
		return err
	}
	s.stack.SetTransportProtocolHandler(tcp.ProtocolNumber, tcp.NewForwarder(s.stack, 0, maxConnecting, func(r *tcp.ForwarderRequest) {
		h.TCP(newIncoming(r))
	}).HandlePacket)
	s.stack.SetTransportProtocolHandler(udp.ProtocolNumber, func(id stack.TransportEndpointID, _ *stack.PacketBuffer) bool {
		h.Refused("udp", netip.AddrPortFrom(addrOf(id.LocalAddress), id.LocalPort))
		return false // the stack says that the port is unreachable
	})
	s.names, err = gonet.DialUDP(s.stack, &tcpip.FullAddress{NIC: nic, Addr: tcpip.AddrFrom4(wire.WallAddress.As4()), Port: dnsPort}, nil, ipv4.ProtocolNumber)
	if err != nil {
		return fmt.Errorf("answer for names: %w", err)
	}
	return nil
}

// address makes the stack answer for every address there is, and know its one neighbor.
func (s *Stack) address() error {
	for _, a := range []struct {
		protocol tcpip.NetworkProtocolNumber
		own      tcpip.Address
		neighbor tcpip.Address
		bits     int
	}{
		{ipv4.ProtocolNumber, tcpip.AddrFrom4(wire.WallAddress.As4()), tcpip.AddrFrom4(wire.InsideAddress.Addr().As4()), 30},
		{ipv6.ProtocolNumber, tcpip.AddrFrom16(wire.WallAddress6.As16()), tcpip.AddrFrom16(wire.InsideAddress6.Addr().As16()), 64},
	} {
		address := tcpip.ProtocolAddress{Protocol: a.protocol, AddressWithPrefix: tcpip.AddressWithPrefix{Address: a.own, PrefixLen: a.bits}}
		if e := s.stack.AddProtocolAddress(nic, address, stack.AddressProperties{}); e != nil {
			return failed("give the interface an address", e)
		}
		if e := s.stack.AddStaticNeighbor(nic, a.protocol, a.neighbor, tcpip.LinkAddress(wire.InsideMAC)); e != nil {
			return failed("name the neighbor", e)
		}
	}
	s.stack.SetRouteTable([]tcpip.Route{
		{Destination: header.IPv4EmptySubnet, NIC: nic},
		{Destination: header.IPv6EmptySubnet, NIC: nic},
	})
	if e := s.stack.SetPromiscuousMode(nic, true); e != nil {
		return failed("take what is for others", e)
	}
	if e := s.stack.SetSpoofing(nic, true); e != nil {
		return failed("answer as others", e)
	}
	return nil
}

// rest is how long an ended connection's addresses are kept. Nothing of it can be under way any more:
// there is one neighbor and one wire. With the usual minute a sandbox that connects often, and so uses
// a port again, would have its connection ignored for as long.
const rest = 100 * time.Millisecond

// tune sets buffers: several packets of the large MTU have to fit.
func (s *Stack) tune() error {
	sack := tcpip.TCPSACKEnabled(true)
	moderate := tcpip.TCPModerateReceiveBufferOption(true)
	receive := tcpip.TCPReceiveBufferSizeRangeOption{Min: 4 << 10, Default: 1 << 20, Max: 4 << 20}
	send := tcpip.TCPSendBufferSizeRangeOption{Min: 4 << 10, Default: 1 << 20, Max: 4 << 20}
	wait := tcpip.TCPTimeWaitTimeoutOption(rest)
	for _, o := range []tcpip.SettableTransportProtocolOption{&sack, &moderate, &receive, &send, &wait} {
		if e := s.stack.SetTransportProtocolOption(tcp.ProtocolNumber, o); e != nil {
			return failed("set up TCP", e)
		}
	}
	return nil
}

// answerNames answers questions for names until the stack is closed.
func (s *Stack) answerNames(h Handler) {
	defer close(s.done)
	buf := make([]byte, 4096)
	for {
		n, from, err := s.names.ReadFrom(buf)
		if err != nil {
			return
		}
		if answer := h.Datagram(buf[:n]); answer != nil {
			_, _ = s.names.WriteTo(answer, from)
		}
	}
}

// Close ends the stack and everything in it, and returns once nothing of it runs. Connections that
// are still open are reset.
func (s *Stack) Close() error {
	_ = s.names.Close()
	<-s.done
	s.stack.Close()
	// The stack would end the reading itself, with its lock held, which who reads a packet may just want.
	s.link.Attach(nil)
	s.stack.Wait()
	return s.file.Close()
}

// Dial connects to the sandbox; tests use it.
func (s *Stack) Dial(ctx context.Context, port uint16) (net.Conn, error) {
	to := tcpip.FullAddress{NIC: nic, Addr: tcpip.AddrFrom4(wire.InsideAddress.Addr().As4()), Port: port}
	return gonet.DialContextTCP(ctx, s.stack, to, ipv4.ProtocolNumber)
}

// Incoming is a connection that the sandbox wants. It waits until it is refused or accepted, once.
type Incoming struct {
	To, From netip.AddrPort
	request  *tcp.ForwarderRequest
}

func newIncoming(r *tcp.ForwarderRequest) *Incoming {
	id := r.ID()
	return &Incoming{
		To:      netip.AddrPortFrom(addrOf(id.LocalAddress), id.LocalPort),
		From:    netip.AddrPortFrom(addrOf(id.RemoteAddress), id.RemotePort),
		request: r,
	}
}

// Target is where the sandbox wants to connect to.
func (c *Incoming) Target() netip.AddrPort { return c.To }

// Refuse resets the connection: inside, "connection refused".
func (c *Incoming) Refuse() { c.request.Complete(true) }

// Accept shakes hands and returns the connection, a *Conn.
func (c *Incoming) Accept() (net.Conn, error) {
	var wq waiter.Queue
	ep, e := c.request.CreateEndpoint(&wq)
	if e != nil {
		c.request.Complete(true)
		return nil, failed("shake hands with the sandbox", e)
	}
	c.request.Complete(false)
	ep.SocketOptions().SetDelayOption(false)
	return &Conn{TCPConn: gonet.NewTCPConn(&wq, ep), endpoint: ep}, nil
}

// Conn is one connection with the sandbox. It has CloseWrite.
type Conn struct {
	*gonet.TCPConn
	endpoint tcpip.Endpoint
}

// Reset ends the connection at once; the sandbox sees it.
func (c *Conn) Reset() {
	c.endpoint.Abort()
	_ = c.Close()
}

func addrOf(a tcpip.Address) netip.Addr {
	ip, _ := netip.AddrFromSlice(a.AsSlice())
	return ip
}

func failed(what string, e tcpip.Error) error {
	return fmt.Errorf("%s: %w", what, errors.New(e.String()))
}
