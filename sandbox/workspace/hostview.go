package workspace

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"os"
	"slices"

	"golang.org/x/sys/unix"
)

// hostView reads a host folder the way an overlay shows it: symbolic links are entries, other file
// systems mounted below are not entered. A nil root shows an empty folder.
type hostView struct {
	root *os.File

	// The directory asked for last: entries come in order.
	lastPath string
	last     *os.File
}

func (v *hostView) close() {
	if v == nil {
		return
	}
	if v.last != nil {
		_ = v.last.Close()
	}
	if v.root != nil {
		_ = v.root.Close()
	}
}

// dir opens a directory of the folder; nil when it is not there. The view keeps it.
func (v *hostView) dir(path string) (*os.File, error) {
	if v.root == nil || path == "" {
		return v.root, nil
	}
	if v.last != nil && v.lastPath == path {
		return v.last, nil
	}
	d, err := openDir(v.root, path)
	if gone(err) || errors.Is(err, unix.ENAMETOOLONG) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	if v.last != nil {
		_ = v.last.Close()
	}
	v.last, v.lastPath = d, path
	return d, nil
}

// walk visits everything below a directory of the folder, parents first, names in order.
func (v *hostView) walk(path string, visit func(dir *os.File, path, name string, st stat) error) error {
	if v.root == nil {
		return nil
	}
	d, err := openDir(v.root, path)
	if gone(err) {
		return nil
	}
	if err != nil {
		return err
	}
	defer d.Close()
	return walkHost(d, path, visit)
}

// walkHost is walk from an open directory, which stays the caller's.
func walkHost(dir *os.File, path string, visit func(dir *os.File, path, name string, st stat) error) error {
	names, err := readNames(dir, "")
	if err != nil && !gone(err) {
		return err
	}
	slices.Sort(names)
	for _, name := range names {
		st, err := statAt(dir, name)
		if err != nil {
			return err
		}
		if st.kind() == kindNone {
			continue
		}
		if err := visit(dir, join(path, name), name, st); err != nil {
			return err
		}
		if err := walkChild(dir, join(path, name), name, st, visit); err != nil {
			return err
		}
	}
	return nil
}

func walkChild(dir *os.File, path, name string, st stat, visit func(dir *os.File, path, name string, st stat) error) error {
	if st.kind() != kindDir {
		return nil
	}
	sub, err := openDir(dir, name)
	if gone(err) {
		return nil
	}
	if err != nil {
		return err
	}
	defer sub.Close()
	return walkHost(sub, path, visit)
}

func hashString(s string) string {
	sum := sha256.Sum256([]byte(s))
	return hex.EncodeToString(sum[:])
}
