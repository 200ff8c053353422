package clientconfig

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/containerd/errdefs"

	"github.com/garita-dev/garita/daemon/config"
	"github.com/garita-dev/garita/sandbox"
)

// Importer reads, rewires and restores clients' settings on this machine. Its methods may be
// called at the same time.
type Importer struct {
	host    Host
	backups string
	env     func(string) string

	mu sync.Mutex // held while the list of backups, or a client's file, is changed
}

// NewImporter keeps its backups in p's backup directory.
func NewImporter(p config.Paths) *Importer {
	return &Importer{
		host:    Host{Home: p.Home, Guard: p.Guard(), Look: look, Read: readEnvFile},
		backups: p.BackupDir(), env: os.Getenv,
	}
}

// look follows symlinks to what a path leads to.
func look(path string) Seen {
	real, err := filepath.EvalSymlinks(path)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrInvalid) {
		return Seen{}
	}
	info, statErr := os.Stat(real)
	switch {
	case err != nil || statErr != nil:
		return Seen{Kind: Special}
	case info.IsDir():
		return Seen{Dir, real}
	case info.Mode().IsRegular():
		return Seen{File, real}
	}
	return Seen{Special, real}
}

// Plan reads the settings of a client by its name, or a file by its absolute path, and says what
// importing it would mean. Nothing is changed. Errors:
// NotFound, or InvalidArgument with line and column.
func (im *Importer) Plan(ctx context.Context, from string, known Known) (Plan, error) {
	named, client, err := im.resolve(from)
	if err != nil {
		return Plan{}, err
	}
	if err := readable(named); err != nil {
		return Plan{}, err
	}
	file, err := filepath.EvalSymlinks(named)
	if err != nil {
		return Plan{}, fmt.Errorf("import %s: %w", named, notFound(err))
	}
	p, err := im.planWhole(ctx, file, client, known)
	if err != nil {
		return p, fmt.Errorf("import %w", err)
	}
	if file != filepath.Clean(named) {
		p.Named = named
		p.Notices = append(p.Notices, fmt.Sprintf("%s leads to %s; that file is the one read and changed.", show(named), show(file)))
	}
	return p, nil
}

// planWhole reads a file again, a few times, when it ends in the middle: its owner may be writing.
func (im *Importer) planWhole(ctx context.Context, file, client string, known Known) (Plan, error) {
	for try := 0; ; try++ {
		data, info, err := readAt(file)
		if err != nil {
			return Plan{}, notFound(err)
		}
		p, err := NewPlan(data, file, client, known, im.host)
		if sys, ok := info.Sys().(*syscall.Stat_t); ok && sys.Nlink > 1 {
			p.Notices = append(p.Notices, "The file has other names (hard links); rewiring changes it under this one only.")
		}
		if !errors.Is(err, errCut) || try == 3 {
			return p, err
		}
		select {
		case <-ctx.Done():
			return p, ctx.Err()
		case <-time.After(200 * time.Millisecond):
		}
	}
}

func notFound(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%w: %w", err, errdefs.ErrNotFound)
	}
	return err
}

// readable refuses what this version cannot read, by the file's name.
func readable(file string) error {
	switch ext := strings.ToLower(filepath.Ext(file)); ext {
	case ".toml", ".yaml", ".yml":
		return fmt.Errorf("import %s: settings in %s come with a later version; this one reads JSON: %w", file, strings.ToUpper(ext[1:]), errdefs.ErrNotImplemented)
	case ".mcpb", ".dxt", ".zip":
		return fmt.Errorf("import %s: bundles come with a later version: %w", file, errdefs.ErrNotImplemented)
	}
	return nil
}

// Rewired says what was changed in a client's file.
type Rewired struct {
	File   string
	Backup string // "" when nothing had to be changed
	Count  int    // entries
}

// Rewire makes the imported entries of a plan run garita, an absolute path, instead of their own
// command. The file as it was is kept first. Errors: Conflict if the file is no longer what was planned on.
func (im *Importer) Rewire(_ context.Context, p Plan, garita string) (Rewired, error) {
	if !filepath.IsAbs(garita) || programName(garita) != "garita" {
		return Rewired{}, fmt.Errorf("rewire %s: %s is not an absolute path of garita: %w", p.File, garita, errdefs.ErrInvalidArgument)
	}
	im.mu.Lock()
	defer im.mu.Unlock()
	old, _, err := readAt(p.File)
	if err != nil {
		return Rewired{}, err
	}
	if digest(old) != p.Sum {
		return Rewired{}, fmt.Errorf("rewire %s: it has been changed in the meantime; import again: %w", p.File, errdefs.ErrConflict)
	}
	data, entries, err := rewireAll(old, p, garita)
	if err != nil {
		return Rewired{}, fmt.Errorf("rewire %s: %w", p.File, err)
	}
	if len(entries) == 0 {
		return Rewired{File: p.File}, nil
	}
	r := record{File: p.File, Client: p.Client, At: time.Now().UTC(), Before: p.Sum, After: digest(data), Entries: entries}
	if err := im.remember(r, old); err != nil {
		return Rewired{}, err
	}
	if err := replaceAt(p.File, p.Sum, data); err != nil {
		return Rewired{}, errors.Join(err, im.unless(r))
	}
	return Rewired{File: p.File, Backup: im.backup(p.Sum), Count: len(entries)}, nil
}

func rewireAll(data []byte, p Plan, garita string) ([]byte, []rewired, error) {
	var entries []rewired
	for _, e := range p.Entries {
		if !e.Imported() {
			continue
		}
		var err error
		if data, err = Rewire(data, e.Name, garita, connectArgs(string(e.Server.Name), p.Client)); err != nil {
			return nil, nil, err
		}
		entries = append(entries, rewired{e.Name, e.Server.Name})
	}
	return data, entries, nil
}

// remember keeps the backup and the record of a rewiring, before it is done.
func (im *Importer) remember(r record, old []byte) error {
	x, err := im.readIndex()
	if err != nil {
		return err
	}
	if err := im.keep(filepath.Base(im.backup(r.Before)), old); err != nil {
		return err
	}
	x.Records = append(x.Records, r)
	return im.writeIndex(x)
}

// unless forgets a rewiring that failed, unless the file was changed all the same.
func (im *Importer) unless(r record) error {
	if now, _, err := readAt(r.File); err != nil || digest(now) == r.After {
		return err
	}
	return im.forget(r)
}

// forget takes a record out again. Its backup stays if another record needs it.
func (im *Importer) forget(r record) error {
	x, err := im.readIndex()
	if err != nil {
		return err
	}
	x.Records = slices.DeleteFunc(x.Records, func(o record) bool { return o.File == r.File && o.At.Equal(r.At) })
	if err := im.writeIndex(x); err != nil {
		return err
	}
	if slices.ContainsFunc(x.Records, func(o record) bool { return o.Before == r.Before }) {
		return nil
	}
	if err := os.Remove(im.backup(r.Before)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("remove a backup: %w", err)
	}
	return nil
}

// Clients says which settings files lead to each server of ours, as far as we rewired them.
func (im *Importer) Clients() (map[sandbox.ServerName][]string, error) {
	im.mu.Lock()
	defer im.mu.Unlock()
	x, err := im.readIndex()
	if err != nil {
		return nil, err
	}
	out := map[sandbox.ServerName][]string{}
	for _, r := range x.Records {
		for _, e := range r.Entries {
			if !slices.Contains(out[e.Server], r.File) {
				out[e.Server] = append(out[e.Server], r.File)
			}
		}
	}
	return out, nil
}
