package engine

import (
	"context"
	"errors"
	"fmt"
	"net"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"github.com/garita-dev/garita/sandbox"
)

// A watcher to which nobody comes, or who brings nothing, ends without leaving anything behind.
func TestAWatcherEnds(t *testing.T) {
	before := runtime.NumGoroutine()
	for name, come := range map[string]func(t *testing.T, socket string){
		"nobody comes": func(*testing.T, string) {},
		"somebody brings nothing": func(t *testing.T, socket string) {
			conn, err := net.Dial("unix", socket)
			if err != nil {
				t.Fatal(err)
			}
			_ = conn.Close()
		},
		"somebody says something without a file": func(t *testing.T, socket string) {
			conn, err := net.Dial("unix", socket)
			if err != nil {
				t.Fatal(err)
			}
			defer conn.Close()
			if _, err := conn.Write([]byte(`{"fds":["seccompFd"]}`)); err != nil {
				t.Fatal(err)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			socket := filepath.Join(t.TempDir(), "n")
			w := &watcher{note: newSightings(), broken: func(err error) { t.Errorf("broken: %v", err) }}
			if err := w.watchAt(socket); err != nil {
				t.Fatal(err)
			}
			come(t, socket)
			if err := w.close(); err != nil {
				t.Error(err)
			}
		})
	}
	for deadline := time.Now().Add(10 * time.Second); runtime.NumGoroutine() > before && time.Now().Before(deadline); {
		runtime.Gosched()
	}
	if n := runtime.NumGoroutine(); n > before {
		t.Errorf("%d goroutines are left, there were %d", n, before)
	}
}

func TestSightings(t *testing.T) {
	s := newSightings()
	s.add(sandbox.SawCommand, look{path: "/bin/a", argv: []string{"a", "b"}})
	s.add(sandbox.SawCommand, look{path: "/bin/a", argv: []string{"a", "b"}})
	s.add(sandbox.SawCommand, look{path: "/bin/a", argv: []string{"a b"}})
	got := s.after(t.Context(), 0)
	if len(got.List) != 2 || got.List[0].Count != 2 || got.List[0].Seq != 2 || got.List[1].Seq != 3 {
		t.Fatalf("got %+v", got.List)
	}
	for n := range maxSightings + 5 {
		s.add(sandbox.SawMissing, look{path: fmt.Sprintf("/data/%d", n)})
	}
	if got = s.after(t.Context(), 3); len(got.List) != maxSightings-2 || got.Lost != 7 {
		t.Errorf("%d kept, %d lost", len(got.List), got.Lost)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if got = s.after(ctx, got.List[len(got.List)-1].Seq); len(got.List) != 0 || got.Over {
		t.Errorf("got %+v, want nothing yet", got)
	}
	s.end("")
	if got = s.after(t.Context(), 1<<40); !got.Over {
		t.Error("the end is not told")
	}
}

func TestHostsThatCannotBeAsked(t *testing.T) {
	observed := sandbox.Launch{Observe: true}
	for name, c := range map[string]struct {
		l    sandbox.Launch
		err  error
		want bool
	}{
		"an old libseccomp": {observed, errors.New("create the task: OCI runtime create failed: seccomp notify unsupported: API level: got 3"), true},
		"another error":     {observed, errors.New("create the task: no space left"), false},
		"it started":        {observed, nil, false},
		"not observed":      {sandbox.Launch{}, errors.New("seccomp"), false},
	} {
		t.Run(name, func(t *testing.T) {
			if got := cannotObserve(c.l, c.err); got != c.want {
				t.Errorf("got %t", got)
			}
		})
	}
}
