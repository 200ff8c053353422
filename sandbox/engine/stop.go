package engine

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/containerd/containerd/v2/client"
	"golang.org/x/sys/unix"

	"github.com/garita-dev/garita/sandbox"
	"github.com/garita-dev/garita/sandbox/init/handoff"
)

// supervise follows a running sandbox to its end and takes everything back.
func (e *Engine) supervise(b *box) {
	ctx := context.Background()
	code := b.listen()
	_ = b.init.Close()
	if status := b.taskCode(); code < 0 {
		code = status
	}
	reason := e.reason(b, code)
	b.exit = sandbox.Exit{Code: code, Reason: reason, At: time.Now()}
	if b.left = e.teardown(ctx, b); b.left != nil {
		slog.Error("take back a sandbox", "server", b.launch.Server, "err", b.left)
	}
	e.forget(b)
}

// listen reads what garita-init says until it ends; it returns the server's exit code, or -1.
func (b *box) listen() int {
	code := -1
	for {
		kind, body, err := handoff.ReadFrame(b.init)
		switch {
		case err != nil:
			return code
		case kind == handoff.Exited && len(body) == 1:
			code = int(body[0])
		case kind == handoff.Lifeline:
			b.mu.Lock()
			b.lifeline = true
			b.mu.Unlock()
		}
	}
}

// taskCode waits for containerd's word on the task: garita-init has ended already, so it comes
// soon. Without it the sandbox counts as killed.
func (b *box) taskCode() int {
	select {
	case <-b.dead:
		if b.status.Error() == nil {
			return int(b.status.ExitCode())
		}
	case <-time.After(10 * time.Second):
	}
	return 128 + int(syscall.SIGKILL)
}

// reason names what ended the sandbox, from the counters of its control groups, which still exist.
func (e *Engine) reason(b *box, code int) string {
	b.mu.Lock()
	lifeline := b.lifeline
	b.mu.Unlock()
	oom, forks := e.counters(string(b.launch.ID))
	switch {
	case oom > 0 && code == 128+int(syscall.SIGKILL):
		return "out of memory"
	case lifeline:
		return "lifeline"
	case forks > 0 && code != 0:
		return "too many processes"
	default:
		return ""
	}
}

// counters reads how often the kernel killed for memory and refused a fork.
func (e *Engine) counters(id string) (oom, forks int64) {
	c := e.cfg.Cgroups
	oomFile := map[int]string{1: "memory.oom_control", 2: "memory.events"}[c.Version]
	return counter(filepath.Join(c.Dir("memory", id), oomFile), "oom_kill"),
		counter(filepath.Join(c.Dir("pids", id), "pids.events"), "max")
}

// counter reads one "name value" line; 0 when there is none.
func counter(file, name string) int64 {
	text, err := os.ReadFile(file)
	if err != nil {
		return 0
	}
	for line := range strings.Lines(string(text)) {
		key, value, _ := strings.Cut(strings.TrimSpace(line), " ")
		if key == name {
			n, _ := strconv.ParseInt(value, 10, 64)
			return n
		}
	}
	return 0
}

// teardown ends whatever runs and takes back whatever was made.
func (e *Engine) teardown(ctx context.Context, b *box) error {
	ctx, cancel := cleanup(ctx)
	defer cancel()
	var errs []error
	if b.task != nil {
		errs = append(errs, deleteTask(ctx, b.task))
	}
	errs = append(errs, b.takeBack())
	errs = append(errs, e.cfg.Cgroups.End(ctx, string(b.launch.ID)))
	return errors.Join(errs...)
}

// deleteTask kills and deletes a task. Where its shim has died, containerd does that by itself,
// a moment later; until then its answers are errors.
func deleteTask(ctx context.Context, task client.Task) error {
	// Usually it has ended: then there is nothing to kill, and runc need not be run for it.
	if _, err := task.Delete(ctx); err == nil || isNotFound(err) {
		return nil
	}
	var err error
	for wait := 10 * time.Millisecond; ; wait = min(2*wait, time.Second) {
		if _, err = task.Delete(ctx, client.WithProcessKill); err == nil || isNotFound(err) {
			return nil
		}
		select {
		case <-time.After(wait):
		case <-ctx.Done():
			return fmt.Errorf("delete the task: %w", err)
		}
	}
}

// stop ends a sandbox: TERM to the server, after drain KILL of everything. It returns once nothing is left.
func (e *Engine) stop(ctx context.Context, b *box, drain time.Duration) error {
	ctx = inNamespace(ctx)
	select {
	case <-b.done:
		return b.left
	default:
	}
	if err := e.thaw(ctx, b); err != nil && !isNotFound(err) {
		return err
	}
	if drain > 0 {
		if done, err := e.drain(ctx, b, drain); done || err != nil {
			return err
		}
	}
	if err := b.signal(unix.SIGKILL); err != nil {
		return fmt.Errorf("kill %s: %w", b.launch.ID, err)
	}
	_, err := b.wait(ctx)
	return err
}

func (e *Engine) drain(ctx context.Context, b *box, drain time.Duration) (done bool, err error) {
	if err := b.signal(unix.SIGTERM); err != nil {
		return false, fmt.Errorf("stop %s: %w", b.launch.ID, err)
	}
	timer := time.NewTimer(drain)
	defer timer.Stop()
	select {
	case <-b.done:
		return true, b.left
	case <-timer.C:
		return false, nil
	case <-ctx.Done():
		return false, ctx.Err()
	}
}

// signal signals garita-init, which passes on what can be caught; with it dies its pid namespace.
// Doing it here spares running runc.
func (b *box) signal(sig unix.Signal) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.pidfd < 0 {
		return nil // it has ended
	}
	if err := unix.PidfdSendSignal(b.pidfd, sig, nil, 0); err != nil && !errors.Is(err, unix.ESRCH) {
		return err
	}
	return nil
}

// letGo closes the pidfd; its number may be another file's at once.
func (b *box) letGo() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	fd := b.pidfd
	b.pidfd = -1
	return unix.Close(fd)
}
