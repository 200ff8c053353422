package supervisor

import (
	"context"
	"io"
	"sync"
	"sync/atomic"
	"time"

	"github.com/garita-dev/garita/sandbox"
)

const (
	// eofGrace is how long a server may take to end by itself once its stdin has ended.
	eofGrace = time.Second
	// termGrace is how long it may take after TERM, before KILL of the whole sandbox.
	termGrace = 2 * time.Second
	// drainGrace is how long the last of stderr is waited for once the sandbox has ended.
	drainGrace = time.Second
)

// Status is one instance as it is now.
type Status struct {
	ID     sandbox.InstanceID
	Server sandbox.ServerName
	Owner  Owner
	State  sandbox.State
	Reason string        // why it failed; hostile text may follow it in Last
	Last   []string      // the last stderr lines of one that failed; hostile text
	Exit   *sandbox.Exit // once ended
	Info   sandbox.InstanceInfo
	// Unhealthy is the line it writes over and over, with how often it has; "" when it does not. Hostile text.
	Unhealthy string
}

// Instance is one sandbox and our ends of its pipes: Read is its stdout, Write its stdin. It is
// starting until Ready is called, and then ready until it is stopped or fails. Its methods may overlap.
type Instance struct {
	id      sandbox.InstanceID
	server  sandbox.ServerName
	owner   Owner
	info    sandbox.InstanceInfo
	limit   time.Duration // of the handshake
	listens bool          // it speaks on a port inside: its stdout is a log like stderr, and nobody's to read
	running sandbox.Instance
	pipes   ends
	log     *ring // its own stderr

	complained atomic.Bool // that its log cannot be kept has been said

	ended   chan struct{}
	keeper  keeper
	decided func() // ends its start, whatever that came to; more than one call is none
	turn    int    // the server's strikes when it was started
	struck  bool   // it has added one; guarded by the supervisor's lock

	mu      sync.Mutex // guards the fields below
	machine machine
	exit    *sandbox.Exit
	asked   bool // we end it, and its end is none of its doing
	stops   bool // Stop has been called
	excused bool
	readyAt time.Time // zero until Ready

	ice sync.RWMutex // read-held while it is sent something; held while its clock is stopped or started

	closeIn sync.Once
	stopped chan struct{} // closed when Stop is done
	stopErr error         // read only after stopped
}

// keeper is told what an instance comes to.
type keeper interface {
	ready(i *Instance)
	failed(i *Instance, reason string)
	excused(i *Instance)
	changed(i *Instance)
}

// Now is a copy of the status.
func (i *Instance) Now() Status {
	i.mu.Lock()
	defer i.mu.Unlock()
	s := Status{
		ID: i.id, Server: i.server, Owner: i.owner, Info: i.info,
		State: i.machine.state, Reason: i.machine.reason, Exit: i.exit, Unhealthy: i.log.loop(time.Now()),
	}
	if s.State == sandbox.Failed {
		s.Last = i.log.last(shownLines)
	}
	return s
}

// to takes one transition and tells of it.
func (i *Instance) to(next sandbox.State, reason string) bool {
	i.mu.Lock()
	ok := i.machine.to(next, reason)
	if ok && next == sandbox.Ready && i.readyAt.IsZero() {
		i.readyAt = time.Now()
	}
	i.mu.Unlock()
	if ok {
		i.keeper.changed(i)
	}
	return ok
}

// StartLimit is how long the handshake may take, counted from Start's return: whoever makes the
// handshake calls Fail when it is over, and then Stop.
func (i *Instance) StartLimit() time.Duration { return i.limit }

// Ready says that the handshake is done. From here on the server has proved that it starts; that it
// also lasts, it proves by staying.
func (i *Instance) Ready() {
	if i.to(sandbox.Ready, "") {
		i.keeper.ready(i)
	}
}

// Fail says that the server is of no use: no handshake in time, or nonsense. It counts as a strike
// against the server. The caller still has to Stop it.
func (i *Instance) Fail(reason string) {
	if i.to(sandbox.Failed, reason) {
		i.keeper.failed(i, reason)
	}
}

// Excuse says that the server's end, if it comes before Ready, is our doing: it died of the probe of
// its era. No strike is counted, and one that has been is taken back.
func (i *Instance) Excuse() {
	i.mu.Lock()
	already := i.excused || !i.readyAt.IsZero()
	i.excused = true
	i.mu.Unlock()
	if !already {
		i.keeper.excused(i)
	}
}

func (i *Instance) isExcused() bool {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.excused
}

// logs are the pipes that nobody but the log reads.
func (i *Instance) logs() []io.Reader {
	if i.listens {
		return []io.Reader{i.pipes.err, i.pipes.out}
	}
	return []io.Reader{i.pipes.err}
}

// Read is the server's stdout. Its end, unless we asked for it, is the server's failure: when a stop
// follows, what the stop finds has not been asked for.
func (i *Instance) Read(p []byte) (int, error) {
	n, err := i.pipes.out.Read(p)
	if err != nil {
		i.gone()
	}
	return n, err
}

// Write is the server's stdin. A frozen server is thawed for what it is sent.
func (i *Instance) Write(p []byte) (int, error) {
	if err := i.awake(); err != nil {
		return 0, err
	}
	defer i.ice.RUnlock()
	return i.pipes.in.Write(p)
}

// gone notes that stdout has ended while nobody asked for it.
func (i *Instance) gone() {
	i.mu.Lock()
	ours := i.asked || i.machine.state == sandbox.Failed
	ready := !i.readyAt.IsZero()
	i.mu.Unlock()
	if ours {
		return
	}
	select {
	case <-i.ended: // judged by its exit
	case <-time.After(eofGrace): // it lives on without a voice
		if ready {
			i.Fail("closed its output")
		} else {
			i.Fail("closed its output before handshake")
		}
	}
}

// CloseWrite is stdin's end of file: from here on the instance is stopping.
func (i *Instance) CloseWrite() error {
	_ = i.Thaw(context.Background()) // where it is frozen: it is to see the end
	i.ask()
	var err error
	i.closeIn.Do(func() { err = i.pipes.in.Close() })
	return err
}

func (i *Instance) ask() {
	i.mu.Lock()
	i.asked = true
	i.mu.Unlock()
	i.to(sandbox.Stopping, "")
}

// Stop ends the instance: end of file, TERM, KILL of everything. When it returns nil nothing of it
// is left. Later calls wait for the first.
func (i *Instance) Stop(ctx context.Context) error {
	i.mu.Lock()
	first := !i.stops
	i.stops = true
	i.mu.Unlock()
	if first {
		i.stopErr = i.stopNow(ctx)
		close(i.stopped)
	}
	<-i.stopped
	return i.stopErr
}

// Kill is Stop that leaves the server no time: what it has must not be used any more.
func (i *Instance) Kill(ctx context.Context) error {
	i.ask()
	if err := i.running.Stop(context.WithoutCancel(ctx), 0); err != nil {
		return err
	}
	return i.Stop(ctx)
}

func (i *Instance) stopNow(ctx context.Context) error {
	_ = i.CloseWrite()
	select {
	case <-i.ended:
	case <-time.After(eofGrace):
	case <-ctx.Done():
	}
	err := i.running.Stop(context.WithoutCancel(ctx), termGrace)
	<-i.ended
	i.pipes.close()
	return err
}

// end notes how the sandbox ended, and says so where it is the server's own failure.
func (i *Instance) end(exit sandbox.Exit) {
	i.mu.Lock()
	i.exit = &exit
	ready := !i.readyAt.IsZero()
	i.mu.Unlock()
	if !i.to(sandbox.Stopped, "") {
		i.Fail(ending(exit, ready))
	}
}

// uptime is how long it has been, or had been, ready.
func (i *Instance) uptime(now time.Time) time.Duration {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.readyAt.IsZero() {
		return 0
	}
	return now.Sub(i.readyAt)
}

// Ended is closed once the sandbox has ended.
func (i *Instance) Ended() <-chan struct{} { return i.ended }
