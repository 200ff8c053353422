// Package ocispec lowers a sandbox.Launch, with what the engine found on the host, to an OCI
// runtime spec and the request garita-init receives. It is pure: it opens nothing and looks
// nothing up, so what a sandbox may see can be read in its golden files.
package ocispec

import (
	"crypto/sha256"
	"encoding/hex"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/containerd/containerd/v2/contrib/seccomp"
	specs "github.com/opencontainers/runtime-spec/specs-go"

	"github.com/garita-dev/garita/sandbox"
	"github.com/garita-dev/garita/sandbox/init/handoff"
	"github.com/garita-dev/garita/sandbox/rootless"
)

// Paths inside every sandbox.
const (
	Home       = sandbox.HomeInside
	InitPath   = "/.garita/init"
	SocketPath = "/.garita/socket"
	// AgentPath is the socket of the ssh agent, where there is one.
	AgentPath = "/.garita/agent"
	// TrustPath is the certificate of the sandbox's own authority, alone.
	TrustPath = "/.garita/ca.crt"
	// JavaPath is the same and the host's, as Java reads it.
	JavaPath = "/.garita/cacerts.p12"
	// BundlePath is where programs find the certificates they trust.
	BundlePath = "/etc/ssl/certs/ca-certificates.crt"
	Project    = "/workspace/project"
)

// UserID is the server's uid and gid inside. It is the host's user outside.
const UserID = 1000

// groupAnnotation puts tasks into one shim; containerd reads it from the spec, not from labels.
const groupAnnotation = "io.containerd.runc.v2.group"

// Host is what the engine found, once.
type Host struct {
	// IDs is how many ids above 0 the engine's user namespace has; 0 in root mode.
	IDs uint32
	// FirstID is the engine's id that container id 0 maps to: 1, or 100000 in root mode.
	FirstID uint32
	Cgroups rootless.Cgroups
	Init    string // garita-init's path
	Etc     string // the synthetic /etc
	// TopDirs are real directories at the root that /usr-merged hosts have as links: "/lib" …
	TopDirs []string
}

// Bind is one resolved mount source and where it appears.
type Bind struct {
	Source   string
	At       string
	Writable bool
	// Options are flags that the source's own mount has and a user namespace may not drop: noexec …
	Options []string
}

// Image is what an image's configuration says about running it.
type Image struct {
	Entrypoint, Cmd, Env []string
	Dir                  string
}

// Input is one sandbox to lower. Sources are resolved; nothing in them is a symlink.
type Input struct {
	Host   Host
	Launch sandbox.Launch
	Rootfs string // the skeleton, or an image's mounted snapshot
	Image  *Image // nil with the host root
	Socket string // the private socket
	Home   string // the volume's directory; "" for a tmpfs
	// Toolchain is the bind of Launch.Root.Toolchain, if there is one.
	Toolchain []Bind
	// Package is the directory of the package's snapshot; "" without one.
	Package string
	Folders []Bind // of Launch.Folders, in that order
	Mounts  []Bind // of Launch.Mounts, and the engine's own
	Listen  []string
	Agent   string // the socket of the ssh agent; "" without one
	Trust   Trust  // of Launch.Trust; the zero Trust without one
	// Observer is the socket of whoever is asked about each watched system call; "" where none is watched.
	Observer string
}

// Lower returns the spec of the sandbox and what garita-init shall run in it.
func Lower(in Input) (*specs.Spec, handoff.Request) {
	limits := in.Launch.Limits.OrDefaults()
	s := &specs.Spec{
		Version:     "1.0.2",
		Hostname:    "garita",
		Root:        &specs.Root{Path: in.Rootfs, Readonly: true},
		Process:     process(limits, in.Host.Cgroups),
		Mounts:      mounts(in),
		Annotations: map[string]string{groupAnnotation: GroupName(in.Launch.Group)},
		Linux: &specs.Linux{
			UIDMappings:   mapping(in.Host),
			GIDMappings:   mapping(in.Host),
			Namespaces:    namespaces(),
			CgroupsPath:   in.Host.Cgroups.Path(string(in.Launch.ID)),
			Resources:     resources(limits, in.Host.Cgroups),
			MaskedPaths:   maskedPaths(),
			ReadonlyPaths: []string{"/proc/bus", "/proc/fs", "/proc/irq", "/proc/sys", "/proc/sysrq-trigger"},
		},
	}
	s.Linux.Seccomp = seccomp.DefaultProfile(s)
	if in.Observer != "" {
		watch(s.Linux.Seccomp, in.Observer, in.Launch.Observe)
	}
	return s, request(in)
}

// GroupName is a group as it appears in socket names: of fixed, short length whatever the agent is called.
func GroupName(group string) string {
	sum := sha256.Sum256([]byte(group))
	return "g" + hex.EncodeToString(sum[:8])
}

func process(l sandbox.Limits, c rootless.Cgroups) *specs.Process {
	return &specs.Process{
		Args:            []string{InitPath},
		Env:             []string{"PATH=/usr/bin:/bin", "GOMAXPROCS=1"},
		Cwd:             "/",
		User:            specs.User{UID: UserID, GID: UserID},
		NoNewPrivileges: true,
		Capabilities:    &specs.LinuxCapabilities{},
		Rlimits:         rlimits(l, c),
	}
}

func rlimits(l sandbox.Limits, c rootless.Cgroups) []specs.POSIXRlimit {
	set := func(kind string, n uint64) specs.POSIXRlimit {
		return specs.POSIXRlimit{Type: kind, Soft: n, Hard: n}
	}
	all := []specs.POSIXRlimit{set("RLIMIT_CORE", 0), set("RLIMIT_NOFILE", 4096)}
	if !c.PIDs {
		all = append(all, set("RLIMIT_NPROC", uint64(l.PIDs)))
	}
	return all
}

func resources(l sandbox.Limits, c rootless.Cgroups) *specs.LinuxResources {
	r := &specs.LinuxResources{}
	if c.Memory {
		r.Memory = &specs.LinuxMemory{Limit: &l.Memory}
	}
	if c.PIDs {
		r.Pids = &specs.LinuxPids{Limit: &l.PIDs}
	}
	if c.CPU {
		period := uint64(100_000)
		quota := int64(l.CPUs * float64(period))
		r.CPU = &specs.LinuxCPU{Quota: &quota, Period: &period}
	}
	return r
}

// mapping makes container id 1000 the engine's id 0, which is the host's user (or root in root
// mode), and every other container id a subordinate one.
func mapping(h Host) []specs.LinuxIDMapping {
	all := []specs.LinuxIDMapping{
		{ContainerID: 0, HostID: h.FirstID, Size: UserID},
		{ContainerID: UserID, HostID: 0, Size: 1},
	}
	if h.IDs == 0 || h.IDs > UserID {
		size := uint32(65536 - UserID - 1)
		if h.IDs != 0 {
			size = min(size, h.IDs-UserID)
		}
		all = append(all, specs.LinuxIDMapping{ContainerID: UserID + 1, HostID: h.FirstID + UserID, Size: size})
	}
	return all
}

func namespaces() []specs.LinuxNamespace {
	var all []specs.LinuxNamespace
	for _, kind := range []specs.LinuxNamespaceType{
		specs.UserNamespace, specs.PIDNamespace, specs.MountNamespace, specs.IPCNamespace,
		specs.UTSNamespace, specs.NetworkNamespace, specs.CgroupNamespace,
	} {
		all = append(all, specs.LinuxNamespace{Type: kind})
	}
	return all
}

func maskedPaths() []string {
	return []string{
		"/proc/acpi", "/proc/asound", "/proc/cmdline", "/proc/config.gz", "/proc/interrupts", "/proc/kcore",
		"/proc/keys", "/proc/latency_stats", "/proc/sched_debug", "/proc/scsi", "/proc/timer_list",
		"/proc/timer_stats", "/sys/devices/virtual/powercap", "/sys/firmware", "/sys/fs", "/sys/kernel",
	}
}

func request(in Input) handoff.Request {
	r := handoff.Request{Argv: in.Launch.Argv, Dir: in.Launch.Dir, Listen: in.Listen, Await: in.Launch.Await}
	if !in.Host.Cgroups.Memory {
		// Set by garita-init: runc's own start needs more than a small server may have.
		r.Data = uint64(in.Launch.Limits.OrDefaults().Memory)
	}
	env := map[string]string{
		"HOME": Home, "TMPDIR": "/tmp", "USER": "user", "LANG": "C.UTF-8",
		"PATH": searchPath(in.Launch.Root.Toolchain),
	}
	if in.Image == nil {
		env["SSL_CERT_FILE"] = BundlePath
	} else {
		for _, kv := range in.Image.Env {
			name, value, _ := strings.Cut(kv, "=")
			env[name] = value
		}
		r.Argv = imageArgv(*in.Image, r.Argv)
		if r.Dir == "" {
			r.Dir = in.Image.Dir
		}
	}
	if !in.Launch.Network.Empty() {
		maps.Copy(env, quickToFail)
	}
	trust(env, in.Trust)
	if in.Agent != "" {
		env["SSH_AUTH_SOCK"] = AgentPath
	}
	maps.Copy(env, in.Launch.Env)
	for name, value := range env {
		r.Env = append(r.Env, name+"="+value)
	}
	slices.Sort(r.Env)
	if r.Dir == "" {
		r.Dir = Home
	}
	return r
}

// quickToFail are for programs that would try again for a minute what the wall has refused: npm does
// after every error whatever, and pip for ten seconds.
var quickToFail = map[string]string{
	"NPM_CONFIG_FETCH_RETRY_MINTIMEOUT": "100", "NPM_CONFIG_FETCH_RETRY_MAXTIMEOUT": "1000", "NPM_CONFIG_FETCH_RETRY_FACTOR": "2",
	"PIP_RETRIES": "2",
}

func searchPath(toolchain string) string {
	dirs := "/usr/local/bin:/usr/bin:/bin"
	if toolchain == "" {
		return dirs
	}
	return path.Join(toolchain, "bin") + ":" + dirs
}

// imageArgv is the entry point, then the given arguments or the image's own.
func imageArgv(img Image, args []string) []string {
	if len(args) == 0 {
		args = img.Cmd
	}
	return append(slices.Clone(img.Entrypoint), args...)
}
