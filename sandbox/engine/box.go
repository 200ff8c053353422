package engine

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/containerd/containerd/v2/client"
	"github.com/containerd/errdefs"

	"github.com/garita-dev/garita/sandbox"
	"github.com/garita-dev/garita/sandbox/trim"
)

// box is one sandbox from the moment its name is taken until nothing of it is left.
type box struct {
	launch sandbox.Launch
	info   sandbox.InstanceInfo

	container client.Container
	task      client.Task
	dead      chan struct{}     // closed once containerd says that the task has ended
	status    client.ExitStatus // read only after dead
	init      *net.UnixConn     // the private socket's connection; EOF when garita-init has ended

	seen *sightings // by its programs; nil where they are not observed
	held *holder    // of its programs to their rules; nil where there are none

	undo []func() error // what to take back, last first

	mu       sync.Mutex // guards what follows
	pidfd    int        // garita-init's; -1 when there is none
	gateway  *os.File   // the network namespace at the other end of its link; nil without one
	frozen   bool
	lifeline bool     // it ended because the daemon let go
	notices  []string // found after the start
	cannot   error    // why its programs cannot be held to their rules

	done chan struct{} // closed when nothing is left
	exit sandbox.Exit  // read only after done
	left error         // what could not be taken back; read only after done
}

// onUndo adds a step of the way back.
func (b *box) onUndo(f func() error) { b.undo = append(b.undo, f) }

// takeBack runs every step, whatever the others return.
func (b *box) takeBack() error {
	var errs []error
	for _, f := range slices.Backward(b.undo) {
		if err := f(); err != nil && !isNotFound(err) {
			errs = append(errs, err)
		}
	}
	b.undo = nil
	return errors.Join(errs...)
}

// describe is InstanceInfo as it is now.
func (b *box) describe() sandbox.InstanceInfo {
	b.mu.Lock()
	defer b.mu.Unlock()
	info := b.info
	info.Notices = slices.Concat(b.info.Notices, b.notices)
	return info
}

func (b *box) notice(sentence string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.notices = append(b.notices, sentence)
}

// wait blocks until nothing is left of the sandbox.
func (b *box) wait(ctx context.Context) (sandbox.Exit, error) {
	select {
	case <-b.done:
		return b.exit, b.left
	case <-ctx.Done():
		return sandbox.Exit{}, ctx.Err()
	}
}

// reserve takes an id; two sandboxes never share one.
func (e *Engine) reserve(l sandbox.Launch, seen *sightings) (*box, error) {
	b := &box{launch: l, seen: seen, pidfd: -1, done: make(chan struct{})}
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.closing {
		return nil, fmt.Errorf("the engine is ending: %w", errdefs.ErrUnavailable)
	}
	if e.boxes[l.ID] != nil {
		return nil, fmt.Errorf("instance %s: %w", l.ID, errdefs.ErrAlreadyExists)
	}
	e.boxes[l.ID] = b
	e.wg.Add(1)
	e.settle.Reset(trim.SettleAfter)
	return b, nil
}

// forget gives the id back, once nothing is left.
func (e *Engine) forget(b *box) {
	e.mu.Lock()
	delete(e.boxes, b.launch.ID)
	if !e.closing {
		e.settle.Reset(trim.SettleAfter)
	}
	e.ended = append(e.ended, b)
	if len(e.ended) > keepEnded {
		e.ended = slices.Delete(e.ended, 0, 1)
	}
	e.mu.Unlock()
	if b.seen != nil {
		b.seen.end("")
	}
	close(b.done)
	e.wg.Done()
}

// keepEnded is how many ended sandboxes can still be asked how they ended.
const keepEnded = 64

// find returns a running sandbox, or one that has ended not long ago.
func (e *Engine) find(id sandbox.InstanceID) (*box, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if b := e.boxes[id]; b != nil {
		return b, nil
	}
	for _, b := range e.ended {
		if b.launch.ID == id {
			return b, nil
		}
	}
	return nil, fmt.Errorf("instance %s: %w", id, errdefs.ErrNotFound)
}

// cleanup is a context for taking back: it lives on when the request's has ended.
func cleanup(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(inNamespace(context.WithoutCancel(ctx)), 20*time.Second)
}
