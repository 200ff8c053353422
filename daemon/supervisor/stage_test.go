package supervisor

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"testing"
	"time"

	"github.com/containerd/errdefs"

	"github.com/garita-dev/garita/sandbox"
)

// stage is a Runtime without processes, for tests in which time is made up: each server lives for a
// while, unless it is stopped.
type stage struct {
	lives time.Duration // 0 means until it is stopped
	code  int
	words string

	mu                 sync.Mutex // guards the fields below
	started, now, peak int
	failing            error
	times              []time.Time
}

func (st *stage) Start(_ context.Context, l sandbox.Launch, io sandbox.Stdio) (sandbox.Instance, error) {
	st.mu.Lock()
	defer st.mu.Unlock()
	if st.failing != nil {
		return nil, st.failing
	}
	st.started++
	st.now++
	st.peak = max(st.peak, st.now)
	st.times = append(st.times, time.Now())
	_, _ = io.Err.WriteString(st.words)
	a := &actor{stage: st, info: sandbox.InstanceInfo{ID: l.ID, Server: l.Server, Started: time.Now()}, done: make(chan struct{})}
	if st.lives > 0 {
		a.death = time.AfterFunc(st.lives, func() { a.die(st.code) })
	}
	return a, nil
}

type actor struct {
	stage *stage
	info  sandbox.InstanceInfo
	death *time.Timer
	once  sync.Once
	done  chan struct{}
	exit  sandbox.Exit
}

func (a *actor) die(code int) {
	a.once.Do(func() {
		a.exit = sandbox.Exit{Code: code, At: time.Now()}
		a.stage.mu.Lock()
		a.stage.now--
		a.stage.mu.Unlock()
		close(a.done)
	})
}

func (a *actor) Info() sandbox.InstanceInfo { return a.info }

func (a *actor) Wait(context.Context) (sandbox.Exit, error) {
	<-a.done
	return a.exit, nil
}

func (a *actor) Stop(context.Context, time.Duration) error {
	if a.death != nil {
		a.death.Stop()
	}
	a.die(143)
	return nil
}

func (a *actor) Freeze(context.Context) error { return nil }
func (a *actor) Thaw(context.Context) error   { return nil }

func staged(t *testing.T, st *stage) (*Supervisor, chan *Trouble) {
	looping := make(chan *Trouble, 100)
	s := New(Options{
		Runtime: st, Installer: &registry{}, Lock: &lockFile{locked: map[sandbox.ServerName]sandbox.Package{}}, Consent: &person{},
		Host:    machineHost{"sh": "/usr/bin/dash", "/bin/sh": "/usr/bin/dash"},
		Changed: func(sandbox.ServerName) {}, Progress: func(sandbox.ServerName, sandbox.Progress) {},
		Ended:   func(Status, sandbox.Exit) {},
		Looping: func(tr *Trouble) { looping <- tr }, Logger: slog.New(slog.DiscardHandler),
	})
	t.Cleanup(func() { _ = s.Close(context.Background()) })
	return s, looping
}

func (s *Supervisor) standingHealth(name sandbox.ServerName) health {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.of(name).health
}

// loopsOn waits for the cool-down: one start is let through, and its end is not told again.
func loopsOn(t *testing.T, s *Supervisor, looping chan *Trouble) {
	time.Sleep(firstCoolDown) //nolint:forbidigo // the bubble's clock
	i, err := s.Start(t.Context(), shell("x"), NewInstanceID(), Owner{})
	if err != nil {
		t.Fatal(err)
	}
	i.Ready()
	<-i.Ended()
	if _, err := s.Start(t.Context(), shell("x"), NewInstanceID(), Owner{}); !errors.Is(err, errdefs.ErrUnavailable) {
		t.Errorf("got %v", err)
	}
	if len(looping) != 0 {
		t.Error("told again")
	}
}

// crash starts the server n times and waits for its end each time.
func crash(t *testing.T, s *Supervisor, n int) {
	t.Helper()
	for range n {
		i, err := s.Start(t.Context(), shell("x"), NewInstanceID(), Owner{})
		if err != nil {
			t.Fatal(err)
		}
		i.Ready()
		<-i.Ended()
	}
}
