package dial

import (
	"fmt"
	"net/netip"
)

// Kind is where an address leads.
type Kind string

// The kinds of address. Only Public ones are dialed for a name that somebody else chose.
const (
	Public   Kind = "public"
	Loopback Kind = "loopback"
	Private  Kind = "private"
	Reserved Kind = "reserved" // link-local, metadata services, multicast, transition and documentation ranges
)

// special is what the registries of special-purpose addresses set apart, and the addresses at
// which clouds hand out a machine's credentials. The first match counts.
var special = []struct {
	in   netip.Prefix
	kind Kind
}{
	{netip.MustParsePrefix("127.0.0.0/8"), Loopback},
	{netip.MustParsePrefix("10.0.0.0/8"), Private},
	{netip.MustParsePrefix("172.16.0.0/12"), Private},
	{netip.MustParsePrefix("192.168.0.0/16"), Private},
	{netip.MustParsePrefix("100.100.100.200/32"), Reserved}, // Alibaba's metadata
	{netip.MustParsePrefix("100.64.0.0/10"), Private},       // carrier-grade NAT
	{netip.MustParsePrefix("0.0.0.0/8"), Reserved},
	{netip.MustParsePrefix("168.63.129.16/32"), Reserved}, // Azure's metadata
	{netip.MustParsePrefix("169.254.0.0/16"), Reserved},
	{netip.MustParsePrefix("192.0.0.0/24"), Reserved},
	{netip.MustParsePrefix("192.0.2.0/24"), Reserved},
	{netip.MustParsePrefix("192.88.99.0/24"), Reserved},
	{netip.MustParsePrefix("198.18.0.0/15"), Reserved},
	{netip.MustParsePrefix("198.51.100.0/24"), Reserved},
	{netip.MustParsePrefix("203.0.113.0/24"), Reserved},
	{netip.MustParsePrefix("224.0.0.0/3"), Reserved},

	{netip.MustParsePrefix("::1/128"), Loopback},
	{netip.MustParsePrefix("fd00:ec2::254/128"), Reserved}, // Amazon's metadata
	{netip.MustParsePrefix("fd20:ce::254/128"), Reserved},  // Google's metadata
	{netip.MustParsePrefix("fc00::/7"), Private},
	{netip.MustParsePrefix("2001::/23"), Reserved}, // Teredo, ORCHID and others
	{netip.MustParsePrefix("2001:db8::/32"), Reserved},
	{netip.MustParsePrefix("2002::/16"), Reserved}, // 6to4: an IPv4 address of anybody's choice inside
	{netip.MustParsePrefix("3fff::/20"), Reserved},
}

var (
	nat64  = netip.MustParsePrefix("64:ff9b::/96")
	global = netip.MustParsePrefix("2000::/3")
)

// KindOf tells where an address leads. An IPv4 address inside an IPv6 one (mapped, NAT64) is told
// as itself; every IPv6 address outside the global range that is nothing else is Reserved.
func KindOf(ip netip.Addr) Kind {
	ip = ip.Unmap().WithZone("")
	if nat64.Contains(ip) {
		b := ip.As16()
		ip = netip.AddrFrom4([4]byte(b[12:]))
	}
	for _, s := range special {
		if s.in.Contains(ip) {
			return s.kind
		}
	}
	if !ip.IsValid() || ip.Is6() && !global.Contains(ip) {
		return Reserved
	}
	return Public
}

// AddressError is an address that is not dialed.
type AddressError struct {
	Host string
	Addr netip.Addr
	Kind Kind
}

func (e *AddressError) Error() string {
	if e.Host == e.Addr.String() {
		return fmt.Sprintf("%s is a %s address", e.Addr, e.Kind)
	}
	return fmt.Sprintf("%s leads to %s, a %s address", e.Host, e.Addr, e.Kind)
}
