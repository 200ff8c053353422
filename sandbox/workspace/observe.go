package workspace

import (
	"errors"
	"fmt"
	"io"
	"os"
	"slices"

	"github.com/containerd/errdefs"
	"golang.org/x/sys/unix"
)

// Hashing the host's files when they are first seen changed is bounded, in bytes: a file, a scan.
const (
	hashFileLimit = 1 << 20
	hashScanLimit = 16 << 20
)

// scanMode says whether a scan's changes are somebody's effects.
type scanMode bool

const (
	logged   scanMode = true
	absorbed scanMode = false // our own doing, or seen before anything ran
)

// scan brings all trees, fingerprints and the log up to date.
func (w *workspace) scan(mode scanMode) error {
	gen := w.log.gen + 1
	before := len(w.log.events)
	for _, f := range w.folders {
		o := &observer{folder: f, budget: hashScanLimit}
		if mode == logged {
			o.log = func(path string, before bool, k kind) {
				if p := (place{f.n, path}); !w.undoing[p] {
					w.log.events = append(w.log.events, event{gen: gen, place: p, before: before, kind: k})
				}
			}
		}
		if err := o.scan(w.clock); err != nil {
			return err
		}
	}
	if len(w.log.events) > before {
		w.log.gen = gen
		w.log.trim()
	}
	return nil
}

// observer takes in what one scan of one folder reports.
type observer struct {
	folder *folder
	log    func(path string, before bool, k kind) // nil: nothing is logged
	upper  *os.File
	host   *hostView // opened when first needed
	budget int64     // bytes that may still be hashed
}

func (o *observer) scan(c clock) error {
	f := o.folder
	upper, err := os.OpenFile(f.upper(), os.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW, 0)
	if err != nil {
		return err
	}
	defer upper.Close()
	o.upper = upper
	defer func() { o.host.close() }()
	err = f.tree.scan(upper, c, o.report)
	if err != nil {
		f.forgetTree() // half up to date: start over, the fingerprints are kept
		return err
	}
	return f.base.flush()
}

func (o *observer) report(was, is *node) error {
	if is == nil {
		o.gone(was)
		return nil
	}
	fp, known := o.folder.base.prints[is.path]
	if !known {
		var err error
		if fp, err = o.firstSeen(is); err != nil {
			return err
		}
		o.folder.base.set(is.path, fp)
	}
	o.event(was, is, fp)
	if fp.Removed || was != nil && fp.Settled != nil {
		fp.Removed, fp.Settled = false, nil
		o.folder.base.set(is.path, fp)
	}
	if hidesNow(was, is) && fp.kind() == kindDir {
		return o.hidden(is.path, is.parent.showed)
	}
	return nil
}

// hidesNow says whether the entry began to hide a directory of the host.
func hidesNow(was, is *node) bool {
	merges := was == nil || was.kind() == kindDir && !was.opaque
	return merges && (is.kind() != kindDir || is.opaque)
}

func (o *observer) gone(was *node) {
	fp := o.folder.base.prints[was.path]
	switch {
	case fp.kind() == kindNone:
		o.folder.base.drop(was.path)
	case !o.folder.tree.hides(was.path):
		fp.Removed, fp.Settled = true, nil
		o.folder.base.set(was.path, fp)
	}
	if o.log != nil && was.visible() {
		o.log(was.path, true, was.kind())
	}
}

// event logs a change that is one: not the copy of a directory on the way to a changed file, not
// an unchanged copy of a file.
func (o *observer) event(was, is *node, fp fingerprint) {
	if o.log == nil {
		return
	}
	before := was.visible()
	if was == nil {
		before = is.parent.showed && fp.kind() != kindNone && !fp.Removed
	}
	switch {
	case is.deep:
	case was == nil && before && settled(is, fp):
		return
	case was == nil && before && is.kind() == kindDir && fp.kind() == kindDir && is.stat.perm() == fp.perm():
		return
	case was.kind() == kindDir && is.kind() == kindDir && was.stat.Mode == is.stat.Mode:
		return
	case is.kind() == kindWhiteout && !before:
		return
	}
	k := is.kind()
	if k == kindWhiteout {
		k = was.kind()
		if was == nil {
			k = fp.kind()
		}
	}
	o.log(is.path, before, k)
}

func settled(n *node, fp fingerprint) bool {
	return fp.Settled != nil && fp.Settled.same(n.stat)
}

// view opens the host folder once; a folder that is gone shows nothing.
func (o *observer) view() (*hostView, error) {
	if o.host == nil {
		dir, err := openFolder(o.folder.host)
		if err != nil && !errdefs.IsNotFound(err) {
			return nil, err
		}
		o.host = &hostView{root: dir}
	}
	return o.host, nil
}

// firstSeen fingerprints the host's file under an entry that no scan has seen before.
func (o *observer) firstSeen(n *node) (fingerprint, error) {
	v, err := o.view()
	if err != nil {
		return fingerprint{}, err
	}
	dirPath, name := split(n.path)
	dir, err := v.dir(dirPath)
	if err != nil {
		return fingerprint{}, err
	}
	st, err := statAt(dir, name)
	if err != nil || st.kind() == kindNone {
		return fingerprint{}, err
	}
	fp := o.print(dir, name, st)
	if st.Ctime > o.folder.mountedAt {
		fp.Late = o.late(dir, name, st, n)
	}
	if equal, upper := o.equal(n, dir, name, st); equal {
		fp.Settled = &upper
	}
	return fp, nil
}

// print fingerprints a file of the host, within the bounds of this scan.
func (o *observer) print(dir *os.File, name string, st stat) fingerprint {
	limit := min(hashFileLimit, o.budget)
	if st.kind() == kindFile && st.Size <= limit {
		o.budget -= st.Size
	}
	return takePrint(dir, name, st, limit)
}

// takePrint fingerprints a file of the host; of a file larger than limit the status has to do.
func takePrint(dir *os.File, name string, st stat, limit int64) fingerprint {
	fp := fingerprint{stat: st}
	switch st.kind() {
	case kindSymlink:
		if target, err := readLink(dir, name); err == nil {
			fp.Hash = hashString(target)
		}
	case kindFile:
		if st.Size <= limit {
			fp.Hash = hashAt(dir, name, st)
		}
	case kindNone, kindDir, kindOther, kindWhiteout:
	}
	return fp
}

// hashAt is "" when the file is no longer the one of st, before or after it was read.
func hashAt(dir *os.File, name string, st stat) string {
	f, now, err := openRegular(dir, name)
	if err != nil {
		return ""
	}
	defer f.Close()
	hash, err := hashFile(f)
	if after, err2 := statFile(f); err != nil || err2 != nil || !now.same(st) || !after.same(st) {
		return ""
	}
	return hash
}

// late decides about a file of the host that changed while the workspace was mounted: replaced, the
// merged tree may have gone on showing the old one; written in place after the copy was made, the
// copy lacks it.
func (o *observer) late(dir *os.File, name string, st stat, n *node) bool {
	if st.kind() == kindDir {
		return false
	}
	if n.kind() != kindFile || birth(dir, name) > o.folder.mountedAt {
		return true
	}
	copied := birth(o.upper, n.path)
	return copied == 0 || st.Ctime > copied
}

// equal compares an upper entry with the host's by what apply would carry over. upper is the
// entry's status before it was read.
func (o *observer) equal(n *node, dir *os.File, name string, host stat) (equal bool, upper stat) {
	if n.deep || n.kind() != host.kind() {
		return false, stat{}
	}
	equal, upper, err := sameContent(o.upper, n.path, dir, name, n.stat, host)
	return equal && err == nil, upper
}

// sameContent compares an upper entry with a host's file of the same kind. Directories and special
// files are never the same.
func sameContent(upper *os.File, path string, dir *os.File, name string, us, hs stat) (bool, stat, error) {
	switch us.kind() {
	case kindSymlink:
		a, err := readLink(upper, path)
		if err != nil {
			return false, us, err
		}
		b, err := readLink(dir, name)
		return a == b, us, err
	case kindFile:
		if us.Size != hs.Size || us.perm() != hs.perm() {
			return false, us, nil
		}
		return sameBytes(upper, path, dir, name)
	case kindNone, kindDir, kindOther, kindWhiteout:
	}
	return false, us, nil
}

func sameBytes(upper *os.File, path string, dir *os.File, name string) (bool, stat, error) {
	a, st, err := openRegular(upper, path)
	if err != nil {
		return false, stat{}, err
	}
	defer a.Close()
	stopMappedWrites(a) // or a later one might not show, and the file would be taken for equal for ever
	b, _, err := openRegular(dir, name)
	if err != nil {
		return false, st, err
	}
	defer b.Close()
	equal, err := equalReaders(a, b)
	return equal, st, err
}

func equalReaders(a, b io.Reader) (bool, error) {
	var bufs [2][32 << 10]byte
	for {
		n, err := io.ReadFull(a, bufs[0][:])
		m, err2 := io.ReadFull(b, bufs[1][:])
		if n != m || !slices.Equal(bufs[0][:n], bufs[1][:m]) {
			return false, nil
		}
		for _, e := range []error{err, err2} {
			if e != nil && !errors.Is(e, io.EOF) && !errors.Is(e, io.ErrUnexpectedEOF) {
				return false, e
			}
		}
		if err != nil || err2 != nil {
			return true, nil
		}
	}
}

// hidden fingerprints everything of the host below a directory that an entry now hides, and logs it
// if it showed before.
func (o *observer) hidden(path string, showed bool) error {
	v, err := o.view()
	if err != nil {
		return err
	}
	count := 0
	return v.walk(path, func(dir *os.File, p, name string, st stat) error {
		if count++; count > maxEntries {
			return fmt.Errorf("hide %q: %w", path, errTooMany)
		}
		if _, known := o.folder.base.prints[p]; !known {
			fp := o.print(dir, name, st)
			fp.Late = st.kind() != kindDir && st.Ctime > o.folder.mountedAt
			o.folder.base.set(p, fp)
		}
		if n := o.folder.tree.find(p); o.log != nil && showed && (n == nil || n.visible()) {
			o.log(p, true, st.kind())
		}
		return nil
	})
}
