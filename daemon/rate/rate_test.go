package rate

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/garita-dev/garita/sandbox"
)

func TestTake(t *testing.T) {
	for name, r := range map[string]sandbox.Rate{
		"two a minute":       {Count: 2, Per: time.Minute},
		"seven a second":     {Count: 7, Per: time.Second},
		"120 a minute":       {Count: 120, Per: time.Minute},
		"a thousand an hour": {Count: 1000, Per: time.Hour},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var l Limiter
				for n := range r.Count {
					if wait, ok := l.Take("a", r); !ok {
						t.Fatalf("call %d waits %s", n+1, wait)
					}
				}
				wait, ok := l.Take("a", r)
				if ok || wait <= 0 || wait > r.Per/time.Duration(r.Count) {
					t.Fatalf("one more: %s, %v", wait, ok)
				}
				if _, ok := l.Take("b", r); !ok {
					t.Error("another key waits")
				}
				time.Sleep(wait) //nolint:forbidigo // the bubble's clock
				if _, ok := l.Take("a", r); !ok {
					t.Error("it waits longer than was said")
				}
				if _, ok := l.Take("a", r); ok {
					t.Error("and two were to be had")
				}
				time.Sleep(r.Per) //nolint:forbidigo // the bubble's clock
				for n := range r.Count {
					if _, ok := l.Take("a", r); !ok {
						t.Fatalf("call %d waits after a pause", n+1)
					}
				}
			})
		})
	}
}

func TestNoRateIsNoLimit(t *testing.T) {
	var l Limiter
	for range 10_000 {
		if _, ok := l.Take("a", sandbox.Rate{}); !ok {
			t.Fatal("it waits")
		}
	}
}

func TestKeysAreLetGo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var l Limiter
		r := sandbox.Rate{Count: 1, Per: time.Second}
		for n := range 10 * sweepAt {
			l.Take(fmt.Sprint(n), r)
			time.Sleep(time.Millisecond) //nolint:forbidigo // the bubble's clock
		}
		if len(l.due) > 2*sweepAt {
			t.Errorf("%d keys are held", len(l.due))
		}
	})
}
