package client

import (
	"context"
	"fmt"
	"io"
	"os"
	"sync"
	"time"

	"github.com/containerd/errdefs"
	"github.com/go-json-experiment/json"

	"github.com/garita-dev/garita/sandbox"
	"github.com/garita-dev/garita/sandbox/egress/wire"
	"github.com/garita-dev/garita/sandbox/handover"
)

// What the daemon and the wall say to each other about a sandbox's way out.
type (
	// Sandbox is one sandbox's way out, as it is asked for.
	Sandbox = wire.Sandbox
	// NetworkEvent is one thing that happened at it.
	NetworkEvent = wire.Event
	// Outside is how this machine reaches the public internet.
	Outside = wire.Outside
	// NetworkAsked is what connections wait for an answer about.
	NetworkAsked = wire.Asked
	// NetworkWhat is what about a host is asked.
	NetworkWhat = wire.What
	// GivenName is an address that stands for a name inside.
	GivenName = wire.Name
	// NetworkHost is how the wall sees this machine; the zero one is as it is.
	NetworkHost = wire.Host
)

// WayOut is one sandbox's way to the world, by one life of the wall. Its methods may overlap.
type WayOut struct {
	// File is to be given to the engine: it sends the sandbox's network by it.
	File *os.File

	wall    *Wall
	id      sandbox.InstanceID
	counter *wire.Counter
	stop    func()
	read    sync.WaitGroup

	mu     sync.Mutex // guards the fields below
	heard  uint64
	more   chan struct{} // closed and replaced when something is heard
	over   bool
	closed bool
}

// OpenWayOut makes the wall ready for a sandbox. seen is called for each event, from one goroutine,
// until the way out is closed or the wall is gone. The caller closes it. A placeholder that the wall cannot
// use is told to seen, as a sentinel that stays, and is no error.
//
// Errors: InvalidArgument, Unavailable when the wall is gone.
func (w *Wall) OpenWayOut(ctx context.Context, s Sandbox, seen func(NetworkEvent)) (*WayOut, error) {
	near, far, err := handover.Pair()
	if err != nil {
		return nil, err
	}
	counter, err := wire.NewCounter()
	if err != nil {
		_, _ = near.Close(), far.Close()
		return nil, err
	}
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	body, err := w.post(ctx, wire.SandboxesPath, s, near, counter.File())
	_ = near.Close()
	if err != nil {
		cancel()
		_, _ = far.Close(), counter.Close()
		return nil, fmt.Errorf("open a way out: %w", err)
	}
	o := &WayOut{File: far, wall: w, id: s.ID, counter: counter, stop: cancel, more: make(chan struct{})}
	o.read.Go(func() { o.follow(body, seen) })
	return o, nil
}

func (o *WayOut) follow(body io.ReadCloser, seen func(NetworkEvent)) {
	defer body.Close()
	_ = eachLine(body, func(line []byte) error {
		var e NetworkEvent
		if err := json.Unmarshal(line, &e); err != nil {
			return fmt.Errorf("read the wall's report: %w", err)
		}
		if seen != nil {
			seen(e)
		}
		o.hear(e.N, false)
		return nil
	})
	o.hear(0, true)
}

func (o *WayOut) hear(n uint64, over bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.heard, o.over = max(o.heard, n), over
	close(o.more)
	o.more = make(chan struct{})
}

// Caught returns once everything that had happened when it was called has been seen. It asks nobody:
// where nothing is outstanding it costs a read of memory.
func (o *WayOut) Caught(ctx context.Context) error {
	o.mu.Lock()
	if o.over {
		o.mu.Unlock()
		return nil // what has not been heard, nobody will tell
	}
	until := o.counter.Now()
	for o.heard < until && !o.over {
		more := o.more
		o.mu.Unlock()
		select {
		case <-more:
		case <-ctx.Done():
			return fmt.Errorf("hear of what a sandbox reached: %w", ctx.Err())
		}
		o.mu.Lock()
	}
	o.mu.Unlock()
	return nil
}

// Sent is how many bytes have left the sandbox so far.
func (o *WayOut) Sent() uint64 {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.closed {
		return 0
	}
	return o.counter.Sent()
}

// ProxyURL is a proxy's URL, which may hold a password.
func ProxyURL(text string) wire.Secret { return wire.NewSecret(text) }

// SetRules replaces the rules, and how the world is reached; connections that they do not permit have been ended when it returns.
func (o *WayOut) SetRules(ctx context.Context, l sandbox.Allowlist, out Outside) error {
	return o.wall.tell(ctx, wire.RulesPath, wire.Rules{ID: o.id, Rules: l, Outside: out})
}

// The further questions about a host; the zero NetworkWhat is whether it may be reached.
const (
	AskedUpload      = wire.AskedUpload
	AskedCredentials = wire.AskedCredentials
	AskedHostKey     = wire.AskedHostKey
)

// Answer ends the wait of the connections that a is about; a no ends those that an earlier yes let pass.
func (o *WayOut) Answer(ctx context.Context, a NetworkAsked, allow bool, rule string) error {
	return o.wall.tell(ctx, wire.AnswersPath, o.answer(a, allow, rule))
}

// RefuseKey ends the wait of connections to a host whose key is not known; why is a sentence. changed says
// that the host is known by another one.
func (o *WayOut) RefuseKey(ctx context.Context, a NetworkAsked, why string, changed bool) error {
	no := o.answer(a, false, "")
	no.Why, no.Changed = why, changed
	return o.wall.tell(ctx, wire.AnswersPath, no)
}

func (o *WayOut) answer(a NetworkAsked, allow bool, rule string) wire.Answer {
	out := wire.Answer{ID: o.id, Host: a.Host, Port: a.Port, What: a.What, Allow: allow, Rule: rule}
	if a.Key != nil {
		out.Key = a.Key.Fingerprint
	}
	return out
}

// Live lists the open connections, oldest first, with the bytes that have passed by now.
func (o *WayOut) Live(ctx context.Context) ([]sandbox.Connection, error) {
	body, err := o.wall.post(ctx, wire.LivePath, wire.End{ID: o.id})
	if err != nil {
		return nil, fmt.Errorf("ask what is open: %w", err)
	}
	defer body.Close()
	var all []sandbox.Connection
	if err := json.UnmarshalRead(body, &all); err != nil {
		return nil, fmt.Errorf("ask what is open: %w: %w", err, errdefs.ErrUnavailable)
	}
	return all, nil
}

// endTime is how long the wall may take to tell the last of a way out.
const endTime = 5 * time.Second

// Close ends the way out and every connection by it; the last events are seen before it returns.
func (o *WayOut) Close() error {
	ctx, cancel := context.WithTimeout(context.Background(), endTime)
	if err := o.wall.tell(ctx, wire.EndPath, wire.End{ID: o.id}); err == nil {
		defer context.AfterFunc(ctx, o.stop)() // and no longer
	} else {
		o.stop()
	}
	o.read.Wait()
	cancel()
	o.stop()
	o.mu.Lock()
	defer o.mu.Unlock()
	o.over = true
	if o.closed {
		return nil
	}
	o.closed = true
	_ = o.counter.Close()
	return o.File.Close()
}

// tell makes one small request.
func (w *Wall) tell(ctx context.Context, path string, request any) error {
	body, err := w.post(ctx, path, request)
	if err != nil {
		return err
	}
	return body.Close()
}

// StartNetworked is Start for a sandbox with a way out: network is a WayOut's file, and stays the
// caller's.
func (e *Engine) StartNetworked(ctx context.Context, l sandbox.Launch, io sandbox.Stdio, network *os.File) (sandbox.Instance, error) {
	if network == nil {
		return nil, fmt.Errorf("start %s: no way out was given: %w", l.Server, errdefs.ErrInvalidArgument)
	}
	files := []*os.File{io.In, io.Out, io.Err, io.Lifeline, network}
	if io.Agent != nil {
		files = append(files, io.Agent)
	}
	return e.start(ctx, l, files...)
}

// Reconnect gives a running sandbox's network to another life of the wall. FailedPrecondition: it has none.
func (e *Engine) Reconnect(ctx context.Context, id sandbox.InstanceID, network *os.File) error {
	_, err := callWith[struct{}](ctx, e, "/v1/instances/"+string(id)+"/network", struct{}{}, network)
	return err
}
