package netstack

import (
	"net/netip"
	"strconv"

	"gvisor.dev/gvisor/pkg/tcpip"
	"gvisor.dev/gvisor/pkg/tcpip/header"
	"gvisor.dev/gvisor/pkg/tcpip/link/nested"
	"gvisor.dev/gvisor/pkg/tcpip/network/arp"
	"gvisor.dev/gvisor/pkg/tcpip/network/ipv4"
	"gvisor.dev/gvisor/pkg/tcpip/network/ipv6"
	"gvisor.dev/gvisor/pkg/tcpip/stack"
)

// filter lets TCP, UDP and ARP through to the stack. The stack would answer a ping for any address
// there is, for it owns them all; nothing else is of use either. What is dropped is told of.
type filter struct {
	nested.Endpoint
	handler Handler
}

func newFilter(child stack.LinkEndpoint, h Handler) *filter {
	f := &filter{handler: h}
	f.Init(child, f)
	return f
}

// DeliverNetworkPacket implements stack.NetworkDispatcher.
func (f *filter) DeliverNetworkPacket(protocol tcpip.NetworkProtocolNumber, pkt *stack.PacketBuffer) {
	switch protocol {
	case arp.ProtocolNumber:
	case ipv4.ProtocolNumber:
		if !f.passes4(pkt) {
			return
		}
	case ipv6.ProtocolNumber:
		if !f.passes6(pkt) {
			return
		}
	default:
		return // tags, IPX and the like: no program of a sandbox can send them
	}
	f.Endpoint.DeliverNetworkPacket(protocol, pkt)
}

func (f *filter) passes4(pkt *stack.PacketBuffer) bool {
	h, ok := pkt.Data().PullUp(header.IPv4MinimumSize)
	if !ok {
		return false
	}
	ip := header.IPv4(h)
	return f.passes(ip.Protocol(), addrOf(ip.DestinationAddress()))
}

// passes6 drops what has other headers before the transport's: no program has asked for those.
func (f *filter) passes6(pkt *stack.PacketBuffer) bool {
	h, ok := pkt.Data().PullUp(header.IPv6MinimumSize)
	if !ok {
		return false
	}
	ip := header.IPv6(h)
	if ip.NextHeader() == uint8(header.IPv6HopByHopOptionsExtHdrIdentifier) {
		return false // the kernel's own: who listens to which group
	}
	return f.passes(ip.NextHeader(), addrOf(ip.DestinationAddress()))
}

func (f *filter) passes(protocol uint8, to netip.Addr) bool {
	switch tcpip.TransportProtocolNumber(protocol) {
	case header.TCPProtocolNumber, header.UDPProtocolNumber:
		return !to.IsMulticast()
	case header.ICMPv4ProtocolNumber:
		f.handler.Refused("icmp", netip.AddrPortFrom(to, 0))
	case header.ICMPv6ProtocolNumber:
		if !to.IsMulticast() && !to.IsLinkLocalUnicast() { // the kernel's own, looking for neighbors
			f.handler.Refused("icmp", netip.AddrPortFrom(to, 0))
		}
	default:
		f.handler.Refused("protocol "+strconv.Itoa(int(protocol)), netip.AddrPortFrom(to, 0))
	}
	return false
}
