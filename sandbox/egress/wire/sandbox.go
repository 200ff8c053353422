package wire

import (
	"net/netip"

	"github.com/garita-dev/garita/sandbox"
)

// The routes of one sandbox's way out, all POST.
const (
	// SandboxesPath takes Sandbox, and two files with the connection: a SOCK_SEQPACKET socket on which
	// the engine sends the packet socket, and a Counter's. The answer is a stream of Event that lasts
	// as long as the way out does.
	SandboxesPath = "/v1/sandboxes"
	// RulesPath takes Rules, and AnswersPath Answer; the answer to both is empty.
	RulesPath   = "/v1/sandboxes/rules"
	AnswersPath = "/v1/sandboxes/answers"
	// EndPath takes End: the stream ends once everything has been told.
	EndPath = "/v1/sandboxes/end"
	// LivePath takes End's ID; the answer is a list of sandbox.Connection, those that are open.
	LivePath = "/v1/sandboxes/live"
)

// MaxRequest bounds what the wall is told at once, in bytes. A hundred secrets of 64 KiB, all of bytes that
// JSON writes as six, have room.
const MaxRequest = 64 << 20

// What the engine sends over a sandbox's socket, one file with each text.
const (
	PacketSocket = "packet" // an AF_PACKET socket on the wall's end of the link
	HostSocket   = "host"   // a TCP socket that listens on the sandbox's loopback, for a service of this machine
)

// Sandbox is one sandbox's way out.
type Sandbox struct {
	ID     sandbox.InstanceID `json:"id"`
	Rules  sandbox.Allowlist  `json:"rules"`
	Names  []Name             `json:"names,omitempty"`   // given by an earlier wall
	WaitMS int64              `json:"wait_ms,omitempty"` // how long a connection waits for a person
	Closed []uint16           `json:"closed,omitempty"`  // ports of this machine's loopback that are never reached: our own
	Host   Host               `json:"host,omitzero"`
	// Outside is how this machine reaches the public internet. Its CA is trusted where TLS is opened.
	Outside Outside `json:"outside,omitzero"`
	// Authority and Placeholders are needed where secrets are sent for the sandbox.
	Authority    Authority     `json:"authority,omitzero"`
	Placeholders []Placeholder `json:"placeholders,omitempty"`
}

// Host is how the wall sees this machine. The zero Host is as it is; tests say otherwise.
type Host struct {
	// Resolver is a name server, "127.0.0.1:5353"; "" means those of ResolvConf.
	Resolver string `json:"resolver,omitempty"`
	// ResolvConf names the name servers, and is read again when it changes; "" means /etc/resolv.conf.
	ResolvConf string `json:"resolv_conf,omitempty"`
	// Public are blocks that count as addresses of the public internet.
	Public []netip.Prefix `json:"public,omitempty"`
	// Ports are reached at others: a test may not listen at 443.
	Ports map[uint16]uint16 `json:"ports,omitempty"`
	// CA are PEM certificates that hosts to which secrets are sent may show, besides the system's.
	CA string `json:"ca,omitempty"`
}

// Name is an address that stands for a name inside one sandbox.
type Name struct {
	Name    string     `json:"name"`
	Address netip.Addr `json:"address"`
}

// End ends a way out, and at LivePath only names it.
type End struct {
	ID sandbox.InstanceID `json:"id"`
}

// Rules replaces a sandbox's. Connections that they do not permit are ended.
type Rules struct {
	ID      sandbox.InstanceID `json:"id"`
	Rules   sandbox.Allowlist  `json:"rules"`
	Outside Outside            `json:"outside,omitzero"` // as it is now
}

// Asked is something that connections to one host and port wait for a person about.
type Asked struct {
	Host string `json:"host"`
	Port uint16 `json:"port"`
	What What   `json:"what,omitempty"`
	// Bytes are about to have been sent there without as much coming back, where that is asked about.
	Bytes int64 `json:"bytes,omitempty"`
	// Kinds are what was found in what is about to be sent: "a GitHub token".
	Kinds []string `json:"kinds,omitempty"`
	// Key is that by which the host has named itself, where it is asked about.
	Key *HostKey `json:"key,omitempty"`
}

// HostKey is a key by which a host that is reached by SSH has named itself.
type HostKey struct {
	Type        string `json:"type"`        // "ssh-ed25519"
	Fingerprint string `json:"fingerprint"` // "SHA256:…"
	Line        string `json:"line"`        // as known_hosts has it: "ssh-ed25519 AAAA…"
}

// What is asked about a host. The zero What is whether it may be reached.
type What string

// The further questions about a host that is reached already.
const (
	AskedUpload      What = "upload"      // much is about to be sent there
	AskedCredentials What = "credentials" // what looks like credentials is about to be sent there
	AskedHostKey     What = "host key"    // a key that is pinned nowhere; asked whatever Allowlist.Ask says
)

// Answer ends the wait of the connections to one host and port.
type Answer struct {
	ID    sandbox.InstanceID `json:"id"`
	Host  string             `json:"host"`
	Port  uint16             `json:"port"`
	What  What               `json:"what,omitempty"`
	Allow bool               `json:"allow"`
	Rule  string             `json:"rule,omitempty"` // by what it is allowed, for the record
	// Key is the fingerprint that a question about a host's key was about. Of a no to it, Why says why, if
	// it was no person's, and Changed that the host is known by another one.
	Key     string `json:"key,omitempty"`
	Why     string `json:"why,omitempty"`
	Changed bool   `json:"changed,omitempty"`
}

// Event is one thing that happened at a sandbox's way out; exactly one of the pointers is set.
type Event struct {
	N        uint64              `json:"n"` // counts from 1; the Counter holds the last
	Name     *Name               `json:"name,omitempty"`
	Denied   *sandbox.Denial     `json:"denied,omitempty"`
	Opened   *sandbox.Connection `json:"opened,omitempty"`
	Ended    *sandbox.Connection `json:"ended,omitempty"`
	Asked    *Asked              `json:"asked,omitempty"`  // connections wait for an Answer
	Wanted   *SecretWanted       `json:"wanted,omitempty"` // a request waits for a Leave
	Secret   *SecretSeen         `json:"secret,omitempty"`
	Attached bool                `json:"attached,omitempty"`
	Failed   string              `json:"failed,omitempty"`
}
