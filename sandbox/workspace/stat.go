package workspace

import (
	"crypto/sha256"
	"encoding/hex"
	"io"
	"os"

	"golang.org/x/sys/unix"
)

// kind is the type of a file as far as workspaces care.
type kind byte

const (
	kindNone     kind = iota // nothing there
	kindFile                 // regular
	kindDir                  //
	kindSymlink              //
	kindOther                // device, FIFO, socket
	kindWhiteout             // overlayfs: the host's entry is hidden
)

// String is the Type of a sandbox.Change.
func (k kind) String() string {
	switch k {
	case kindFile:
		return "file"
	case kindDir:
		return "dir"
	case kindSymlink:
		return "symlink"
	case kindNone, kindOther, kindWhiteout:
	}
	return "other"
}

// stat is what a file's status says about whether it is still the same. Times are nanoseconds.
type stat struct {
	Ino   uint64 `json:"i"`
	Mode  uint32 `json:"o"` // st_mode
	Size  int64  `json:"s"`
	Mtime int64  `json:"m"`
	Ctime int64  `json:"c"`
	rdev  uint64
	nlink uint64
}

func statOf(st *unix.Stat_t) stat {
	return stat{
		Ino: st.Ino, Mode: st.Mode, Size: st.Size, rdev: st.Rdev, nlink: uint64(st.Nlink), // narrower on some machines
		Mtime: st.Mtim.Nano(), Ctime: st.Ctim.Nano(),
	}
}

// same compares everything but rdev and nlink, which never change alone: both set ctime.
func (s stat) same(t stat) bool {
	return s.sameButCtime(t) && s.Ctime == t.Ctime
}

// sameButCtime is for entries that were renamed or linked in between, which sets ctime.
func (s stat) sameButCtime(t stat) bool {
	return s.Ino == t.Ino && s.Mode == t.Mode && s.Size == t.Size && s.Mtime == t.Mtime
}

func (s stat) kind() kind {
	switch s.Mode & unix.S_IFMT {
	case 0:
		return kindNone
	case unix.S_IFREG:
		return kindFile
	case unix.S_IFDIR:
		return kindDir
	case unix.S_IFLNK:
		return kindSymlink
	case unix.S_IFCHR:
		if s.rdev == 0 {
			return kindWhiteout
		}
	}
	return kindOther
}

// perm is the part of the mode that apply carries over: never set-id, sticky or world-writable.
func (s stat) perm() uint32 { return s.Mode & 0o775 }

func statFile(f *os.File) (stat, error) {
	var st unix.Stat_t
	if err := unix.Fstat(int(f.Fd()), &st); err != nil {
		return stat{}, err
	}
	return statOf(&st), nil
}

// statAt is lstat of a name in dir; a name that is not there is the zero stat.
func statAt(dir *os.File, name string) (stat, error) {
	if dir == nil {
		return stat{}, nil
	}
	var st unix.Stat_t
	err := unix.Fstatat(int(dir.Fd()), name, &st, unix.AT_SYMLINK_NOFOLLOW)
	switch {
	case err == nil:
		return statOf(&st), nil
	case gone(err):
		return stat{}, nil
	}
	return stat{}, err
}

// birth is when a file's inode was made, in nanoseconds; 0 where the file system does not tell.
func birth(dir *os.File, name string) int64 {
	var st unix.Statx_t
	err := unix.Statx(int(dir.Fd()), name, unix.AT_SYMLINK_NOFOLLOW, unix.STATX_BTIME, &st)
	if err != nil || st.Mask&unix.STATX_BTIME == 0 {
		return 0
	}
	return st.Btime.Sec*1e9 + int64(st.Btime.Nsec)
}

// hashFile is the SHA-256 of what is left to read of f, in hex.
func hashFile(f io.Reader) (string, error) {
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return "", err
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}
