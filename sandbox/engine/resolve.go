package engine

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/containerd/errdefs"
	"golang.org/x/sys/unix"

	"github.com/garita-dev/garita/sandbox/ocispec"
)

// refused are host directories that no sandbox sees by name; the root file system shows what it
// needs of them. Directories below them are refused as well.
var refused = []string{"/usr", "/etc", "/proc", "/dev", "/run", "/sys", "/boot", "/bin", "/sbin", "/lib", "/lib64", "/.garita"}

// permitted refuses host paths that would undo the walls: the system's directories, the root, the
// whole home directory or anything above it, and Garita's own data.
func (e *Engine) permitted(host string) error {
	refuse := func(why string) error {
		return fmt.Errorf("mount %q: %s: %w", host, why, errdefs.ErrInvalidArgument)
	}
	if !filepath.IsAbs(host) || filepath.Clean(host) != host {
		return refuse("the path must be absolute and clean")
	}
	for _, dir := range refused {
		if within(host, dir) {
			return refuse(dir + " is never mounted")
		}
	}
	switch {
	case within(e.cfg.Home, host):
		return refuse("a whole home directory is never mounted; name a folder in it")
	case within(e.cfg.Data, host), within(host, e.cfg.Data):
		return refuse("Garita's own data is never mounted")
	}
	return nil
}

// permittedAt refuses mount points inside that would cover what the sandbox is made of.
func permittedAt(at string) error {
	if !filepath.IsAbs(at) || filepath.Clean(at) != at || at == "/" || at == "/home" || at == ocispec.Home {
		return fmt.Errorf("mount at %q: %w", at, errdefs.ErrInvalidArgument)
	}
	for _, dir := range refused {
		if within(at, dir) {
			return fmt.Errorf("mount at %q: %s belongs to the sandbox itself: %w", at, dir, errdefs.ErrInvalidArgument)
		}
	}
	return nil
}

// within reports whether p is dir or below it.
func within(p, dir string) bool {
	return p == dir || dir == "/" || strings.HasPrefix(p, dir+"/")
}

// pin mounts a clone of host's mount tree on target, from a descriptor that was opened without
// following a single symlink: whatever happens to the path afterwards, the sandbox gets what was checked.
func pin(b *box, host, target string) (ocispec.Bind, error) {
	fd, err := openExactly(host)
	if err != nil {
		return ocispec.Bind{}, err
	}
	defer unix.Close(fd)
	options, err := lockedOptions(fd)
	if err != nil {
		return ocispec.Bind{}, fmt.Errorf("look at %s: %w", host, err)
	}
	if err := makeTarget(fd, target); err != nil {
		return ocispec.Bind{}, err
	}
	tree, err := unix.OpenTree(fd, "", unix.AT_EMPTY_PATH|unix.AT_RECURSIVE|unix.OPEN_TREE_CLONE|unix.OPEN_TREE_CLOEXEC)
	if err != nil {
		return ocispec.Bind{}, fmt.Errorf("clone the mount of %s: %w", host, err)
	}
	defer unix.Close(tree)
	if err := unix.MoveMount(tree, "", unix.AT_FDCWD, target, unix.MOVE_MOUNT_F_EMPTY_PATH); err != nil {
		return ocispec.Bind{}, fmt.Errorf("mount %s: %w", host, err)
	}
	b.onUndo(func() error { return unmount(target) })
	return ocispec.Bind{Source: target, Options: options}, nil
}

// openExactly opens a path, refusing every symlink in it.
func openExactly(host string) (int, error) {
	fd, err := unix.Openat2(unix.AT_FDCWD, host, &unix.OpenHow{
		Flags:   unix.O_PATH | unix.O_CLOEXEC,
		Resolve: unix.RESOLVE_NO_SYMLINKS | unix.RESOLVE_NO_MAGICLINKS,
	})
	switch {
	case errors.Is(err, unix.ELOOP):
		return -1, fmt.Errorf("mount %q: a part of the path is a symlink; give the real path%s: %w",
			host, realPath(host), errdefs.ErrInvalidArgument)
	case errors.Is(err, unix.ENOENT), errors.Is(err, unix.ENOTDIR):
		return -1, fmt.Errorf("mount %q: no such folder: %w", host, errdefs.ErrNotFound)
	case err != nil:
		return -1, fmt.Errorf("mount %q: %w: %w", host, err, errdefs.ErrInvalidArgument)
	}
	return fd, nil
}

func realPath(host string) string {
	if real, err := filepath.EvalSymlinks(host); err == nil {
		return fmt.Sprintf(" (%s)", real)
	}
	return ""
}

// lockedOptions are the flags of the source's mount that a user namespace may not clear.
func lockedOptions(fd int) ([]string, error) {
	var st unix.Statfs_t
	if err := unix.Fstatfs(fd, &st); err != nil {
		return nil, err
	}
	var options []string
	for flag, name := range map[int64]string{unix.ST_NOEXEC: "noexec", unix.ST_NOATIME: "noatime", unix.ST_NODIRATIME: "nodiratime"} {
		if st.Flags&flag != 0 {
			options = append(options, name)
		}
	}
	return options, nil
}

func makeTarget(fd int, target string) error {
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return err
	}
	switch st.Mode & unix.S_IFMT {
	case unix.S_IFDIR:
		return os.Mkdir(target, 0o700)
	case unix.S_IFREG:
		return os.WriteFile(target, nil, 0o600)
	default:
		return fmt.Errorf("mount: only folders and regular files: %w", errdefs.ErrInvalidArgument)
	}
}

func unmount(target string) error {
	if err := unix.Unmount(target, unix.MNT_DETACH); err != nil && !errors.Is(err, unix.EINVAL) {
		return fmt.Errorf("unmount %s: %w", target, err)
	}
	return nil
}
