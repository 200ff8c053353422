package engine

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"

	"github.com/containerd/errdefs"

	"github.com/garita-dev/garita/sandbox"
	"github.com/garita-dev/garita/sandbox/ocispec"
)

// lowerable gathers what ocispec needs: every source resolved, the root file system, the volume.
// snapshot is the key of the image's snapshot, "" with the host root.
func (e *Engine) lowerable(ctx context.Context, b *box, dir string, x extras) (in ocispec.Input, snapshot string, err error) {
	l := b.launch
	in = ocispec.Input{Host: e.host, Launch: l, Socket: filepath.Join(dir, "s"), Listen: x.listen}
	if in.Observer, err = b.observe(dir); err != nil {
		return in, "", err
	}
	if in.Trust, err = e.trust(l.Trust, dir); err != nil {
		return in, "", err
	}
	if in.Home, err = e.volume(l.Volume); err != nil {
		return in, "", err
	}
	if in.Package, err = e.packageDir(ctx, b); err != nil {
		return in, "", err
	}
	if in.Folders, err = e.folders(ctx, b, dir); err != nil {
		return in, "", err
	}
	if in.Mounts, err = e.mounts(b, dir); err != nil {
		return in, "", err
	}
	known, err := e.sshFiles(l, dir)
	if err != nil {
		return in, "", err
	}
	in.Mounts = slices.Concat(in.Mounts, known, x.mounts)
	if in.Toolchain, err = e.toolchain(b, dir); err != nil {
		return in, "", err
	}
	if l.Root.Image != "" {
		in.Rootfs = "rootfs" // below the bundle, where the shim mounts the snapshot
		in.Image, snapshot, err = e.imageRoot(ctx, b)
		if x.network != nil {
			in.Mounts = append(in.Mounts, ocispec.Bind{Source: filepath.Join(e.host.Etc, "resolv.conf"), At: "/etc/resolv.conf", Options: []string{"noexec"}})
		}
		return in, snapshot, err
	}
	in.Rootfs = filepath.Join(dir, "root")
	return in, "", makeSkeleton(in.Rootfs)
}

var volumePattern = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._@-]{0,127}$`)

// volume is the directory that becomes HOME; it lasts.
func (e *Engine) volume(name string) (string, error) {
	if name == "" {
		return "", nil
	}
	if !volumePattern.MatchString(name) {
		return "", fmt.Errorf("volume %q: %w", name, errdefs.ErrInvalidArgument)
	}
	dir := filepath.Join(e.cfg.Data, "volumes", name)
	return dir, os.MkdirAll(dir, 0o700)
}

// folders resolves the launch's folders: the overlay's merged directory in snapshot mode, else the
// host's own directory.
func (e *Engine) folders(ctx context.Context, b *box, dir string) ([]ocispec.Bind, error) {
	for _, f := range b.launch.Folders {
		if err := e.permitted(f.Host); err != nil {
			return nil, err
		}
	}
	merged, err := e.overlays(ctx, b)
	if err != nil {
		return nil, err
	}
	var binds []ocispec.Bind
	for i, f := range b.launch.Folders {
		if source, ok := merged[f.Host]; ok {
			if source != "" {
				binds = append(binds, ocispec.Bind{Source: source, At: f.Host, Writable: true})
				merged[f.Host] = "" // once
			}
			continue
		}
		if f.Mode == sandbox.None {
			continue
		}
		bind, err := pin(b, f.Host, filepath.Join(dir, "f"+strconv.Itoa(i)))
		if err != nil {
			return nil, err
		}
		bind.At, bind.Writable = f.Host, f.Mode == sandbox.Direct
		binds = append(binds, bind)
	}
	return binds, nil
}

func (e *Engine) mounts(b *box, dir string) ([]ocispec.Bind, error) {
	var binds []ocispec.Bind
	for i, m := range b.launch.Mounts {
		if err := e.permitted(m.Host); err != nil {
			return nil, err
		}
		if err := permittedAt(m.At); err != nil {
			return nil, err
		}
		bind, err := pin(b, m.Host, filepath.Join(dir, "m"+strconv.Itoa(i)))
		if err != nil {
			return nil, err
		}
		bind.At, bind.Writable = m.At, m.Writable
		binds = append(binds, bind)
	}
	return binds, nil
}

// toolchain shows the one version in use at its own path.
func (e *Engine) toolchain(b *box, dir string) ([]ocispec.Bind, error) {
	host := b.launch.Root.Toolchain
	if host == "" {
		return nil, nil
	}
	if err := e.permitted(host); err != nil {
		return nil, err
	}
	bind, err := pin(b, host, filepath.Join(dir, "t"))
	bind.At = host
	return []ocispec.Bind{bind}, err
}
