// Package keyring keeps small secrets in the keyring of the person's desktop, by the Secret Service of
// its session bus.
//
// It speaks to the bus itself: a keyring that is locked asks its owner, and a library that waits for the
// answer without an end would leave a goroutine behind each time we ask.
package keyring

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"
)

// patience bounds each exchange with the keyring.
const patience = 5 * time.Second

// Ring is the keyring. Its methods may overlap; but for Unlock and Watch none waits longer than
// patience, and none has the owner asked. Errors are those of this package.
type Ring struct {
	running context.Context
	stop    context.CancelFunc
	asked   sync.WaitGroup
	news    chan struct{} // for Watch: a question was put, or has ended

	mu       sync.Mutex // guards the fields below
	asking   *question  // nil while none is put
	declined bool       // the last one was; nobody is asked again without having asked for it
}

// Open returns the keyring of this session. It asks for nothing yet, and starts nothing.
func Open() *Ring {
	r := &Ring{news: make(chan struct{}, 1)}
	r.running, r.stop = context.WithCancel(context.Background())
	return r
}

// Close takes back a question that is put, and waits for that.
func (r *Ring) Close() {
	r.stop()
	r.asked.Wait()
}

// exchange has do speak to the keyring, within patience.
func exchange(ctx context.Context, do func(context.Context, *service) error) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	s, err := openService(ctx)
	if err != nil {
		return saying(ctx, err)
	}
	defer s.close()
	return saying(ctx, do(ctx, s))
}

// Get is what was kept under a key. ErrNotFound, ErrLocked, ErrNone, ErrSilent.
func (r *Ring) Get(ctx context.Context, key string) (value []byte, err error) {
	err = exchange(ctx, func(ctx context.Context, s *service) error {
		item, err := s.find(ctx, key)
		if err != nil {
			return err
		}
		value, err = s.read(ctx, item)
		return err
	})
	return value, err
}

// Set keeps a value. ErrLocked, ErrNone, ErrSilent, ErrDeclined.
func (r *Ring) Set(ctx context.Context, key string, value []byte) error {
	return exchange(ctx, func(ctx context.Context, s *service) error {
		folder, err := s.folder(ctx)
		if err != nil {
			return err
		}
		return s.write(ctx, folder, key, value)
	})
}

// Delete forgets what was kept under a key. ErrNotFound, ErrLocked, ErrNone, ErrSilent, ErrDeclined.
func (r *Ring) Delete(ctx context.Context, key string) error {
	return exchange(ctx, func(ctx context.Context, s *service) error {
		item, err := s.find(ctx, key)
		if err != nil {
			return err
		}
		return s.remove(ctx, item)
	})
}

// Unlock has the owner asked to unlock the keyring, unless they are being asked already, and waits.
// nil: it is unlocked. ErrWaiting: ctx has ended first; the question stays. ErrDeclined, ErrNone, ErrSilent.
func (r *Ring) Unlock(ctx context.Context) error {
	q := r.ask()
	select {
	case <-q.done:
		return q.err
	case <-ctx.Done():
		return ErrWaiting
	}
}

// ask is the question that is put, or puts one.
func (r *Ring) ask() *question {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.asking != nil {
		return r.asking
	}
	ctx, cancel := context.WithCancel(r.running)
	q := &question{done: make(chan struct{}), cancel: cancel, err: ErrDeclined}
	if r.running.Err() != nil { // nobody is there to take it back any more
		cancel()
		close(q.done)
		return q
	}
	r.asking = q
	r.tell()
	r.asked.Go(func() {
		defer cancel()
		defer r.tell()
		err := ask(ctx)
		r.mu.Lock()
		defer r.mu.Unlock()
		q.err, r.asking, r.declined = err, nil, errors.Is(err, ErrDeclined)
		close(q.done)
	})
	return q
}

func (r *Ring) tell() {
	select {
	case r.news <- struct{}{}:
	default: // it is about to be seen
	}
}

// Asking says whether the owner is being asked, and whether they declined when they were asked last.
func (r *Ring) Asking() (now, declined bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.asking != nil, r.declined
}

// Dismiss takes back the question that is put, if one is, and waits until it is: it counts as declined.
func (r *Ring) Dismiss() {
	r.mu.Lock()
	q := r.asking
	r.mu.Unlock()
	if q != nil {
		q.cancel()
		<-q.done
	}
}

// Watch calls changed when something about the keyring has: it has come, gone, or been unlocked, or its
// owner is asked. It returns when ctx ends, or the bus does. Only one may watch.
func (r *Ring) Watch(ctx context.Context, changed func()) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	late := time.AfterFunc(patience, cancel)
	s, err := openService(ctx)
	late.Stop()
	if err != nil {
		return saying(ctx, err)
	}
	defer s.close()
	changes, err := s.watch(ctx)
	if err != nil {
		return saying(ctx, err)
	}
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case _, ok := <-changes:
			if !ok {
				return ErrNone
			}
			changed()
		case <-r.news:
			changed()
		}
	}
}

// Vault keeps logins: in the keyring, and in memory while there is none to be had. Its methods may
// overlap; none waits longer than twice patience.
type Vault struct {
	ring   *Ring
	mu     sync.Mutex
	memory map[string][]byte
}

// New returns a Vault that has asked for nothing yet.
func New(r *Ring) *Vault { return &Vault{ring: r, memory: map[string][]byte{}} }

// Load is what was saved under a key; nil when nothing was, or nobody can tell.
func (v *Vault) Load(key string) ([]byte, error) {
	v.mu.Lock()
	kept, ok := v.memory[key]
	v.mu.Unlock()
	if ok {
		return slices.Clone(kept), nil
	}
	var value []byte
	err := v.unlocked(func(ctx context.Context) (err error) {
		value, err = v.ring.Get(ctx, key)
		return err
	})
	if err != nil {
		return nil, nil //nolint:nilerr // no keyring, or nothing in it: a new login mends both
	}
	return value, nil
}

// Save keeps a value: in memory alone, until the daemon ends, where there is no keyring.
func (v *Vault) Save(key string, value []byte) error {
	err := v.unlocked(func(ctx context.Context) error { return v.ring.Set(ctx, key, value) })
	v.mu.Lock()
	defer v.mu.Unlock()
	delete(v.memory, key)
	if err != nil {
		v.memory[key] = slices.Clone(value)
	}
	return nil
}

// Delete forgets what was saved under a key; there may be nothing.
func (v *Vault) Delete(key string) error {
	v.mu.Lock()
	delete(v.memory, key)
	v.mu.Unlock()
	err := v.unlocked(func(ctx context.Context) error { return v.ring.Delete(ctx, key) })
	if errors.Is(err, ErrNotFound) || errors.Is(err, ErrSilent) || errors.Is(err, ErrNone) {
		return nil
	}
	return err
}

// unlocked does something with the keyring, once it is unlocked. An owner who has declined is not asked again.
func (v *Vault) unlocked(do func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(context.Background(), 2*patience)
	defer cancel()
	err := do(ctx)
	if _, declined := v.ring.Asking(); !errors.Is(err, ErrLocked) || declined {
		return err
	}
	asking, done := context.WithTimeout(ctx, patience)
	defer done()
	if err := v.ring.Unlock(asking); err != nil {
		return err
	}
	return do(ctx)
}
