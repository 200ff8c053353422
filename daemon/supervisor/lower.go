package supervisor

import (
	"context"
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/containerd/errdefs"

	"github.com/garita-dev/garita/sandbox"
)

// Host is what lowering asks of the machine.
type Host interface {
	LookPath(program string) (string, error)  // absolute, by the daemon's PATH
	EvalSymlinks(path string) (string, error) // the real path
	// Image imports an image that is not there yet. Its own entry point goes before Argv.
	Image(ctx context.Context, server sandbox.ServerName, reference string) (sandbox.Digest, error)
}

// lower turns a declared server into a launch: every path resolved, nothing left to look up.
func lower(ctx context.Context, server sandbox.Server, id sandbox.InstanceID, o Owner, in installed, host Host) (sandbox.Launch, error) {
	l := sandbox.Launch{
		ID: id, Server: server.Name, Group: o.Group, Env: server.Spec.Env, Volume: o.Volume,
		Package: in.pkg, Folders: folders(server.Spec, o.Workspace), Mounts: slices.Clone(server.Spec.Mounts),
		Limits: server.Spec.Limits.OrDefaults(), Network: server.Spec.Reach(time.Now()), Exec: server.Spec.Exec,
	}
	if len(l.Folders) > 0 {
		l.Dir = l.Folders[0].Host
	}
	if in.pkg != nil {
		if err := places(&l, *in.pkg, in.ref, host); err != nil {
			return l, err
		}
	}
	return l, program(ctx, &l, server.Source, in.args, host)
}

// places makes what of the host a package is run from visible inside, read-only, unless it is there already: a
// project's folder, a script; and starts it in the folder that its command names.
func places(l *sandbox.Launch, p sandbox.Package, ref sandbox.PackageRef, host Host) error {
	all := slices.Clone(p.Shown)
	if ref.Dir != "" {
		l.Dir = ref.Dir
		all = append(all, ref.Dir)
	}
	for _, one := range all {
		if there(l, one) {
			continue
		}
		real, err := host.EvalSymlinks(one)
		if err != nil {
			return fmt.Errorf("find %s, which the server is run from: %w: %w", one, err, errdefs.ErrNotFound)
		}
		l.Mounts = append(l.Mounts, sandbox.Mount{Host: real, At: one})
	}
	return nil
}

// there says whether a path of the host is visible inside at the same path.
func there(l *sandbox.Launch, one string) bool {
	if slices.ContainsFunc(l.Folders, func(f sandbox.Folder) bool { return f.Mode != sandbox.None && under(one, f.Host) }) {
		return true
	}
	return under(one, "/usr") || slices.ContainsFunc(l.Mounts, func(m sandbox.Mount) bool { return under(one, m.At) })
}

func folders(spec sandbox.Spec, id sandbox.WorkspaceID) []sandbox.Folder {
	mode := spec.Workspace
	if mode == "" {
		mode = sandbox.Snapshot
	}
	if mode == sandbox.None {
		return nil
	}
	all := make([]sandbox.Folder, 0, len(spec.Folders))
	for _, host := range spec.Folders {
		f := sandbox.Folder{Host: host, Mode: mode}
		if mode == sandbox.Snapshot {
			f.Workspace = id
		}
		all = append(all, f)
	}
	return all
}

// program sets what runs: a package's entry, an image's, or a program of the host.
func program(ctx context.Context, l *sandbox.Launch, source sandbox.Source, args []string, host Host) error {
	switch {
	case l.Package != nil:
		l.Argv = append(slices.Clone(l.Package.Entry), args...)
		at, err := toolchain(l, l.Package.Program(), host)
		if err == nil && l.Package.Interpreter == "" {
			l.Argv[0] = at
		}
		return err
	case source.Image != "":
		digest, err := host.Image(ctx, l.Server, source.Image)
		l.Root.Image, l.Argv = digest, source.Args
		return err
	case len(source.Command) == 0:
		return fmt.Errorf("nothing to run: %w", errdefs.ErrInvalidArgument)
	}
	path, err := host.LookPath(source.Command[0])
	if err != nil {
		return fmt.Errorf("find %s in the daemon's PATH: install it, or write its whole path: %w: %w", source.Command[0], err, errdefs.ErrNotFound)
	}
	at, err := toolchain(l, path, host)
	l.Argv = append([]string{at}, source.Command[1:]...)
	return err
}

// toolchain makes a program of the host visible inside, and says where: nothing is needed for what lies
// under /usr; one version's directory for a toolchain kept elsewhere (nvm, pyenv, asdf, mise …); else
// the one file.
func toolchain(l *sandbox.Launch, path string, host Host) (at string, err error) {
	real, err := host.EvalSymlinks(path)
	if err != nil {
		return path, fmt.Errorf("find %s: %w: %w", path, err, errdefs.ErrNotFound)
	}
	if under(real, "/usr") || under(real, "/bin") || under(real, "/lib") {
		return path, nil
	}
	if root, ok := versionRoot(real); ok {
		l.Root.Toolchain = root
		return real, nil
	}
	l.Mounts = append(l.Mounts, sandbox.Mount{Host: real, At: real})
	return real, nil
}

// version is how toolchain managers name the directory of one version: v20.20.2, 3.11.7, 21, and uv
// cpython-3.12.1-linux-x86_64-gnu.
var version = regexp.MustCompile(`^(v?\d+(\.\d+)*|cpython-\d+\.\d+\.\d+-linux-[a-z0-9_-]+)$`)

// versionRoot is the directory of the one version that a program …/VERSION/bin/NAME belongs to.
func versionRoot(program string) (string, bool) {
	bin := filepath.Dir(program)
	root := filepath.Dir(bin)
	return root, filepath.Base(bin) == "bin" && version.MatchString(filepath.Base(root))
}

func under(path, dir string) bool { return path == dir || strings.HasPrefix(path, dir+"/") }
