package allow

import (
	"net/netip"
	"slices"

	"github.com/garita-dev/garita/sandbox"
)

// special are the blocks that no host of the public internet has (the IANA's registries of
// special-purpose addresses, as of 2026), and those that clouds have put something of their own at.
var special = []struct {
	block netip.Prefix
	what  string
	lan   bool // a private network may have it
}{
	{netip.MustParsePrefix("0.0.0.0/8"), "this machine", false},
	{netip.MustParsePrefix("10.0.0.0/8"), "a private network", true},
	{netip.MustParsePrefix("100.64.0.0/10"), "a provider's private network", true},
	{netip.MustParsePrefix("127.0.0.0/8"), "loopback", false},
	{netip.MustParsePrefix("168.63.129.16/32"), "a cloud's own service", false},
	{netip.MustParsePrefix("169.254.0.0/16"), "link-local: a cloud's metadata", false},
	{netip.MustParsePrefix("172.16.0.0/12"), "a private network", true},
	{netip.MustParsePrefix("192.0.0.0/24"), "reserved: a cloud's metadata", false},
	{netip.MustParsePrefix("192.0.2.0/24"), "for documentation", false},
	{netip.MustParsePrefix("192.88.99.0/24"), "a relay to IPv6", false},
	{netip.MustParsePrefix("192.168.0.0/16"), "a private network", true},
	{netip.MustParsePrefix("198.18.0.0/15"), "inside Garita's own wall", false},
	{netip.MustParsePrefix("198.51.100.0/24"), "for documentation", false},
	{netip.MustParsePrefix("203.0.113.0/24"), "for documentation", false},
	{netip.MustParsePrefix("224.0.0.0/4"), "multicast", false},
	{netip.MustParsePrefix("240.0.0.0/4"), "reserved", false},
	{netip.MustParsePrefix("::/96"), "this machine", false}, // with the IPv4-compatible form
	{netip.MustParsePrefix("64:ff9b:1::/48"), "a private translation to IPv4", false},
	{netip.MustParsePrefix("100::/64"), "nowhere", false},
	{netip.MustParsePrefix("2001::/23"), "a special purpose", false}, // Teredo and the like
	{netip.MustParsePrefix("2001:db8::/32"), "for documentation", false},
	{netip.MustParsePrefix("2002::/16"), "a relay to IPv4", false},
	{netip.MustParsePrefix("3fff::/20"), "for documentation", false},
	{netip.MustParsePrefix("5f00::/16"), "a special purpose", false},
	{netip.MustParsePrefix("fd00:ec2::254/128"), "a cloud's metadata", false},
	{netip.MustParsePrefix("fd20:ce::254/128"), "a cloud's metadata", false},
	{netip.MustParsePrefix("fc00::/7"), "a private network", true},
	{netip.MustParsePrefix("fe80::/10"), "link-local", false},
	{netip.MustParsePrefix("fec0::/10"), "a private network of old", false},
	{netip.MustParsePrefix("ff00::/8"), "multicast", false},
}

var nat64 = netip.MustParsePrefix("64:ff9b::/96")

// globalV6 is all that is given out of IPv6.
var globalV6 = netip.MustParsePrefix("2000::/3")

// Address says why a connection with that reach may not go to ip, "" when it may. own are this
// machine's addresses, which only ThisHost reaches. Mapped and translated forms are judged as what
// they stand for.
func Address(ip netip.Addr, reach sandbox.Reach, own []netip.Addr) string {
	ip = plain(ip)
	if !ip.IsValid() {
		return "no address"
	}
	if reach == sandbox.ThisHost {
		if ip.IsLoopback() {
			return ""
		}
		return "not loopback"
	}
	if reach != sandbox.PublicNet && reach != sandbox.PrivateNet {
		return "not permitted"
	}
	if slices.ContainsFunc(own, func(o netip.Addr) bool { return plain(o) == ip }) {
		return "this machine itself"
	}
	for _, s := range special {
		if s.block.Contains(ip) {
			if s.lan && reach == sandbox.PrivateNet {
				return ""
			}
			return s.what
		}
	}
	if ip.Is6() && !globalV6.Contains(ip) {
		return "not an address of the public internet"
	}
	return ""
}

// plain is ip without zone, mapping and NAT64.
func plain(ip netip.Addr) netip.Addr {
	ip = ip.WithZone("").Unmap()
	if nat64.Contains(ip) {
		b := ip.As16()
		return netip.AddrFrom4([4]byte(b[12:]))
	}
	return ip
}

// Denied says by which rule an address is never reached at port, in whichever form it is written or stood
// for; "" by none.
func Denied(l sandbox.Allowlist, ip netip.Addr, port uint16) (rule string) {
	if rule = l.Denies(ip.WithZone("").Unmap().String(), port); rule == "" {
		rule = l.Denies(plain(ip).String(), port)
	}
	return rule
}
