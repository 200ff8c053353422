package workspace

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path"
	"sort"
	"strings"

	"github.com/containerd/errdefs"
	"golang.org/x/sys/unix"

	"github.com/garita-dev/garita/sandbox"
)

// difference is one change with what Apply needs to know about it.
type difference struct {
	sandbox.Change
	folder *folder
	raw    string // Path, decoded
	upper  stat   // zero when hidden by an entry above
	host   stat   // zero when there is nothing
}

// Changes lists what differs from the host, by content, directories before what lies in them. A
// directory that merely leads to a change is not listed; a deleted or replaced directory is, with
// everything in it. Modified with another Type than the host's means replaced.
// NotFound, ResourceExhausted (over a million entries).
func (s *Store) Changes(ctx context.Context, id sandbox.WorkspaceID) ([]sandbox.Change, error) {
	w, err := s.workspace(id, false)
	if err != nil {
		return nil, err
	}
	if err := w.lock(); err != nil {
		return nil, err
	}
	defer w.mu.Unlock()
	diffs, err := w.differences(ctx)
	if err != nil {
		return nil, fmt.Errorf("compare workspace %s with the host: %w", id, err)
	}
	return publicChanges(diffs), nil
}

func publicChanges(diffs []difference) []sandbox.Change {
	changes := make([]sandbox.Change, 0, len(diffs))
	for _, d := range diffs {
		changes = append(changes, d.Change)
	}
	return changes
}

// differences compares all folders; w.mu is held.
func (w *workspace) differences(ctx context.Context) ([]difference, error) {
	if err := w.scan(logged); err != nil {
		return nil, err
	}
	var all []difference
	for _, f := range w.folders {
		c := &comparison{ctx: ctx, workspace: w, folder: f}
		if err := c.run(); err != nil {
			return nil, err
		}
		all = append(all, c.found...)
		if err := f.base.flush(); err != nil {
			return nil, err
		}
	}
	sort.SliceStable(all, func(i, j int) bool {
		a, b := all[i], all[j]
		return a.folder.n < b.folder.n || a.folder.n == b.folder.n && lessPath(a.raw, b.raw)
	})
	return all, w.dropHolds(all)
}

// comparison walks one upper tree beside the host's folder.
type comparison struct {
	ctx       context.Context // of the one walk
	workspace *workspace
	folder    *folder
	upper     *os.File
	root      *os.File // host folder; nil when it is gone
	found     []difference
}

func (c *comparison) run() error {
	upper, err := os.OpenFile(c.folder.upper(), os.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW, 0)
	if err != nil {
		return err
	}
	defer upper.Close()
	host, err := openFolder(c.folder.host)
	if err != nil && !errdefs.IsNotFound(err) {
		return err
	}
	if host != nil {
		defer host.Close()
	}
	c.upper, c.root = upper, host
	if err := c.dir(c.folder.tree.root, host); err != nil || host == nil {
		return err
	}
	return c.removed()
}

// removed adds the deletions that have no whiteout.
func (c *comparison) removed() error {
	for _, raw := range c.folder.unmarked() {
		dir, name := split(raw)
		parent, err := openDir(c.root, dir)
		if gone(err) {
			continue
		}
		if err != nil {
			return err
		}
		hs, err := statAt(parent, name)
		if err == nil {
			err = c.deleted(raw, name, parent, hs)
		}
		_ = parent.Close()
		if err != nil {
			return err
		}
	}
	return nil
}

// unmarked are the topmost paths that are deleted without an entry in the tree that says so.
func (f *folder) unmarked() []string {
	var paths []string
	for raw := range f.base.removed {
		if f.tree.find(raw) == nil && !f.tree.hides(raw) && !belowRemoved(f.base.removed, raw) {
			paths = append(paths, raw)
		}
	}
	return paths
}

func belowRemoved(removed map[string]bool, raw string) bool {
	for p, _ := split(raw); p != ""; p, _ = split(p) {
		if removed[p] {
			return true
		}
	}
	return false
}

// dir compares the children of an upper directory with a directory of the host, nil for none.
func (c *comparison) dir(n *node, host *os.File) error {
	for _, child := range n.children {
		if err := c.ctx.Err(); err != nil {
			return err
		}
		hs, err := statAt(host, child.name)
		if err != nil {
			return err
		}
		if err := c.entry(child, host, hs); err != nil {
			return err
		}
	}
	if !n.shows && host != nil {
		return c.hidden(n, host)
	}
	return nil
}

// hidden adds what an opaque directory, or one below it, does not show of the host's.
func (c *comparison) hidden(n *node, host *os.File) error {
	names, err := readNames(host, "")
	if err != nil && !gone(err) {
		return err
	}
	for _, name := range names {
		if n.child(name) != nil {
			continue
		}
		hs, err := statAt(host, name)
		if err != nil {
			return err
		}
		if err := c.deleted(join(n.path, name), name, host, hs); err != nil {
			return err
		}
	}
	return nil
}

func (c *comparison) entry(n *node, host *os.File, hs stat) error {
	switch n.kind() {
	case kindWhiteout:
		return c.deleted(n.path, n.name, host, hs)
	case kindDir:
		return c.directory(n, host, hs)
	case kindNone:
		return nil
	case kindFile, kindSymlink, kindOther:
	}
	equal, err := c.settle(n, host, hs)
	if err != nil || equal {
		return err
	}
	if err := c.add(n, hs); err != nil {
		return err
	}
	return c.below(n.path, n.name, host, hs)
}

// settle says whether an upper file or link is no change, and remembers it.
func (c *comparison) settle(n *node, host *os.File, hs stat) (bool, error) {
	fp := c.folder.base.prints[n.path]
	if settled(n, fp) {
		return true, nil
	}
	if n.deep || n.kind() != hs.kind() {
		return false, nil
	}
	equal, upper, err := sameContent(c.upper, n.path, host, n.name, n.stat, hs)
	if err != nil && (gone(err) || errors.Is(err, errIrregular)) {
		return false, nil // replaced just now: the next look sees it
	}
	if err != nil || !equal {
		return false, err
	}
	if !fp.same(hs) || fp.Late {
		fp = takePrint(host, n.name, hs, hashFileLimit)
	}
	fp.Settled = &upper
	c.folder.base.set(n.path, fp)
	return true, nil
}

func (c *comparison) directory(n *node, host *os.File, hs stat) error {
	if hs.kind() != kindDir {
		if err := c.add(n, hs); err != nil {
			return err
		}
		return c.dir(n, nil)
	}
	if n.stat.perm() != hs.perm() {
		if err := c.add(n, hs); err != nil {
			return err
		}
	}
	sub, err := openDir(host, n.name)
	if err != nil && !gone(err) {
		return err
	}
	if sub != nil {
		defer sub.Close()
	}
	return c.dir(n, sub)
}

// deleted adds a path that is hidden, and everything below it. A deletion that was applied stays
// settled: what the host gets there afterwards, the workspace has never seen.
func (c *comparison) deleted(raw, name string, host *os.File, hs stat) error {
	fp, known := c.folder.base.prints[raw]
	if hs.kind() == kindNone || known && fp.kind() == kindNone && fp.Settled != nil {
		return nil
	}
	if err := c.put(raw, sandbox.Deleted, hs.kind(), stat{}, hs); err != nil {
		return err
	}
	return c.below(raw, name, host, hs)
}

// below adds all that lies below a directory of the host which is hidden or replaced.
func (c *comparison) below(raw, name string, host *os.File, hs stat) error {
	if hs.kind() != kindDir {
		return nil
	}
	return walkChild(host, raw, name, hs, func(_ *os.File, p, _ string, st stat) error {
		return c.put(p, sandbox.Deleted, st.kind(), stat{}, st)
	})
}

// add records an upper entry that differs.
func (c *comparison) add(n *node, hs stat) error {
	kind := sandbox.Modified
	if hs.kind() == kindNone {
		kind = sandbox.Added
	}
	return c.put(n.path, kind, n.kind(), n.stat, hs)
}

func (c *comparison) put(raw string, kind sandbox.ChangeKind, k kind, upper, hs stat) error {
	if len(c.found) >= maxEntries {
		return errTooMany
	}
	if err := c.ctx.Err(); err != nil {
		return err
	}
	d := difference{
		Change: sandbox.Change{Folder: c.folder.host, Path: EncodePath(raw), Kind: kind, Type: k.String(), Size: sizeOf(upper)},
		folder: c.folder, raw: raw, upper: upper, host: hs,
	}
	d.Stale = c.stale(raw, hs)
	d.Held = c.held(d)
	c.found = append(c.found, d)
	return nil
}

// stale says whether the host's path is no longer what the workspace first saw there.
func (c *comparison) stale(raw string, hs stat) bool {
	fp, known := c.folder.base.prints[raw]
	switch {
	case !known:
		return true
	case fp.kind() != hs.kind():
		return true
	case hs.kind() == kindNone || hs.kind() == kindDir:
		return false
	case fp.Late:
		return true
	case fp.same(hs):
		return false
	}
	return fp.Hash == "" || fp.perm() != hs.perm() || c.hostHash(raw, hs) != fp.Hash
}

func (c *comparison) hostHash(raw string, hs stat) string {
	if c.root == nil {
		return ""
	}
	if hs.kind() == kindSymlink {
		target, err := readLink(c.root, raw)
		if err != nil {
			return ""
		}
		return hashString(target)
	}
	return hashAt(c.root, raw, hs)
}

// held is why Apply leaves a change out unless it is named.
func (c *comparison) held(d difference) string {
	if reason := c.workspace.heldBy(place{c.folder.n, d.raw}); reason != "" {
		return reason
	}
	if d.Kind == sandbox.Deleted {
		return ""
	}
	switch d.upper.kind() {
	case kindOther:
		return refusedSpecial
	case kindSymlink:
		target, err := readLink(c.upper, d.raw)
		if err != nil {
			return ""
		}
		if c.leaves(d.raw, target) {
			return "a symbolic link that leads out of the folder, to " + EncodePath(target) + "; name it to apply it"
		}
	case kindNone, kindFile, kindDir, kindWhiteout:
	}
	return risky(d.raw)
}

const refusedSpecial = "neither a file, a directory nor a symbolic link"

// leaves says whether a link at raw with this target leads out of the folder, by its words or by
// the links already on the host.
func (c *comparison) leaves(raw, target string) bool {
	dir, _ := split(raw)
	if path.IsAbs(target) || target == "" {
		return true
	}
	words := path.Join(dir, target)
	if words == ".." || strings.HasPrefix(words, "../") {
		return true
	}
	if c.root == nil {
		return false
	}
	f, err := openat2(int(c.root.Fd()), "./"+dir+"/"+target, unix.O_PATH, 0, unix.RESOLVE_BENEATH|unix.RESOLVE_NO_MAGICLINKS)
	if err == nil {
		_ = f.Close()
		return false
	}
	return !errors.Is(err, unix.ENOENT) && !errors.Is(err, unix.ENOTDIR)
}
