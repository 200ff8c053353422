package wire

import (
	"time"

	"github.com/garita-dev/garita/sandbox"
)

// The routes about one sandbox's secrets, both POST; their answers are empty.
const (
	// SecretsPath takes Secrets.
	SecretsPath = "/v1/sandboxes/secrets"
	// LeavesPath takes Leave.
	LeavesPath = "/v1/sandboxes/secrets/leave"
)

// Authority signs the certificates that the wall shows one sandbox for hosts to which secrets are
// sent. Only that sandbox trusts it. The daemon makes it, so that it outlives the wall.
type Authority struct {
	Cert string `json:"cert"` // PEM
	Key  Secret `json:"key"`  // PEM, PKCS #8
}

// Secrets replaces a sandbox's placeholders. When the answer comes, nothing is swapped any more that is
// not among them, and connections on which such a value was sent have been ended.
type Secrets struct {
	ID           sandbox.InstanceID `json:"id"`
	Placeholders []Placeholder      `json:"placeholders"`
}

// Placeholder is a sentinel that a sandbox has, and the value that the wall sends for it.
type Placeholder struct {
	Secret   string                `json:"secret"` // the secret's name, for reports
	Version  int64                 `json:"version"`
	Sentinel string                `json:"sentinel"`
	Value    Secret                `json:"value"`
	Places   []sandbox.SecretPlace `json:"places"`
	Hosts    []sandbox.Endpoint    `json:"hosts"`
	Until    time.Time             `json:"until,omitzero"`
	// Consult: the daemon is asked before each use (Event.Wanted), for the use depends on the calls under
	// way or on a person. Until its Leave comes the request waits; without one it is refused.
	Consult bool `json:"consult,omitempty"`
}

// Leave answers a SecretWanted.
type Leave struct {
	ID    sandbox.InstanceID `json:"id"`
	Use   uint64             `json:"use"`
	Allow bool               `json:"allow"`
}

// SecretWanted is a use that waits for Leave.
type SecretWanted struct {
	Use        uint64 `json:"use"` // within its sandbox, from 1
	Secret     string `json:"secret"`
	Host       string `json:"host"`
	Port       uint16 `json:"port"`
	Connection uint64 `json:"connection"`
}

// SecretSeen is a sentinel that was seen in a request. Sent: the value was put in its place;
// otherwise Why says in a sentence why it stays a sentinel.
type SecretSeen struct {
	Secret     string              `json:"secret"`
	Version    int64               `json:"version"`
	Host       string              `json:"host"`
	Port       uint16              `json:"port"`
	Connection uint64              `json:"connection"`
	Place      sandbox.SecretPlace `json:"place"`
	Sent       bool                `json:"sent"`
	Why        string              `json:"why,omitempty"`
}
