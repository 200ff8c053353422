// Package seal keeps the one random key that secrets are sealed with, and seals them.
//
// The key lies in the keyring of the person's desktop. Where there is none it lies in a file, encrypted
// by a passphrase; the person makes that file, and unlocks it once in the daemon's life. It never lies
// anywhere as it is: with neither there are no secrets.
package seal

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/containerd/errdefs"

	"github.com/garita-dev/garita/store/keyring"
)

// entry is what the key is called in the keyring.
const entry = "sealing-key"

const (
	// attempt bounds how long anybody waits for the key.
	attempt = 10 * time.Second
	// glance bounds how long a question about the state may take.
	glance = time.Second
	// fresh is how long what was found of the keyring is taken to be so still.
	fresh = 2 * time.Second
	// silence is how long one that has not answered is not asked how it is; who needs the key asks at once.
	silence = 15 * time.Second
)

// State is how a Keeper stands.
type State string

// The states.
const (
	Ready   State = "ready"
	None    State = "none"    // there is nothing to keep a key in, or the key is lost
	Locked  State = "locked"  // a passphrase, or the keyring's unlocking, is wanted
	Waiting State = "waiting" // the keyring asks its owner
)

// Status is a state, and in words why, and what to do. Both are empty while ready.
type Status struct {
	State State
	By    string // keyring | file; "" while none
	Why   string // a sentence
	Next  string // a command or a sentence
}

// Err is the status as an error, FailedPrecondition; nil while ready.
func (s Status) Err() error {
	if s.State == Ready {
		return nil
	}
	return &NotReady{s}
}

// NotReady says why there is no key now.
type NotReady struct{ Status Status }

// Error has the whole sentence.
func (e *NotReady) Error() string {
	return "secrets are out of reach: " + e.Status.Why + " " + e.Status.Next
}

// Unwrap gives it its kind.
func (e *NotReady) Unwrap() error { return errdefs.ErrFailedPrecondition }

// ring is the keyring, as keyring.Ring is.
type ring interface {
	Get(ctx context.Context, key string) ([]byte, error)
	Set(ctx context.Context, key string, value []byte) error
	Unlock(ctx context.Context) error
	Asking() (now, declined bool)
	Dismiss()
	Watch(ctx context.Context, changed func()) error
}

// Options say what a Keeper works with.
type Options struct {
	Ring ring
	File string // the encrypted file
	// Sealed are the ids of the keys that what is stored was sealed with.
	Sealed func(ctx context.Context) ([]string, error)
	// Changed is called when the state may have; nil for nobody.
	Changed func()

	// Work is what a try of a passphrase costs, as log2 of scrypt's N; 0 means about a second.
	Work int
}

// Keeper has the key, or says why not. Its methods may overlap.
type Keeper struct {
	ring    ring
	file    keyFile
	sealed  func(ctx context.Context) ([]string, error)
	changed func()
	looking chan struct{} // one asks the keyring; the others wait for what it finds
	tries   tries

	mu    sync.Mutex // guards the fields below
	key   Key
	by    string
	found Status // when the keyring was looked at last
	at    time.Time
}

// New returns a Keeper that has not looked yet.
func New(o Options) *Keeper {
	if o.Work == 0 {
		o.Work = usualWork
	}
	if o.Changed == nil {
		o.Changed = func() {}
	}
	return &Keeper{ring: o.Ring, file: keyFile{o.File, o.Work}, sealed: o.Sealed, changed: o.Changed, looking: make(chan struct{}, 1)}
}

// Run follows the keyring until ctx ends, so that what is unlocked elsewhere is known.
func (k *Keeper) Run(ctx context.Context) error {
	k.refresh(ctx)
	for ctx.Err() == nil {
		_ = k.ring.Watch(ctx, func() { k.refresh(ctx) }) // without a bus there is nothing to follow
		select {
		case <-ctx.Done():
		case <-time.After(time.Minute): // one may have come
		}
	}
	return nil
}

// refresh looks anew, and tells if that has changed anything.
func (k *Keeper) refresh(ctx context.Context) {
	k.mu.Lock()
	before := k.found
	k.at = time.Time{}
	k.mu.Unlock()
	if k.look(ctx) != before {
		k.changed()
	}
}

// Status says how things stand, as far as that can be found in a second. Nobody is asked for anything.
func (k *Keeper) Status(ctx context.Context) Status {
	ctx, cancel := context.WithTimeout(ctx, glance)
	defer cancel()
	return k.look(ctx)
}

// Key is the key; FailedPrecondition (NotReady) says why there is none. If the keyring is locked its owner
// is asked, unless they have just declined; nobody waits longer than ten seconds for that, and the question stays.
func (k *Keeper) Key(ctx context.Context) (Key, error) {
	key, status := k.open(ctx)
	if err := status.Err(); err != nil {
		return Key{}, err
	}
	if key.IsZero() { // there is a keyring, and no key in it yet
		return Key{}, fmt.Errorf("nothing has been sealed yet: %w", errdefs.ErrNotFound)
	}
	return key, nil
}

// KeyOrNew is Key, and makes one where none was.
func (k *Keeper) KeyOrNew(ctx context.Context) (Key, error) {
	key, status := k.open(ctx)
	if err := status.Err(); err != nil || !key.IsZero() {
		return key, err
	}
	return k.create(ctx)
}

func (k *Keeper) open(ctx context.Context) (Key, Status) {
	ctx, cancel := context.WithTimeout(ctx, attempt)
	defer cancel()
	status := k.look(ctx)
	if status == ringSilent {
		k.forgetLook()
		status = k.look(ctx)
	}
	asks := status.State == Waiting || status.State == Locked && status.By == byKeyring
	if asks && !k.declined() {
		if err := k.ring.Unlock(ctx); err == nil {
			k.forgetLook()
		}
		status = k.look(ctx)
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.key, status
}

func (k *Keeper) declined() bool {
	_, declined := k.ring.Asking()
	return declined
}

func (k *Keeper) forgetLook() {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.at = time.Time{}
}

// create puts a new key into the keyring, unless somebody else just has.
func (k *Keeper) create(ctx context.Context) (Key, error) {
	select {
	case k.looking <- struct{}{}:
		defer func() { <-k.looking }()
	case <-ctx.Done():
		return Key{}, ctx.Err()
	}
	text, err := k.ring.Get(ctx, entry)
	if key, bad := decode(text); err == nil && bad == nil { // somebody else has
		k.hold(key, byKeyring)
		return key, nil
	}
	if err != nil && !errors.Is(err, keyring.ErrNotFound) {
		return Key{}, fmt.Errorf("the keyring has changed meanwhile, try again: %w: %w", err, errdefs.ErrUnavailable)
	}
	key := NewKey()
	if err := k.ring.Set(ctx, entry, key.encode()); err != nil {
		return Key{}, fmt.Errorf("put a new key into the keyring: %w: %w", err, errdefs.ErrFailedPrecondition)
	}
	kept, err := k.ring.Get(ctx, entry)
	if err != nil {
		return Key{}, fmt.Errorf("read the new key back from the keyring: %w: %w", err, errdefs.ErrFailedPrecondition)
	}
	if key, err = decode(kept); err != nil {
		return Key{}, fmt.Errorf("read the new key back from the keyring: %w: %w", err, errdefs.ErrFailedPrecondition)
	}
	k.hold(key, byKeyring)
	return key, nil
}

func (k *Keeper) hold(key Key, by string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.key, k.by = key, by
	k.found, k.at = Status{State: Ready, By: by}, time.Now()
}

// look is how things stand: the key if it is held, else what the file and the keyring say.
func (k *Keeper) look(ctx context.Context) Status {
	if s, ok := k.known(); ok {
		return s
	}
	select {
	case k.looking <- struct{}{}:
		defer func() { <-k.looking }()
	case <-ctx.Done():
		return k.last()
	}
	if s, ok := k.known(); ok {
		return s
	}
	s := k.see(ctx)
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.key.IsZero() && !errors.Is(ctx.Err(), context.Canceled) { // nobody has had the time to find out
		k.found, k.at = s, time.Now()
	}
	return s
}

// known is what need not be looked for.
func (k *Keeper) known() (Status, bool) {
	asking, _ := k.ring.Asking()
	exists := k.file.exists()
	k.mu.Lock()
	defer k.mu.Unlock()
	switch {
	case !k.key.IsZero():
		return Status{State: Ready, By: k.by}, true
	case exists:
		return fileLocked(k.file.path), true
	case asking:
		return ringWaiting, true
	case time.Since(k.at) < fresh, k.found == ringSilent && time.Since(k.at) < silence:
		return k.found, true
	}
	return Status{}, false
}

// last is the newest that is known, however old.
func (k *Keeper) last() Status {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.found.State == "" {
		return ringSilent
	}
	return k.found
}

// see asks the keyring.
func (k *Keeper) see(ctx context.Context) Status {
	ids, err := k.sealed(ctx)
	if err != nil && ctx.Err() == nil {
		return Status{State: None, Why: "It cannot be told what is stored: " + err.Error() + ".", Next: "garita doctor"}
	}
	text, err := k.ring.Get(ctx, entry)
	switch {
	case errors.Is(err, keyring.ErrNotFound) && len(ids) == 0:
		return Status{State: Ready, By: byKeyring} // the key is made with the first secret
	case errors.Is(err, keyring.ErrNotFound):
		return lost("The key is not in the keyring any more.")
	case errors.Is(err, keyring.ErrLocked):
		return ringLocked(k.declined())
	case errors.Is(err, keyring.ErrSilent):
		return ringSilent
	case err != nil && len(ids) == 0:
		return noRing
	case err != nil:
		return ringGone
	}
	key, err := decode(text)
	if err != nil && len(ids) == 0 {
		return Status{State: Ready, By: byKeyring} // and what is there is nobody's loss
	}
	if err != nil {
		return lost("What the keyring has under Garita's name is no key of ours.")
	}
	return k.fits(key, ids)
}

// fits holds a key of the keyring's, if it opens what is stored.
func (k *Keeper) fits(key Key, ids []string) Status {
	if len(ids) > 0 && !slices.Contains(ids, key.ID()) {
		return lost("The key in the keyring is another than the one secrets are sealed with.")
	}
	k.hold(key, byKeyring)
	return Status{State: Ready, By: byKeyring}
}
