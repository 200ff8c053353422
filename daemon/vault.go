package daemon

import (
	"bytes"
	"context"
	"fmt"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/containerd/errdefs"
	"golang.org/x/sys/unix"

	"github.com/garita-dev/garita/daemon/redact"
	"github.com/garita-dev/garita/store"
	"github.com/garita-dev/garita/store/keyring"
	"github.com/garita-dev/garita/store/seal"
	"github.com/garita-dev/garita/store/sqlite"
)

const (
	// leastSecret is the shortest value, in bytes: no shorter one is taken out of what servers say.
	leastSecret = redact.Least
	// maxSecret bounds a secret's value, in bytes.
	maxSecret = 64 << 10
	// commandGood is how long what a command has given is good for, where the secret does not expire earlier.
	commandGood = 15 * time.Minute
)

// sealedVault is where secrets are kept: sealed, in the database, by the keeper's key. Its methods may overlap.
type sealedVault struct {
	db     *sqlite.Store
	ring   *keyring.Ring
	keeper *seal.Keeper
	run    func(ctx context.Context, argv []string) ([]byte, error) // a command that gives a value

	mu    sync.Mutex // guards the field below
	given map[string]*commanded
}

// commanded is what a secret's command has given.
type commanded struct {
	mu      sync.Mutex // held while it runs: who wants the same waits for the same
	version int64
	value   store.SecretValue
	until   time.Time
}

func newSealedVault(db *sqlite.Store, file string, changed func()) *sealedVault {
	v := &sealedVault{db: db, ring: keyring.Open(), run: runForValue, given: map[string]*commanded{}}
	v.keeper = seal.New(seal.Options{Ring: v.ring, File: file, Sealed: db.SealedWith, Changed: changed})
	return v
}

// Secret is what is known of one without its value. NotFound.
func (v *sealedVault) Secret(ctx context.Context, name string) (store.SecretRef, error) {
	kept, err := v.db.Secret(ctx, name)
	return kept.Ref, missing(name, err)
}

// missing says what to do about a secret that is not there.
func missing(name string, err error) error {
	if errdefs.IsNotFound(err) {
		return fmt.Errorf("missing secret %s: garita secret set %s: %w", name, name, errdefs.ErrNotFound)
	}
	return err
}

// Value is a secret's value: as it was kept, or as its command gives it. NotFound when there is none or
// it has expired; FailedPrecondition while the key is out of reach or the command fails, saying what to do.
func (v *sealedVault) Value(ctx context.Context, name string) (store.SecretRef, store.SecretValue, error) {
	kept, err := v.db.Secret(ctx, name)
	if err != nil {
		return kept.Ref, store.SecretValue{}, missing(name, err)
	}
	if kept.Ref.Expired(time.Now()) {
		return kept.Ref, store.SecretValue{}, fmt.Errorf("the secret %s has expired: garita secret set %s: %w", name, name, errdefs.ErrNotFound)
	}
	if len(kept.Ref.Command) > 0 {
		value, err := v.commanded(ctx, kept.Ref)
		return kept.Ref, value, err
	}
	key, err := v.keeper.Key(ctx)
	if err != nil {
		return kept.Ref, store.SecretValue{}, err
	}
	if kept.Key != key.ID() {
		err = fmt.Errorf("it is sealed with another key than the one there is now: garita secret set %s: %w", name, errdefs.ErrFailedPrecondition)
		return kept.Ref, store.SecretValue{}, fmt.Errorf("open secret %s: %w", name, err)
	}
	value, err := key.Open(name, kept.Ref.Version, kept.Bytes)
	if err != nil {
		return kept.Ref, store.SecretValue{}, fmt.Errorf("open secret %s: %w: %w", name, err, errdefs.ErrFailedPrecondition)
	}
	return kept.Ref, value, nil
}

// RecordUse adds a use to the record.
func (v *sealedVault) RecordUse(ctx context.Context, u store.SecretUse) error {
	return v.db.RecordSecretUse(ctx, u)
}

func (v *sealedVault) commanded(ctx context.Context, ref store.SecretRef) (store.SecretValue, error) {
	v.mu.Lock()
	c := v.given[ref.Name]
	if c == nil {
		c = &commanded{}
		v.given[ref.Name] = c
	}
	v.mu.Unlock()
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.version == ref.Version && time.Now().Before(c.until) {
		return c.value, nil
	}
	out, err := v.run(ctx, ref.Command)
	defer clear(out)
	if err != nil {
		return store.SecretValue{}, fmt.Errorf("secret %s: %w", ref.Name, err)
	}
	c.version, c.value, c.until = ref.Version, store.NewSecretValue(out), time.Now().Add(commandGood)
	if !ref.Expires.IsZero() && ref.Expires.Before(c.until) {
		c.until = ref.Expires
	}
	return c.value, nil
}

// forget drops what a secret's command has given.
func (v *sealedVault) forget(name string) {
	v.mu.Lock()
	defer v.mu.Unlock()
	delete(v.given, name)
}

// keepMemory has no file written of our memory, or of that of what we start, should it crash; neither can raise
// the limit again. Other processes of the same user cannot look into ours.
func keepMemory() error {
	if err := unix.Setrlimit(unix.RLIMIT_CORE, &unix.Rlimit{}); err != nil {
		return fmt.Errorf("switch core files off: %w", err)
	}
	if err := unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0); err != nil {
		return fmt.Errorf("keep others out of the memory: %w", err)
	}
	return nil
}

// checkValue says why bytes cannot be a secret, in a clause that shows nothing of them.
func checkValue(b []byte) error {
	switch {
	case len(b) == 0:
		return fmt.Errorf("it is empty: %w", errdefs.ErrInvalidArgument)
	case len(b) < leastSecret:
		return fmt.Errorf("it is shorter than %d bytes, which cannot be told from ordinary text where it has to be taken out: %w", leastSecret, errdefs.ErrInvalidArgument)
	case len(b) > maxSecret:
		return fmt.Errorf("it is longer than %d bytes: %w", maxSecret, errdefs.ErrInvalidArgument)
	case bytes.IndexByte(b, 0) >= 0:
		return fmt.Errorf("it has a zero byte in it: %w", errdefs.ErrInvalidArgument)
	case !utf8.Valid(b):
		return fmt.Errorf("it is not text (UTF-8): %w", errdefs.ErrInvalidArgument)
	}
	return nil
}
