package workspace

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/garita-dev/garita/sandbox"
)

// desk is a store, a host folder and, while mounted, the merged view of it.
type desk struct {
	t       testing.TB
	store   *Store
	data    string
	run     string
	host    string
	merged  string
	release func() error
}

func newDesk(t testing.TB, files ...string) *desk {
	t.Helper()
	d := newDeskIn(t, t.TempDir(), files...)
	t.Cleanup(d.unmount)
	return d
}

// newDeskIn is newDesk in a directory; its caller unmounts.
func newDeskIn(t testing.TB, dir string, files ...string) *desk {
	t.Helper()
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	base, err := filepath.EvalSymlinks(dir)
	if err != nil {
		t.Fatal(err)
	}
	d := &desk{t: t, data: base + "/data", run: base + "/run", host: base + "/host"}
	for _, f := range files {
		d.put(d.host, f)
	}
	d.must(os.MkdirAll(d.host, 0o755))
	d.reopen()
	return d
}

func (d *desk) must(err error) {
	d.t.Helper()
	if err != nil {
		d.t.Fatal(err)
	}
}

// put makes a file from "path=content", a directory from "path/", a link from "path->target".
func (d *desk) put(root, spec string) {
	d.t.Helper()
	if dir, isDir := strings.CutSuffix(spec, "/"); isDir {
		d.must(os.MkdirAll(filepath.Join(root, dir), 0o755))
		return
	}
	path, target, isLink := strings.Cut(spec, "->")
	content := ""
	if !isLink {
		path, content, _ = strings.Cut(spec, "=")
	}
	d.must(os.MkdirAll(filepath.Dir(filepath.Join(root, path)), 0o755))
	if isLink {
		d.must(os.Symlink(target, filepath.Join(root, path)))
		return
	}
	d.must(os.WriteFile(filepath.Join(root, path), []byte(content), 0o644))
}

// reopen is what an engine that starts again does.
func (d *desk) reopen() {
	d.t.Helper()
	s, err := OpenAt(d.data, d.run)
	d.must(err)
	d.store = s
}

func (d *desk) mount() *desk {
	d.t.Helper()
	merged, release, err := d.store.Mount(id, []string{d.host})
	d.must(err)
	d.merged, d.release = merged[0], release
	return d
}

func (d *desk) unmount() {
	d.t.Helper()
	if d.release != nil {
		d.must(d.release())
		d.release = nil
	}
}

func (d *desk) changes() []sandbox.Change {
	d.t.Helper()
	c, err := d.store.Changes(context.Background(), id)
	d.must(err)
	return c
}

func (d *desk) mark() sandbox.Mark {
	d.t.Helper()
	m, err := d.store.Mark(context.Background(), id)
	d.must(err)
	return m
}

func (d *desk) since(m sandbox.Mark) []string {
	d.t.Helper()
	c, err := d.store.Since(context.Background(), id, m)
	d.must(err)
	return words(c)
}

func (d *desk) apply(paths ...string) (done, left []sandbox.Change) {
	d.t.Helper()
	done, left, err := d.store.Apply(context.Background(), id, paths)
	d.must(err)
	return done, left
}

func (d *desk) discard(paths ...string) {
	d.t.Helper()
	_, left, err := d.store.Discard(context.Background(), id, paths)
	d.must(err)
	if len(left) > 0 {
		d.t.Errorf("discard left %v", left)
	}
}

// words shows changes as short lines.
func words(changes []sandbox.Change) []string {
	lines := []string{}
	for _, c := range changes {
		line := fmt.Sprintf("%s %s %s", c.Kind, c.Type, c.Path)
		if c.Held != "" {
			line += " held"
		}
		if c.Stale {
			line += " stale"
		}
		lines = append(lines, line)
	}
	return lines
}

// wholeTree is all of a directory: path → type, mode and content.
func wholeTree(t testing.TB, root string) map[string]string {
	t.Helper()
	all := map[string]string{}
	err := filepath.WalkDir(root, func(path string, e fs.DirEntry, err error) error {
		if err != nil || path == root {
			return err
		}
		info, err := e.Info()
		if errors.Is(err, fs.ErrNotExist) {
			return nil // overlayfs may list for a while what has gone from the host
		}
		if err != nil {
			return err
		}
		rel, _ := filepath.Rel(root, path)
		switch {
		case e.IsDir():
			all[rel] = fmt.Sprintf("dir %v", info.Mode().Perm())
		case info.Mode()&fs.ModeSymlink != 0:
			target, _ := os.Readlink(path)
			all[rel] = "link " + target
		case info.Mode().IsRegular():
			data, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			all[rel] = fmt.Sprintf("file %v %q", info.Mode().Perm(), data)
		default:
			all[rel] = info.Mode().String()
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}
