// Package client holds the daemon's two small clients: Engine, for the process that runs
// sandboxes, and Wall, for the process that faces the world. It links neither containerd nor a
// network stack.
package client

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"sync"
	"time"

	"github.com/containerd/errdefs"

	"github.com/garita-dev/garita/sandbox"
	"github.com/garita-dev/garita/sandbox/engine/wire"
	"github.com/garita-dev/garita/sandbox/handover"
	"github.com/garita-dev/garita/sandbox/rootless"
)

// Engine is the engine's process, the daemon's child. It implements sandbox.Runtime. Its methods
// may be called concurrently; once the process has ended they return Unavailable.
type Engine struct {
	dialer  *handover.Dialer
	pooled  *http.Client // requests without files, over connections that are kept
	cmd     *exec.Cmd
	cgroups rootless.Cgroups
	root    bool
	tail    *tail
	done    chan struct{}
	err     error          // how the process ended; read only after done
	waits   sync.WaitGroup // one for each instance that is followed
}

var _ sandbox.Runtime = (*Engine)(nil)

// StartEngine starts the engine in namespaces of its own and waits until it answers. The caller
// closes it; it ends by itself, and every sandbox with it, when this process does.
//
// Kinds: FailedPrecondition when the host lacks something (see Doctor).
func StartEngine(ctx context.Context, c Config) (*Engine, error) {
	if err := c.programs(); err != nil {
		return nil, fmt.Errorf("start the engine: %w", err)
	}
	ec, text, err := c.lower()
	if err != nil {
		return nil, fmt.Errorf("start the engine: %w", err)
	}
	near, far, err := handover.Pair()
	if err != nil {
		return nil, fmt.Errorf("start the engine: %w", err)
	}
	defer far.Close()
	dialer, err := handover.NewDialer(near)
	if err != nil {
		return nil, fmt.Errorf("start the engine: %w", err)
	}
	e := &Engine{dialer: dialer, cgroups: ec.Cgroups, root: ec.Root, tail: &tail{next: c.Log}, done: make(chan struct{})}
	e.pooled = &http.Client{Transport: &http.Transport{
		DialContext:         func(context.Context, string, string) (net.Conn, error) { return dialer.Dial() },
		MaxIdleConnsPerHost: 8,
	}}
	e.cmd, err = rootless.Start(rootless.Child{
		Path: c.Program, Args: []string{"engine"}, Env: environment(), Files: []*os.File{far},
		Stderr: e.tail, Config: text,
	})
	if err != nil {
		_ = dialer.Close()
		return nil, fmt.Errorf("start the engine: %w: %w", err, errdefs.ErrFailedPrecondition)
	}
	go e.follow()
	if err := e.awaitReady(ctx); err != nil {
		return nil, errors.Join(fmt.Errorf("start the engine: %w", err), e.Close())
	}
	return e, nil
}

// environment is what the engine needs of this process's; the rest may hold secrets.
func environment() []string {
	var env []string
	for _, name := range []string{"PATH", "HOME", "LANG", "TZ"} {
		if v := os.Getenv(name); v != "" {
			env = append(env, name+"="+v)
		}
	}
	return env
}

// awaitReady asks for the status: the answer comes once the engine serves.
func (e *Engine) awaitReady(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	go func() {
		select {
		case <-e.done:
			cancel()
		case <-ctx.Done():
		}
	}()
	if _, err := e.Status(ctx); err != nil {
		select {
		case <-e.done:
			return fmt.Errorf("it ended: %s: %w", e.tail.text(), errdefs.ErrFailedPrecondition)
		default:
			return err
		}
	}
	return nil
}

// follow waits for the process and takes back the control groups its sandboxes may have left.
func (e *Engine) follow() {
	e.err = e.cmd.Wait()
	ctx, cancel := context.WithTimeout(context.Background(), clearTime)
	defer cancel()
	// What cannot be removed now is found again at the next start.
	_ = e.cgroups.Clear(ctx)
	_ = e.cgroups.RemoveAll()
	close(e.done)
}

// clearTime is what the kernel gets to end the last processes of an ended pid namespace.
const clearTime = 5 * time.Second

// Done is closed when the process has ended, however it ended, and nothing of its sandboxes is left.
func (e *Engine) Done() <-chan struct{} { return e.done }

// Err says how the process ended; nil before Done is closed and after a plain end.
func (e *Engine) Err() error {
	select {
	case <-e.done:
		return e.err
	default:
		return nil
	}
}

// PID is the engine's, in the host's pid namespace.
func (e *Engine) PID() int { return e.cmd.Process.Pid }

// Rootless reports whether the engine is in a user namespace of its own; false is root mode.
func (e *Engine) Rootless() bool { return !e.root }

// Notices are sentences for the person about what does not hold on this host.
func (e *Engine) Notices() []string {
	_, notices := rootless.InForce(sandbox.DefaultLimits, e.cgroups, e.root)
	if len(notices) > 0 && e.cgroups.Why != "" {
		notices = append(notices, "No control groups: "+e.cgroups.Why+".")
	}
	return notices
}

// Cgroups says which control groups sandboxes get, and so which limits hold.
func (e *Engine) Cgroups() rootless.Cgroups { return e.cgroups }

// Close ends every sandbox, by its lifeline where it heeds that, and the engine, and returns once
// its process is gone.
func (e *Engine) Close() error {
	_ = e.dialer.Close()
	select {
	case <-e.done:
	case <-time.After((drainSeconds + 15) * time.Second):
		_ = e.cmd.Process.Kill()
		<-e.done
	}
	e.waits.Wait()
	e.pooled.CloseIdleConnections()
	return nil
}

// Status is what the engine says of itself.
func (e *Engine) Status(ctx context.Context) (wire.Status, error) {
	return call[wire.Status](ctx, e, http.MethodGet, "/v1/status", nil)
}

// Sweep counts what is ours and has no owner. Right after a stop it may still count what is being
// taken back.
func (e *Engine) Sweep(ctx context.Context) (wire.Sweep, error) {
	return call[wire.Sweep](ctx, e, http.MethodGet, "/v1/sweep", nil)
}

// call makes one request without files and decodes its answer.
func call[T any](ctx context.Context, e *Engine, method, path string, body any) (T, error) {
	var v T
	req, err := newRequest(ctx, method, path, body)
	if err != nil {
		return v, err
	}
	resp, err := e.pooled.Do(req)
	if err != nil {
		return v, unreachable(ctx, err)
	}
	return v, readAnswer(resp, &v)
}

// callWith is call on a connection of its own that hands files over.
func callWith[T any](ctx context.Context, e *Engine, path string, body any, files ...*os.File) (T, error) {
	var v T
	resp, err := e.send(ctx, path, body, files...)
	if err != nil {
		return v, err
	}
	return v, readAnswer(resp, &v)
}

func (e *Engine) send(ctx context.Context, path string, body any, files ...*os.File) (*http.Response, error) {
	req, err := newRequest(ctx, http.MethodPost, path, body)
	if err != nil {
		return nil, err
	}
	resp, err := (&http.Transport{
		DisableKeepAlives: true,
		DialContext:       func(context.Context, string, string) (net.Conn, error) { return e.dialer.Dial(files...) },
	}).RoundTrip(req)
	if err != nil {
		return nil, unreachable(ctx, err)
	}
	return resp, nil
}

func newRequest(ctx context.Context, method, path string, body any) (*http.Request, error) {
	if body == nil {
		return http.NewRequestWithContext(ctx, method, "http://engine"+path, http.NoBody)
	}
	text, err := json.Marshal(body)
	if err != nil {
		return nil, fmt.Errorf("write the request: %w", err)
	}
	return http.NewRequestWithContext(ctx, method, "http://engine"+path, bytes.NewReader(text))
}

func unreachable(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return fmt.Errorf("the engine is gone: %w: %w", err, errdefs.ErrUnavailable)
}

// maxAnswer bounds what is read of one answer, in bytes.
const maxAnswer = 64 << 20

func readAnswer(resp *http.Response, v any) error {
	defer resp.Body.Close()
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer))
	if err != nil {
		return fmt.Errorf("read the engine's answer: %w: %w", err, errdefs.ErrUnavailable)
	}
	if resp.StatusCode != http.StatusOK {
		return wire.DecodeError(resp.StatusCode, body)
	}
	if err := json.Unmarshal(body, v); err != nil {
		return fmt.Errorf("read the engine's answer: %w: %w", err, errdefs.ErrInternal)
	}
	return nil
}

// tail passes the engine's stderr on and remembers the end of it, for the error of a failed start.
type tail struct {
	mu   sync.Mutex
	last []byte
	next io.Writer
}

// maxTail is how much is remembered, in bytes.
const maxTail = 2048

func (t *tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.last = append(t.last, p...)
	if over := len(t.last) - maxTail; over > 0 {
		t.last = t.last[over:]
	}
	if t.next != nil {
		_, _ = t.next.Write(p) // a full log must not stop the engine
	}
	return len(p), nil
}

func (t *tail) text() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return string(t.last)
}
