package workspace

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"sync"
	"time"

	"github.com/containerd/errdefs"

	"github.com/garita-dev/garita/sandbox"
)

// DefaultRun is where Open's store mounts: in the engine's own mount namespace, on its tmpfs.
const DefaultRun = "/run/garita/ws"

// What one workspace may hold: changed entries (also of one tree of the host that it hides), and
// bytes of their paths. A server can make as many as the disk takes; ours is the memory.
const (
	maxEntries   = 1_000_000
	maxPathBytes = 128 << 20
)

var errTooMany = fmt.Errorf("a workspace may hold %d changed entries, and %d MiB of their paths; discard them all: %w",
	maxEntries, maxPathBytes>>20, errdefs.ErrResourceExhausted)

// Store is the workspaces of one data directory. Only one process may have it open, and that
// process must be able to mount. Calls may overlap; those on one workspace wait for each other
// only as long as a scan takes.
type Store struct {
	dir   string
	run   string
	clock clock

	mu   sync.Mutex
	open map[sandbox.WorkspaceID]*workspace
}

// Open opens the workspaces below dir, which is made if missing (0700). Mounts go to DefaultRun.
func Open(dir string) (*Store, error) { return OpenAt(dir, DefaultRun) }

// OpenAt is Open with another directory for the mounts.
func OpenAt(dir, run string) (*Store, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("open workspaces: %w", err)
	}
	real, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return nil, fmt.Errorf("open workspaces: %w", err)
	}
	c, err := probeClock(real)
	if err != nil {
		return nil, fmt.Errorf("open workspaces: %w", err)
	}
	return &Store{dir: real, run: run, clock: c, open: map[sandbox.WorkspaceID]*workspace{}}, nil
}

var idPattern = regexp.MustCompile(`^w[0-9a-f]{16}$`)

// IDs lists the workspaces on disk, whether they hold changes or not.
func (s *Store) IDs() ([]sandbox.WorkspaceID, error) {
	entries, err := os.ReadDir(s.dir)
	if err != nil {
		return nil, fmt.Errorf("list workspaces: %w", err)
	}
	var ids []sandbox.WorkspaceID
	for _, e := range entries {
		if e.IsDir() && idPattern.MatchString(e.Name()) {
			ids = append(ids, sandbox.WorkspaceID(e.Name()))
		}
	}
	return ids, nil
}

// Folders lists the host folders of a workspace, in the order they were first given. NotFound.
func (s *Store) Folders(id sandbox.WorkspaceID) ([]string, error) {
	w, err := s.workspace(id, false)
	if err != nil {
		return nil, err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	var hosts []string
	for _, f := range w.folders {
		hosts = append(hosts, f.host)
	}
	return hosts, nil
}

// Remove deletes a workspace and everything in it. FailedPrecondition while it is mounted.
func (s *Store) Remove(id sandbox.WorkspaceID) error {
	w, err := s.workspace(id, false)
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.mounted() {
		return fmt.Errorf("remove workspace %s: it is in use: %w", id, errdefs.ErrFailedPrecondition)
	}
	w.removed = true
	delete(s.open, id)
	if err := os.RemoveAll(w.dir); err != nil {
		return fmt.Errorf("remove workspace %s: %w", id, err)
	}
	return nil
}

// workspace returns the state of id, loaded once; with create it is made when missing.
func (s *Store) workspace(id sandbox.WorkspaceID, create bool) (*workspace, error) {
	if !idPattern.MatchString(string(id)) {
		return nil, fmt.Errorf("workspace %q: want w and 16 hex digits: %w", id, errdefs.ErrInvalidArgument)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if w := s.open[id]; w != nil {
		return w, nil
	}
	w := newWorkspace(id, filepath.Join(s.dir, string(id)), filepath.Join(s.run, string(id)), s.clock)
	err := w.load()
	switch {
	case errors.Is(err, fs.ErrNotExist) && create:
		err = w.create()
	case errors.Is(err, fs.ErrNotExist):
		return nil, fmt.Errorf("workspace %s: %w", id, errdefs.ErrNotFound)
	}
	if err != nil {
		return nil, fmt.Errorf("open workspace %s: %w", id, err)
	}
	s.open[id] = w
	return w, nil
}

// workspace is one agent's overlays.
type workspace struct {
	id    sandbox.WorkspaceID
	dir   string
	run   string
	clock clock

	// writing is held by whoever changes the host or the merged trees (Apply, Discard) and while
	// mounting; it is taken before mu.
	writing sync.Mutex

	mu      sync.Mutex // guards what follows
	folders []*folder
	holds   map[place]string
	log     changeLog
	undoing map[place]bool // what Discard is just changing: nobody's effects
	removed bool
}

// place is a raw path in a folder of a workspace.
type place struct {
	folder int
	path   string
}

// folder is one host folder and its overlay.
type folder struct {
	n         int
	host      string
	dir       string // <n> of the package comment
	merged    string // mount point
	mountedAt int64  // unix nanoseconds of the last mount; persistent, 0 before the first
	refs      int
	live      bool // mounted
	tree      *tree
	base      *baseFile
}

func newWorkspace(id sandbox.WorkspaceID, dir, run string, c clock) *workspace {
	return &workspace{id: id, dir: dir, run: run, clock: c, holds: map[place]string{}, log: newChangeLog()}
}

func (w *workspace) mounted() bool {
	for _, f := range w.folders {
		if f.live {
			return true
		}
	}
	return false
}

func (w *workspace) newFolder(host string) *folder {
	n := len(w.folders)
	name := fmt.Sprint(n)
	dir := filepath.Join(w.dir, name)
	return &folder{
		n: n, host: host, dir: dir, merged: filepath.Join(w.run, name),
		tree: newTree(), base: newBaseFile(filepath.Join(dir, "base.jsonl")),
	}
}

// forgetTree makes the next scan start from nothing.
func (f *folder) forgetTree() {
	limits := f.tree.limits
	f.tree = newTree()
	f.tree.limits = limits
}

func (f *folder) upper() string { return filepath.Join(f.dir, "upper") }
func (f *folder) work() string  { return filepath.Join(f.dir, "work") }

// addFolder makes the directories of a folder that the workspace did not have yet.
func (w *workspace) addFolder(host string) (*folder, error) {
	f := w.newFolder(host)
	for _, d := range []string{f.upper(), f.work()} {
		if err := os.MkdirAll(d, 0o700); err != nil {
			return nil, err
		}
	}
	w.folders = append(w.folders, f)
	return f, w.save()
}

// lock takes mu and fails when the workspace was removed meanwhile.
func (w *workspace) lock() error {
	w.mu.Lock()
	if w.removed {
		w.mu.Unlock()
		return fmt.Errorf("workspace %s: %w", w.id, errdefs.ErrNotFound)
	}
	return nil
}

// now is the time as mount times are kept.
func now() int64 { return time.Now().UnixNano() }
