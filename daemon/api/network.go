package api

import (
	"context"
	"net/http"
	"net/url"
	"time"
)

// Network is what a server may reach, reaches now, and was refused.
type Network struct {
	Server    string           `json:"server"`
	Allow     []string         `json:"allow"` // rules of servers.yaml, each with its port: "api.github.com:443"
	LAN       []string         `json:"lan"`   // those that may have private addresses
	HostPorts []int            `json:"host_ports"`
	SSH       []NetworkSSH     `json:"ssh"` // what is said of those that are reached by SSH
	PublicWeb bool             `json:"public_web"`
	Deny      []string         `json:"deny"` // never reached and never asked about: "host" at each port, "host:port", "*.name"
	Ask       bool             `json:"ask"`  // what is not listed is asked about
	None      bool             `json:"none"` // network: none, not even the wall: what it tries is on no record
	Granted   []NetworkGrant   `json:"granted"`
	Live      []LiveConnection `json:"live"`
	Tried     []NetworkTried   `json:"tried"` // the latest first
}

// NetworkSSH is a host that is reached by SSH. Nothing but SSH passes to it, and its key has to be known.
type NetworkSSH struct {
	Host string `json:"host"` // with its port: "github.com:22"
	// Keys are the fingerprints by which it may name itself, "SHA256:…"; where there are none, those in
	// the person's own known_hosts count, and else the person is asked.
	Keys []string `json:"keys"`
	// Agent are the fingerprints of the person's own keys that may be used to sign in there, each use being
	// asked about; "any" is all of them.
	Agent []string `json:"agent"`
}

// NetworkGrant is a host that an answer has permitted for longer than one connection.
type NetworkGrant struct {
	Grant string `json:"grant"` // its id
	Host  string `json:"host"`
	Words string `json:"words"`
}

// LiveConnection is open now.
type LiveConnection struct {
	Sandbox string    `json:"sandbox"`
	Session string    `json:"session"`
	Agent   string    `json:"agent"`
	ID      int64     `json:"id"` // within its sandbox
	Host    string    `json:"host"`
	Port    int       `json:"port"`
	Address string    `json:"address"` // that was resolved and dialed
	Rule    string    `json:"rule"`
	Opened  time.Time `json:"opened"`
	// Sent and Received are the bytes that have passed by now, out of the sandbox and into it.
	Sent     int64 `json:"sent"`
	Received int64 `json:"received"`
}

// NetworkTried is something the server was refused. Its host is the server's own word.
type NetworkTried struct {
	Kind    string    `json:"kind"` // host | port | address | resolved | content | protocol | upload | hostkey | changed | upstream | denied (it is kept blocked)
	Host    string    `json:"host"`
	Port    int       `json:"port,omitempty"` // 0 where only a name was asked for
	Address string    `json:"address,omitempty"`
	Why     string    `json:"why"`
	Key     string    `json:"key,omitempty"`     // the fingerprint of the host's key, where it is about that
	Propose string    `json:"propose,omitempty"` // the rule that would allow it; "" where none could
	Count   int       `json:"count"`
	First   time.Time `json:"first"`
	Last    time.Time `json:"last"`
}

// NetworkChange allows a server a host, or takes that back, which ends what is open to it. A host that was
// not allowed is kept blocked by taking it back: it is denied, and nobody is asked about it any more. Allow and
// Forget end that; Forget has it asked about again.
type NetworkChange struct {
	Host   string `json:"host"` // "host", "host:port", "*.name:port" or "public-web"
	Allow  bool   `json:"allow"`
	Forget bool   `json:"forget,omitempty"` // with Allow false: it is neither allowed nor denied any more
	// Keys are those by which the host, which is reached by SSH, may name itself besides those that are
	// pinned: fingerprints, "SHA256:…", or keys as known_hosts has them.
	Keys []string `json:"keys,omitempty"`
}

// Network asks what a server may reach.
func (c *Client) Network(ctx context.Context, server string) (Network, error) {
	return get[Network](ctx, c, networkPath(server), nil)
}

// ChangeNetwork allows or denies a server a host.
func (c *Client) ChangeNetwork(ctx context.Context, server string, change NetworkChange) (Network, error) {
	var out Network
	return out, c.do(ctx, http.MethodPost, networkPath(server), nil, change, &out)
}

func networkPath(server string) string {
	return "/api/v1/servers/" + url.PathEscape(server) + "/network"
}
