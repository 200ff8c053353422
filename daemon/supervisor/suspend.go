package supervisor

import (
	"context"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/garita-dev/garita/sandbox"
)

const (
	// lookEvery is how often a suspend of the machine is looked for.
	lookEvery = 15 * time.Second
	// asleep is how much further the clock that counts sleep must have come to call it a suspend.
	asleep = 2 * time.Second
)

// Resumed calls told whenever the machine has slept, until ctx ends. A nil slept reads the kernel's
// clocks; it is how long the machine has slept since it started.
func Resumed(ctx context.Context, slept func() time.Duration, told func()) error {
	if slept == nil {
		slept = sleptNow
	}
	before := slept()
	tick := time.NewTicker(lookEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
		now := slept()
		if now-before >= asleep {
			told()
		}
		before = now
	}
}

// sleptNow is the time that CLOCK_BOOTTIME counts and CLOCK_MONOTONIC does not.
func sleptNow() time.Duration {
	awake := clock(unix.CLOCK_MONOTONIC)
	return clock(unix.CLOCK_BOOTTIME) - awake
}

func clock(id int32) time.Duration {
	var t unix.Timespec
	if err := unix.ClockGettime(id, &t); err != nil {
		return 0
	}
	return time.Duration(t.Nano())
}

// Check asks alive about every instance that is ready, all at once, and stops those it gives an
// error for: a server that is deaf after a suspend is started anew at the next call. alive returns
// when ctx ends.
func (s *Supervisor) Check(ctx context.Context, alive func(context.Context, *Instance) error) {
	var checks sync.WaitGroup
	for _, i := range s.which(func(i *Instance) bool { return i.Now().State == sandbox.Ready }) {
		checks.Go(func() {
			err := alive(ctx, i)
			if err == nil || ctx.Err() != nil && i.Now().State != sandbox.Ready {
				return
			}
			s.Logger.Warn("a server does not answer and is stopped", "server", i.server, "err", err)
			if err := i.Stop(context.WithoutCancel(ctx)); err != nil {
				s.Logger.Error("cannot stop a server", "server", i.server, "err", err)
			}
		})
	}
	checks.Wait()
}
