// Package sqlite keeps the record on disk: the hash-chained audit log and beside it what is looked
// up often, in one SQLite file that only the daemon opens.
//
// Everything is written by one connection under one lock. An event is in the write-ahead log before
// Append returns, so it survives the death of the daemon; AppendDurable also waits for the disk, so
// it survives the machine's. How the chain is built, and what it shows and cannot show, is
// docs/adr/0003-audit-chain.md.
package sqlite

import (
	"context"
	"crypto/rand"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"

	"github.com/containerd/errdefs"
	"golang.org/x/sys/unix"

	"github.com/garita-dev/garita/approvals"
	"github.com/garita-dev/garita/store"
)

// Options say where the parts outside the database lie. Both files are made where they are missing.
type Options struct {
	KeyFile  string // the signing key, 32 bytes, mode 0600
	HeadFile string // where the chain stands, mode 0600; better on another disk than in another folder

	// Redact removes secrets from a call's arguments before they are kept. It is given the JSON text
	// as sent and returns JSON text. Nil means Redact of this package.
	Redact func([]byte) []byte
}

// Store is the record. Its methods may be called concurrently. What cannot be written is an error
// of kind Unavailable, and its caller must not go on as if it were.
type Store struct {
	path    string
	keyFile string
	redact  func([]byte) []byte
	readers *sql.DB
	damage  string // where a broken database was put aside

	mu     sync.Mutex // guards the fields below, and with them the one writer
	closed bool
	w      *writer
	head   head
	file   *headFile
	key    key
	stale  bool // the database may not stand where head says: look before the next write
	signed int  // events since the newest anchor
	scrub  bool // the write-ahead log may have what was overwritten: see scrubLog

	scratch []byte // for hashing

	live      map[approvals.CallID]liveCall // calls that have not ended
	demoted   map[toolKey]store.Demotion
	indexing  indexing
	retention store.Retention
	low       atomic.Bool // the disk has less room than it should

	opened      os.FileInfo // the database file that w writes
	trimming    sync.Mutex  // held while the record is brought within its bounds
	diskFree    func(folder string) (int64, error)
	tokens      tokens // has its own lock
	checkpoints checkpointer
}

// Open opens the record at path, making what is missing, and settles what a crash left behind:
// questions found waiting expire, and calls found under way get the outcome unknown.
//
// A database that is broken is put aside, and another begun in its place: see Damage. If the database
// does not stand where the head file says, Open goes on behind both and Verify
// names the damage from then on. Kinds: FailedPrecondition when another process has the log open,
// or the key file is not private; Unavailable when the files cannot be read or written.
func Open(ctx context.Context, path string, o Options) (*Store, error) {
	if o.Redact == nil {
		o.Redact = Redact
	}
	if err := makeFolders(path, o.KeyFile, o.HeadFile); err != nil {
		return nil, fmt.Errorf("open record: %w", err)
	}
	k, err := openKey(o.KeyFile)
	if err != nil {
		return nil, fmt.Errorf("open record: %w", err)
	}
	file, h, found, err := openHead(o.HeadFile, k)
	if err != nil {
		return nil, fmt.Errorf("open record: %w", err)
	}
	s := &Store{
		path: path, keyFile: o.KeyFile, redact: o.Redact, key: k, file: file,
		live: make(map[approvals.CallID]liveCall), diskFree: diskFree,
	}
	if err := s.begin(ctx, h, found); err != nil {
		return nil, errors.Join(fmt.Errorf("open record %s: %w", path, err), s.release())
	}
	return s, nil
}

func (s *Store) open(ctx context.Context, h head, found bool) error {
	if err := makePrivate(s.path); err != nil {
		return err
	}
	var err error
	if s.w, err = openWriter(ctx, s.path); err != nil {
		return err
	}
	if s.opened, err = os.Stat(s.path); err != nil {
		return err
	}
	s.readers = openReaders(s.path)
	if err := s.settle(ctx, h, found); err != nil {
		return err
	}
	if s.demoted, err = s.loadDemotions(ctx); err != nil {
		return err
	}
	if err := s.loadTokens(ctx); err != nil {
		return err
	}
	return s.recover(ctx)
}

// makeFolders makes the folders of files.
func makeFolders(files ...string) error {
	for _, path := range files {
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			return err
		}
	}
	return nil
}

// makePrivate makes the database file where it is missing, private from its first moment. The head
// file's lock must be held: closing a database that this process has open drops SQLite's locks on it.
func makePrivate(path string) error {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|unix.O_NOFOLLOW|unix.O_NONBLOCK, 0o600)
	if err != nil {
		return err
	}
	return f.Close()
}

// settle finds where the chain stands from the head file's word and the database's, and makes a
// new log where there is neither.
func (s *Store) settle(ctx context.Context, h head, found bool) error {
	if err := s.w.release(); err != nil { // to see what is there now
		return err
	}
	id, last, err := s.w.standing(ctx)
	if err != nil {
		return err
	}
	switch {
	case !found && id == (logID{}):
		rand.Read(id[:])
		h = head{id: id, hash: id.genesis()}
	case !found && last.seq == 0:
		h = head{id: id, hash: id.genesis(), doubt: 1}
	case !found: // somebody took the head file away, or changed it
		h = head{id: id, seq: last.seq, hash: last.hash, doubt: last.seq + 1}
	default:
		if h, err = s.w.agree(ctx, h, last); err != nil {
			return err
		}
	}
	if h.anchor, err = s.w.newestAnchor(ctx, h, s.key.public()); err != nil {
		return err
	}
	// The head file first: a database that knows its log while there is no head file has been robbed of it.
	if err := errors.Join(s.file.write(h), s.file.sync()); err != nil {
		return err
	}
	if err := s.w.setLogID(ctx, h.id); err != nil {
		return err
	}
	if s.indexing.waiting, err = s.w.unindexed(ctx); err != nil {
		return err
	}
	if err := s.w.hold(); err != nil {
		return err
	}
	s.head, s.stale = h, false
	s.signed = int(h.seq - h.anchor.seq)
	return nil
}

// Close signs where the chain stands and lets go of the files. It waits for nothing else; calls
// after it are Unavailable. Idempotent.
func (s *Store) Close() error {
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		return nil
	}
	err := errors.Join(s.writeUses(context.Background()), s.seal(context.Background()), s.catchUp())
	s.closed = true
	s.mu.Unlock()

	s.checkpoints.wait()
	return errors.Join(err, s.release())
}

// inPlace says whether the database still lies where it was opened. What is written to a file that
// was removed or replaced is gone with the last process that has it open.
func (s *Store) inPlace() error {
	now, err := os.Stat(s.path)
	switch {
	case err != nil:
		return fmt.Errorf("the record was taken away: %w: %w", err, errdefs.ErrUnavailable)
	case !os.SameFile(s.opened, now):
		return fmt.Errorf("the record %s was replaced by another file: put it back, or start Garita again: %w", s.path, errdefs.ErrUnavailable)
	}
	return nil
}

// release closes whatever is open.
func (s *Store) release() error {
	return errors.Join(s.closeDatabase(), s.file.close())
}

// unavailable gives an error of the database its kind.
func unavailable(doing string, err error) error {
	if err == nil || errdefs.IsUnavailable(err) || errdefs.IsAlreadyExists(err) || errdefs.IsNotFound(err) {
		return err
	}
	return fmt.Errorf("%s: %w: %w", doing, errdefs.ErrUnavailable, err)
}
