package seal

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"slices"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/containerd/errdefs"
)

const (
	// triesPerMinute bounds how many wrong passphrases are taken.
	triesPerMinute = 5
	// minPassphrase is the least that a file is made with, in characters.
	minPassphrase = 8
)

// tries has one passphrase tried at a time, and not too many.
type tries struct {
	trying sync.Mutex // held while one is tried: that costs a second of a core
	wrong  []time.Time
}

// begin waits for nobody: ResourceExhausted.
func (t *tries) begin(now time.Time) (end func(wrong bool), err error) {
	if !t.trying.TryLock() {
		return nil, fmt.Errorf("another passphrase is being tried: %w", errdefs.ErrResourceExhausted)
	}
	t.wrong = slices.DeleteFunc(t.wrong, func(at time.Time) bool { return now.Sub(at) >= time.Minute })
	if len(t.wrong) >= triesPerMinute {
		wait := t.wrong[0].Add(time.Minute).Sub(now).Round(time.Second)
		t.trying.Unlock()
		return nil, fmt.Errorf("%d wrong passphrases in a minute are enough; the next can be tried in %s: %w", triesPerMinute, wait, errdefs.ErrResourceExhausted)
	}
	return func(wrong bool) {
		if wrong {
			t.wrong = append(t.wrong, now)
		}
		t.trying.Unlock()
	}, nil
}

// Unlock opens the file; the key is held until the process ends. ErrPassphrase; NotFound when there is
// no file; FailedPrecondition when its key is not the one that secrets are sealed with; ResourceExhausted.
func (k *Keeper) Unlock(ctx context.Context, passphrase string) error {
	if !k.file.exists() {
		return fmt.Errorf("there is no file with a key that a passphrase would open: %w", errdefs.ErrNotFound)
	}
	ids, err := k.sealed(ctx)
	if err != nil {
		return err
	}
	end, err := k.tries.begin(time.Now())
	if err != nil {
		return err
	}
	key, err := k.file.open(passphrase)
	defer debug.FreeOSMemory() // scrypt has taken a quarter of a gigabyte
	end(errors.Is(err, ErrPassphrase))
	if err != nil {
		return err
	}
	if len(ids) > 0 && !slices.Contains(ids, key.ID()) {
		return lost("The key in " + k.file.path + " is another than the one secrets are sealed with.").Err()
	}
	k.hold(key, byFile)
	k.changed()
	return nil
}

// Create makes the file, with the key that is held or a new one. AlreadyExists; InvalidArgument;
// FailedPrecondition when secrets are sealed with a key that is out of reach.
func (k *Keeper) Create(ctx context.Context, passphrase string) error {
	if utf8.RuneCountInString(passphrase) < minPassphrase {
		return fmt.Errorf("want a passphrase of at least %d characters: %w", minPassphrase, errdefs.ErrInvalidArgument)
	}
	if k.file.exists() {
		return fmt.Errorf("%s is there already; garita secret unlock opens it: %w", k.file.path, errdefs.ErrAlreadyExists)
	}
	ids, err := k.sealed(ctx)
	if err != nil {
		return err
	}
	k.look(ctx)
	k.mu.Lock()
	key := k.key
	k.mu.Unlock()
	if key.IsZero() && len(ids) > 0 {
		return ringGone.Err()
	}
	if key.IsZero() {
		key = NewKey()
	}
	end, err := k.tries.begin(time.Now())
	if err != nil {
		return err
	}
	err = k.file.make(key, passphrase)
	defer debug.FreeOSMemory()
	end(false)
	if err != nil {
		return fmt.Errorf("make the key's file: %w", err)
	}
	k.hold(key, byFile)
	k.changed()
	return nil
}

// Ask has the keyring ask its owner, also if they have declined before, and waits ten seconds at most.
func (k *Keeper) Ask(ctx context.Context) Status {
	ctx, cancel := context.WithTimeout(ctx, attempt)
	defer cancel()
	if s := k.look(ctx); s.State == Locked && s.By == byKeyring || s.State == Waiting {
		_ = k.ring.Unlock(ctx) // what came of it is what is found next
		k.forgetLook()
	}
	return k.look(ctx)
}

// Cancel takes back the keyring's question, if one is put.
func (k *Keeper) Cancel(ctx context.Context) Status {
	k.ring.Dismiss()
	k.forgetLook()
	s := k.Status(ctx)
	k.changed()
	return s
}

// Lost says whether secrets are sealed with keys other than the one that is held, and which those are.
func (k *Keeper) Lost(ctx context.Context) ([]string, error) {
	ids, err := k.sealed(ctx)
	if err != nil {
		return nil, err
	}
	k.look(ctx)
	k.mu.Lock()
	defer k.mu.Unlock()
	return slices.DeleteFunc(ids, func(id string) bool { return !k.key.IsZero() && id == k.key.ID() }), nil
}

// PutAside moves a file that does not open out of the way and returns where it is now; "" when there
// is none, or its key is held.
func (k *Keeper) PutAside() (string, error) {
	k.mu.Lock()
	held := !k.key.IsZero()
	k.mu.Unlock()
	defer k.forgetLook() // what is stored is not what it was
	if held || !k.file.exists() {
		return "", nil
	}
	return k.file.putAside(time.Now())
}
