package workspace

import (
	"errors"
	"os"
	"slices"
	"strings"

	"golang.org/x/sys/unix"
)

// node is one entry of an upper directory as it was last seen.
type node struct {
	name     string
	path     string // raw, relative to the folder; "" for the root
	stat     stat
	opaque   bool    // a directory that hides the host's
	deep     bool    // its path is too long to look at: taken as changed at every scan
	children []*node // by name; of a directory
	listed   int64   // unix nanoseconds; 0: children not read yet
	sum      string  // SHA-256 of a file, where status alone cannot tell; "" when not taken
	parent   *node   // nil for the root

	// A directory through which the host's entries show, as of this scan and the one before.
	shows, showed bool
}

func (n *node) kind() kind {
	if n == nil {
		return kindNone
	}
	return n.stat.kind()
}

// visible says whether the merged tree shows the entry.
func (n *node) visible() bool { return n.kind() != kindNone && n.kind() != kindWhiteout }

// tree is an upper directory as it was last seen. Scanning again costs one lstat an entry, and a
// listing of those directories only that changed.
type tree struct {
	root    *node
	limits  treeLimits
	entries int
	bytes   int      // of paths
	newest  int64    // newest change time seen, unix nanoseconds
	fresh   []string // files found changed since the last flushMapped
}

// treeLimits bound a tree; beyond them a scan fails with errTooMany.
type treeLimits struct{ entries, bytes int }

func newTree() *tree {
	return &tree{root: &node{shows: true, showed: true}, limits: treeLimits{maxEntries, maxPathBytes}}
}

// add counts an entry.
func (t *tree) add(path string) error {
	t.entries++
	t.bytes += len(path)
	if t.entries > t.limits.entries || t.bytes > t.limits.bytes {
		return errTooMany
	}
	return nil
}

// find returns the entry at a raw path, or nil.
func (t *tree) find(path string) *node {
	n := t.root
	for path != "" && n != nil {
		name, rest, _ := strings.Cut(path, "/")
		n = n.child(name)
		path = rest
	}
	return n
}

// hides says whether an entry of the tree keeps the host's path from being seen.
func (t *tree) hides(path string) bool {
	n := t.root
	for path != "" {
		name, rest, _ := strings.Cut(path, "/")
		child := n.child(name)
		switch {
		case child == nil:
			return !n.shows
		case child.kind() != kindDir:
			return true
		}
		n, path = child, rest
	}
	return false
}

func (n *node) child(name string) *node {
	i, found := n.search(name)
	if !found {
		return nil
	}
	return n.children[i]
}

func (n *node) search(name string) (int, bool) {
	return slices.BinarySearchFunc(n.children, name, func(c *node, name string) int { return strings.Compare(c.name, name) })
}

// scanner is one pass over a tree.
type scanner struct {
	tree   *tree
	upper  *os.File
	clock  clock
	budget int64                     // bytes that may still be hashed
	report func(was, is *node) error // nil: was not there, is no longer there
}

// scan brings the tree up to date. report gets every entry that is new, different or gone, parents
// before children; its arguments are only good during the call, and was has no children.
func (t *tree) scan(upper *os.File, c clock, report func(was, is *node) error) error {
	st, err := statFile(upper)
	if err != nil {
		return err
	}
	s := &scanner{tree: t, upper: upper, clock: c, budget: hashScanLimit, report: report}
	relist := !t.root.stat.same(st)
	t.root.stat = st
	return s.dir(t.root, relist)
}

// dir refreshes what lies below n, whose own status has just been taken.
func (s *scanner) dir(n *node, relist bool) error {
	s.tree.newest = max(s.tree.newest, n.stat.Ctime)
	if relist || n.listed == 0 || s.hurried(n) {
		if err := s.list(n); err != nil {
			return err
		}
	}
	kept := n.children[:0]
	for _, c := range n.children {
		there, err := s.entry(c)
		if err != nil {
			return err
		}
		if there {
			kept = append(kept, c)
		}
	}
	clear(n.children[len(kept):])
	n.children = kept
	return nil
}

// hurried says that the directory was listed so soon after a change that another one, stamped
// alike, may have followed.
func (s *scanner) hurried(n *node) bool {
	return s.clock.tick > 0 && n.listed-n.stat.Mtime < int64(s.clock.tick)
}

// list reads the names in n; new ones become children without a status.
func (s *scanner) list(n *node) error {
	names, there, err := s.read(n)
	if err != nil || !there {
		return err
	}
	return s.merge(n, names)
}

// read reads the names in n and whether it is opaque. A directory that was just removed or
// replaced is not there: the next scan sees what came instead.
func (s *scanner) read(n *node) (names []string, there bool, err error) {
	n.listed = now()
	f, err := openBeneath(s.upper, n.path, unix.O_RDONLY|unix.O_DIRECTORY, 0)
	if gone(err) {
		return nil, false, nil
	}
	if err != nil {
		return nil, false, err
	}
	defer f.Close()
	n.opaque = opaque(f)
	names, err = namesOf(f)
	if gone(err) {
		return nil, false, nil
	}
	slices.Sort(names)
	return names, true, err
}

func (s *scanner) merge(n *node, names []string) error {
	old := n.children
	n.children = make([]*node, 0, len(names))
	for _, name := range names {
		for len(old) > 0 && old[0].name < name {
			if err := s.gone(old[0]); err != nil {
				return err
			}
			old = old[1:]
		}
		if len(old) > 0 && old[0].name == name {
			n.children = append(n.children, old[0])
			old = old[1:]
			continue
		}
		c := &node{name: name, path: join(n.path, name), parent: n}
		n.children = append(n.children, c)
		if err := s.tree.add(c.path); err != nil {
			return err
		}
	}
	for _, c := range old {
		if err := s.gone(c); err != nil {
			return err
		}
	}
	return nil
}

// entry looks at one child again and says whether it is still there.
func (s *scanner) entry(c *node) (bool, error) {
	st, deep, err := s.status(c.path)
	if err != nil {
		return false, err
	}
	if st.kind() == kindNone {
		return false, s.gone(c)
	}
	changed := deep || !c.stat.same(st)
	if s.clock.blind && st.kind() == kindFile {
		changed = s.rewritten(c, st) || changed
	}
	s.tree.newest = max(s.tree.newest, st.Ctime)
	if !changed && c.kind() != kindDir {
		return true, nil
	}
	if !changed {
		c.showed = c.shows
		return true, s.dir(c, false)
	}
	return true, s.changed(c, st, deep)
}

// rewritten compares contents with those of the last scan, within the bounds of one scan.
func (s *scanner) rewritten(c *node, st stat) bool {
	was := c.sum
	c.sum = ""
	if st.Size <= s.budget {
		s.budget -= st.Size
		c.sum = hashAt(s.upper, c.path, st)
	}
	return was != "" && c.sum != "" && was != c.sum
}

func (s *scanner) changed(c *node, st stat, deep bool) error {
	was := *c
	was.children = nil
	c.stat, c.deep = st, deep
	c.showed = c.shows
	if was.kind() == kindNone {
		c.showed = c.parent.showed
	}
	if st.kind() == kindFile {
		s.tree.fresh = append(s.tree.fresh, c.path)
	}
	if st.kind() != kindDir {
		c.opaque, c.listed, c.shows = false, 0, false
		if err := s.tell(&was, c); err != nil {
			return err
		}
		return s.dropChildren(c)
	}
	// Whether it is opaque is part of what is told, so read first; the children follow.
	names, there, err := s.read(c)
	if err != nil {
		return err
	}
	c.shows = c.parent.shows && !c.opaque
	if err := s.tell(&was, c); err != nil {
		return err
	}
	if there {
		if err := s.merge(c, names); err != nil {
			return err
		}
	}
	return s.dir(c, false)
}

func (s *scanner) tell(was, is *node) error {
	if was.kind() == kindNone {
		return s.report(nil, is)
	}
	return s.report(was, is)
}

// gone reports an entry and all below it, children last, and forgets them.
func (s *scanner) gone(c *node) error {
	s.tree.entries--
	s.tree.bytes -= len(c.path)
	if c.kind() == kindNone {
		return nil // never seen
	}
	if err := s.report(c, nil); err != nil {
		return err
	}
	return s.dropChildren(c)
}

func (s *scanner) dropChildren(c *node) error {
	children := c.children
	c.children = nil
	for _, child := range children {
		if err := s.gone(child); err != nil {
			return err
		}
	}
	return nil
}

// status is lstat of a path of the upper directory.
func (s *scanner) status(path string) (st stat, deep bool, err error) {
	var raw unix.Stat_t
	err = unix.Fstatat(int(s.upper.Fd()), path, &raw, unix.AT_SYMLINK_NOFOLLOW)
	switch {
	case err == nil:
		return statOf(&raw), false, nil
	case gone(err):
		return stat{}, false, nil
	case errors.Is(err, unix.ENAMETOOLONG):
		return stat{Mode: unix.S_IFIFO}, true, nil
	}
	return stat{}, false, err
}

// opaque says whether overlayfs hides the host's directory behind this one.
func opaque(dir *os.File) bool {
	var value [2]byte
	n, err := unix.Fgetxattr(int(dir.Fd()), "user.overlay.opaque", value[:])
	return err == nil && n == 1 && value[0] == 'y'
}

// forget makes the next scan see the entry as new, with the children it has left.
func (t *tree) forget(path string) {
	if n := t.find(path); n != nil {
		n.stat = stat{}
	}
}

// flushMapped starts writing back the files that have changed, which makes their mapped pages
// read-only for a moment: without that, a process that has written a mapped page once may write it
// again and again, and the file's times stay what they are.
func (t *tree) flushMapped(upper *os.File) {
	for _, path := range t.fresh {
		f, _, err := openRegular(upper, path)
		if err != nil {
			continue // gone or replaced
		}
		stopMappedWrites(f)
		_ = f.Close()
	}
	t.fresh = nil
}

// stopMappedWrites waits for a write-back that is under way, because a page made dirty again
// meanwhile would be passed over, and starts another one.
func stopMappedWrites(f *os.File) {
	_ = unix.SyncFileRange(int(f.Fd()), 0, 0, unix.SYNC_FILE_RANGE_WAIT_BEFORE|unix.SYNC_FILE_RANGE_WRITE)
}
