package sandbox

import (
	"net/netip"
	"slices"
	"time"
)

// Allowlist is what a sandbox may reach. The zero Allowlist is no network at all: loopback and nothing
// else, no wall, so that what is tried is on no record. A server of which nothing is said has Unsaid.
// Nothing in it can be matched by accident: each Endpoint has a port.
type Allowlist struct {
	// Endpoints may have addresses of the public internet only.
	Endpoints []Endpoint `json:"endpoints,omitempty"`
	// LAN may have private addresses too; never loopback, link-local or this machine's own.
	LAN []Endpoint `json:"lan,omitempty"`
	// HostPorts are services on this machine's loopback, reached inside as HostName.
	HostPorts []uint16 `json:"host_ports,omitempty"`
	// SSH says of hosts, which are listed above, by which keys they are known when they are reached by SSH.
	SSH []SSHHost `json:"ssh,omitempty"`
	// Localhost makes HostPorts listen on the sandbox's own loopback as well.
	Localhost bool `json:"localhost,omitempty"`
	// PublicWeb is any public host at the ports of the web, 443 and 80.
	PublicWeb bool `json:"public_web,omitempty"`
	// Deny is never reached and never asked about, whatever else lists it and whatever a person has permitted
	// meanwhile. Port 0 is each port.
	Deny []Endpoint `json:"deny,omitempty"`
	// Ask puts what is not in the list to a person while the connection waits; otherwise it is refused at once.
	Ask bool `json:"ask,omitempty"`
	// Walled puts a sandbox that may reach nothing behind the wall all the same: what it tries is refused at
	// once, and on record.
	Walled bool `json:"walled,omitempty"`
	// UploadLimit is how many bytes may be sent to one public host without as much coming back before a
	// person is asked, or, without Ask, before it is refused. 0 is DefaultUpload with Ask, and no limit
	// without; NoLimit is none.
	UploadLimit int64 `json:"upload_limit,omitempty"`
	// AnySize and AnyText are hosts for which a person has said that any amount, or what looks like
	// credentials, may be sent.
	AnySize []Endpoint `json:"any_size,omitempty"`
	AnyText []Endpoint `json:"any_text,omitempty"`
}

// The limits of uploads that are no number of bytes of a person's, see Allowlist.UploadLimit.
const (
	DefaultUpload = 1 << 20
	NoLimit       = -1
)

// Upload is how many bytes may be sent to a public host unasked; ok is false where any number may.
func (l Allowlist) Upload() (limit int64, ok bool) {
	switch {
	case l.UploadLimit > 0:
		return l.UploadLimit, true
	case l.UploadLimit == 0 && l.Ask:
		return DefaultUpload, true
	}
	return 0, false
}

// HostName is what a sandbox calls the machine it is on; HostAliases are what others call it.
const HostName = "host.garita.internal"

// HostAliases are further names of HostName, which programs have learned elsewhere.
var HostAliases = []string{"host.docker.internal", "host.containers.internal"}

// WebPorts are those of PublicWeb. On them only TLS and HTTP pass.
var WebPorts = []uint16{443, 80}

// Unsaid is for a server of which nothing is said: it reaches nothing, and whatever it tries is asked about.
func Unsaid() Allowlist { return Allowlist{Ask: true} }

// Empty says that there is no network at all: nothing can be reached, nobody is asked, and nothing is on record.
func (l Allowlist) Empty() bool { return !l.Lists() && len(l.Deny) == 0 && !l.Ask && !l.Walled }

// Lists says that something may be reached.
func (l Allowlist) Lists() bool {
	return len(l.Endpoints)+len(l.LAN)+len(l.HostPorts) > 0 || l.PublicWeb
}

// Bare is l without what may be reached: of everything it says what l says of what it does not list.
func (l Allowlist) Bare() Allowlist {
	return Allowlist{Deny: l.Deny, Ask: l.Ask, Walled: !l.Ask && !l.Empty(), UploadLimit: l.UploadLimit}
}

// Denies says by which rule host is never reached at port, "" by none. Port 0 asks whether it is reached at
// no port whatever.
func (l Allowlist) Denies(host string, port uint16) (rule string) {
	if slices.Contains(HostAliases, host) {
		host = HostName
	}
	for _, e := range l.Deny {
		at := e
		asked := port
		if e.Port == 0 {
			asked = max(port, 1)
			at.Port = asked
		}
		if at.Matches(host, asked) {
			return e.Rule()
		}
	}
	return ""
}

// Reach says what addresses a permitted host may have.
type Reach string

// The reaches. The zero Reach is not permitted at all.
const (
	Nowhere    Reach = ""
	PublicNet  Reach = "public" // the public internet
	PrivateNet Reach = "lan"    // that, and private networks
	ThisHost   Reach = "host"   // this machine's loopback, and nothing else
)

// Permits says how far a connection to host and port may reach, and the rule that says so. host is a
// DNS name as Name makes it, or an address; the narrower reach wins, and Deny over all.
func (l Allowlist) Permits(host string, port uint16) (Reach, string) {
	if l.Denies(host, port) != "" {
		return Nowhere, ""
	}
	if host == HostName || slices.Contains(HostAliases, host) {
		if slices.Contains(l.HostPorts, port) {
			return ThisHost, "host:" + Endpoint{HostName, port}.String()
		}
		return Nowhere, ""
	}
	for _, in := range []struct {
		list  []Endpoint
		reach Reach
	}{{l.Endpoints, PublicNet}, {l.LAN, PrivateNet}} {
		for _, e := range in.list {
			if e.Matches(host, port) {
				return in.reach, e.String()
			}
		}
	}
	if l.PublicWeb && slices.Contains(WebPorts, port) && isPublicName(host) {
		return PublicNet, "public-web"
	}
	return Nowhere, ""
}

// Names says whether host is reachable at any port: only then has it an address inside.
func (l Allowlist) Names(host string) bool {
	if l.Denies(host, 0) != "" {
		return false
	}
	if host == HostName || slices.Contains(HostAliases, host) {
		return len(l.HostPorts) > 0
	}
	for _, list := range [][]Endpoint{l.Endpoints, l.LAN} {
		if slices.ContainsFunc(list, func(e Endpoint) bool { return e.Matches(host, e.Port) }) {
			return true
		}
	}
	return l.PublicWeb && isPublicName(host)
}

// PortsOf lists the ports at which host is reachable, in the rules' order.
func (l Allowlist) PortsOf(host string) []uint16 {
	var ports []uint16
	for _, e := range slices.Concat(l.Endpoints, l.LAN) {
		if e.Matches(host, e.Port) && !slices.Contains(ports, e.Port) {
			ports = append(ports, e.Port)
		}
	}
	return ports
}

// isPublicName tells names that the public internet can have from addresses, single words and the
// names that are reserved for other things (RFC 6761, 6762, 8375, 9476; "internal" by ICANN).
func isPublicName(host string) bool {
	if _, err := netip.ParseAddr(host); err == nil {
		return false
	}
	for _, top := range []string{"localhost", "local", "internal", "lan", "home", "corp", "arpa", "onion", "alt", "invalid"} {
		if host == top || len(host) > len(top) && host[len(host)-len(top)-1:] == "."+top {
			return false
		}
	}
	return slices.Contains([]byte(host), '.')
}

// DenialKind says by which rule the wall refused something.
type DenialKind string

// The kinds of Denial.
const (
	DeniedName     DenialKind = "host"     // a name that is not in the list
	DeniedAlways   DenialKind = "denied"   // Allowlist.Deny lists it
	DeniedPort     DenialKind = "port"     // a listed host, at another port
	DeniedAddress  DenialKind = "address"  // an address instead of a name
	DeniedResolved DenialKind = "resolved" // a listed name with an address that it may not have
	DeniedContent  DenialKind = "content"  // what was said is not for the host that was asked for
	DeniedProtocol DenialKind = "protocol" // UDP, ICMP, IPv6, another server for names
	DeniedUpload   DenialKind = "upload"   // much, or what looks like credentials, was about to be sent
	DeniedHostKey  DenialKind = "hostkey"  // a host that is reached by SSH named itself by a key that nobody knows
	DeniedChanged  DenialKind = "changed"  // and by another one than it is known by
	DeniedUpstream DenialKind = "upstream" // nothing was refused: the host could not be reached
)

// Denial is one thing a sandbox tried and was refused. Texts but Why and Next are the sandbox's own
// words, bounded and in the alphabet of names.
type Denial struct {
	At      time.Time  `json:"at"`
	Kind    DenialKind `json:"kind"`
	Host    string     `json:"host"` // a name, or an address
	Port    uint16     `json:"port,omitempty"`
	Address string     `json:"address,omitempty"` // resolved, where that is what was wrong
	Why     string     `json:"why"`               // one sentence
	Propose string     `json:"propose,omitempty"` // the rule that would allow it; "" where none could
	Key     string     `json:"key,omitempty"`     // the fingerprint of the host's key, where it is about that
	Count   int        `json:"count"`             // how often, since the last report of the same
}

// Connection is one that passed, or passes, the wall.
type Connection struct {
	ID       uint64         `json:"id"` // within its sandbox, from 1
	Host     string         `json:"host"`
	Port     uint16         `json:"port"`
	Address  netip.AddrPort `json:"address"` // resolved by the wall, and dialed
	Rule     string         `json:"rule"`    // that let it pass
	Opened   time.Time      `json:"opened"`
	Ended    time.Time      `json:"ended,omitzero"` // zero while it is open
	Sent     int64          `json:"sent"`           // bytes out of the sandbox
	Received int64          `json:"received"`
	HostKey  string         `json:"host_key,omitempty"` // the fingerprint of the key by which the host named itself, over SSH
	Why      string         `json:"why,omitempty"`      // it was ended by the wall, and why
}
