// Package wire is what the daemon and the wall say to each other: the paths, requests and answers
// of the wall's HTTP API. It is shared by the wall and its client and links neither.
//
// Both routes answer with newline-delimited JSON for as long as they work, and stop working when
// the client closes the connection.
package wire

import (
	"strings"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/garita-dev/garita/sandbox"
)

// The wall's routes, all POST.
const (
	// RegistriesPath takes Registries, and one file with the connection: a SOCK_SEQPACKET socket on
	// which listening TCP sockets arrive. The answer is a stream of Fetch.
	RegistriesPath = "/v1/registries"
	// PullPath takes Pull; the answer is a stream of PullEvent.
	PullPath = "/v1/images/pull"
)

// RegistryAddress is where a sandbox that installs packages finds the wall, in its own network
// namespace. garita-init opens it; npm, or pip, is told of it.
const RegistryAddress = "127.0.0.1:4873"

// Outside says how the wall reaches the world. The zero Outside is direct, with the system's
// certificates.
type Outside struct {
	CA      string `json:"ca,omitempty"`       // PEM certificates trusted besides the system's
	Proxy   Secret `json:"proxy,omitzero"`     // URL of a forward proxy; may hold a password
	NoProxy string `json:"no_proxy,omitempty"` // hosts reached without it, as in NO_PROXY
}

// Registries says where packages come from.
type Registries struct {
	// Ecosystem is whose packages: npm's where it is "". An index of Python has neither Scopes nor more
	// than one URL, in Default: ".../simple".
	Ecosystem sandbox.Ecosystem `json:"ecosystem,omitempty"`
	Default   string            `json:"default"`          // URL; https, or http to a loopback host
	Scopes    map[string]string `json:"scopes,omitempty"` // "@scope" to URL
	Auth      []Credential      `json:"auth,omitempty"`   // sent to exactly the hosts they name
	Hosts     []string          `json:"hosts,omitempty"`  // "host" or "host:port": further places tarballs may come from
	Outside   Outside           `json:"outside,omitzero"`
	// Cache is the absolute folder in which what was fetched is kept, and found when a registry
	// cannot be reached; "" keeps nothing.
	Cache string `json:"cache,omitempty"`
	// Before leaves out versions that were published later; the zero time leaves out none.
	Before time.Time `json:"before,omitzero"`
	// Young are "name@version" that may be used whenever they were published; of Python also when they
	// were taken back since.
	Young []string `json:"young,omitempty"`
	// Builds are the source distributions that may be used, "name@version sha256:…"; of Python alone.
	Builds []string `json:"builds,omitempty"`
	// Prefer is the "name@version" that was asked for by exactly that; of Python alone.
	Prefer string `json:"prefer,omitempty"`
	// Pinned are, by project, the only files that may be used of it, their sha256 in hex; Exactly has no other
	// project be there. Of Python alone.
	Pinned  map[string][]string `json:"pinned,omitempty"`
	Exactly bool                `json:"exactly,omitempty"`
}

// Git as an Ecosystem is one repository of git's, whose URL is Default: no packages, but commits.
const Git sandbox.Ecosystem = "git"

// Credential is the Authorization header for one registry, or for a part of it.
type Credential struct {
	Host   string `json:"host"` // "host" or "host:port"
	Path   string `json:"path"` // URL path prefix it holds for, with slashes at both ends
	Header Secret `json:"header"`
}

// Kind says what was fetched.
type Kind string

// The kinds of Fetch.
const (
	Packument Kind = "packument" // a package's description
	Tarball   Kind = "tarball"
	DistTags  Kind = "dist-tags"
	Refused   Kind = "refused"  // asked for by the sandbox, and not fetched
	Attached  Kind = "attached" // the wall has the sandbox's listening socket
	Young     Kind = "young"    // a version that was left out of its package's description: it is too new
	Metadata  Kind = "metadata" // what a wheel says of itself, by itself
	Cloned    Kind = "cloned"   // a repository's commits: Name is where it is
	Source    Kind = "source"   // a source distribution that was left out, where no wheel is there: Script says why
)

// Fetch is one thing a sandbox asked a registry for, reported once it is over.
type Fetch struct {
	Kind      Kind   `json:"kind"`
	Name      string `json:"name,omitempty"`
	Version   string `json:"version,omitempty"`   // of a tarball
	Status    int    `json:"status,omitempty"`    // the answer given inside, an HTTP status
	Bytes     int64  `json:"bytes,omitempty"`     // passed inside
	Integrity string `json:"integrity,omitempty"` // of a tarball's bytes as they passed: "sha512-…", or "sha256:…" of Python's
	File      string `json:"file,omitempty"`      // the name of a file of Python's
	Script    string `json:"script,omitempty"`    // what a source distribution would run: its own words, hostile
	Why       string `json:"why,omitempty"`       // of a refusal or a failure, one sentence
	Cached    bool   `json:"cached,omitempty"`    // it was kept from before
	// Published is when a version that is too new came to be; zero where nobody knows.
	Published time.Time `json:"published,omitzero"`
}

// Pull asks for one image.
type Pull struct {
	Ref     string  `json:"ref"`           // tag or digest
	Dir     string  `json:"dir"`           // absolute; the layout becomes a folder in it
	Auth    Secret  `json:"auth,omitzero"` // Authorization header for the registry itself
	Outside Outside `json:"outside,omitzero"`
}

// PullEvent is one step of a pull. The last one has Digest or Error.
type PullEvent struct {
	Progress *sandbox.Progress `json:"progress,omitempty"`
	Digest   sandbox.Digest    `json:"digest,omitempty"` // of the manifest for this machine
	Layout   string            `json:"layout,omitempty"` // the OCI layout's folder
	Error    *Failure          `json:"error,omitempty"`
}

// Failure is an error on its way to the daemon.
type Failure struct {
	Kind    string `json:"kind"` // a name of Kinds, or "internal"
	Message string `json:"message"`
}

// Secret is text that travels to the wall and is printed by nothing.
type Secret struct{ text *string }

// NewSecret wraps text; of "" it makes the zero Secret.
func NewSecret(text string) Secret {
	if text == "" {
		return Secret{}
	}
	return Secret{text: &text}
}

// Send returns the text, for the one connection it was meant for.
func (s Secret) Send() string {
	if s.text == nil {
		return ""
	}
	return *s.text
}

// IsZero says that there is no secret.
func (s Secret) IsZero() bool { return s.text == nil }

// String hides the text.
func (s Secret) String() string { return "(hidden)" }

// MarshalJSONTo writes the text: this is how it travels. Only this package's messages hold Secrets.
func (s Secret) MarshalJSONTo(enc *jsontext.Encoder) error {
	return enc.WriteToken(jsontext.String(s.Send()))
}

// UnmarshalJSONFrom reads the text.
func (s *Secret) UnmarshalJSONFrom(dec *jsontext.Decoder) error {
	token, err := dec.ReadToken()
	if err != nil {
		return err
	}
	*s = NewSecret(strings.Clone(token.String()))
	return nil
}
