package workspace

import (
	"context"
	"fmt"
	"sort"
	"sync"

	"github.com/containerd/errdefs"
	"golang.org/x/sys/unix"

	"github.com/garita-dev/garita/sandbox"
)

// maxDirect bounds the entries of the folders that one Direct watches.
const maxDirect = 100_000

// Direct watches host folders that servers write to at once, with the contract of Mark and Since,
// and two limits: whoever changes the folder, the person's editor included, is taken for the
// server, and folders of more than 100,000 entries are ResourceExhausted: effects in them cannot
// be told. A scan costs one lstat an entry, about 50 ms for 50,000. Read-only folders need no
// watching. Calls may overlap.
type Direct struct {
	clock clock

	mu      sync.Mutex
	folders []*directFolder
	log     changeLog
}

type directFolder struct {
	host string
	tree *tree
}

// WatchDirect reads the folders once. NotFound, InvalidArgument, ResourceExhausted.
func (s *Store) WatchDirect(folders []string) (*Direct, error) {
	d := &Direct{clock: s.clock, log: newChangeLog()}
	for _, host := range folders {
		if err := cleanFolder(host); err != nil {
			return nil, fmt.Errorf("watch: %w", err)
		}
		d.folders = append(d.folders, &directFolder{host: host, tree: newTree()})
	}
	if err := d.scan(absorbed); err != nil {
		return nil, fmt.Errorf("watch: %w", err)
	}
	return d, nil
}

// Mark makes a point that Since can be asked against.
func (d *Direct) Mark(context.Context) (sandbox.Mark, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if err := d.scan(logged); err != nil {
		return "", fmt.Errorf("mark: %w", err)
	}
	for _, f := range d.folders {
		if err := f.flushMapped(); err != nil {
			return "", fmt.Errorf("mark: %w", err)
		}
	}
	return d.log.mark(), nil
}

func (f *directFolder) flushMapped() error {
	if len(f.tree.fresh) == 0 {
		return nil
	}
	dir, err := openFolder(f.host)
	if err != nil {
		return err
	}
	defer dir.Close()
	f.tree.flushMapped(dir)
	return nil
}

// Since lists what was changed in the folders after a mark, by status.
func (d *Direct) Since(_ context.Context, m sandbox.Mark) ([]sandbox.Change, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	gen, err := d.log.parse(m)
	if err != nil {
		return nil, err
	}
	if err := d.scan(logged); err != nil {
		return nil, fmt.Errorf("see what changed: %w", err)
	}
	return d.effects(d.log.since(gen)), nil
}

func (d *Direct) scan(mode scanMode) error {
	gen, before := d.log.gen+1, len(d.log.events)
	for i, f := range d.folders {
		err := f.scan(d.clock, func(was, is *node) error {
			if d.entries() > maxDirect {
				return fmt.Errorf("folders of more than %d entries are not watched: %w", maxDirect, errdefs.ErrResourceExhausted)
			}
			if e, ok := directEvent(was, is); ok && mode == logged {
				e.gen, e.place.folder = gen, i
				d.log.events = append(d.log.events, e)
			}
			return nil
		})
		if err != nil {
			f.tree = newTree()
			return err
		}
	}
	if len(d.log.events) > before {
		d.log.gen = gen
		d.log.trim()
	}
	return nil
}

func (d *Direct) entries() int {
	n := 0
	for _, f := range d.folders {
		n += f.tree.entries
	}
	return n
}

func (f *directFolder) scan(c clock, report func(was, is *node) error) error {
	dir, err := openFolder(f.host)
	if err != nil {
		return err
	}
	defer dir.Close()
	readable, err := openBeneath(dir, "", unix.O_RDONLY|unix.O_DIRECTORY, 0)
	if err != nil {
		return err
	}
	defer readable.Close()
	return f.tree.scan(readable, c, report)
}

// directEvent leaves out directories in which only entries changed.
func directEvent(was, is *node) (event, bool) {
	n := is
	if is == nil {
		n = was
	}
	if was != nil && is != nil && was.kind() == kindDir && is.kind() == kindDir && was.stat.Mode == is.stat.Mode {
		return event{}, false
	}
	return event{place: place{path: n.path}, before: was != nil, kind: n.kind()}, true
}

func (d *Direct) effects(events []event) []sandbox.Change {
	first := map[place]event{}
	last := map[place]kind{}
	for _, e := range events {
		if _, known := first[e.place]; !known {
			first[e.place] = e
		}
		last[e.place] = e.kind
	}
	changes := []sandbox.Change{}
	for p, e := range first {
		f := d.folders[p.folder]
		n := f.tree.find(p.path)
		c := sandbox.Change{Folder: f.host, Path: EncodePath(p.path), Type: last[p].String(), Kind: sandbox.Modified}
		switch {
		case n == nil && !e.before:
			continue
		case n == nil:
			c.Kind = sandbox.Deleted
		case !e.before:
			c.Kind = sandbox.Added
		}
		if n != nil {
			c.Type, c.Size = n.kind().String(), sizeOf(n.stat)
		}
		changes = append(changes, c)
	}
	sort.Slice(changes, func(i, j int) bool { return lessChange(changes[i], changes[j]) })
	return changes
}
