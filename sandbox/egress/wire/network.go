package wire

import (
	"net"
	"net/netip"
)

// The little network between a sandbox and the wall. It is the same for every sandbox, for none sees
// another's.
var (
	// InsideAddress and InsideAddress6 are the sandbox's own.
	InsideAddress  = netip.MustParsePrefix("198.18.0.2/30")
	InsideAddress6 = netip.MustParsePrefix("fd67:6172:6974::2/64")
	// WallAddress and WallAddress6 are the wall's: the way to everywhere. At the first names are asked for.
	WallAddress  = netip.MustParseAddr("198.18.0.1")
	WallAddress6 = netip.MustParseAddr("fd67:6172:6974::1")
	// NamedAddresses are those that stand for names. They are reserved for tests of network devices
	// (RFC 2544), so nothing real has one; the first KiB is kept for the two above.
	NamedAddresses = netip.MustParsePrefix("198.18.0.0/15")
	// FirstNamed is the first of them that is given to a name.
	FirstNamed = netip.MustParseAddr("198.18.4.0")
)

// The link's ends have fixed addresses and know each other's: nobody has to be asked for them.
var (
	InsideMAC = net.HardwareAddr{0x02, 0, 0xc6, 0x12, 0, 2}
	WallMAC   = net.HardwareAddr{0x02, 0, 0xc6, 0x12, 0, 1}
)

// MTU of the link, in bytes: as large as fits into one IP packet with room for the link's header,
// which makes the copying ten times cheaper than 1500 does.
const MTU = 65500

// InsideName is the link's name inside.
const InsideName = "eth0"
