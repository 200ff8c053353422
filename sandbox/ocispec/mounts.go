package ocispec

import (
	"fmt"
	"path"
	"slices"
	"strings"

	specs "github.com/opencontainers/runtime-spec/specs-go"

	"github.com/garita-dev/garita/sandbox"
)

// mounts lists everything visible inside, parents before children.
func mounts(in Input) []specs.Mount {
	all := kernelMounts()
	if in.Image == nil {
		all = append(all, hostMounts(in)...)
	}
	all = append(all, scratchMounts(in)...)
	binds := slices.Concat(in.Toolchain, packageBind(in), in.Folders, project(in), trustBinds(in.Trust), in.Mounts)
	slices.SortStableFunc(binds, func(a, b Bind) int { return depth(a.At) - depth(b.At) })
	for _, b := range binds {
		all = append(all, bind(b))
	}
	if in.Agent != "" {
		all = append(all, bind(Bind{Source: in.Agent, At: AgentPath, Writable: true, Options: []string{"noexec"}}))
	}
	return append(all,
		bind(Bind{Source: in.Host.Init, At: InitPath}),
		bind(Bind{Source: in.Socket, At: SocketPath, Writable: true, Options: []string{"noexec"}}),
	)
}

func depth(p string) int { return strings.Count(path.Clean(p), "/") }

func kernelMounts() []specs.Mount {
	return []specs.Mount{
		{Destination: "/proc", Type: "proc", Source: "proc", Options: []string{"nosuid", "noexec", "nodev"}},
		tmpfs("/dev", "noexec", "mode=755", "size=65536k"),
		{Destination: "/dev/pts", Type: "devpts", Source: "devpts", Options: []string{
			"nosuid", "noexec", "newinstance", "ptmxmode=0666", "mode=0620",
		}},
		tmpfs("/dev/shm", "nodev", "noexec", "mode=1777", "size=65536k"),
		{Destination: "/sys", Type: "sysfs", Source: "sysfs", Options: []string{"nosuid", "noexec", "nodev", "ro"}},
	}
}

func tmpfs(at string, options ...string) specs.Mount {
	return specs.Mount{Destination: at, Type: "tmpfs", Source: "tmpfs", Options: append([]string{"nosuid"}, options...)}
}

// hostMounts show the host's programs and nothing of its data. /usr is bound recursively with the
// recursive read-only flag: a plain bind over submounts is refused, and "ro" would leave them writable.
func hostMounts(in Input) []specs.Mount {
	all := []specs.Mount{bind(Bind{Source: "/usr", At: "/usr"})}
	for _, dir := range in.Host.TopDirs {
		all = append(all, bind(Bind{Source: dir, At: dir}))
	}
	return append(all, bind(Bind{Source: in.Host.Etc, At: "/etc", Options: []string{"noexec"}}))
}

func scratchMounts(in Input) []specs.Mount {
	owner := fmt.Sprintf("uid=%d,gid=%d", UserID, UserID)
	uid, gid, _ := strings.Cut(owner, ",")
	// What is in them counts as memory where a control group counts; elsewhere this is the bound.
	size := fmt.Sprintf("size=%d", in.Launch.Limits.OrDefaults().Memory)
	all := []specs.Mount{
		tmpfs("/run", "nodev", "noexec", "mode=755", "size=16384k"),
		tmpfs("/tmp", "nodev", "mode=1777", size),
		tmpfs("/var/tmp", "nodev", "mode=1777", size),
	}
	if in.Launch.Await {
		all = append(all, tmpfs(sandbox.SecretsDir, "nodev", "noexec", uid, gid, "mode=700", "size=8192k"))
	}
	if in.Image == nil { // an image may keep its program there
		all = append(all, tmpfs("/home", "nodev", "mode=755", "size=1024k"))
	}
	if in.Home == "" {
		return append(all, tmpfs(Home, "nodev", uid, gid, "mode=700", size))
	}
	return append(all, bind(Bind{Source: in.Home, At: Home, Writable: true}))
}

func packageBind(in Input) []Bind {
	if in.Package == "" {
		return nil
	}
	return []Bind{{Source: in.Package, At: sandbox.PackageRoot}}
}

// project shows the first folder under a name that is the same for every server.
func project(in Input) []Bind {
	if len(in.Folders) == 0 {
		return nil
	}
	first := in.Folders[0]
	first.At = Project
	return []Bind{first}
}

// bind is recursive: a user namespace may not bind a tree without the mounts that cover parts of it.
func bind(b Bind) specs.Mount {
	options := []string{"rbind", "rprivate", "nosuid", "nodev"}
	if b.Writable {
		options = append(options, "rw")
	} else {
		options = append(options, "rro")
	}
	return specs.Mount{Destination: b.At, Type: "bind", Source: b.Source, Options: append(options, b.Options...)}
}
