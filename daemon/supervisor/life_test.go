package supervisor

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/containerd/errdefs"

	"github.com/garita-dev/garita/sandbox"
)

func TestAServerThatEndsBeforeTheHandshake(t *testing.T) {
	t.Run("report_L06", func(t *testing.T) {
		s, _, _, ended := newTest(t)
		// It would end at once if its stdin were not open: the exit is the script's own.
		i, err := s.Start(t.Context(), shell("read line; echo why >&2; exit 0"), NewInstanceID(), Owner{})
		if err != nil {
			t.Fatal(err)
		}
		select {
		case e := <-ended:
			t.Fatalf("stdin was not held open: %+v", e)
		default:
		}
		if _, err := i.Write([]byte("go\n")); err != nil {
			t.Fatal(err)
		}
		<-ended
		state, reason := s.State("srv")
		if state != sandbox.Failed || reason != "exited (0) before handshake" {
			t.Errorf("state %s, reason %q", state, reason)
		}
		now := i.Now()
		if now.State != sandbox.Failed || len(now.Last) != 1 || now.Last[0] != "why" {
			t.Errorf("status %+v", now)
		}
		if s.standingHealth("srv").strikes != 1 {
			t.Error("it was no strike")
		}
		if err := i.Stop(t.Context()); err != nil {
			t.Error(err)
		}
	})
}

func TestBackoffAndBreaker(t *testing.T) {
	t.Run("report_L11", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			st := &stage{lives: 3 * time.Second, code: 1, words: "out of cheese\n"}
			s, looping := staged(t, st)
			for range maxStrikes {
				i, err := s.Start(t.Context(), shell("x"), NewInstanceID(), Owner{})
				if err != nil {
					t.Fatal(err)
				}
				i.Ready()
				<-i.Ended()
			}
			tr := <-looping
			if tr.Strikes != maxStrikes || len(tr.Last) != 1 || tr.Last[0] != "out of cheese" {
				t.Errorf("told %+v", tr)
			}
			for n := 1; n < len(st.times)-1; n++ {
				if before, after := st.times[n].Sub(st.times[n-1]), st.times[n+1].Sub(st.times[n]); n > 2 && after <= before-firstPause {
					t.Errorf("the pause shrank from %s to %s", before, after)
				}
			}
			for range 100 { // a client that does not give up
				if _, err := s.Start(t.Context(), shell("x"), NewInstanceID(), Owner{}); !errors.Is(err, errdefs.ErrUnavailable) {
					t.Fatalf("got %v", err)
				}
			}
			if st.started != maxStrikes || len(looping) != 0 {
				t.Errorf("started %d times, told %d times more", st.started, len(looping))
			}
			if state, reason := s.State("srv"); state != sandbox.Failed || reason != "crash-looping: exited (1)" {
				t.Errorf("%s, %q", state, reason)
			}
			_, err := s.Start(t.Context(), shell("x"), NewInstanceID(), Owner{})
			for _, want := range []string{"srv", "failed", "crash-looping", "out of cheese", "tried again at", "garita server logs srv", "garita server restart srv"} {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("%q does not say %q", err, want)
				}
			}
			loopsOn(t, s, looping)
		})
	})
	t.Run("a person closes the breaker", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			st := &stage{lives: time.Second}
			s, _ := staged(t, st)
			crash(t, s, maxStrikes)
			if err := s.Restart(t.Context(), "srv"); err != nil {
				t.Fatal(err)
			}
			crash(t, s, 1)
			if h := s.standingHealth("srv"); h.looping || h.strikes != 1 {
				t.Errorf("%+v", h)
			}
		})
	})
	t.Run("only what lasts resets it", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			st := &stage{lives: time.Second}
			s, _ := staged(t, st)
			crash(t, s, maxStrikes-1)
			st.lives = sustained - time.Second
			crash(t, s, 1)
			if !s.standingHealth("srv").looping {
				t.Error("an uptime that was too short has reset it")
			}
			s.Reset("srv")
			st.lives = time.Second
			crash(t, s, maxStrikes-1)
			st.lives = sustained
			crash(t, s, 1)
			if h := s.standingHealth("srv"); h.looping || h.strikes > 1 {
				t.Errorf("a sustained uptime has not: %+v", h)
			}
		})
	})
	t.Run("what a server died of by our doing is no strike", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			st := &stage{lives: time.Second}
			s, looping := staged(t, st)
			for n := range 3 * maxStrikes {
				i, err := s.Start(t.Context(), shell("x"), NewInstanceID(), Owner{})
				if err != nil {
					t.Fatal(err)
				}
				if n%2 == 0 {
					i.Excuse() // before it ends
				}
				<-i.Ended()
				i.Excuse() // or behind it
			}
			if h := s.standingHealth("srv"); h.strikes != 0 || h.failed != 0 || len(looping) != 0 {
				t.Errorf("%+v", h)
			}
		})
	})
	t.Run("nor is what we stopped or gave up", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			s, _ := staged(t, &stage{})
			for range 3 * maxStrikes {
				i, err := s.Start(t.Context(), shell("x"), NewInstanceID(), Owner{})
				if err != nil {
					t.Fatal(err)
				}
				if err := i.Stop(t.Context()); err != nil {
					t.Fatal(err)
				}
			}
			ctx, cancel := context.WithCancel(t.Context())
			cancel()
			if _, err := s.Start(ctx, shell("x"), NewInstanceID(), Owner{}); err == nil {
				t.Log("it started all the same")
			}
			if h := s.standingHealth("srv"); h.failed != 0 {
				t.Errorf("%+v", h)
			}
		})
	})
	t.Run("one fault that ends many instances is one strike", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			st := &stage{lives: time.Second}
			s, _ := staged(t, st)
			var all []*Instance
			for range 8 {
				i, err := s.Start(t.Context(), shell("x"), NewInstanceID(), Owner{})
				if err != nil {
					t.Fatal(err)
				}
				all = append(all, i)
			}
			for _, i := range all {
				<-i.Ended()
			}
			if h := s.standingHealth("srv"); h.strikes != 1 {
				t.Errorf("%+v", h)
			}
		})
	})
}

func TestAFailedStartIsTriedAgain(t *testing.T) {
	t.Run("report_L12", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			r := &slowRegistry{takes: 75 * time.Second}
			s, _ := staged(t, &stage{})
			s.Installer = r
			npx := sandbox.Server{Name: "srv", Source: sandbox.Source{Command: []string{"npx", "pkg"}}}
			began := time.Now()
			i, err := s.Start(t.Context(), npx, NewInstanceID(), Owner{})
			if err != nil {
				t.Fatalf("an installation of 75 s: %v", err)
			}
			if time.Since(began) != r.takes || i.StartLimit() != sandbox.DefaultStart {
				t.Errorf("installed in %s, then %s for the handshake", time.Since(began), i.StartLimit())
			}
			_ = i.Stop(t.Context())

			r.err = errdefs.ErrUnavailable
			for range 3 * maxStrikes { // a registry that is down is not the server's crash
				if _, err := s.Start(t.Context(), npx, NewInstanceID(), Owner{}); err == nil || !strings.Contains(err.Error(), "start srv") {
					t.Fatalf("got %v", err)
				}
			}
			r.err = nil
			if i, err = s.Start(t.Context(), npx, NewInstanceID(), Owner{}); err != nil {
				t.Fatalf("once it is back: %v", err)
			}
			npx.Spec.Lifecycle.Start = 2 * time.Minute
			i.Fail("no answer to initialize within 1m0s")
			_ = i.Stop(t.Context())
			if _, reason := s.State("srv"); reason != "no answer to initialize within 1m0s" {
				t.Errorf("reason %q", reason)
			}
			if i, err = s.Start(t.Context(), npx, NewInstanceID(), Owner{}); err != nil || i.StartLimit() != 2*time.Minute {
				t.Errorf("the next call: %v", err)
			}
		})
	})
}

type slowRegistry struct {
	takes time.Duration
	err   error
}

func (r *slowRegistry) Install(ctx context.Context, ref sandbox.PackageRef, _ *sandbox.Package, _ func(sandbox.Progress)) (sandbox.Package, error) {
	select {
	case <-time.After(r.takes):
	case <-ctx.Done():
		return sandbox.Package{}, ctx.Err()
	}
	return sandbox.Package{Name: ref.Name, Entry: []string{"/bin/sh"}}, r.err
}

// The worker of before is stopped for good before there is another: whatever it holds is free again.
func TestARestartOwnsItsPredecessor(t *testing.T) {
	t.Run("report_L08", func(t *testing.T) {
		s, _, _, ended := newTest(t)
		held := filepath.Join(t.TempDir(), "port")
		worker := shell(fmt.Sprintf(`exec 9>%q; flock -n 9 || exit 1; echo up; kill -STOP $$; cat`, held))
		first, err := s.Start(t.Context(), worker, NewInstanceID(), Owner{})
		if err != nil {
			t.Fatal(err)
		}
		if line, _ := bufio.NewReader(first).ReadString('\n'); line != "up\n" {
			t.Fatalf("the worker says %q", line)
		}
		first.Ready()
		if err := s.Restart(t.Context(), "srv"); err != nil { // asleep as it is
			t.Fatal(err)
		}
		<-ended
		if left := s.Instances("srv"); len(left) != 0 {
			t.Errorf("%d instances after the restart", len(left))
		}
		second, err := s.Start(t.Context(), worker, NewInstanceID(), Owner{})
		if err != nil {
			t.Fatal(err)
		}
		if line, _ := bufio.NewReader(second).ReadString('\n'); line != "up\n" {
			t.Errorf("the second worker says %q", line)
		}
	})
}

func TestAfterASuspend(t *testing.T) {
	t.Run("report_L18", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			st := &stage{}
			s, _ := staged(t, st)
			start := func() *Instance {
				i, err := s.Start(t.Context(), shell("x"), NewInstanceID(), Owner{})
				if err != nil {
					t.Fatal(err)
				}
				i.Ready()
				return i
			}
			deaf, well := start(), start()
			var slept time.Duration
			var mu sync.Mutex
			ctx, cancel := context.WithCancel(t.Context())
			done := make(chan error, 1)
			var checked atomic.Int32
			go func() {
				done <- Resumed(ctx, func() time.Duration {
					mu.Lock()
					defer mu.Unlock()
					return slept
				}, func() {
					checked.Add(1)
					s.Check(ctx, func(_ context.Context, i *Instance) error {
						if i == deaf {
							return errors.New("no answer to ping")
						}
						return nil
					})
				})
			}()
			time.Sleep(time.Hour) //nolint:forbidigo // the bubble's clock
			if n := checked.Load(); n != 0 {
				t.Errorf("checked %d times without a suspend", n)
			}
			mu.Lock()
			slept = 8 * time.Hour
			mu.Unlock()
			time.Sleep(2 * lookEvery) //nolint:forbidigo // the bubble's clock
			synctest.Wait()
			if checked.Load() != 1 || deaf.Now().State != sandbox.Stopped || well.Now().State != sandbox.Ready {
				t.Errorf("checked %d times; deaf is %s, well is %s", checked.Load(), deaf.Now().State, well.Now().State)
			}
			if h := s.standingHealth("srv"); h.failed != 0 {
				t.Errorf("a suspend is no strike: %+v", h)
			}
			start()
			cancel()
			if err := <-done; err != nil {
				t.Error(err)
			}
		})
	})
	if sleptNow() < 0 {
		t.Error("the machine has slept less than not at all")
	}
}

func TestFreezeAndThaw(t *testing.T) {
	s, _ := staged(t, &stage{})
	i, err := s.Start(t.Context(), shell("x"), NewInstanceID(), Owner{})
	if err != nil {
		t.Fatal(err)
	}
	if err := i.Freeze(t.Context()); !errors.Is(err, errdefs.ErrFailedPrecondition) {
		t.Errorf("froze while it starts: %v", err)
	}
	i.Ready()
	if err := i.Freeze(t.Context()); err != nil || i.Now().State != sandbox.Frozen {
		t.Errorf("%v, %s", err, i.Now().State)
	}
	if err := i.Thaw(t.Context()); err != nil || i.Now().State != sandbox.Ready {
		t.Errorf("%v, %s", err, i.Now().State)
	}
}

// What is sent to a frozen server lets it go on, and so does the end of its input.
func TestAFrozenServerIsThawedForWhatItIsSent(t *testing.T) {
	s, _ := staged(t, &stage{})
	i, err := s.Start(t.Context(), shell("x"), NewInstanceID(), Owner{})
	if err != nil {
		t.Fatal(err)
	}
	name := i.Now().Server
	if err := s.Freeze(t.Context(), name); !errdefs.IsNotFound(err) {
		t.Errorf("froze what starts: %v", err)
	}
	i.Ready()
	for what, do := range map[string]func() error{
		"a message": func() error { _, _ = i.Write([]byte("x\n")); return nil }, // nobody reads here
		"a person":  func() error { return s.Thaw(t.Context(), name) },
	} {
		if err := s.Freeze(t.Context(), name); err != nil {
			t.Fatal(err)
		}
		if state, _ := s.State(name); state != sandbox.Frozen {
			t.Errorf("before %s it is %s", what, state)
		}
		if err := do(); err != nil {
			t.Errorf("%s: %v", what, err)
		}
		if state, _ := s.State(name); state != sandbox.Ready {
			t.Errorf("after %s it is %s", what, state)
		}
	}
	if err := s.Thaw(t.Context(), name); !errdefs.IsNotFound(err) {
		t.Errorf("thawed what is not frozen: %v", err)
	}
	if err := s.Freeze(t.Context(), name); err != nil {
		t.Fatal(err)
	}
	if err := i.Stop(t.Context()); err != nil || i.Now().State != sandbox.Stopped {
		t.Errorf("%v, %s", err, i.Now().State)
	}
}

// A server whose client is gone leaves nothing, whatever it has forked.
func TestChildrenEndWithTheirServer(t *testing.T) {
	t.Run("report_L01", func(t *testing.T) {
		s, _, _, ended := newTest(t)
		i, err := s.Start(t.Context(), shell("sh -c 'sleep 1000 & echo $!; wait' & read rest; trap '' TERM; wait"), NewInstanceID(), Owner{})
		if err != nil {
			t.Fatal(err)
		}
		pid := make([]byte, 16)
		n, err := i.Read(pid)
		if err != nil {
			t.Fatal(err)
		}
		if err := i.Stop(t.Context()); err != nil {
			t.Fatal(err)
		}
		<-ended
		grandchild := strings.TrimSpace(string(pid[:n]))
		tick := time.NewTicker(5 * time.Millisecond) // killed, it still has to be reaped
		defer tick.Stop()
		for deadline := time.Now().Add(30 * time.Second); alive(grandchild); <-tick.C {
			if time.Now().After(deadline) {
				t.Fatalf("process %s lives on", grandchild)
			}
		}
	})
}

func TestNothingIsLeftRunning(t *testing.T) {
	before := runtime.NumGoroutine()
	s := New(Options{
		Runtime: &stage{}, Installer: &registry{}, Lock: &lockFile{}, Consent: &person{}, Host: machineHost{"sh": "/usr/bin/dash"},
		Changed: func(sandbox.ServerName) {}, Ended: func(Status, sandbox.Exit) {}, Logger: slog.New(slog.DiscardHandler),
	})
	for range 4 {
		if _, err := s.Start(t.Context(), shell("x"), NewInstanceID(), Owner{}); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for deadline := time.Now().Add(10 * time.Second); runtime.NumGoroutine() > before; <-tick.C {
		if time.Now().After(deadline) {
			t.Fatalf("%d goroutines are left of %d", runtime.NumGoroutine(), before)
		}
	}
}

// alive says whether a process runs; a zombie does not.
func alive(pid string) bool {
	stat, err := os.ReadFile("/proc/" + pid + "/stat")
	if err != nil {
		return false
	}
	_, rest, _ := strings.Cut(string(stat), ") ")
	return !strings.HasPrefix(rest, "Z")
}
