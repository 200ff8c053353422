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

	"github.com/containerd/errdefs"
)

// Restored is one settings file put back, or why it was not.
type Restored struct {
	File   string
	Client string
	Done   bool   // all that we changed is as it was
	Note   string // what a person should know; "" when the file is byte for byte as before
}

// Restore puts settings files back: of one client, by its id or by the file's path, or of all ("").
// A file that is still what we wrote becomes byte for byte what it was. In one that has been changed
// since, only the entries that still lead to us are put back. A record is forgotten once nothing of
// it is left; until then its backup stays. NotFound if nothing of client was ever rewired.
func (im *Importer) Restore(ctx context.Context, client string) ([]Restored, error) {
	im.mu.Lock()
	defer im.mu.Unlock()
	x, err := im.readIndex()
	if err != nil {
		return nil, err
	}
	var out []Restored
	for _, r := range slices.Backward(x.Records) {
		if client != "" && client != r.Client && filepath.Clean(client) != r.File {
			continue
		}
		if ctx.Err() != nil {
			return out, ctx.Err()
		}
		one, err := im.restore(r)
		if err != nil {
			one = Restored{File: r.File, Client: r.Client, Note: err.Error()}
		}
		out = append(out, one)
	}
	if client != "" && len(out) == 0 {
		return nil, fmt.Errorf("restore %s: nothing of it has been rewired: %w", client, errdefs.ErrNotFound)
	}
	return out, nil
}

func (im *Importer) restore(r record) (Restored, error) {
	if r.Hooks {
		return im.restoreHooks(r)
	}
	done := Restored{File: r.File, Client: r.Client, Done: true}
	now, _, err := readAt(r.File)
	if errors.Is(err, fs.ErrNotExist) {
		return Restored{}, fmt.Errorf("the file is gone; what it was is kept in %s", im.backup(r.Before))
	}
	if err != nil {
		return Restored{}, err
	}
	original, err := im.original(r)
	if err != nil {
		return Restored{}, err
	}
	switch digest(now) {
	case r.Before: // a crash came before the rewiring, or somebody put it back
		return done, im.forget(r)
	case r.After:
		if err := replaceAt(r.File, r.After, original); err != nil {
			return Restored{}, err
		}
		return done, im.forget(r)
	}
	return im.merge(r, now, original)
}

func (im *Importer) original(r record) ([]byte, error) {
	data, err := os.ReadFile(im.backup(r.Before))
	if err != nil {
		return nil, fmt.Errorf("read the backup: %w", err)
	}
	if digest(data) != r.Before {
		return nil, fmt.Errorf("the backup %s is damaged; the file was left alone: %w", im.backup(r.Before), errdefs.ErrDataLoss)
	}
	return data, nil
}

// merge puts back our entries in a file that somebody has changed since.
func (im *Importer) merge(r record, now, original []byte) (Restored, error) {
	out := Restored{File: r.File, Client: r.Client}
	data, n, left, err := putBack(now, original, r.Client, r.Entries)
	if err != nil {
		return out, err
	}
	if n > 0 {
		if err := replaceAt(r.File, digest(now), data); err != nil {
			return out, err
		}
	}
	out.Done = true
	out.Note = fmt.Sprintf("the file has been changed since; %d of our entries put back, the rest of it left as it is", n)
	if len(left) == 0 {
		return out, im.forget(r)
	}
	out.Note += fmt.Sprintf("; %s; the file as it was before Garita is kept in %s", strings.Join(left, ", "), im.backup(r.Before))
	return out, im.close(r)
}

// close takes a record out of the list and leaves its backup where it is.
func (im *Importer) close(r record) error {
	x, err := im.readIndex()
	if err != nil {
		return err
	}
	x.Records = slices.DeleteFunc(x.Records, func(o record) bool { return o.File == r.File && o.At.Equal(r.At) })
	return im.writeIndex(x)
}
