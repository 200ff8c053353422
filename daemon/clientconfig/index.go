package clientconfig

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/containerd/errdefs"
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/garita-dev/garita/sandbox"
)

// index is backups/index.json: which settings files have been rewired and how to undo it. Records
// are in the order of rewiring; undoing goes backwards.
type index struct {
	Version int      `json:"version"`
	Records []record `json:"records"`
}

// record is one rewiring of one file.
type record struct {
	File    string    `json:"file"`
	Client  string    `json:"client"`
	At      time.Time `json:"at"`
	Before  string    `json:"before"` // SHA-256 of the file's bytes, hex; the backup is Before + ".bak"
	After   string    `json:"after"`  // SHA-256 of what we wrote
	Entries []rewired `json:"entries"`
	Hooks   bool      `json:"hooks,omitempty"` // hooks were put in, and no entries rewired; Before is "" where there was no file
}

// rewired is one entry and where it leads now.
type rewired struct {
	Entry  string             `json:"entry"`
	Server sandbox.ServerName `json:"server"`
}

const indexVersion = 1

func (im *Importer) indexFile() string        { return filepath.Join(im.backups, "index.json") }
func (im *Importer) backup(sum string) string { return filepath.Join(im.backups, sum+".bak") }

func (im *Importer) readIndex() (index, error) {
	x := index{Version: indexVersion}
	data, err := os.ReadFile(im.indexFile())
	if errors.Is(err, fs.ErrNotExist) {
		return x, nil
	}
	if err == nil {
		err = json.Unmarshal(data, &x, json.RejectUnknownMembers(true))
	}
	if err == nil && x.Version != indexVersion {
		err = fmt.Errorf("version %d is not known to this garita: %w", x.Version, errdefs.ErrFailedPrecondition)
	}
	if err != nil {
		return x, fmt.Errorf("read the list of backups %s: %w", im.indexFile(), err)
	}
	return x, nil
}

func (im *Importer) writeIndex(x index) error {
	data, err := json.Marshal(x, json.Deterministic(true), jsontext.WithIndent("  "))
	if err != nil {
		return fmt.Errorf("write the list of backups: %w", err)
	}
	return im.keep("index.json", append(data, '\n'))
}

// keep writes a file into the backup directory: for the user alone, at once, lasting.
func (im *Importer) keep(name string, data []byte) error {
	if err := os.MkdirAll(im.backups, 0o700); err != nil {
		return fmt.Errorf("keep %s: %w", name, err)
	}
	dir, err := os.OpenRoot(im.backups)
	if err != nil {
		return fmt.Errorf("keep %s: %w", name, err)
	}
	defer func() { _ = dir.Close() }()
	tmp := name + ".new"
	f, err := dir.OpenFile(tmp, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return fmt.Errorf("keep %s: %w", name, err)
	}
	_, err = f.Write(data)
	if err := errors.Join(err, f.Sync(), f.Close()); err != nil {
		return fmt.Errorf("keep %s: %w", name, errors.Join(err, dropped(dir, tmp)))
	}
	if err := dir.Rename(tmp, name); err != nil {
		return fmt.Errorf("keep %s: %w", name, err)
	}
	return syncRoot(dir)
}
