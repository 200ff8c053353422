package supervisor

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/garita-dev/garita/sandbox"
)

// of is what is known of a server. s.mu is held.
func (s *Supervisor) of(name sandbox.ServerName) *server {
	if s.servers[name] == nil {
		s.servers[name] = &server{log: newRing(serverLines)}
	}
	return s.servers[name]
}

// Standing is why a server is not started now; nil when it would be.
func (s *Supervisor) Standing(name sandbox.ServerName) *Trouble { return s.standing(name) }

// standing is why a server may not be started now; nil when it may.
func (s *Supervisor) standing(name sandbox.ServerName) *Trouble {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := time.Now()
	return s.settled(name, now).trouble(name, now)
}

// admit waits until a server may be started. After a failure that is when the backoff is over, and one
// start goes ahead: the others wait for what it comes to. decided, called once or more often, ends
// that wait. turn is the server's strikes so far.
func (s *Supervisor) admit(ctx context.Context, name sandbox.ServerName) (turn int, decided func(), err error) {
	for {
		turn, decided, wait, err := s.tryAdmit(name)
		if err != nil || wait == nil {
			return turn, decided, err
		}
		if err := wait(ctx); err != nil {
			return 0, nil, err
		}
	}
}

func (s *Supervisor) tryAdmit(name sandbox.ServerName) (turn int, decided func(), wait func(context.Context) error, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := time.Now()
	srv := s.settled(name, now)
	if t := srv.trouble(name, now); t != nil {
		return 0, nil, nil, t
	}
	if pause := srv.wait(now); pause > 0 {
		return 0, nil, pausing(pause), nil
	}
	if srv.trial != nil {
		return 0, nil, closing(srv.trial), nil
	}
	if srv.failed > 0 && !s.anyReady(name) {
		srv.trial = make(chan struct{})
	}
	srv.starting++
	return srv.turn, s.verdict(name, srv.trial), nil, nil
}

// verdict ends the trial, if this start is one, and the start.
func (s *Supervisor) verdict(name sandbox.ServerName, trial chan struct{}) func() {
	return sync.OnceFunc(func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		srv := s.of(name)
		srv.starting--
		if trial != nil {
			close(trial)
			srv.trial = nil
		}
	})
}

func (s *Supervisor) anyReady(name sandbox.ServerName) bool {
	for _, i := range s.instances {
		if i.server == name && slices.Contains([]sandbox.State{sandbox.Ready, sandbox.Frozen}, i.state()) {
			return true
		}
	}
	return false
}

func pausing(d time.Duration) func(context.Context) error {
	return func(ctx context.Context) error {
		t := time.NewTimer(d)
		defer t.Stop()
		select {
		case <-t.C:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

func closing(c <-chan struct{}) func(context.Context) error {
	return func(ctx context.Context) error {
		select {
		case <-c:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// stumbled notes a start that came to nothing. One that was called off is none.
func (s *Supervisor) stumbled(ctx context.Context, name sandbox.ServerName, err error) {
	if ctx.Err() == nil {
		s.mu.Lock()
		s.of(name).stumble(time.Now(), err.Error())
		s.mu.Unlock()
	}
	s.Changed(name)
}

// watch drains stderr, and stdout where that is a log too, and notices the end, for as long as the
// instance runs.
func (s *Supervisor) watch(i *Instance, release func()) {
	s.mu.Lock()
	s.instances[i.id] = i
	merged := s.of(i.server).log
	s.mu.Unlock()
	s.Changed(i.server)
	var sink LogSink
	if s.Logs != nil {
		sink = s.Logs(i.server, i.id)
	}
	drained := make(chan struct{})
	s.watching.Go(func() {
		defer close(drained)
		var logs sync.WaitGroup
		for _, from := range i.logs() {
			logs.Go(func() {
				drain(from, s.redactor(i.server), func(text string) {
					now := time.Now()
					merged.add(i.id, text, now)
					s.note(i, sink, text, now)
				})
			})
		}
		logs.Wait()
		if sink != nil {
			s.complain(i, sink.Close())
		}
	})
	s.watching.Go(func() {
		defer release()
		s.wait(i, drained)
	})
}

// redactor is what takes secrets out of a server's lines; nil leaves them.
func (s *Supervisor) redactor(name sandbox.ServerName) func(line string, cut bool) string {
	if s.Redact == nil {
		return nil
	}
	return func(line string, cut bool) string { return s.Redact(name, line, cut) }
}

// note keeps an instance's line, and tells when it turns out to be in a loop.
func (s *Supervisor) note(i *Instance, sink LogSink, text string, now time.Time) {
	v, skipped, kept := i.log.add(i.id, text, now)
	if sink != nil && kept {
		s.complain(i, sink.Add(v, skipped, now))
	}
	if !v.Loop {
		return
	}
	s.Changed(i.server)
	if s.Unhealthy != nil {
		s.Unhealthy(i.Now())
	}
}

// complain says, once for an instance, that its log cannot be kept on disk.
func (s *Supervisor) complain(i *Instance, err error) {
	if err != nil && i.complained.CompareAndSwap(false, true) {
		s.Logger.Warn("a server's log cannot be kept on disk", "server", i.server, "err", err)
	}
}

// bound stops an instance after the longest it may live; 0 means for ever.
func (s *Supervisor) bound(i *Instance, hard time.Duration) {
	if hard == 0 {
		return
	}
	s.watching.Go(func() {
		late := time.NewTimer(hard)
		defer late.Stop()
		select {
		case <-i.ended:
			return
		case <-late.C:
		}
		s.Logger.Info("a server has lived as long as it may and is stopped", "server", i.server)
		if err := i.Stop(context.Background()); err != nil {
			s.Logger.Error("cannot stop a server", "server", i.server, "err", err)
		}
	})
}

// wait notices the end, after the last words that go with it.
func (s *Supervisor) wait(i *Instance, drained <-chan struct{}) {
	exit, err := i.running.Wait(context.Background())
	if err != nil {
		exit = sandbox.Exit{Code: -1, Reason: "engine gone", At: time.Now()}
		i.ask() // whatever went wrong, it was not the server
	}
	select {
	case <-drained:
	case <-time.After(drainGrace): // something holds it that outlives the sandbox
	}
	i.end(exit)
	i.decided()
	s.mu.Lock()
	s.settled(i.server, time.Now())
	delete(s.instances, i.id)
	s.mu.Unlock()
	close(i.ended) // who waits for the end finds it struck off
	s.Ended(i.Now(), exit)
	s.Changed(i.server)
}

// changed implements keeper.
func (s *Supervisor) changed(i *Instance) { s.Changed(i.server) }

// ready implements keeper.
func (s *Supervisor) ready(i *Instance) {
	i.decided()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.of(i.server).reason = ""
}

// failed implements keeper: a strike, unless the end was our doing.
func (s *Supervisor) failed(i *Instance, reason string) {
	i.decided()
	words, now := i.log.last(shownLines), time.Now()
	s.mu.Lock()
	srv := s.settled(i.server, now)
	var opened bool
	if !i.isExcused() {
		i.struck = true
		opened = srv.strike(now, i.turn, reason, words)
	}
	t := srv.trouble(i.server, now)
	s.mu.Unlock()
	if opened && s.Looping != nil {
		s.Looping(t)
	}
}

// excused implements keeper.
func (s *Supervisor) excused(i *Instance) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if i.struck {
		i.struck = false
		s.of(i.server).forgive()
	}
}

// Reset forgets a server's failures: a person wants it tried at once.
func (s *Supervisor) Reset(name sandbox.ServerName) {
	s.mu.Lock()
	s.of(name).reset()
	s.mu.Unlock()
	s.Changed(name)
}

// settled is what is known of a server at now: the failures before an instance that has lasted are
// forgotten. s.mu is held.
func (s *Supervisor) settled(name sandbox.ServerName, now time.Time) *server {
	srv := s.of(name)
	for _, i := range s.instances {
		if i.server == name && i.uptime(now) >= sustained {
			srv.reset()
		}
	}
	srv.settle(now)
	return srv
}

// State is a server's, over all its instances, and the reason that goes with it.
func (s *Supervisor) State(name sandbox.ServerName) (sandbox.State, string) {
	running := slices.DeleteFunc(s.Instances(name), func(i Status) bool { return i.State == sandbox.Failed })
	s.mu.Lock()
	defer s.mu.Unlock()
	srv := s.settled(name, time.Now())
	switch { // what has failed is told by what that came to, also while it is being taken down
	case len(running) > 0:
		return running[len(running)-1].State, unhealthy(running)
	case srv.starting > 0:
		return sandbox.Starting, ""
	case srv.looping:
		return sandbox.Failed, crashLooping + ": " + srv.reason
	case srv.reason != "":
		return sandbox.Failed, srv.reason
	}
	return sandbox.Stopped, ""
}

// unhealthy says of running instances that one repeats itself; "" when none does.
func unhealthy(running []Status) string {
	for _, i := range running {
		if i.Unhealthy != "" {
			return "unhealthy: it writes the same over and over: " + i.Unhealthy
		}
	}
	return ""
}
