package sandbox

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"slices"
	"strings"
)

// SSHPort is the usual one. What passes there is SSH, to a host whose key is known.
const SSHPort = 22

// AnyKey in SSHHost.Agent is every key of the person's agent.
const AnyKey = "any"

// SSHHost is a host that is reached by SSH.
type SSHHost struct {
	Endpoint
	Keys []SSHKey `json:"keys,omitempty"` // by which it may name itself; without one a person is asked
	// Agent are the fingerprints of keys of the person's ssh agent that may be used to sign in there, each
	// use being asked about; or AnyKey alone. Without one there is no agent.
	Agent []string `json:"agent,omitempty"`
}

// SSHKey is a host's public key: its fingerprint ("SHA256:…"), or the key itself ("ssh-ed25519 AAAA…").
type SSHKey string

// fingerprintPrefix begins the fingerprints that there are.
const fingerprintPrefix = "SHA256:"

// ParseSSHKey reads a fingerprint, or a key as it is written in known_hosts or in a .pub file, whose comment
// is left out. The error says in a clause what is wrong.
func ParseSSHKey(text string) (SSHKey, error) {
	if sum, ok := strings.CutPrefix(text, fingerprintPrefix); ok {
		b, err := base64.RawStdEncoding.Strict().DecodeString(sum)
		if err != nil || len(b) != sha256.Size {
			return "", fmt.Errorf("%q: a fingerprint is SHA256: and 43 characters", text)
		}
		return SSHKey(text), nil
	}
	words := strings.Fields(text)
	if len(words) < 2 {
		return "", fmt.Errorf("%q: want SHA256:… or a key such as ssh-ed25519 AAAA…", text)
	}
	blob, err := base64.StdEncoding.Strict().DecodeString(words[1])
	switch {
	case err != nil || len(blob) < 4 || !strings.HasPrefix(string(blob[4:]), words[0]) || int(binary.BigEndian.Uint32(blob)) != len(words[0]):
		return "", fmt.Errorf("%q: it is no public key", words[0])
	case strings.Contains(words[0], "-cert-"):
		return "", fmt.Errorf("%q: name the key itself, not a certificate for it", words[0])
	}
	return SSHKey(words[0] + " " + words[1]), nil
}

// Fingerprint is the key's.
func (k SSHKey) Fingerprint() string {
	_, text, whole := strings.Cut(string(k), " ")
	if !whole {
		return string(k)
	}
	blob, _ := base64.StdEncoding.DecodeString(text) // it was parsed
	sum := sha256.Sum256(blob)
	return fingerprintPrefix + base64.RawStdEncoding.EncodeToString(sum[:])
}

// Whole says that k is the key itself, and not its fingerprint alone.
func (k SSHKey) Whole() bool { return strings.Contains(string(k), " ") }

// SSHAt is what is said about SSH to a host and port.
func (l Allowlist) SSHAt(host string, port uint16) (SSHHost, bool) {
	i := slices.IndexFunc(l.SSH, func(h SSHHost) bool { return h.Host == host && h.Port == port })
	if i < 0 {
		return SSHHost{}, false
	}
	return l.SSH[i], true
}

// OnlySSH says that nothing but SSH passes to a host and port, and the host's key has to be known.
func (l Allowlist) OnlySSH(host string, port uint16) bool {
	_, said := l.SSHAt(host, port)
	return said || port == SSHPort
}

// UsesAgent says that keys of the person's agent may be used at some host.
func (l Allowlist) UsesAgent() bool {
	return slices.ContainsFunc(l.SSH, func(h SSHHost) bool { return len(h.Agent) > 0 })
}

// Pinned says whether the key with this fingerprint is one of those by which h may name itself.
func (h SSHHost) Pinned(fingerprint string) bool {
	return slices.ContainsFunc(h.Keys, func(k SSHKey) bool { return k.Fingerprint() == fingerprint })
}

// Lends says whether the person's key with this fingerprint may be used at h.
func (h SSHHost) Lends(fingerprint string) bool {
	return slices.Contains(h.Agent, AnyKey) || slices.Contains(h.Agent, fingerprint)
}
