package sandboxtest

import (
	"bufio"
	"bytes"
	"context"
	"crypto/rand"
	"encoding/hex"
	"io"
	"os"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/garita-dev/garita/sandbox"
)

// Pipes are the test's ends of a sandbox's stdio.
type Pipes struct {
	In       *os.File // write here
	Out      *bufio.Reader
	Lifeline *os.File // close it to let the sandbox go
	out      *os.File
	stderr   *os.File

	mu   sync.Mutex
	errs bytes.Buffer
	read sync.WaitGroup
}

// Stderr is what the server has written there so far.
func (p *Pipes) Stderr() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.errs.String()
}

// Line writes a line and returns the next line of the answer, without its end.
func (p *Pipes) Line(t testing.TB, line string) string {
	t.Helper()
	written := make(chan error, 1)
	go func() { // a long line does not fit into the pipes at once
		_, err := io.WriteString(p.In, line+"\n")
		written <- err
	}()
	got := p.Next(t)
	if err := <-written; err != nil {
		t.Fatalf("write to the server: %v (stderr: %s)", err, p.Stderr())
	}
	return got
}

// Next returns the next line, without its end.
func (p *Pipes) Next(t testing.TB) string {
	t.Helper()
	if err := p.out.SetReadDeadline(time.Now().Add(time.Minute)); err != nil {
		t.Fatal(err)
	}
	got, err := p.Out.ReadString('\n')
	if err != nil {
		t.Fatalf("read from the server: %v after %q (stderr: %s)", err, got, p.Stderr())
	}
	return got[:len(got)-1]
}

// Start starts l with fresh pipes; everything is taken back when the test ends.
func Start(t testing.TB, r sandbox.Runtime, l sandbox.Launch) (sandbox.Instance, *Pipes) {
	t.Helper()
	i, p, err := TryStart(t, r, l)
	if err != nil {
		t.Fatalf("start: %v", err)
	}
	return i, p
}

// TryStart is Start for launches that may be refused.
func TryStart(t testing.TB, r sandbox.Runtime, l sandbox.Launch) (sandbox.Instance, *Pipes, error) {
	t.Helper()
	stdio, p := pipes(t)
	ctx, cancel := context.WithTimeout(context.Background(), 60*time.Second)
	defer cancel()
	i, err := r.Start(ctx, l, stdio)
	for _, f := range []*os.File{stdio.In, stdio.Out, stdio.Err, stdio.Lifeline} {
		_ = f.Close()
	}
	if err != nil {
		return nil, nil, err
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
		defer cancel()
		if err := i.Stop(ctx, 0); err != nil {
			t.Errorf("stop: %v", err)
		}
	})
	return i, p, nil
}

func pipes(t testing.TB) (sandbox.Stdio, *Pipes) {
	t.Helper()
	inR, inW := pipe(t)
	outR, outW := pipe(t)
	errR, errW := pipe(t)
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	far := os.NewFile(uintptr(fds[1]), "lifeline")
	p := &Pipes{In: inW, Out: bufio.NewReader(outR), out: outR, stderr: errR, Lifeline: os.NewFile(uintptr(fds[0]), "lifeline")}
	p.read.Go(p.drain)
	t.Cleanup(func() {
		_, _ = inW.Close(), p.Lifeline.Close()
		_ = outR.Close()
		_ = errR.Close()
		p.read.Wait()
	})
	return sandbox.Stdio{In: inR, Out: outW, Err: errW, Lifeline: far}, p
}

func (p *Pipes) drain() {
	buf := make([]byte, 4096)
	for {
		n, err := p.stderr.Read(buf)
		p.mu.Lock()
		if p.errs.Len() < 1<<20 {
			p.errs.Write(buf[:n])
		}
		p.mu.Unlock()
		if err != nil {
			return
		}
	}
}

func pipe(t testing.TB) (r, w *os.File) {
	t.Helper()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	return r, w
}

// ID is a fresh instance id.
func ID() sandbox.InstanceID { return sandbox.InstanceID("i" + random()) }

// WorkspaceID is a fresh workspace id.
func WorkspaceID() sandbox.WorkspaceID { return sandbox.WorkspaceID("w" + random()) }

func random() string {
	b := make([]byte, 8)
	_, _ = rand.Read(b) // it never fails
	return hex.EncodeToString(b)
}

// Shell is a launch of a shell script with the host's root file system.
func Shell(script string) sandbox.Launch {
	return sandbox.Launch{ID: ID(), Server: "test", Group: "test", Argv: []string{"/bin/sh", "-c", script}}
}
