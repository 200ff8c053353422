package sqlite

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	stdhash "hash"
	"io"
	"os"
	"runtime/debug"

	"github.com/containerd/errdefs"
	"golang.org/x/sys/unix"
)

// head is where the chain stands, kept outside the database so that a tail cannot be cut unseen.
type head struct {
	id   logID
	seq  int64 // of the newest event, 0 for none
	hash hash  // of the newest event, or the genesis

	// While a transaction is being committed: the newest event once it is. Otherwise zero.
	nextSeq  int64
	nextHash hash

	// doubt is the first event that can no longer be vouched for, because the database and this
	// file were found to disagree; 0 for none. It is never taken back.
	doubt int64

	anchor anchor // the newest; zero for none
}

// The head file has two slots, written in turn, so that a torn write leaves the one before whole.
// A slot is a magic word, a write counter, the fields in order, and an HMAC over all of that.
const (
	headMagic = "GARHEAD1"
	slotSize  = 512
	headSize  = 2 * slotSize
	macSize   = 32
)

// headFile is the head file, locked against a second writer while it is open. Its methods must not
// overlap.
type headFile struct {
	f       *os.File
	mapped  []byte // the file in memory: writing there is no system call, and the kernel keeps it when we die
	mac     stdhash.Hash
	counter uint64
	buf     []byte
}

// openHead opens or makes the head file and takes its lock. found says whether it holds a head that
// we wrote; a file that is there and does not is no error: see Store.settle.
func openHead(path string, k key) (file *headFile, h head, found bool, err error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|unix.O_NOFOLLOW|unix.O_NONBLOCK, 0o600)
	if err != nil {
		return nil, head{}, false, fmt.Errorf("open audit head: %w", err)
	}
	if err := lockHead(f, path); err != nil {
		return nil, head{}, false, errors.Join(err, f.Close())
	}
	file = &headFile{f: f, mac: hmac.New(sha256.New, k.head)}
	if h, found, err = file.read(); err == nil {
		err = file.open()
	}
	if err != nil {
		return nil, head{}, false, errors.Join(err, f.Close())
	}
	return file, h, found, nil
}

// open fills the file up to its size, so that the disk has room for all of it, and maps it.
func (f *headFile) open() error {
	info, err := f.f.Stat()
	if err != nil {
		return fmt.Errorf("open audit head: %w", err)
	}
	if n := info.Size(); n < headSize {
		if _, err := f.f.WriteAt(make([]byte, headSize-n), n); err != nil {
			return fmt.Errorf("open audit head: %w", err)
		}
	}
	f.mapped, err = unix.Mmap(int(f.f.Fd()), 0, headSize, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	if err != nil {
		return fmt.Errorf("open audit head: %w", err)
	}
	return nil
}

func lockHead(f *os.File, path string) error {
	info, err := f.Stat()
	if err != nil {
		return fmt.Errorf("open audit head: %w", err)
	}
	if !info.Mode().IsRegular() {
		return fmt.Errorf("open audit head %s: it is no regular file: %w", path, errdefs.ErrFailedPrecondition)
	}
	if err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		return fmt.Errorf("open audit head %s: another process writes this log: %w: %w", path, errdefs.ErrFailedPrecondition, err)
	}
	return nil
}

// read finds the newer of the slots that are whole and ours.
func (f *headFile) read() (h head, found bool, err error) {
	b := make([]byte, headSize)
	if _, err := f.f.ReadAt(b, 0); err != nil && !errors.Is(err, io.EOF) {
		return head{}, false, fmt.Errorf("read audit head: %w", err)
	}
	for _, slot := range [][]byte{b[:slotSize], b[slotSize:]} {
		counter, in, ok := f.decode(slot)
		if ok && (!found || counter > f.counter) {
			h, found, f.counter = in, true, counter
		}
	}
	return h, found, nil
}

// write makes h the head. It reaches the disk when the kernel finds time, or by sync.
func (f *headFile) write(h head) error {
	f.counter++
	f.buf = f.encode(f.buf[:0], f.counter, h)
	at := int64(f.counter%2) * slotSize
	if poke(f.mapped[at:], f.buf) {
		return nil
	}
	if _, err := f.f.WriteAt(f.buf, at); err != nil {
		return fmt.Errorf("write audit head: %w: %w", errdefs.ErrUnavailable, err)
	}
	return nil
}

// poke copies b to mapped memory. It is false when the file has been cut short beneath it, where
// touching the memory is a fault.
func poke(mapped, b []byte) (ok bool) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		if e := recover(); e != nil {
			ok = false
		}
	}()
	copy(mapped, b)
	return true
}

func (f *headFile) sync() error {
	if err := unix.Fdatasync(int(f.f.Fd())); err != nil {
		return fmt.Errorf("sync audit head: %w: %w", errdefs.ErrUnavailable, err)
	}
	return nil
}

// holds says whether the file itself still is what was written last.
func (f *headFile) holds(h head) (bool, error) {
	on := headFile{f: f.f, mac: f.mac}
	found, ok, err := on.read()
	return ok && found == h && on.counter == f.counter, err
}

func (f *headFile) close() error {
	var err error
	if f.mapped != nil {
		err, f.mapped = unix.Munmap(f.mapped), nil
	}
	return errors.Join(err, f.f.Close())
}

func (f *headFile) encode(b []byte, counter uint64, h head) []byte {
	b = append(b, headMagic...)
	b = binary.BigEndian.AppendUint64(b, counter)
	b = append(b, h.id[:]...)
	for _, n := range [...]int64{h.seq, h.nextSeq, h.doubt, h.anchor.seq, h.anchor.at, h.anchor.prev} {
		b = binary.BigEndian.AppendUint64(b, uint64(n))
	}
	b = append(b, h.hash[:]...)
	b = append(b, h.nextHash[:]...)
	b = append(b, h.anchor.hash[:]...)
	b = append(b, h.anchor.sig[:]...)
	return f.sum(b, b)
}

// sum appends the HMAC of signed to b.
func (f *headFile) sum(b, signed []byte) []byte {
	f.mac.Reset()
	f.mac.Write(signed)
	return f.mac.Sum(b)
}

// slotLength is what encode writes.
const slotLength = len(headMagic) + 8 + 16 + 6*8 + 3*32 + 64 + macSize

func (f *headFile) decode(slot []byte) (counter uint64, h head, ok bool) {
	signed, mac := slot[:slotLength-macSize], slot[slotLength-macSize:slotLength]
	if !bytes.HasPrefix(slot, []byte(headMagic)) || !hmac.Equal(mac, f.sum(nil, signed)) {
		return 0, head{}, false
	}
	r := bytes.NewBuffer(signed[len(headMagic):])
	counter = binary.BigEndian.Uint64(r.Next(8))
	copy(h.id[:], r.Next(16))
	for _, n := range [...]*int64{&h.seq, &h.nextSeq, &h.doubt, &h.anchor.seq, &h.anchor.at, &h.anchor.prev} {
		*n = int64(binary.BigEndian.Uint64(r.Next(8)))
	}
	copy(h.hash[:], r.Next(32))
	copy(h.nextHash[:], r.Next(32))
	copy(h.anchor.hash[:], r.Next(32))
	copy(h.anchor.sig[:], r.Next(64))
	return counter, h, true
}
