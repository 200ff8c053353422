package supervisor

import (
	"context"
	"sync"
	"time"

	"github.com/garita-dev/garita/sandbox"
)

const (
	// eofGrace is how long a server may take to end by itself once its stdin has ended.
	eofGrace = time.Second
	// termGrace is how long it may take after TERM, before KILL of the whole sandbox.
	termGrace = 2 * time.Second
)

// Status is one instance as it is now.
type Status struct {
	ID     sandbox.InstanceID
	Server sandbox.ServerName
	Owner  Owner
	State  sandbox.State
	Exit   *sandbox.Exit // once stopped
	Info   sandbox.InstanceInfo
}

// Instance is one running sandbox and our ends of its pipes: Read is its stdout, Write its stdin.
type Instance struct {
	Status
	running sandbox.Instance
	pipes   ends
	ended   chan struct{}
	changed func(sandbox.ServerName)

	mu      sync.Mutex // guards Status.State and Status.Exit
	closeIn sync.Once
	stop    sync.Once
	stopErr error
}

// transitions are the ways an instance's state may go; it is born ready.
var transitions = map[sandbox.State][]sandbox.State{
	sandbox.Ready:    {sandbox.Frozen, sandbox.Stopping, sandbox.Stopped, sandbox.Failed},
	sandbox.Frozen:   {sandbox.Ready, sandbox.Stopping, sandbox.Stopped, sandbox.Failed},
	sandbox.Stopping: {sandbox.Stopped, sandbox.Failed},
}

func (i *Instance) to(next sandbox.State) bool {
	i.mu.Lock()
	defer i.mu.Unlock()
	for _, allowed := range transitions[i.State] {
		if allowed == next {
			i.State = next
			return true
		}
	}
	return false
}

// Now is a copy of the status.
func (i *Instance) Now() Status {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.Status
}

func (i *Instance) Read(p []byte) (int, error)  { return i.pipes.out.Read(p) }
func (i *Instance) Write(p []byte) (int, error) { return i.pipes.in.Write(p) }

// CloseWrite is stdin's end of file.
func (i *Instance) CloseWrite() error {
	var err error
	i.closeIn.Do(func() { err = i.pipes.in.Close() })
	return err
}

// Stop ends the instance: end of file, TERM, KILL of everything. When it returns nil nothing of it
// is left. Later calls wait for the first.
func (i *Instance) Stop(ctx context.Context) error {
	i.stop.Do(func() { i.stopErr = i.stopNow(ctx) })
	return i.stopErr
}

func (i *Instance) stopNow(ctx context.Context) error {
	if i.to(sandbox.Stopping) {
		i.changed(i.Server)
	}
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

func (i *Instance) end(exit sandbox.Exit) {
	i.to(sandbox.Stopped)
	i.mu.Lock()
	i.Exit = &exit
	i.mu.Unlock()
	close(i.ended)
}

// Ended is closed once the sandbox has ended.
func (i *Instance) Ended() <-chan struct{} { return i.ended }
