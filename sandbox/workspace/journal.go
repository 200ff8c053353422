package workspace

import (
	"bufio"
	"bytes"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/containerd/errdefs"
	"github.com/go-json-experiment/json"
	"golang.org/x/sys/unix"
)

// journal remembers, while Apply works, which temporary names it uses on the host, so that a
// crash leaves nothing behind: what has not been put into place is removed, and what was moved
// away but was not what the comparison had seen is put back.
type journal struct {
	path string
	f    *os.File
}

// journalLine is one step. Ino is the temporary file's once it is complete; 0 before.
type journalLine struct {
	Path   string `json:"p"` // as EncodePath writes it
	Temp   string `json:"t"`
	Ino    uint64 `json:"n"`
	Delete bool   `json:"d"` // the entry itself is moved to the temporary name
	Expect stat   `json:"e"` // the host's entry as compared
}

func (f *folder) journal() string { return filepath.Join(f.dir, "applying.jsonl") }

func openJournal(path string) (*journal, error) {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return nil, err
	}
	return &journal{path: path, f: f}, nil
}

// making says that tmp is about to be made, made that it is complete as inode ino, deleting that
// the entry is about to be moved there.
func (j *journal) making(s spot, tmp string) error { return j.add(s, tmp, 0, false) }

func (j *journal) made(s spot, tmp string, ino uint64) error { return j.add(s, tmp, ino, false) }

func (j *journal) deleting(s spot, tmp string) error { return j.add(s, tmp, 0, true) }

func (j *journal) add(s spot, tmp string, ino uint64, del bool) error {
	line, err := json.Marshal(journalLine{Path: EncodePath(s.raw), Temp: tmp, Ino: ino, Delete: del, Expect: s.expect})
	if err != nil {
		return err
	}
	_, err = j.f.Write(append(line, '\n'))
	return err
}

// done says that no temporary name is in use any more.
func (j *journal) done() error {
	return errors.Join(j.f.Close(), os.Remove(j.path))
}

// tempName is a name nobody else uses in a directory of the host.
func tempName() string {
	var b [8]byte
	_, _ = rand.Read(b[:])
	return ".garita-" + hex.EncodeToString(b[:])
}

// recover ends an Apply that a crash interrupted. A folder that is gone needs nothing.
func (f *folder) recover() error {
	data, err := os.ReadFile(f.journal())
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	host, err := openFolder(f.host)
	if errdefs.IsNotFound(err) {
		return nil
	}
	if err != nil {
		return err
	}
	defer host.Close()
	for _, l := range lastSteps(data) {
		if err := l.recover(host); err != nil {
			return err
		}
	}
	return os.Remove(f.journal())
}

// lastSteps are the last lines of each temporary name; a line cut by the crash says nothing.
func lastSteps(data []byte) map[string]journalLine {
	steps := map[string]journalLine{}
	lines := bufio.NewScanner(bytes.NewReader(data))
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var l journalLine
		if json.Unmarshal(lines.Bytes(), &l) == nil {
			steps[l.Temp] = l
		}
	}
	return steps
}

func (l journalLine) recover(host *os.File) error {
	raw, err := DecodePath(l.Path)
	if err != nil {
		return err
	}
	dirPath, name := split(raw)
	dir, err := openDir(host, dirPath)
	if err != nil {
		return nil // the directory went away, and the temporary name with it
	}
	defer dir.Close()
	st, err := statAt(dir, l.Temp)
	if err != nil || st.kind() == kindNone {
		return err
	}
	return l.settle(spot{dir: dir, name: name, expect: l.Expect, raw: raw}, st)
}

// settle decides about a temporary name that is still there.
func (l journalLine) settle(s spot, st stat) error {
	expected, err := s.moved(l.Temp)
	if err != nil {
		return err
	}
	current, err := statAt(s.dir, s.name)
	if err != nil {
		return err
	}
	switch {
	case expected && (l.Delete || l.Ino != 0): // the old entry: in place is the new one, or nothing
		return removeAny(s.dir, l.Temp, st.kind())
	case l.Delete: // moved away, and not what was to be deleted
		err := renameNew(s.dir, l.Temp, s.name)
		if errors.Is(err, unix.EEXIST) {
			return nil // somebody has made another one; both stay
		}
		return err
	case l.Ino != 0 && st.Ino != l.Ino: // exchanged, and not what was to be replaced
		fd := int(s.dir.Fd())
		if err := unix.Renameat2(fd, l.Temp, fd, s.name, unix.RENAME_EXCHANGE); err != nil {
			return err
		}
		return removeAny(s.dir, l.Temp, current.kind())
	}
	return removeAny(s.dir, l.Temp, st.kind()) // ours, not yet in place
}
