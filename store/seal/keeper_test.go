package seal

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/containerd/errdefs"

	"github.com/garita-dev/garita/store/keyring"
)

// fakeRing is a keyring without a bus.
type fakeRing struct {
	mu       sync.Mutex
	entries  map[string][]byte
	err      error         // of every exchange
	hang     time.Duration // each exchange
	unlock   chan error    // what comes of a question; nil: none is answered
	asking   bool
	declined bool
	asked    int
}

func (r *fakeRing) exchange(ctx context.Context) error {
	select {
	case <-time.After(r.hang):
	case <-ctx.Done():
		return keyring.ErrSilent
	}
	return r.err
}

func (r *fakeRing) Get(ctx context.Context, key string) ([]byte, error) {
	if err := r.exchange(ctx); err != nil {
		return nil, err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if v, ok := r.entries[key]; ok {
		return v, nil
	}
	return nil, keyring.ErrNotFound
}

func (r *fakeRing) Set(ctx context.Context, key string, value []byte) error {
	if err := r.exchange(ctx); err != nil {
		return err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.entries == nil {
		r.entries = map[string][]byte{}
	}
	r.entries[key] = value
	return nil
}

func (r *fakeRing) Unlock(ctx context.Context) error {
	r.mu.Lock()
	r.asking, r.declined = true, false
	r.asked++
	r.mu.Unlock()
	select {
	case err := <-r.unlock:
		r.mu.Lock()
		defer r.mu.Unlock()
		r.asking, r.declined = false, errors.Is(err, keyring.ErrDeclined)
		if err == nil {
			r.err = nil
		}
		return err
	case <-ctx.Done():
		return keyring.ErrWaiting
	}
}

func (r *fakeRing) Asking() (now, declined bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.asking, r.declined
}

func (r *fakeRing) Dismiss() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.declined, r.asking = r.asking || r.declined, false
}

func (r *fakeRing) Watch(ctx context.Context, _ func()) error {
	<-ctx.Done()
	return ctx.Err()
}

// keeping is a Keeper and what it works with.
type keeping struct {
	*Keeper
	ring *fakeRing
	ids  *[]string
	file string
}

func newKeeping(t *testing.T, ring *fakeRing, ids ...string) keeping {
	t.Helper()
	file := filepath.Join(t.TempDir(), "secrets.key.age")
	return keeping{reopened(ring, file, &ids), ring, &ids, file}
}

// reopened is a Keeper after a restart.
func reopened(ring *fakeRing, file string, ids *[]string) *Keeper {
	return New(Options{Ring: ring, File: file, Sealed: func(context.Context) ([]string, error) { return append([]string{}, *ids...), nil }, Work: 10})
}

func TestTheKeyIsMadeInTheKeyringAndFoundAgain(t *testing.T) {
	k := newKeeping(t, &fakeRing{})
	if s := k.Status(t.Context()); s.State != Ready || s.By != "keyring" {
		t.Errorf("before there is a key: %+v", s)
	}
	if _, err := k.Key(t.Context()); !errors.Is(err, errdefs.ErrNotFound) {
		t.Errorf("to open something: %v", err)
	}
	made, err := k.KeyOrNew(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	*k.ids = []string{made.ID()}
	if got, err := k.KeyOrNew(t.Context()); err != nil || got.ID() != made.ID() {
		t.Errorf("again: %v", err)
	}
	if got, err := reopened(k.ring, k.file, k.ids).Key(t.Context()); err != nil || got.ID() != made.ID() {
		t.Errorf("after a restart: %v", err)
	}
}

func TestAKeyThatIsLostIsNotReplaced(t *testing.T) {
	other := NewKey()
	for name, c := range map[string]struct {
		entries map[string][]byte
		err     error
		says    string
	}{
		"not there any more": {nil, nil, "is not in the keyring any more"},
		"another":            {map[string][]byte{entry: other.encode()}, nil, "is another than"},
		"no key":             {map[string][]byte{entry: []byte("x")}, nil, "no key of ours"},
		"no keyring":         {nil, keyring.ErrNone, "No keyring"},
	} {
		t.Run(name, func(t *testing.T) {
			k := newKeeping(t, &fakeRing{entries: c.entries, err: c.err}, "0123456789abcdef")
			_, err := k.KeyOrNew(t.Context())
			var not *NotReady
			if !errors.As(err, &not) || !errors.Is(err, errdefs.ErrFailedPrecondition) || !strings.Contains(err.Error(), c.says) {
				t.Fatalf("got %v", err)
			}
			if not.Status.State != None || !strings.Contains(not.Status.Next, "--reset") {
				t.Errorf("got %+v", not.Status)
			}
			if err := k.Create(t.Context(), "a passphrase"); !errors.Is(err, errdefs.ErrFailedPrecondition) {
				t.Errorf("a file for another key: %v", err)
			}
			if string(k.ring.entries[entry]) != string(c.entries[entry]) {
				t.Error("the entry was overwritten")
			}
			lost, err := k.Lost(t.Context())
			if err != nil || len(lost) != 1 {
				t.Errorf("lost %v, %v", lost, err)
			}
			*k.ids = nil // they were given up
			k.forgetLook()
			if _, err := k.KeyOrNew(t.Context()); (err == nil) != (c.err == nil) {
				t.Errorf("begun anew: %v", err)
			}
		})
	}
}

func TestWithoutAKeyringThePersonMakesAFile(t *testing.T) {
	ctx, k := t.Context(), newKeeping(t, &fakeRing{err: keyring.ErrNone})
	if s := k.Status(ctx); s.State != None || s.By != "" || !strings.Contains(s.Why, "choose encrypted file store") {
		t.Errorf("got %+v", s)
	}
	if _, err := k.KeyOrNew(ctx); !errors.Is(err, errdefs.ErrFailedPrecondition) {
		t.Errorf("nothing is made without having been asked for: %v", err)
	}
	for _, bad := range []string{"", "short"} {
		if err := k.Create(ctx, bad); !errors.Is(err, errdefs.ErrInvalidArgument) {
			t.Errorf("%q: %v", bad, err)
		}
	}
	if err := k.Create(ctx, "correct horse"); err != nil {
		t.Fatal(err)
	}
	made, err := k.KeyOrNew(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if err := k.Create(ctx, "another one"); !errors.Is(err, errdefs.ErrAlreadyExists) {
		t.Errorf("made twice: %v", err)
	}
	info, err := os.Stat(k.file)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info, err)
	}
	text, err := os.ReadFile(k.file)
	if err != nil || strings.Contains(string(text), string(made.encode()[len(keyMark):])) {
		t.Errorf("the key lies in it as it is (%v)", err)
	}

	*k.ids = []string{made.ID()}
	again := reopened(k.ring, k.file, k.ids)
	if s := again.Status(ctx); s.State != Locked || s.By != "file" {
		t.Errorf("after a restart: %+v", s)
	}
	if err := again.Unlock(ctx, "correct hors"); !errors.Is(err, ErrPassphrase) {
		t.Errorf("a wrong passphrase: %v", err)
	}
	if err := again.Unlock(ctx, "correct horse"); err != nil {
		t.Fatal(err)
	}
	if got, err := again.Key(ctx); err != nil || got.ID() != made.ID() {
		t.Errorf("unlocked: %v", err)
	}
	if again.Status(ctx) != (Status{State: Ready, By: "file"}) {
		t.Errorf("got %+v", again.Status(ctx))
	}
}

func TestAFileThatIsNoKeyIsSaidSo(t *testing.T) {
	k := newKeeping(t, &fakeRing{err: keyring.ErrNone})
	for name, text := range map[string]string{"empty": "", "something else": "hello", "endless": strings.Repeat("x", 1<<20)} {
		if err := os.WriteFile(k.file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := k.Unlock(t.Context(), "a passphrase"); err == nil || errors.Is(err, ErrPassphrase) {
			t.Errorf("%s: %v", name, err)
		}
	}
	aside, err := k.PutAside()
	if err != nil || aside == "" || k.keyFileExists() {
		t.Errorf("put aside as %q, %v", aside, err)
	}
	if _, err := os.Stat(aside); err != nil {
		t.Error(err)
	}
}

func (k keeping) keyFileExists() bool { return k.Keeper.file.exists() }

func TestWrongPassphrasesAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := newKeeping(t, &fakeRing{err: keyring.ErrNone})
		if err := k.Create(t.Context(), "correct horse"); err != nil {
			t.Fatal(err)
		}
		again := reopened(k.ring, k.file, k.ids)
		for i := range triesPerMinute {
			if err := again.Unlock(t.Context(), fmt.Sprint("wrong ", i)); !errors.Is(err, ErrPassphrase) {
				t.Errorf("try %d: %v", i, err)
			}
		}
		for _, text := range []string{"wrong", "correct horse"} {
			if err := again.Unlock(t.Context(), text); !errors.Is(err, errdefs.ErrResourceExhausted) || !strings.Contains(err.Error(), "in 1m0s") {
				t.Errorf("one too many: %v", err)
			}
		}
		<-time.After(time.Minute)
		if err := again.Unlock(t.Context(), "correct horse"); err != nil {
			t.Errorf("a minute later: %v", err)
		}
	})
}

func TestALockedKeyringIsAskedForOnceAndWaitedForTenSeconds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, key := t.Context(), NewKey()
		ring := &fakeRing{err: keyring.ErrLocked, entries: map[string][]byte{entry: key.encode()}, unlock: make(chan error)}
		k := newKeeping(t, ring, key.ID())
		if s := k.Status(ctx); s.State != Locked || s.By != "keyring" || ring.asked != 0 {
			t.Errorf("looked at: %+v, asked %d times", s, ring.asked)
		}
		began := time.Now()
		_, err := k.Key(ctx)
		var not *NotReady
		if !errors.As(err, &not) || not.Status.State != Waiting || !strings.Contains(not.Status.Next, "cancel") {
			t.Errorf("got %v", err)
		}
		if took := time.Since(began); took > attempt {
			t.Errorf("it took %s", took)
		}
		if s := k.Status(ctx); s.State != Waiting {
			t.Errorf("meanwhile: %+v", s)
		}
		if s := k.Cancel(ctx); s.State != Locked || !strings.Contains(s.Why, "canceled") {
			t.Errorf("canceled: %+v", s)
		}
		asked := ring.asked
		if _, err := k.Key(ctx); err == nil || ring.asked != asked {
			t.Errorf("who has declined is asked again (%v)", err)
		}
		go func() { ring.unlock <- nil }()
		if s := k.Ask(ctx); s.State != Ready {
			t.Errorf("unlocked: %+v", s)
		}
		if got, err := k.Key(ctx); err != nil || got.ID() != key.ID() {
			t.Errorf("got %v", err)
		}
	})
}

func TestASilentKeyringHoldsNobodyUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ring := &fakeRing{hang: time.Hour}
		k := newKeeping(t, ring, "0123456789abcdef")
		began := time.Now()
		for range 10 {
			if s := k.Status(t.Context()); s.State != Locked || !strings.Contains(s.Why, "does not answer") {
				t.Errorf("got %+v", s)
			}
		}
		if took := time.Since(began); took > 2*glance {
			t.Errorf("ten looks took %s", took)
		}
		began = time.Now()
		if _, err := k.Key(t.Context()); !errors.Is(err, errdefs.ErrFailedPrecondition) {
			t.Error(err)
		}
		if took := time.Since(began); took > attempt {
			t.Errorf("the key was waited for %s", took)
		}
	})
}

func TestManyWaitForOneLook(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		key := NewKey()
		ring := &fakeRing{hang: time.Second, entries: map[string][]byte{entry: key.encode()}}
		k := newKeeping(t, ring, key.ID())
		began := time.Now()
		var all sync.WaitGroup
		for range 50 {
			all.Go(func() {
				if got, err := k.Key(t.Context()); err != nil || got.ID() != key.ID() {
					t.Error(err)
				}
			})
		}
		all.Wait()
		if took := time.Since(began); took > time.Second {
			t.Errorf("it took %s", took)
		}
	})
}

func TestRunEndsWithItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, stop := context.WithCancel(t.Context())
		changed := 0
		k := New(Options{Ring: &fakeRing{}, File: filepath.Join(t.TempDir(), "k"), Sealed: func(context.Context) ([]string, error) { return nil, nil }, Changed: func() { changed++ }})
		done := make(chan error)
		go func() { done <- k.Run(ctx) }()
		synctest.Wait()
		stop()
		if err := <-done; err != nil || changed != 1 {
			t.Errorf("%v, changed %d times", err, changed)
		}
	})
}

func FuzzDecode(f *testing.F) {
	k := NewKey()
	f.Add(k.encode())
	f.Fuzz(func(t *testing.T, text []byte) {
		if got, err := decode(text); err == nil {
			if again, err := decode(got.encode()); err != nil || again.ID() != got.ID() {
				t.Errorf("%q is read, and not read back", text)
			}
		}
		if v, err := k.Open("a", 1, text); err == nil || !v.IsZero() {
			t.Error("what nobody sealed opens")
		}
	})
}
