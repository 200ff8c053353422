package daemon

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/pmezard/go-difflib/difflib"

	"github.com/garita-dev/garita/approvals"
	"github.com/garita-dev/garita/daemon/api"
	"github.com/garita-dev/garita/daemon/hooks"
)

// maxForeseen bounds a file that is compared for the dialog, in bytes.
const maxForeseen = 256 << 10

// writing is the arguments of the tools that replace a whole file, under the names they use.
type writing struct {
	Path     string  `json:"path"`
	FilePath string  `json:"file_path"`
	Content  *string `json:"content"`
	Contents *string `json:"contents"`
}

// foreseen is the change a write would make, where the arguments say: a whole file's new contents.
// It is a help to the person's eye; what is decided about are the arguments.
func (d *Daemon) foreseen(ctx context.Context, c approvals.Call) *api.FileDiff {
	if hooks.Ours(c) {
		return foreseenEdit(c)
	}
	if c.Class == approvals.Read || c.Workspace == "" {
		return nil
	}
	path, content, ok := parseWriting(c.Arguments)
	if !ok {
		return nil
	}
	folder, rel, ok := d.inWorkspace(ctx, c, path)
	if !ok {
		return nil
	}
	old, exists, note := d.current(ctx, c, folder, rel)
	out := &api.FileDiff{Change: api.Change{Folder: folder, Path: rel, Kind: "modified", Type: "file", Size: int64(len(content))}, Note: note}
	if !exists {
		out.Kind = "added"
	}
	if note == "" {
		out.Unified = unified(rel, old, content)
	}
	return out
}

func parseWriting(arguments []byte) (path, content string, ok bool) {
	var w writing
	if err := json.Unmarshal(arguments, &w); err != nil {
		return "", "", false
	}
	if w.Path == "" {
		w.Path = w.FilePath
	}
	if w.Content == nil {
		w.Content = w.Contents
	}
	if w.Path == "" || w.Content == nil || len(*w.Content) > maxForeseen {
		return "", "", false
	}
	return w.Path, *w.Content, true
}

// inWorkspace finds the folder a path lies in; a relative path is relative to the first.
func (d *Daemon) inWorkspace(ctx context.Context, c approvals.Call, path string) (folder, rel string, ok bool) {
	all, err := d.db.Workspaces(ctx, c.Server)
	if err != nil {
		return "", "", false
	}
	for _, w := range all {
		if w.ID != c.Workspace || len(w.Folders) == 0 {
			continue
		}
		if !filepath.IsAbs(path) {
			path = filepath.Join(w.Folders[0], path)
		}
		return within(path, w.Folders)
	}
	return "", "", false
}

// current is a file as the agent sees it: the workspace's copy, else the host's. It never follows
// a symlink out of either.
func (d *Daemon) current(ctx context.Context, c approvals.Call, folder, rel string) (text string, exists bool, note string) {
	upper, err := d.engine.upper(ctx, c.Workspace, folder)
	if err == nil {
		if text, note, err := readWithin(upper, rel); err == nil {
			return text, true, note
		}
	}
	text, note, err = readWithin(folder, rel)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "", false, ""
	case err != nil:
		return "", true, "The file as it is cannot be read."
	}
	return text, true, note
}

func readWithin(dir, rel string) (text, note string, err error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return "", "", err
	}
	defer root.Close()
	info, err := root.Stat(rel)
	if err != nil {
		return "", "", err
	}
	if !info.Mode().IsRegular() {
		return "", "It is not a regular file.", nil
	}
	f, err := root.Open(rel)
	if err != nil {
		return "", "", err
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, maxForeseen+1))
	switch {
	case err != nil:
		return "", "", err
	case len(b) > maxForeseen:
		return "", "The file as it is is too large to compare here.", nil
	case slices.Contains(b, 0):
		return "", "The file as it is is not text.", nil
	}
	return string(b), "", nil
}

func unified(name, before, after string) string {
	text, err := difflib.GetUnifiedDiffString(difflib.UnifiedDiff{
		A: lines(before), B: lines(after), FromFile: name, ToFile: name, Context: 3,
	})
	if err != nil {
		return ""
	}
	return text
}

func lines(s string) []string {
	if s == "" {
		return nil
	}
	all := strings.SplitAfter(s, "\n")
	if last := len(all) - 1; all[last] == "" {
		return all[:last]
	}
	all[len(all)-1] += "\n" // a last line without its end still compares as a line
	return all
}
