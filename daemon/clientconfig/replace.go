package clientconfig

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"github.com/containerd/errdefs"
)

// readAt reads a settings file without following a symlink at its last element.
func readAt(path string) ([]byte, fs.FileInfo, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, nil, fmt.Errorf("read %s: %w", path, err)
	}
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = fmt.Errorf("not a regular file: %w", errdefs.ErrInvalidArgument)
	}
	var data []byte
	if err == nil {
		data, err = io.ReadAll(io.LimitReader(f, maxFile+1))
	}
	if err := errors.Join(err, f.Close()); err != nil {
		return nil, nil, fmt.Errorf("read %s: %w", path, err)
	}
	if len(data) > maxFile {
		return nil, nil, fmt.Errorf("read %s: more than %d bytes: %w", path, maxFile, errdefs.ErrInvalidArgument)
	}
	return data, info, nil
}

// replaceAt puts data in the place of a file that still has the bytes whose digest is sum: at once,
// with the same mode and owner, never through a symlink. A file that has changed is left alone (Conflict).
func replaceAt(path, sum string, data []byte) error {
	old, info, err := readAt(path)
	if err != nil {
		return err
	}
	if digest(old) != sum {
		return fmt.Errorf("write %s: it has been changed in the meantime: %w", path, errdefs.ErrConflict)
	}
	dir, err := os.OpenRoot(filepath.Dir(path))
	if err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	defer func() { _ = dir.Close() }()
	name, base := fmt.Sprintf(".garita-%d-%s", os.Getpid(), sum[:8]), filepath.Base(path)
	if err := writeLike(dir, name, info, data); err != nil {
		return fmt.Errorf("write %s: %w", path, errors.Join(err, dropped(dir, name)))
	}
	now, err := dir.Lstat(base)
	if err == nil && (!os.SameFile(now, info) || now.ModTime() != info.ModTime() || now.Size() != info.Size()) {
		err = fmt.Errorf("it has been changed in the meantime: %w", errdefs.ErrConflict)
	}
	if err == nil {
		err = dir.Rename(name, base)
	}
	if err != nil {
		return fmt.Errorf("write %s: %w", path, errors.Join(err, dropped(dir, name)))
	}
	return syncRoot(dir)
}

// writeLike makes a new file with the mode and owner of another.
func writeLike(dir *os.Root, name string, like fs.FileInfo, data []byte) error {
	f, err := dir.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	if err == nil {
		err = own(f, like)
	}
	if err == nil {
		err = f.Chmod(like.Mode().Perm())
	}
	return errors.Join(err, f.Sync(), f.Close())
}

func own(f *os.File, like fs.FileInfo) error {
	sys, ok := like.Sys().(*syscall.Stat_t)
	if !ok || (int(sys.Uid) == os.Geteuid() && int(sys.Gid) == os.Getegid()) {
		return nil
	}
	return f.Chown(int(sys.Uid), int(sys.Gid))
}

// dropped removes a temporary file that may not be there.
func dropped(dir *os.Root, name string) error {
	if err := dir.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

func syncRoot(dir *os.Root) error {
	d, err := dir.Open(".")
	if err != nil {
		return fmt.Errorf("sync: %w", err)
	}
	return errors.Join(d.Sync(), d.Close())
}
