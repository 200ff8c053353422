package workspace

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"golang.org/x/sys/unix"

	"github.com/garita-dev/garita/sandbox"
)

// placer puts changes of one folder into place on the host.
type placer struct {
	host, upper *os.File
	journal     *journal
	touched     map[string]bool // directories to flush
}

func (w *workspace) newPlacer(f *folder) (*placer, error) {
	if err := f.recover(); err != nil {
		return nil, fmt.Errorf("end an interrupted apply: %w", err)
	}
	host, err := openFolder(f.host)
	if err != nil {
		return nil, err
	}
	upper, err := f.openUpper()
	if err != nil {
		_ = host.Close()
		return nil, err
	}
	j, err := openJournal(f.journal())
	if err != nil {
		_ = host.Close()
		_ = upper.Close()
		return nil, err
	}
	return &placer{host: host, upper: upper, journal: j, touched: map[string]bool{}}, nil
}

// close flushes the directories that were written; a crash before that is what the journal is for.
func (p *placer) close() error {
	for dir := range p.touched {
		if d, err := openBeneath(p.host, dir, unix.O_RDONLY|unix.O_DIRECTORY, 0); err == nil {
			_ = d.Sync() // some file systems cannot; the rename itself has happened
			_ = d.Close()
		}
	}
	return errors.Join(p.journal.done(), p.host.Close(), p.upper.Close())
}

// place brings one change to the host, wholly or not at all.
func (p *placer) place(ctx context.Context, d difference) error {
	dir, name := split(d.raw)
	parent, err := openDir(p.host, dir)
	if err != nil {
		return err
	}
	defer parent.Close()
	p.touched[dir] = true
	s := spot{dir: parent, name: name, expect: d.host, raw: d.raw}
	if err := s.unchanged(); err != nil {
		return err
	}
	if d.Kind == sandbox.Deleted {
		return p.remove(s)
	}
	switch d.upper.kind() {
	case kindDir:
		return p.directory(s, d)
	case kindSymlink:
		return p.link(s, d)
	case kindFile:
		return p.file(ctx, s, d)
	case kindNone, kindOther, kindWhiteout:
	}
	return errors.New(refusedSpecial)
}

// spot is a name in a directory of the host, and what is expected there.
type spot struct {
	dir    *os.File
	name   string
	expect stat
	raw    string
}

// unchanged checks that the host's entry is the one compared.
func (s spot) unchanged() error {
	st, err := statAt(s.dir, s.name)
	switch {
	case err != nil:
		return err
	case st.kind() != s.expect.kind():
		return errChangedHere
	case st.kind() == kindNone || st.kind() == kindDir || st.same(s.expect):
		return nil
	case s.expect.nlink > 1 && st.sameButCtime(s.expect):
		return nil // another of its names may have been replaced just before
	}
	return errChangedHere
}

// moved says whether what was moved to a temporary name is the entry expected: renaming itself
// changes ctime.
func (s spot) moved(tmp string) (bool, error) {
	st, err := statAt(s.dir, tmp)
	e := s.expect
	if e.kind() == kindDir {
		return st.kind() == kindDir, err
	}
	return st.sameButCtime(e), err
}

func (p *placer) remove(s spot) error {
	if s.expect.kind() == kindDir {
		return unix.Unlinkat(int(s.dir.Fd()), s.name, unix.AT_REMOVEDIR)
	}
	tmp := tempName()
	if err := p.journal.deleting(s, tmp); err != nil {
		return err
	}
	err := renameNew(s.dir, s.name, tmp)
	if errors.Is(err, unix.ENOENT) {
		return errChangedHere
	}
	if err != nil {
		return err
	}
	if ok, err := s.moved(tmp); err != nil || !ok {
		return errors.Join(errChangedHere, err, renameNew(s.dir, tmp, s.name))
	}
	return unix.Unlinkat(int(s.dir.Fd()), tmp, 0)
}

func (p *placer) directory(s spot, d difference) error {
	fd := int(s.dir.Fd())
	if s.expect.kind() == kindDir {
		return chmodDir(s.dir, s.name, d.upper.perm())
	}
	tmp := tempName()
	if err := p.journal.making(s, tmp); err != nil {
		return err
	}
	if err := unix.Mkdirat(fd, tmp, 0o700); err != nil {
		return err
	}
	if err := chmodDir(s.dir, tmp, d.upper.perm()); err != nil {
		return errors.Join(err, unix.Unlinkat(fd, tmp, unix.AT_REMOVEDIR))
	}
	return p.swap(s, tmp, unix.AT_REMOVEDIR)
}

func chmodDir(dir *os.File, name string, perm uint32) error {
	f, err := openBeneath(dir, name, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW, 0)
	if err != nil {
		return err
	}
	defer f.Close()
	return unix.Fchmod(int(f.Fd()), perm)
}

func (p *placer) link(s spot, d difference) error {
	target, err := readLink(p.upper, d.raw)
	if err != nil {
		return errors.Join(errChangedThere, err)
	}
	tmp := tempName()
	if err := p.journal.making(s, tmp); err != nil {
		return err
	}
	if err := unix.Symlinkat(target, int(s.dir.Fd()), tmp); err != nil {
		return err
	}
	return p.swap(s, tmp, 0)
}

func (p *placer) file(ctx context.Context, s spot, d difference) error {
	src, st, err := openRegular(p.upper, d.raw)
	if err != nil || !st.same(d.upper) {
		if src != nil {
			_ = src.Close()
		}
		return errChangedThere
	}
	defer src.Close()
	tmp := tempName()
	if err := p.journal.making(s, tmp); err != nil {
		return err
	}
	if err := p.write(ctx, s, tmp, src, d); err != nil {
		return errors.Join(err, unix.Unlinkat(int(s.dir.Fd()), tmp, 0))
	}
	if after, err := statFile(src); err != nil || !after.same(d.upper) {
		return errors.Join(errChangedThere, unix.Unlinkat(int(s.dir.Fd()), tmp, 0))
	}
	return p.swap(s, tmp, 0)
}

func (p *placer) write(ctx context.Context, s spot, tmp string, src io.Reader, d difference) error {
	dst, err := openBeneath(s.dir, tmp, unix.O_WRONLY|unix.O_CREAT|unix.O_EXCL|unix.O_NOFOLLOW, 0o600)
	if err != nil {
		return err
	}
	defer dst.Close()
	if err := copyData(ctx, dst, src); err != nil {
		return err
	}
	p.keepOwner(s, dst)
	if err := unix.Fchmod(int(dst.Fd()), d.upper.perm()); err != nil {
		return err
	}
	return dst.Sync()
}

// keepOwner gives a replacement the owner and group of what it replaces, as far as we may.
func (p *placer) keepOwner(s spot, dst *os.File) {
	var st unix.Stat_t
	if s.expect.kind() != kindFile || unix.Fstatat(int(s.dir.Fd()), s.name, &st, unix.AT_SYMLINK_NOFOLLOW) != nil {
		return
	}
	fd := int(dst.Fd())
	if unix.Fchown(fd, int(st.Uid), int(st.Gid)) != nil {
		_ = unix.Fchown(fd, -1, int(st.Gid))
	}
}

// copyData is io.Copy that stops with ctx. The readers are regular files.
func copyData(ctx context.Context, dst io.Writer, src io.Reader) error {
	buf := make([]byte, 256<<10)
	for {
		if err := ctx.Err(); err != nil {
			return err
		}
		n, err := src.Read(buf)
		if n > 0 {
			if _, err := dst.Write(buf[:n]); err != nil {
				return err
			}
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// swap puts what is at tmp in its place. rmFlag is how to remove tmp when it cannot be.
func (p *placer) swap(s spot, tmp string, rmFlag int) error {
	fd := int(s.dir.Fd())
	mine, err := statAt(s.dir, tmp)
	if err != nil {
		return err
	}
	if err := p.journal.made(s, tmp, mine.Ino); err != nil {
		return err
	}
	if s.expect.kind() == kindNone {
		err := renameNew(s.dir, tmp, s.name)
		if errors.Is(err, unix.EEXIST) {
			err = errChangedHere
		}
		if err != nil {
			return errors.Join(err, unix.Unlinkat(fd, tmp, rmFlag))
		}
		return nil
	}
	return exchange(s, tmp, rmFlag)
}

// exchange swaps tmp with the host's entry, and back again when that was not the one expected.
func exchange(s spot, tmp string, rmFlag int) error {
	fd := int(s.dir.Fd())
	err := unix.Renameat2(fd, tmp, fd, s.name, unix.RENAME_EXCHANGE)
	if errors.Is(err, unix.EINVAL) { // a file system that cannot: look, then replace
		if err = s.unchanged(); err == nil {
			err = unix.Renameat(fd, tmp, fd, s.name)
		}
		if err == nil {
			return nil
		}
	}
	if errors.Is(err, unix.ENOENT) {
		err = errChangedHere
	}
	if err != nil {
		return errors.Join(err, unix.Unlinkat(fd, tmp, rmFlag))
	}
	ok, err := s.moved(tmp)
	if ok && err == nil {
		err = removeAny(s.dir, tmp, s.expect.kind())
	} else {
		err = errors.Join(errChangedHere, err)
	}
	if err == nil {
		return nil
	}
	back := unix.Renameat2(fd, tmp, fd, s.name, unix.RENAME_EXCHANGE)
	if back != nil {
		return fmt.Errorf("put %q back from %q: %w", s.name, tmp, back)
	}
	return errors.Join(err, unix.Unlinkat(fd, tmp, rmFlag))
}

// removeAny removes a file, or a directory if it is empty.
func removeAny(dir *os.File, name string, k kind) error {
	flag := 0
	if k == kindDir {
		flag = unix.AT_REMOVEDIR
	}
	return unix.Unlinkat(int(dir.Fd()), name, flag)
}

// renameNew renames within a directory and never replaces anything. EEXIST.
func renameNew(dir *os.File, from, to string) error {
	fd := int(dir.Fd())
	err := unix.Renameat2(fd, from, fd, to, unix.RENAME_NOREPLACE)
	if !errors.Is(err, unix.EINVAL) {
		return err
	}
	st, err := statAt(dir, to)
	switch {
	case err != nil:
		return err
	case st.kind() != kindNone:
		return unix.EEXIST
	}
	return unix.Renameat(fd, from, fd, to)
}

// now fingerprints a path that has just been placed.
func (p *placer) now(d difference) (fingerprint, error) {
	dir, name := split(d.raw)
	deleted := fingerprint{Settled: &stat{}} // see comparison.deleted
	parent, err := openDir(p.host, dir)
	if gone(err) {
		return deleted, nil // together with its directory
	}
	if err != nil {
		return fingerprint{}, err
	}
	defer parent.Close()
	st, err := statAt(parent, name)
	if err != nil || st.kind() == kindNone {
		return deleted, err
	}
	fp := takePrint(parent, name, st, hashFileLimit)
	if d.upper.kind() == kindFile || d.upper.kind() == kindSymlink {
		upper := d.upper
		fp.Settled = &upper
	}
	return fp, nil
}
