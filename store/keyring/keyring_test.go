package keyring

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/godbus/dbus/v5"

	"github.com/garita-dev/garita/sandbox/sandboxtest"
	"github.com/garita-dev/garita/store/keyring/keyringtest"
)

func open(t *testing.T) *Ring {
	t.Helper()
	r := Open()
	t.Cleanup(func() {
		r.Close()
		sandboxtest.NoLeaks(t)
	})
	return r
}

// until polls what has no channel to wait on.
func until(t *testing.T, what string, fact func() bool) {
	t.Helper()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for deadline := time.Now().Add(30 * time.Second); !fact(); <-tick.C {
		if time.Now().After(deadline) {
			t.Fatalf("waited in vain: %s", what)
		}
	}
}

func TestWhatIsKeptIsFoundAndForgotten(t *testing.T) {
	s := keyringtest.Start(t, keyringtest.Bus(t))
	r, ctx := open(t), t.Context()
	if _, err := r.Get(ctx, "k"); !errors.Is(err, ErrNotFound) {
		t.Errorf("before it was kept: %v", err)
	}
	for _, value := range []string{"one", "two"} {
		if err := r.Set(ctx, "k", []byte(value)); err != nil {
			t.Fatal(err)
		}
		if got, err := r.Get(ctx, "k"); string(got) != value || err != nil {
			t.Errorf("got %q, %v", got, err)
		}
	}
	if all := s.Entries(); len(all) != 1 {
		t.Errorf("there are %v", all)
	}
	if err := r.Delete(ctx, "k"); err != nil {
		t.Error(err)
	}
	if err := r.Delete(ctx, "k"); !errors.Is(err, ErrNotFound) {
		t.Errorf("twice: %v", err)
	}
	s.Stop()
	if _, err := r.Get(ctx, "k"); !errors.Is(err, ErrNone) {
		t.Errorf("once it has gone: %v", err)
	}
}

func TestWithoutAKeyringThereIsNone(t *testing.T) {
	keyringtest.Bus(t)
	r := open(t)
	_, err := r.Get(t.Context(), "k")
	if unlock := r.Unlock(t.Context()); !errors.Is(err, ErrNone) || !errors.Is(unlock, ErrNone) {
		t.Errorf("got %v, %v", err, unlock)
	}
	t.Setenv("DBUS_SESSION_BUS_ADDRESS", "unix:path="+filepath.Join(t.TempDir(), "nowhere"))
	if _, err := r.Get(t.Context(), "k"); !errors.Is(err, ErrNone) {
		t.Errorf("without a bus: %v", err)
	}
}

// The bus's library starts a bus where there is none, and nobody would end it.
func TestWithoutASessionBusNoneIsStarted(t *testing.T) {
	t.Setenv("DBUS_SESSION_BUS_ADDRESS", "autolaunch:")
	if busAddress() != "" {
		t.Skip("this user has a session bus of their own")
	}
	if _, err := open(t).Get(t.Context(), "k"); !errors.Is(err, ErrNone) {
		t.Error(err)
	}
}

func TestAKeyringThatDoesNotAnswerIsGivenUp(t *testing.T) {
	s := keyringtest.Start(t, keyringtest.Bus(t))
	r := open(t)
	s.Silence()
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	if _, err := r.Get(ctx, "k"); !errors.Is(err, ErrSilent) {
		t.Error(err)
	}
	sandboxtest.NoLeaks(t)
}

func TestALockedKeyringAsksItsOwner(t *testing.T) {
	s := keyringtest.Start(t, keyringtest.Bus(t))
	r, ctx := open(t), t.Context()
	if err := r.Set(ctx, "k", []byte("v")); err != nil {
		t.Fatal(err)
	}
	s.Lock(keyringtest.Declines)
	if _, err := r.Get(ctx, "k"); !errors.Is(err, ErrLocked) {
		t.Errorf("locked: %v", err)
	}
	if err := r.Set(ctx, "other", []byte("v")); !errors.Is(err, ErrLocked) {
		t.Errorf("locked: %v", err)
	}
	if shown, _ := s.Asked(); shown != 0 {
		t.Errorf("asked %d times, and nobody wanted that", shown)
	}
	if err := r.Unlock(ctx); !errors.Is(err, ErrDeclined) {
		t.Errorf("declined: %v", err)
	}
	if now, declined := r.Asking(); now || !declined {
		t.Errorf("asking %t, declined %t", now, declined)
	}
	s.Lock(keyringtest.Unlocks)
	if err := r.Unlock(ctx); err != nil {
		t.Errorf("unlocked: %v", err)
	}
	if got, err := r.Get(ctx, "k"); string(got) != "v" || err != nil {
		t.Errorf("got %q, %v", got, err)
	}
}

// K02: the prompt never completes.
func TestOneQuestionIsOutstandingAndEndsByItself(t *testing.T) {
	s := keyringtest.Start(t, keyringtest.Bus(t))
	r := open(t)
	if err := r.Set(t.Context(), "k", []byte("v")); err != nil {
		t.Fatal(err)
	}
	s.Lock(keyringtest.Never)
	for range 50 {
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
		if err := r.Unlock(ctx); !errors.Is(err, ErrWaiting) {
			t.Errorf("got %v", err)
		}
		cancel()
	}
	until(t, "the prompt is shown", func() bool { shown, _ := s.Asked(); return shown == 1 })
	if waiting := sandboxtest.Goroutines(); len(waiting) > 3 {
		t.Errorf("%d goroutines wait:\n%s", len(waiting), strings.Join(waiting, "\n\n"))
	}
	s.Unlock()
	until(t, "the question has ended", func() bool { now, _ := r.Asking(); return !now })
	if got, err := r.Get(t.Context(), "k"); string(got) != "v" || err != nil {
		t.Errorf("got %q, %v", got, err)
	}
	if shown, _ := s.Asked(); shown != 1 {
		t.Errorf("shown %d times", shown)
	}
}

func TestAQuestionIsTakenBack(t *testing.T) {
	s := keyringtest.Start(t, keyringtest.Bus(t))
	r := open(t)
	s.Lock(keyringtest.Never)
	ended := make(chan error, 1)
	go func() { ended <- r.Unlock(t.Context()) }()
	until(t, "the prompt is shown", func() bool { shown, _ := s.Asked(); return shown == 1 })
	r.Dismiss()
	if err := <-ended; !errors.Is(err, ErrDeclined) {
		t.Error(err)
	}
	until(t, "the prompt is gone", func() bool { _, dismissed := s.Asked(); return dismissed == 1 })
}

func TestWhatChangesIsTold(t *testing.T) {
	s := keyringtest.Start(t, keyringtest.Bus(t))
	r := open(t)
	ctx, stop := context.WithCancel(t.Context())
	told, ended := make(chan struct{}, 100), make(chan error, 1)
	go func() { ended <- r.Watch(ctx, func() { told <- struct{}{} }) }()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for heard := false; !heard; { // it may not listen yet
		s.Lock(keyringtest.Never)
		select {
		case <-told:
			heard = true
		case <-tick.C:
		}
	}
	stop()
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

func TestALoginIsKeptAndForgotten(t *testing.T) {
	for name, bus := range map[string]func() *keyringtest.Service{
		"in a keyring":      func() *keyringtest.Service { return keyringtest.Start(t, keyringtest.Bus(t)) },
		"without a keyring": func() *keyringtest.Service { keyringtest.Bus(t); return nil },
		"in one that unlocks": func() *keyringtest.Service {
			s := keyringtest.Start(t, keyringtest.Bus(t))
			s.Lock(keyringtest.Unlocks)
			return s
		},
		"in one that declines": func() *keyringtest.Service {
			s := keyringtest.Start(t, keyringtest.Bus(t))
			s.Lock(keyringtest.Declines)
			return s
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := bus()
			v := New(open(t))
			if got, err := v.Load("k"); got != nil || err != nil {
				t.Errorf("before it was saved: %q, %v", got, err)
			}
			if err := v.Save("k", []byte("secret")); err != nil {
				t.Fatal(err)
			}
			if got, err := v.Load("k"); string(got) != "secret" || err != nil {
				t.Errorf("loaded %q, %v", got, err)
			}
			_ = v.Delete("k")
			if got, _ := v.Load("k"); got != nil {
				t.Errorf("after it was deleted: %q", got)
			}
			if s != nil && len(s.Entries()) > 0 {
				t.Errorf("there are %v", s.Entries())
			}
		})
	}
}

// The real one, without a desktop: it is unlocked by what it reads at its start.
func TestGNOMEKeyring(t *testing.T) {
	program := sandboxtest.Program(t, "gnome-keyring-daemon")
	address := keyringtest.Bus(t)
	home := t.TempDir()
	cmd := exec.CommandContext(t.Context(), program, "--foreground", "--unlock", "--components=secrets", "--control-directory="+filepath.Join(home, "control"))
	cmd.Env = append(os.Environ(), "HOME="+home, "XDG_DATA_HOME="+home, "XDG_RUNTIME_DIR="+home, "DBUS_SESSION_BUS_ADDRESS="+address)
	cmd.Stdin = strings.NewReader("a password")
	var out strings.Builder
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		if t.Failed() {
			t.Log(out.String())
		}
	})
	r, ctx := open(t), t.Context()
	until(t, "it can be written to", func() bool { return r.Set(ctx, "k", []byte("first")) == nil })
	if err := r.Set(ctx, "k", []byte("second")); err != nil {
		t.Fatal(err)
	}
	if got, err := r.Get(ctx, "k"); string(got) != "second" || err != nil {
		t.Errorf("got %q, %v", got, err)
	}
	if _, err := r.Get(ctx, "other"); !errors.Is(err, ErrNotFound) {
		t.Errorf("another: %v", err)
	}
	lockFolder(t, ctx)
	if _, err := r.Get(ctx, "k"); !errors.Is(err, ErrLocked) {
		t.Errorf("locked: %v", err)
	}
}

// lockFolder locks the collection, as a screen lock may.
func lockFolder(t *testing.T, ctx context.Context) {
	t.Helper()
	s, err := openService(ctx)
	if err != nil {
		t.Fatal(err)
	}
	defer s.close()
	folder, _, err := s.defaultFolder(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.call(ctx, servicePath, serviceFace+".Lock", []dbus.ObjectPath{folder}).Err; err != nil {
		t.Fatal(err)
	}
}
