package sandboxtest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/containerd/errdefs"

	"github.com/garita-dev/garita/sandbox"
	"github.com/garita-dev/garita/sandbox/init/handoff"
)

// Fake runs plain processes without any wall: folders are the host's own, limits do not hold, and
// packages are not mounted. It is for other packages' tests and for work on the page, and passes Suite.
type Fake struct {
	mu  sync.Mutex // guards ids
	ids map[sandbox.InstanceID]bool
}

// NewFake returns a Fake.
func NewFake() *Fake { return &Fake{ids: map[sandbox.InstanceID]bool{}} }

var _ sandbox.Runtime = (*Fake)(nil)

// Start implements sandbox.Runtime.
func (f *Fake) Start(_ context.Context, l sandbox.Launch, stdio sandbox.Stdio) (sandbox.Instance, error) {
	if err := f.check(l); err != nil {
		return nil, fmt.Errorf("start %s: %w", l.Server, err)
	}
	cmd, home, err := command(l, stdio)
	if err != nil {
		f.forget(l.ID)
		return nil, fmt.Errorf("start %s: %w", l.Server, err)
	}
	lifeline, err := duplicate(stdio.Lifeline)
	if err == nil && l.Await {
		err = await(cmd, lifeline)
	}
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		_ = os.RemoveAll(home)
		f.forget(l.ID)
		return nil, fmt.Errorf("start %s: %w", l.Server, kind(err))
	}
	i := &fakeInstance{
		cmd: cmd, home: home, lifeline: lifeline, done: make(chan struct{}),
		info: sandbox.InstanceInfo{
			ID: l.ID, Server: l.Server, PID: cmd.Process.Pid, Started: time.Now(),
			Notices: []string{"There are no walls: this is a fake."},
		},
	}
	go i.hold()
	go i.wait(func() { f.forget(l.ID) })
	return i, nil
}

func (f *Fake) check(l sandbox.Launch) error {
	if len(l.Argv) == 0 {
		return fmt.Errorf("no program to run: %w", errdefs.ErrInvalidArgument)
	}
	for _, folder := range l.Folders {
		h := folder.Host
		if !filepath.IsAbs(h) || filepath.Clean(h) != h || h == "/" || system(h) {
			return fmt.Errorf("mount %q: %w", h, errdefs.ErrInvalidArgument)
		}
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.ids[l.ID] {
		return fmt.Errorf("instance %s: %w", l.ID, errdefs.ErrAlreadyExists)
	}
	f.ids[l.ID] = true
	return nil
}

func system(host string) bool {
	for _, dir := range []string{"/usr", "/etc", "/proc", "/dev", "/run"} {
		if host == dir || strings.HasPrefix(host, dir+"/") {
			return true
		}
	}
	return false
}

func (f *Fake) forget(id sandbox.InstanceID) {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.ids, id)
}

func command(l sandbox.Launch, stdio sandbox.Stdio) (cmd *exec.Cmd, home string, err error) {
	path, err := exec.LookPath(l.Argv[0])
	if err != nil {
		return nil, "", kind(err)
	}
	if home, err = os.MkdirTemp("", "garita-fake"); err != nil {
		return nil, "", err
	}
	cmd = &exec.Cmd{Path: path, Args: l.Argv, Dir: l.Dir, Stdin: stdio.In, Stdout: stdio.Out, Stderr: stdio.Err}
	if l.Dir == "" {
		cmd.Dir = home
	}
	cmd.Env = []string{"HOME=" + home, "TMPDIR=" + home, "PATH=" + os.Getenv("PATH")}
	for name, value := range l.Env {
		cmd.Env = append(cmd.Env, name+"="+value)
	}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	return cmd, home, nil
}

// SecretFrame is what the daemon sends by the lifeline of a launch that awaits it.
func SecretFrame(env ...string) []byte {
	return handoff.Frame(handoff.Secret, handoff.EncodeSecrets(handoff.Secrets{Env: env}))
}

// await takes the Secret frame as garita-init does; there is no place for files.
func await(cmd *exec.Cmd, lifeline *os.File) error {
	kind, body, err := handoff.ReadFrame(lifeline)
	if err == nil && kind != handoff.Secret {
		err = fmt.Errorf("%q instead of secrets: %w", kind, errdefs.ErrFailedPrecondition)
	}
	if err != nil {
		return errors.Join(err, lifeline.Close())
	}
	secrets, err := handoff.DecodeSecrets(body)
	cmd.Env = append(cmd.Env, secrets.Env...)
	return err
}

func duplicate(f *os.File) (*os.File, error) {
	fd, err := syscall.Dup(int(f.Fd()))
	if err != nil {
		return nil, err
	}
	syscall.CloseOnExec(fd)
	if err := syscall.SetNonblock(fd, true); err != nil {
		return nil, err
	}
	return os.NewFile(uintptr(fd), "lifeline"), nil
}

func kind(err error) error {
	if errors.Is(err, exec.ErrNotFound) || errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%w: %w", err, errdefs.ErrNotFound)
	}
	return err
}

type fakeInstance struct {
	cmd      *exec.Cmd
	home     string
	lifeline *os.File
	info     sandbox.InstanceInfo
	done     chan struct{}
	exit     sandbox.Exit // read only after done

	mu  sync.Mutex // guards let
	let bool       // the lifeline was let go
}

// hold waits for the lifeline's end, or the process's, whichever comes first.
func (i *fakeInstance) hold() {
	_, _ = io.Copy(io.Discard, i.lifeline)
	i.mu.Lock()
	i.let = true
	i.mu.Unlock()
	select {
	case <-i.done:
	default:
		_ = i.Stop(context.Background(), 5*time.Second)
	}
}

func (i *fakeInstance) wait(forget func()) {
	_ = i.cmd.Wait() // the state says how it ended
	_ = syscall.Kill(-i.cmd.Process.Pid, syscall.SIGKILL)
	status, _ := i.cmd.ProcessState.Sys().(syscall.WaitStatus)
	code := status.ExitStatus()
	if status.Signaled() {
		code = 128 + int(status.Signal())
	}
	i.mu.Lock()
	i.exit = sandbox.Exit{Code: code, At: time.Now()}
	if i.let {
		i.exit.Reason = "lifeline"
	}
	i.mu.Unlock()
	_ = os.RemoveAll(i.home)
	forget()
	close(i.done)
	_ = i.lifeline.Close()
}

func (i *fakeInstance) Info() sandbox.InstanceInfo { return i.info }

func (i *fakeInstance) Wait(ctx context.Context) (sandbox.Exit, error) {
	if err := ctx.Err(); err != nil {
		return sandbox.Exit{}, err
	}
	select {
	case <-i.done:
		return i.exit, nil
	case <-ctx.Done():
		return sandbox.Exit{}, ctx.Err()
	}
}

func (i *fakeInstance) Stop(ctx context.Context, drain time.Duration) error {
	group := -i.cmd.Process.Pid
	if drain > 0 {
		_ = syscall.Kill(i.cmd.Process.Pid, syscall.SIGTERM) // it may have ended
		select {
		case <-i.done:
			return nil
		case <-time.After(drain):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	select {
	case <-i.done: // its pid may be another's by now
		return nil
	default:
		_ = syscall.Kill(group, syscall.SIGKILL)
	}
	_, err := i.Wait(ctx)
	return err
}

func (i *fakeInstance) Freeze(context.Context) error {
	return fmt.Errorf("a fake has no freezer: %w", errdefs.ErrUnavailable)
}

// Dial implements sandbox.Dialer on the host's own loopback. It cannot tell what listens instead.
func (i *fakeInstance) Dial(ctx context.Context, port int) (net.Conn, error) {
	for _, host := range []string{"127.0.0.1", "::1"} {
		d := net.Dialer{Timeout: time.Second}
		if c, err := d.DialContext(ctx, "tcp", net.JoinHostPort(host, strconv.Itoa(port))); err == nil {
			return c, nil
		}
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	return nil, &sandbox.DialError{Port: port}
}

func (i *fakeInstance) Thaw(context.Context) error { return nil }
