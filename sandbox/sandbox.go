// Package sandbox is the vocabulary of what runs behind walls: servers, the walls declared for
// them, and the contracts of the machinery that raises those walls.
//
// Subpackages are the machinery. This package imports the standard library only and holds no
// state, so everything above it may import it.
package sandbox

import (
	"cmp"
	"context"
	"os"
	"strconv"
	"time"
)

// ServerName names one configured server: 1–64 characters of [A-Za-z0-9._-], the first one
// alphanumeric. Only ParseServerName makes one from foreign text.
type ServerName string

// InstanceID names one running sandbox, unique for ever: "i" and 16 hex digits.
type InstanceID string

// WorkspaceID names one agent's overlay of one server's folders: "w" and 16 hex digits.
type WorkspaceID string

// Digest is "sha256:" and 64 hex digits.
type Digest string

// Server is one MCP server as its owner declared it.
type Server struct {
	Name   ServerName
	Source Source
	Spec   Spec
}

// Source says what to run, or where it runs already. Exactly one of Command, Image and URL is set.
type Source struct {
	Command []string          // argv for the host toolchain: npx …, node …, or a binary's path
	Image   string            // OCI reference; Args follow its entry point
	Args    []string          // only with Image
	URL     string            // absolute, http or https: a server that somebody else runs; no sandbox is started
	Headers map[string]string // sent to URL with every request, by canonical name; never secrets
	Listen  Listen            // where a server of ours listens inside its sandbox; the zero Listen means stdio
}

// External says that the server runs elsewhere: there is nothing to start and no wall around it.
func (s Source) External() bool { return s.URL != "" }

// Listen is an address for Streamable HTTP on a sandbox's own loopback.
type Listen struct {
	Port int    // 1–65535; 0 means that the server speaks stdio
	Path string // absolute: "/mcp"
}

// Spec is the walls of one server. The zero Spec grants nothing: no folder, no variable, no network.
type Spec struct {
	Workspace WorkspaceMode
	Folders   []string          // absolute host folders, mounted at the same path inside, in Workspace mode
	Mounts    []Mount           // other host paths
	Env       map[string]string // never secrets
	Network   Allowlist
	Limits    Limits
	Lifecycle Lifecycle
	Tools     ToolFilter
	Protocol  string // the one revision of MCP to speak with it, "2025-11-25"; "" means what it offers
	// DenyRequests are refused when the server asks its client for them. Sorted.
	DenyRequests []ServerRequest
	// AllowRequests are those allowed that are refused otherwise: sampling. Sorted.
	AllowRequests []ServerRequest
	// InstallScripts are the names of the packages, of all that is installed for it, whose install
	// scripts may run once a person has seen them. Sorted.
	InstallScripts []string
	// Secrets are those it may use. Sorted by name.
	Secrets []SecretGrant
	// Exec says which programs it may execute besides its own command; nil lets it execute all that is inside.
	Exec *ExecRules
}

// OwnVariables are those that every server sees, whatever is declared. Sorted.
var OwnVariables = []string{"HOME", "LANG", "PATH", "SSL_CERT_FILE", "TMPDIR", "USER"}

// WallVariables say to programs behind the wall how long to try again, and TrustVariables which
// certificates count, where Launch.Trust names some. Sorted.
var (
	WallVariables  = []string{"NPM_CONFIG_FETCH_RETRY_FACTOR", "NPM_CONFIG_FETCH_RETRY_MAXTIMEOUT", "NPM_CONFIG_FETCH_RETRY_MINTIMEOUT", "PIP_RETRIES"}
	TrustVariables = []string{
		"AWS_CA_BUNDLE", "CARGO_HTTP_CAINFO", "CURL_CA_BUNDLE", "DENO_CERT", "DENO_TLS_CA_STORE", "GIT_SSL_CAINFO", "GRPC_DEFAULT_SSL_ROOTS_FILE_PATH",
		"HTTPLIB2_CA_CERTS", "JAVA_TOOL_OPTIONS", "NODE_EXTRA_CA_CERTS", "PIP_CERT", "REQUESTS_CA_BUNDLE", "SSL_CERT_FILE",
	}
)

// ServerRequest is something a server may ask of its client.
type ServerRequest string

// What servers ask of clients.
const (
	Sampling    ServerRequest = "sampling"
	Elicitation ServerRequest = "elicitation"
	Roots       ServerRequest = "roots"
)

// ServerRequests are all of them.
var ServerRequests = []ServerRequest{Elicitation, Roots, Sampling}

// WorkspaceMode says how a server sees its folders.
type WorkspaceMode string

// The workspace modes. The empty mode means Snapshot.
const (
	Snapshot WorkspaceMode = "snapshot"  // an overlay: the host's files do not change until applied
	ReadOnly WorkspaceMode = "read-only" // the host's files, not writable
	Direct   WorkspaceMode = "direct"    // the host's files, writable at once
	None     WorkspaceMode = "none"      // no folder at all
)

// Mount is one host path as seen inside a sandbox.
type Mount struct {
	Host     string // absolute; symlinks are refused, not followed
	At       string // absolute path inside
	Writable bool
}

// Limits bound one sandbox. Zero fields mean the defaults of DefaultLimits.
type Limits struct {
	Memory int64   `json:"memory"` // bytes
	PIDs   int64   `json:"pids"`   // processes and threads
	CPUs   float64 `json:"cpus"`   // cores

	// The two below are the daemon's to hold, not a sandbox's; the engine is not told.

	Calls     Rate `json:"-"` // of tools/call, over all agents; the zero Rate means any number
	Instances int  `json:"-"` // sandboxes of this server at a time, for one agent; 0 means DefaultInstances
}

// DefaultLimits hold where a server declares none.
var DefaultLimits = Limits{Memory: 512 << 20, PIDs: 256, CPUs: 1}

// OrDefaults is l with DefaultLimits where it says nothing.
func (l Limits) OrDefaults() Limits {
	l.Memory = cmp.Or(l.Memory, DefaultLimits.Memory)
	l.PIDs = cmp.Or(l.PIDs, DefaultLimits.PIDs)
	l.CPUs = cmp.Or(l.CPUs, DefaultLimits.CPUs)
	return l
}

// DefaultInstances is Limits.Instances where a server declares none.
const DefaultInstances = 16

// Rate is so many in so much time. The zero Rate is no limit.
type Rate struct {
	Count int           // at least 1
	Per   time.Duration // a second, a minute or an hour
}

// String is the Rate as it is declared: "120/min".
func (r Rate) String() string {
	unit := map[time.Duration]string{time.Second: "s", time.Minute: "min", time.Hour: "h"}[r.Per]
	if r.Count == 0 || unit == "" {
		return ""
	}
	return strconv.Itoa(r.Count) + "/" + unit
}

// LimitInForce is one limit as it really holds for a running sandbox; a limit that does not
// hold is not listed.
type LimitInForce struct {
	Name  string `json:"name"`  // memory | pids | cpus
	Value string `json:"value"` // as shown to people: "512 MiB", "256", "1"
	By    string `json:"by"`    // cgroup2 | cgroup1 | rlimit (rlimits hold per process)
}

// Lifecycle bounds how long a sandbox lives. Zero fields mean the defaults.
type Lifecycle struct {
	Idle   time.Duration // stop after this much silence
	Freeze time.Duration // stop its processes' clocks after this much silence, until the next message
	Hard   time.Duration // stop in any case
	Call   time.Duration // one call may take this long
	Start  time.Duration // from its process's start to the end of the handshake; DefaultStart
}

// DefaultStart is how long a handshake may take where a server declares nothing else.
const DefaultStart = time.Minute

// ToolFilter limits which tools exist for clients. An empty Allow means all.
type ToolFilter struct {
	Allow []string // path.Match patterns
}

// State is where a server's instance is in its life.
type State string

// The states of an instance; a reason text goes with Failed and Stopped.
const (
	Stopped  State = "stopped"
	Starting State = "starting"
	Ready    State = "ready"
	Frozen   State = "frozen"
	Stopping State = "stopping"
	Failed   State = "failed"
)

// Launch is one sandbox to start, lowered from a Server: paths are resolved, nothing is looked up any more.
type Launch struct {
	ID      InstanceID        `json:"id"`
	Server  ServerName        `json:"server"`
	Group   string            `json:"group"` // trust domain (one agent): sandboxes of a group may share a shim
	Root    Root              `json:"root"`
	Argv    []string          `json:"argv"`
	Env     map[string]string `json:"env"` // HOME, PATH, TMPDIR are added by the engine
	Dir     string            `json:"dir"` // working directory inside; "" means HOME
	Package *Package          `json:"package,omitempty"`
	Folders []Folder          `json:"folders"`
	Mounts  []Mount           `json:"mounts"`
	Volume  string            `json:"volume"` // name of the per-server, per-agent writable HOME volume; "" means a tmpfs
	Limits  Limits            `json:"limits"`
	Network Allowlist         `json:"network,omitzero"`
	// Trust is certificates (PEM) that programs inside trust besides the host's: that of the authority by
	// which the wall opens TLS for this sandbox, and those that a person has named. "" for none.
	Trust string `json:"trust,omitempty"`
	// KnownHosts are the hosts that ssh knows inside, as known_hosts has them; "" for none.
	KnownHosts string `json:"known_hosts,omitempty"`
	// Await makes garita-init wait for a Secret frame on the lifeline before it executes the server: values
	// that the engine is not to see.
	Await bool `json:"await,omitempty"`
	// Observe makes what its programs execute, and look for in vain, seen (Sighting). Each such system call
	// takes about a tenth of a millisecond longer then.
	Observe bool `json:"observe,omitempty"`
	// Exec holds its programs to rules for what they execute, each of which is seen (Sighting). It costs
	// about a tenth of a millisecond each, and nothing else. A sandbox that cannot be held to its rules is
	// not started: FailedPrecondition.
	Exec *ExecRules `json:"exec,omitempty"`
}

// Root is the root file system of a sandbox: the host's /usr read-only, or an image.
type Root struct {
	Image     Digest `json:"image,omitempty"`     // manifest digest of an imported image; "" means host
	Toolchain string `json:"toolchain,omitempty"` // host directory outside /usr with the one toolchain version in use; "" means /usr alone
}

// Folder is one host folder inside a sandbox, at the same path.
type Folder struct {
	Host      string        `json:"host"`
	Mode      WorkspaceMode `json:"mode"`
	Workspace WorkspaceID   `json:"workspace,omitempty"` // the overlay's owner, in Snapshot mode
}

// Stdio is the ends of pipes that become the sandboxed process's own. Start duplicates what it
// needs; the caller closes its files afterwards.
type Stdio struct {
	In, Out, Err *os.File
	// Lifeline is one end of a socket pair whose other end the daemon holds: when that closes, garita-init
	// gives the server the drain time (5 s) and ends the sandbox.
	Lifeline *os.File
	// Agent becomes the socket of the ssh agent inside: one that is not bound yet, and that the daemon accepts
	// on once the sandbox has been started. nil without an agent. It goes with a network only.
	Agent *os.File
}

// Runtime starts sandboxes. The engine's client implements it and so does sandboxtest.Fake;
// both pass sandboxtest.Suite. Calls may overlap.
type Runtime interface {
	// Start returns once the server's process has been executed inside its walls. When it returns
	// an error nothing is left of the sandbox. Kinds: NotFound (no such program, folder or image),
	// InvalidArgument (a refused mount), FailedPrecondition (the host lacks something; see doctor).
	Start(ctx context.Context, l Launch, io Stdio) (Instance, error)
}

// Instance is one running sandbox.
type Instance interface {
	Info() InstanceInfo
	// Wait blocks until the sandbox has ended, however it ended. It may be called more than once.
	Wait(ctx context.Context) (Exit, error)
	// Stop ends it: stdin EOF is the caller's business; then TERM, after drain KILL of everything.
	// When Stop returns nil no process, mount or cgroup of the sandbox is left. Idempotent.
	Stop(ctx context.Context, drain time.Duration) error
	Freeze(ctx context.Context) error // Unavailable where no freezer is in force
	Thaw(ctx context.Context) error
}

// InstanceInfo is what is true of a running sandbox.
type InstanceInfo struct {
	ID      InstanceID     `json:"id"`
	Server  ServerName     `json:"server"`
	PID     int            `json:"pid"` // garita-init's, in the engine's pid namespace
	Limits  []LimitInForce `json:"limits"`
	Notices []string       `json:"notices"` // sentences for the person: limits not in force, hard links found …
	Started time.Time      `json:"started"`
}

// Exit says how a sandbox ended.
type Exit struct {
	Code   int       `json:"code"`   // as a shell shows it: 128 + signal when killed
	Reason string    `json:"reason"` // "" | "out of memory" | "too many processes" | "lifeline" | "engine gone"
	At     time.Time `json:"at"`
}

// Installer turns a PackageRef into an immutable Package. Calls may overlap; equal references
// are installed once.
type Installer interface {
	// Install resolves and installs ref in a sandbox of its own, or returns the package that is
	// already there. want, when not nil, is the lock's entry: anything else is refused
	// (FailedPrecondition). progress is called from one goroutine at a time and may be nil.
	//
	// No install script runs, but those that want says have run.
	Install(ctx context.Context, ref PackageRef, want *Package, progress func(Progress)) (Package, error)
}

// Progress is one step of long work, for a person.
type Progress struct {
	Step    string `json:"step"`    // "resolve" | "download" | "unpack" | "commit" …
	Message string `json:"message"` // one sentence
	Done    int64  `json:"done"`    // bytes or items; 0 when unknown
	Total   int64  `json:"total"`   // 0 when unknown
}
