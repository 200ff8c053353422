package supervisor

import (
	"errors"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/containerd/errdefs"

	"github.com/garita-dev/garita/sandbox"
)

func TestStartsDoNotStampede(t *testing.T) {
	t.Run("report_L09", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			st := &stage{lives: 8 * time.Second}
			s, _ := staged(t, st)
			crash(t, s, 1)
			st.lives = 0
			var starts sync.WaitGroup
			var mu sync.Mutex
			var all []*Instance
			for range 20 {
				starts.Go(func() {
					i, err := s.Start(t.Context(), shell("x"), NewInstanceID(), Owner{Group: string(NewInstanceID())})
					if err != nil {
						t.Error(err)
						return
					}
					mu.Lock()
					all = append(all, i)
					mu.Unlock()
				})
			}
			time.Sleep(time.Minute) //nolint:forbidigo // the bubble's clock
			synctest.Wait()
			if st.started != 2 {
				t.Errorf("%d starts before the one that tries it was decided, want 1", st.started-1)
			}
			all[0].Ready()
			starts.Wait()
			for _, i := range all {
				_ = i.Stop(t.Context())
			}
		})
	})
}

func TestLimitsOfAnAgent(t *testing.T) {
	t.Run("report_L03", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			st := &stage{}
			s, _ := staged(t, st)
			srv := shell("x")
			srv.Spec.Limits.Instances = 3
			var sessions sync.WaitGroup
			for range 10 {
				sessions.Go(func() {
					for range 10 {
						i, err := s.Start(t.Context(), srv, NewInstanceID(), Owner{Group: "agent"})
						if err != nil {
							t.Error(err)
							return
						}
						i.Ready()
						time.Sleep(time.Second) //nolint:forbidigo // a call; the bubble's clock
						_ = i.Stop(t.Context())
					}
				})
			}
			sessions.Wait()
			if err := s.Close(t.Context()); err != nil {
				t.Fatal(err)
			}
			if st.started != 100 || st.peak > 3 || len(s.Instances("")) != 0 {
				t.Errorf("%d started, %d at a time, %d left", st.started, st.peak, len(s.Instances("")))
			}
			s.slots.mu.Lock()
			defer s.slots.mu.Unlock()
			if len(s.slots.used) != 0 || len(s.slots.total) != 0 {
				t.Errorf("slots left: %v, %v", s.slots.used, s.slots.total)
			}
		})
	})
	t.Run("a wait is bounded in time and number", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			s, _ := staged(t, &stage{})
			for range sandbox.DefaultInstances {
				if _, err := s.Start(t.Context(), shell("x"), NewInstanceID(), Owner{Group: "a"}); err != nil {
					t.Fatal(err)
				}
			}
			errs := make(chan error, maxQueue+1)
			began := time.Now()
			for range maxQueue + 1 {
				go func() {
					_, err := s.Start(t.Context(), shell("x"), NewInstanceID(), Owner{Group: "a"})
					errs <- err
				}()
			}
			if err := <-errs; !errors.Is(err, errdefs.ErrResourceExhausted) || !strings.Contains(err.Error(), "wait already") || time.Since(began) != 0 {
				t.Errorf("one too many got %v", err)
			}
			for range maxQueue {
				if err := <-errs; !errors.Is(err, errdefs.ErrResourceExhausted) || !strings.Contains(err.Error(), "limits.instances") {
					t.Errorf("got %v", err)
				}
			}
			if time.Since(began) != queueTime {
				t.Errorf("waited %s", time.Since(began))
			}
			if _, err := s.Start(t.Context(), shell("x"), NewInstanceID(), Owner{Group: "b"}); err != nil {
				t.Errorf("another agent: %v", err)
			}
		})
	})
	t.Run("over all servers", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			st := &stage{}
			s, _ := staged(t, st)
			for n := range perAgent + 1 {
				srv := shell("x")
				srv.Name = sandbox.ServerName(strings.Repeat("s", n+1))
				_, err := s.Start(t.Context(), srv, NewInstanceID(), Owner{Group: "a"})
				if n < perAgent && err != nil || n == perAgent && !errors.Is(err, errdefs.ErrResourceExhausted) {
					t.Errorf("%d: %v", n, err)
				}
			}
		})
	})
}

func TestAnInstanceLivesNoLongerThanItMay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, _ := staged(t, &stage{})
		srv := shell("x")
		srv.Spec.Lifecycle.Hard = 12 * time.Hour
		began := time.Now()
		i, err := s.Start(t.Context(), srv, NewInstanceID(), Owner{})
		if err != nil {
			t.Fatal(err)
		}
		i.Ready()
		<-i.Ended()
		if lived := time.Since(began); lived < srv.Spec.Lifecycle.Hard || lived > srv.Spec.Lifecycle.Hard+eofGrace+termGrace {
			t.Errorf("it lived %s", lived)
		}
		if h := s.standingHealth("srv"); h.failed != 0 {
			t.Errorf("it was held against it: %+v", h)
		}
	})
}
