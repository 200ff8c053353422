package client

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"runtime"
	"sync"
	"syscall"
	"time"

	"github.com/containerd/errdefs"
	"github.com/go-json-experiment/json"

	"github.com/garita-dev/garita/sandbox"
	"github.com/garita-dev/garita/sandbox/egress/wire"
	"github.com/garita-dev/garita/sandbox/handover"
)

// What the daemon says to the wall, under names of this package.
type (
	// RegistryConfig says where packages come from; see HostRegistries.
	RegistryConfig = wire.Registries
	// Fetch is one thing a sandbox fetched from a registry, or was refused.
	Fetch = wire.Fetch
	// FetchKind is what was fetched.
	FetchKind = wire.Kind
	// Pull asks for one image.
	Pull = wire.Pull
)

// The kinds of Fetch that are told apart here.
const (
	FetchedTarball = wire.Tarball
	FetchRefused   = wire.Refused
	FetchYoung     = wire.Young
	FetchSource    = wire.Source
	FetchCloned    = wire.Cloned
)

// Wall is the wall's process: the daemon's second child, see package egress. Its methods may be
// called concurrently.
type Wall struct {
	dialer *handover.Dialer
	done   chan struct{}
	err    error // how the process ended; read only after done
	kill   func() error
}

// StartWall starts the wall. It does not wait until the wall answers: the first request does.
// Of c it needs Program and Log. The caller closes it; it ends by itself when this process does.
//
// Kind: FailedPrecondition when the program is missing.
func StartWall(ctx context.Context, c Config) (*Wall, error) {
	program, err := c.program()
	if err != nil {
		return nil, fmt.Errorf("start the wall: %w", err)
	}
	near, far, err := handover.Pair()
	if err != nil {
		return nil, err
	}
	defer far.Close()
	dialer, err := handover.NewDialer(near)
	if err != nil {
		return nil, err
	}
	cmd := wallCommand(program, c.Log, far)
	w := &Wall{dialer: dialer, done: make(chan struct{}), kill: func() error { return cmd.Process.Kill() }}
	started := make(chan error, 1)
	go w.follow(cmd, started)
	select {
	case err = <-started:
	case <-ctx.Done():
		err = ctx.Err()
		_ = dialer.Close()
	}
	if err != nil {
		_ = dialer.Close()
		return nil, fmt.Errorf("start the wall: %w", err)
	}
	return w, nil
}

func (c Config) program() (string, error) {
	if c.Program != "" {
		return c.Program, nil
	}
	return findProgram("garita-engine", "")
}

// wallCommand keeps this process's environment, which may hold secrets, to itself.
func wallCommand(program string, log io.Writer, far *os.File) *exec.Cmd {
	cmd := exec.Command(program, "egress")
	cmd.ExtraFiles = []*os.File{far}
	cmd.Stderr = log
	cmd.Env = []string{}
	for _, name := range []string{"SSL_CERT_FILE", "SSL_CERT_DIR"} {
		if value := os.Getenv(name); value != "" {
			cmd.Env = append(cmd.Env, name+"="+value)
		}
	}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // an interrupt at the terminal is the daemon's to handle
	return cmd
}

// follow starts the process and waits for it. The wall is bound to the life of the thread that
// started it, so that thread stays until the wall has ended.
func (w *Wall) follow(cmd *exec.Cmd, started chan<- error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	defer close(w.done)
	err := cmd.Start()
	started <- err
	if err == nil {
		w.err = cmd.Wait()
	}
}

// Done is closed when the wall's process has ended, however it ended.
func (w *Wall) Done() <-chan struct{} { return w.done }

// Err says how the process ended; nil before Done is closed and after a plain end.
func (w *Wall) Err() error {
	select {
	case <-w.done:
		return w.err
	default:
		return nil
	}
}

// Kill ends the wall's process as a crash would.
func (w *Wall) Kill() error { return w.kill() }

// Close ends the wall and everything under way in it, and returns once its process is gone.
func (w *Wall) Close() error {
	_ = w.dialer.Close()
	select {
	case <-w.done:
	case <-time.After(3 * time.Second):
		_ = w.kill()
		<-w.done
	}
	return nil
}

// Registry is the wall's service of packages to one sandbox.
type Registry struct {
	// File is to be handed to the sandbox: garita-init sends its listening socket by it.
	File *os.File
	stop func()
	read sync.WaitGroup
}

// ServeRegistry makes the wall serve packages to whoever sends it a listening socket by the
// Registry's file. seen is called for each thing fetched or refused, from one goroutine; it may be
// nil. The caller closes the Registry.
//
// Errors: InvalidArgument for registries that cannot be used, Unavailable when the wall is gone.
func (w *Wall) ServeRegistry(ctx context.Context, c RegistryConfig, seen func(Fetch)) (*Registry, error) {
	near, far, err := handover.Pair()
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(ctx)
	body, err := w.post(ctx, wire.RegistriesPath, c, near)
	_ = near.Close()
	if err != nil {
		cancel()
		_ = far.Close()
		return nil, fmt.Errorf("serve a registry: %w", err)
	}
	r := &Registry{File: far, stop: cancel}
	r.read.Go(func() {
		defer body.Close()
		_ = eachLine(body, func(line []byte) error { return report(line, seen) })
	})
	return r, nil
}

// Close ends the service; what the sandbox is fetching breaks off.
func (r *Registry) Close() error {
	r.stop()
	r.read.Wait()
	return r.File.Close()
}

func report(line []byte, seen func(Fetch)) error {
	var f Fetch
	if err := json.Unmarshal(line, &f); err != nil {
		return fmt.Errorf("read the wall's report: %w", err)
	}
	if seen != nil {
		seen(f)
	}
	return nil
}

// PulledImage is an OCI layout with one image.
type PulledImage struct {
	Digest sandbox.Digest // of its manifest
	Layout string         // its folder
}

// PullImage makes the wall fetch an image into a folder of p.Dir. progress may be nil.
//
// Errors: InvalidArgument, NotFound, PermissionDenied, FailedPrecondition (an image for another
// machine), Unavailable.
func (w *Wall) PullImage(ctx context.Context, p Pull, progress func(sandbox.Progress)) (PulledImage, error) {
	body, err := w.post(ctx, wire.PullPath, p)
	if err != nil {
		return PulledImage{}, fmt.Errorf("pull %s: %w", p.Ref, err)
	}
	defer body.Close()
	var got PulledImage
	err = eachLine(body, func(line []byte) error {
		var e wire.PullEvent
		if err := json.Unmarshal(line, &e); err != nil {
			return fmt.Errorf("read the wall's report: %w", err)
		}
		switch {
		case e.Error != nil:
			return e.Error.Err()
		case e.Progress != nil && progress != nil:
			progress(*e.Progress)
		case e.Digest != "":
			got = PulledImage{Digest: e.Digest, Layout: e.Layout}
		}
		return nil
	})
	if err == nil && got.Digest == "" {
		err = fmt.Errorf("the wall ended in the middle: %w", errdefs.ErrUnavailable)
	}
	return got, err
}

// post sends one request on a connection of its own, with files, and returns the answer's body.
// Closing the body, or ending ctx, ends the request.
func (w *Wall) post(ctx context.Context, path string, request any, files ...*os.File) (io.ReadCloser, error) {
	body, err := json.Marshal(request)
	if err != nil {
		return nil, err
	}
	if len(body) > wire.MaxRequest {
		return nil, fmt.Errorf("the wall takes %d MiB at once, and this is more: one server's secrets, hosts and certificates are too many together: %w", wire.MaxRequest>>20, errdefs.ErrInvalidArgument)
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://wall"+path, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	resp, err := (&http.Transport{
		DisableKeepAlives: true,
		DialContext:       func(context.Context, string, string) (net.Conn, error) { return w.dialer.Dial(files...) },
	}).RoundTrip(req)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", err, errdefs.ErrUnavailable)
	}
	if resp.StatusCode == http.StatusOK {
		return resp.Body, nil
	}
	defer resp.Body.Close()
	var f wire.Failure
	if err := json.UnmarshalRead(io.LimitReader(resp.Body, 1<<20), &f); err != nil || f.Message == "" {
		return nil, fmt.Errorf("the wall answered %d: %w", resp.StatusCode, errdefs.ErrInternal)
	}
	return nil, f.Err()
}

// eachLine reads newline-delimited values until the end or the first error; Unavailable says that
// the other process broke off.
func eachLine(r io.Reader, do func([]byte) error) error {
	s := bufio.NewScanner(r)
	s.Buffer(nil, 1<<20)
	for s.Scan() {
		if err := do(s.Bytes()); err != nil {
			return err
		}
	}
	if err := s.Err(); err != nil {
		return fmt.Errorf("the answer broke off: %w: %w", err, errdefs.ErrUnavailable)
	}
	return nil
}
