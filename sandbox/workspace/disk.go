package workspace

import (
	"bufio"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/containerd/errdefs"
	"github.com/go-json-experiment/json"
)

// diskVersion is the version of workspace.json and base.jsonl.
const diskVersion = 1

type diskWorkspace struct {
	Version int          `json:"version"`
	Folders []diskFolder `json:"folders"`
	Holds   []diskHold   `json:"holds"`
}

type diskFolder struct {
	Host      string `json:"host"`
	MountedAt int64  `json:"mounted_at"` // unix nanoseconds
}

type diskHold struct {
	Folder int    `json:"folder"`
	Path   string `json:"path"` // as EncodePath writes it
	Reason string `json:"reason"`
}

func (w *workspace) file() string { return filepath.Join(w.dir, "workspace.json") }

func (w *workspace) create() error {
	if err := os.Mkdir(w.dir, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	return w.save()
}

// load reads workspace.json and the fingerprints. fs.ErrNotExist means there is no workspace.
func (w *workspace) load() error {
	data, err := os.ReadFile(w.file())
	if err != nil {
		return err
	}
	var d diskWorkspace
	if err := json.Unmarshal(data, &d, json.RejectUnknownMembers(true)); err != nil {
		return fmt.Errorf("read %s: %w", w.file(), err)
	}
	if d.Version != diskVersion {
		return fmt.Errorf("read %s: version %d, know %d: %w", w.file(), d.Version, diskVersion, errdefs.ErrFailedPrecondition)
	}
	for _, df := range d.Folders {
		f := w.newFolder(df.Host)
		f.mountedAt = df.MountedAt
		if err := f.base.load(); err != nil {
			return err
		}
		_ = f.recover() // the next Apply tries again and says why it cannot
		w.folders = append(w.folders, f)
	}
	return w.loadHolds(d.Holds)
}

func (w *workspace) loadHolds(holds []diskHold) error {
	for _, h := range holds {
		raw, err := DecodePath(h.Path)
		if err != nil {
			return fmt.Errorf("read %s: %w", w.file(), err)
		}
		w.holds[place{h.Folder, raw}] = h.Reason
	}
	return nil
}

// save replaces workspace.json; a crash leaves the old or the new one.
func (w *workspace) save() error {
	d := diskWorkspace{Version: diskVersion, Folders: []diskFolder{}, Holds: []diskHold{}}
	for _, f := range w.folders {
		d.Folders = append(d.Folders, diskFolder{Host: f.host, MountedAt: f.mountedAt})
	}
	for p, reason := range w.holds {
		d.Holds = append(d.Holds, diskHold{Folder: p.folder, Path: EncodePath(p.path), Reason: reason})
	}
	data, err := json.Marshal(d)
	if err != nil {
		return fmt.Errorf("save workspace %s: %w", w.id, err)
	}
	if err := replaceFile(w.file(), data); err != nil {
		return fmt.Errorf("save workspace %s: %w", w.id, err)
	}
	return nil
}

// replaceFile writes a file of our own beside path and renames it over.
func replaceFile(path string, data []byte) error {
	tmp := path + ".new"
	if err := os.WriteFile(tmp, data, 0o600); err != nil {
		return err
	}
	return os.Rename(tmp, path)
}

// fingerprint is what a file of the host was when the workspace first differed from it. The zero stat
// means there was none.
type fingerprint struct {
	stat
	Hash string `json:"h,omitempty"` // SHA-256 of the content or the link's target; "" when not taken
	// Late: the host's file changed while the workspace was mounted and before this fingerprint, so
	// that the agent may have worked on another content.
	Late bool `json:"l,omitempty"`
	// Settled is the upper's entry when it was found equal to the host's, or was applied: as long
	// as it stays like that, it is no change, whatever the host's file becomes.
	Settled *stat `json:"u,omitempty"`
	// Removed: the entry has gone from the upper directory without a whiteout, because overlayfs
	// does not know that the host has it by now: it was applied while mounted, into a directory
	// that was new itself. It is a deletion all the same; prune makes the whiteout.
	Removed bool `json:"r,omitempty"`
}

// baseLine is one line of base.jsonl.
type baseLine struct {
	Path  string       `json:"p"` // as EncodePath writes it
	Gone  bool         `json:"g,omitempty"`
	Print *fingerprint `json:"b,omitempty"`
}

// baseFile is the fingerprints of one folder by raw path, and the file that keeps them. Changes
// are appended by flush; a cut last line is ignored on load.
type baseFile struct {
	path    string
	prints  map[string]fingerprint
	removed map[string]bool // those with Removed
	dirty   map[string]bool // to be written by flush
	lines   int             // in the file
}

func newBaseFile(path string) *baseFile {
	return &baseFile{path: path, prints: map[string]fingerprint{}, removed: map[string]bool{}, dirty: map[string]bool{}}
}

func (b *baseFile) set(path string, p fingerprint) {
	b.keep(path, p)
	b.dirty[path] = true
}

func (b *baseFile) keep(path string, p fingerprint) {
	b.prints[path] = p
	if p.Removed {
		b.removed[path] = true
	} else {
		delete(b.removed, path)
	}
}

func (b *baseFile) drop(path string) {
	if _, known := b.prints[path]; known {
		delete(b.prints, path)
		delete(b.removed, path)
		b.dirty[path] = true
	}
}

func (b *baseFile) load() error {
	f, err := os.Open(b.path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer f.Close()
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		b.lines++
		b.take(lines.Bytes())
	}
	if err := lines.Err(); err != nil {
		return fmt.Errorf("read %s: %w", b.path, err)
	}
	return nil
}

// take reads one line. A line cut by a crash says nothing: its path then counts as not yet seen.
func (b *baseFile) take(line []byte) {
	var l baseLine
	if json.Unmarshal(line, &l) != nil {
		return
	}
	raw, err := DecodePath(l.Path)
	switch {
	case err != nil:
	case l.Gone:
		delete(b.prints, raw)
		delete(b.removed, raw)
	case l.Print != nil:
		b.keep(raw, *l.Print)
	}
}

// flush makes what was set and dropped durable against a crash of the process.
func (b *baseFile) flush() error {
	if len(b.dirty) == 0 {
		return nil
	}
	if b.lines > 1000 && b.lines > 4*len(b.prints) {
		return b.rewrite()
	}
	var out []byte
	for path := range b.dirty {
		line, err := b.line(path)
		if err != nil {
			return err
		}
		out = append(out, line...)
	}
	if err := appendFile(b.path, out); err != nil {
		return fmt.Errorf("keep fingerprints: %w", err)
	}
	b.lines += len(b.dirty)
	clear(b.dirty)
	return nil
}

func (b *baseFile) line(path string) ([]byte, error) {
	l := baseLine{Path: EncodePath(path), Gone: true}
	if p, known := b.prints[path]; known {
		l = baseLine{Path: l.Path, Print: &p}
	}
	data, err := json.Marshal(l)
	return append(data, '\n'), err
}

func (b *baseFile) rewrite() error {
	var out []byte
	for path := range b.prints {
		line, err := b.line(path)
		if err != nil {
			return err
		}
		out = append(out, line...)
	}
	if err := replaceFile(b.path, out); err != nil {
		return fmt.Errorf("keep fingerprints: %w", err)
	}
	b.lines = len(b.prints)
	clear(b.dirty)
	return nil
}

// appendFile starts a fresh line, in case a crash has cut the last one.
func appendFile(path string, data []byte) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(append([]byte{'\n'}, data...))
	return errors.Join(err, f.Close())
}
