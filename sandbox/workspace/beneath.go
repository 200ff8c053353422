package workspace

import (
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/containerd/errdefs"
	"golang.org/x/sys/unix"
)

// strict forbids every way out of a directory: symbolic and magic links, dot-dot, other mounts.
const strict = unix.RESOLVE_BENEATH | unix.RESOLVE_NO_SYMLINKS | unix.RESOLVE_NO_MAGICLINKS | unix.RESOLVE_NO_XDEV

// errIrregular is returned for a file that is not regular where one was wanted.
var errIrregular = errors.New("not a regular file")

// openFolder opens a host folder for walking. No component of its path may be a symbolic link.
// InvalidArgument, NotFound.
func openFolder(folder string) (*os.File, error) {
	f, err := openat2(unix.AT_FDCWD, folder, unix.O_PATH|unix.O_DIRECTORY, 0,
		unix.RESOLVE_NO_SYMLINKS|unix.RESOLVE_NO_MAGICLINKS)
	switch {
	case errors.Is(err, unix.ELOOP):
		return nil, fmt.Errorf("folder %q is reached through a symbolic link; name the real path: %w", folder, errdefs.ErrInvalidArgument)
	case errors.Is(err, unix.ENOENT):
		return nil, fmt.Errorf("folder %q does not exist: %w", folder, errdefs.ErrNotFound)
	case errors.Is(err, unix.ENOTDIR):
		return nil, fmt.Errorf("%q is not a folder: %w", folder, errdefs.ErrInvalidArgument)
	case err != nil:
		return nil, fmt.Errorf("open folder %q: %w", folder, err)
	}
	return f, nil
}

// openBeneath opens a path below dir; "" opens dir itself anew.
func openBeneath(dir *os.File, p string, flags int, mode uint32) (*os.File, error) {
	if p == "" {
		p = "."
	}
	return openat2(int(dir.Fd()), p, flags, mode, strict)
}

func openat2(dir int, p string, flags int, mode uint32, resolve uint64) (*os.File, error) {
	how := unix.OpenHow{Flags: uint64(flags) | unix.O_CLOEXEC, Mode: uint64(mode), Resolve: resolve}
	for {
		fd, err := unix.Openat2(dir, p, &how)
		if errors.Is(err, unix.EINTR) || errors.Is(err, unix.EAGAIN) { // a rename on the way: look again
			continue
		}
		if err != nil {
			return nil, err
		}
		return os.NewFile(uintptr(fd), p), nil
	}
}

// openDir opens a directory below dir for walking.
func openDir(dir *os.File, p string) (*os.File, error) {
	return openBeneath(dir, p, unix.O_PATH|unix.O_DIRECTORY, 0)
}

// openRegular opens a regular file below dir for reading and never waits, whatever lies there.
func openRegular(dir *os.File, p string) (*os.File, stat, error) {
	f, err := openBeneath(dir, p, unix.O_RDONLY|unix.O_NONBLOCK|unix.O_NOCTTY|unix.O_NOFOLLOW, 0)
	if err != nil {
		return nil, stat{}, err
	}
	st, err := statFile(f)
	if err == nil && st.kind() != kindFile {
		err = errIrregular
	}
	if err != nil {
		_ = f.Close()
		return nil, stat{}, err
	}
	return f, st, nil
}

// readLink reads a symbolic link below dir.
func readLink(dir *os.File, p string) (string, error) {
	f, err := openBeneath(dir, p, unix.O_PATH|unix.O_NOFOLLOW, 0)
	if err != nil {
		return "", err
	}
	defer f.Close()
	buf := make([]byte, unix.PathMax)
	n, err := unix.Readlinkat(int(f.Fd()), "", buf)
	if err != nil {
		return "", err
	}
	return string(buf[:n]), nil
}

// readNames lists a directory below dir, unsorted. more is called with each batch's total so that
// the caller can stop.
func readNames(dir *os.File, p string) ([]string, error) {
	f, err := openBeneath(dir, p, unix.O_RDONLY|unix.O_DIRECTORY, 0)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return namesOf(f)
}

func namesOf(f *os.File) ([]string, error) {
	var names []string
	for {
		batch, err := f.Readdirnames(4096)
		names = append(names, batch...)
		if errors.Is(err, io.EOF) {
			return names, nil
		}
		if err != nil {
			return nil, err
		}
		if len(names) > maxEntries {
			return nil, errTooMany
		}
	}
}

// gone says that a path was not there, or not reachable as a path of plain directories that stays
// beneath its folder (EXDEV: a part of it was swapped for something that leads out).
func gone(err error) bool {
	return errors.Is(err, unix.ENOENT) || errors.Is(err, unix.ENOTDIR) || errors.Is(err, unix.ELOOP) || errors.Is(err, unix.EXDEV)
}
