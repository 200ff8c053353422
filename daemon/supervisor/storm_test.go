package supervisor

import (
	"context"
	"math/rand/v2"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/garita-dev/garita/sandbox"
)

// Everything at once, in any order: nothing blocks for ever, no limit is passed, and nothing is left.
func TestAnythingAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st := &stage{lives: 40 * time.Second, code: 1, words: "words\n"}
		s, _ := staged(t, st)
		ctx, cancel := context.WithTimeout(t.Context(), 2*time.Hour)
		defer cancel()
		var storm sync.WaitGroup
		for n := range 60 {
			storm.Go(func() { session(ctx, s, rand.New(rand.NewPCG(7, uint64(n)))) }) //nolint:gosec // a test's dice
		}
		for range 4 {
			storm.Go(func() { watcher(ctx, s) })
		}
		storm.Wait()
		if err := s.Close(context.Background()); err != nil {
			t.Fatal(err)
		}
		if st.peak > 3*sandbox.DefaultInstances || st.now != 0 || len(s.instances) != 0 || len(s.slots.used)+len(s.slots.total)+len(s.slots.waiting) != 0 {
			t.Errorf("%d at a time, %d left; instances %v, slots %v", st.peak, st.now, s.instances, s.slots)
		}
		if st.started < 100 {
			t.Errorf("only %d were started", st.started)
		}
		for name, srv := range s.servers {
			if srv.starting != 0 || srv.trial != nil {
				t.Errorf("%s: %d starts under way, trial %v", name, srv.starting, srv.trial)
			}
		}
	})
}

// session starts servers and does to them what sessions do, until ctx ends.
func session(ctx context.Context, s *Supervisor, dice *rand.Rand) {
	for ctx.Err() == nil {
		srv := shell("x")
		srv.Name = sandbox.ServerName([]string{"a", "b", "c"}[dice.IntN(3)])
		short, cancel := context.WithTimeout(ctx, time.Duration(dice.IntN(20))*time.Second)
		i, err := s.Start(short, srv, NewInstanceID(), Owner{Group: "agent"})
		cancel()
		if err != nil {
			time.Sleep(time.Duration(dice.IntN(60)) * time.Second) //nolint:forbidigo // the bubble's clock
			continue
		}
		for range dice.IntN(4) {
			time.Sleep(time.Duration(dice.IntN(30)) * time.Second) //nolint:forbidigo // the bubble's clock
			switch dice.IntN(6) {
			case 0:
				i.Fail("nonsense")
			case 1:
				i.Excuse()
			case 2:
				_ = i.Freeze(ctx)
			case 3:
				_ = i.Thaw(ctx)
			default:
				i.Ready()
			}
		}
		if dice.IntN(3) == 0 {
			<-i.Ended()
		}
		_ = i.Stop(ctx)
	}
}

// watcher asks and does what people do, until ctx ends.
func watcher(ctx context.Context, s *Supervisor) {
	for n := 0; ctx.Err() == nil; n++ {
		for _, name := range []sandbox.ServerName{"a", "b", "c"} {
			s.State(name)
			s.Instances(name)
			s.Log(name)
		}
		switch n % 50 {
		case 20:
			_ = s.Restart(ctx, "a")
		case 30:
			s.Check(ctx, func(context.Context, *Instance) error { return nil })
		case 40:
			_ = s.Stop(ctx, "b")
		}
		time.Sleep(7 * time.Second) //nolint:forbidigo // the bubble's clock
	}
}
