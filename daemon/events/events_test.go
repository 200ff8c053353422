package events_test

import (
	"context"
	"errors"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"

	"github.com/garita-dev/garita/daemon/events"
)

// start returns a log and the cursor of now.
func start(t *testing.T, size int) (*events.Log, int64) {
	t.Helper()
	l := events.New(size)
	return l, after(t, l, 0)[0].Seq
}

func after(t *testing.T, l *events.Log, since int64) []events.Event {
	t.Helper()
	found, err := l.After(t.Context(), since)
	if err != nil {
		t.Fatal(err)
	}
	return found
}

func kinds(found []events.Event) []string {
	var out []string
	for _, e := range found {
		out = append(out, e.Kind+" "+e.ID)
	}
	return out
}

func TestAfterReturnsWhatFollowsTheCursor(t *testing.T) {
	l, now := start(t, 8)
	l.Publish("call", "c1", nil)
	l.Publish("approval", "r1", 7)
	found := after(t, l, now)
	if diff := cmp.Diff([]string{"call c1", "approval r1"}, kinds(found)); diff != "" {
		t.Fatal(diff)
	}
	if found[0].Seq != now+1 || found[1].Seq != now+2 || found[1].Detail != 7 {
		t.Fatalf("got %+v after %d", found, now)
	}
	if diff := cmp.Diff([]string{"approval r1"}, kinds(after(t, l, now+1))); diff != "" {
		t.Fatal(diff)
	}
}

func TestCursorsThatCannotBeFollowedGetOneReset(t *testing.T) {
	l, now := start(t, 4)
	for i := range 40 {
		l.Publish("call", strconv.Itoa(i), nil)
	}
	head := now + 40
	for name, since := range map[string]int64{
		"none yet":                0,
		"negative":                -3,
		"fell out of the ring":    now + 1,
		"of the future":           head + 1,
		"of another, later clock": head + 1<<40,
	} {
		found := after(t, l, since)
		if diff := cmp.Diff([]events.Event{{Seq: head, Kind: events.Reset}}, found); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
	if found := after(t, l, head-1); len(found) != 1 || found[0].ID != "39" {
		t.Errorf("the last event: got %+v", found)
	}
}

func TestTheWholeRingCanBeFollowed(t *testing.T) {
	l, now := start(t, 4)
	for i := range 4 {
		l.Publish("call", strconv.Itoa(i), nil)
	}
	if diff := cmp.Diff([]string{"call 0", "call 1", "call 2", "call 3"}, kinds(after(t, l, now))); diff != "" {
		t.Fatal(diff)
	}
}

func TestAfterWaitsAndWakesEveryWaiter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, now := start(t, 8)
		var wg sync.WaitGroup
		for range 3 {
			wg.Go(func() {
				if found, err := l.After(t.Context(), now); err != nil || len(found) != 1 {
					t.Errorf("got %v, %v", found, err)
				}
			})
		}
		synctest.Wait()
		l.Publish("status", "", nil)
		wg.Wait()
	})
}

func TestAfterEndsWithItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, now := start(t, 8)
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error)
		go func() {
			_, err := l.After(ctx, now)
			done <- err
		}()
		synctest.Wait()
		cancel()
		if err := <-done; !errors.Is(err, context.Canceled) {
			t.Fatalf("got %v", err)
		}
	})
}

func TestNothingIsMissedUnderLoad(t *testing.T) {
	l, now := start(t, 10000)
	var wg sync.WaitGroup
	for w := range 4 {
		wg.Go(func() {
			for range 500 {
				l.Publish("call", strconv.Itoa(w), nil)
			}
		})
	}
	for since := now; since < now+2000; {
		for _, e := range after(t, l, since) {
			if e.Seq != since+1 {
				t.Fatalf("got %d after %d", e.Seq, since)
			}
			since = e.Seq
		}
	}
	wg.Wait()
}
