package sandboxtest

import (
	"context"
	"io"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/containerd/errdefs"

	"github.com/garita-dev/garita/sandbox"
)

// Suite is what every sandbox.Runtime passes. open makes one for the whole suite.
func Suite(t *testing.T, open func(t testing.TB) sandbox.Runtime) {
	r := open(t)
	for _, c := range []struct {
		name string
		test func(*testing.T, sandbox.Runtime)
	}{
		{"a server answers over its pipes", answers},
		{"stdout and stderr stay apart", stderrApart},
		{"end of stdin ends a server, whose code is told", endOfInput},
		{"a signal's code is a shell's", signalCode},
		{"variables and directory are as asked", environmentAsAsked},
		{"no such program", noProgram},
		{"no such directory", noDirectory},
		{"no program at all", nothingToRun},
		{"a folder that may not be mounted", refusedFolder},
		{"two of one name", sameID},
		{"stop asks first", stopAsks},
		{"stop kills what does not heed it", stopKills},
		{"stop is idempotent", stopTwice},
		{"waiting gives up with its context", waitGivesUp},
		{"the lifeline ends the sandbox", lifelineEnds},
		{"starts overlap", overlapping},
		{"a start meets the end of the last one", startAfterEnd},
	} {
		t.Run(c.name, func(t *testing.T) { c.test(t, r) })
	}
}

func within(t testing.TB) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), 40*time.Second)
	t.Cleanup(cancel)
	return ctx
}

func exitOf(t testing.TB, i sandbox.Instance) sandbox.Exit {
	t.Helper()
	exit, err := i.Wait(within(t))
	if err != nil {
		t.Fatalf("wait: %v", err)
	}
	return exit
}

func answers(t *testing.T, r sandbox.Runtime) {
	i, p := Start(t, r, Shell("exec cat"))
	for _, line := range []string{"hello", strings.Repeat("x", 300_000), ""} {
		if got := p.Line(t, line); got != line {
			t.Errorf("got %d bytes back, want %d", len(got), len(line))
		}
	}
	if info := i.Info(); info.Server != "test" || info.ID == "" || info.Started.IsZero() {
		t.Errorf("info: %+v", info)
	}
}

func stderrApart(t *testing.T, r sandbox.Runtime) {
	i, p := Start(t, r, Shell("echo out; echo err >&2"))
	if got := p.Next(t); got != "out" {
		t.Errorf("stdout: %q", got)
	}
	exitOf(t, i)
	p.read.Wait()
	if got := p.Stderr(); got != "err\n" {
		t.Errorf("stderr: %q", got)
	}
}

func endOfInput(t *testing.T, r sandbox.Runtime) {
	i, p := Start(t, r, Shell("cat; exit 3"))
	_ = p.In.Close()
	if exit := exitOf(t, i); exit.Code != 3 || exit.Reason != "" || exit.At.IsZero() {
		t.Errorf("got %+v, want code 3", exit)
	}
	if again := exitOf(t, i); again.Code != 3 {
		t.Errorf("asked again: %+v", again)
	}
	if _, err := p.Out.ReadByte(); err != io.EOF {
		t.Errorf("after the end stdout gives %v, want io.EOF", err)
	}
}

func signalCode(t *testing.T, r sandbox.Runtime) {
	i, _ := Start(t, r, Shell("kill -KILL $$"))
	if exit := exitOf(t, i); exit.Code != 137 {
		t.Errorf("got %+v, want code 137", exit)
	}
}

func environmentAsAsked(t *testing.T, r sandbox.Runtime) {
	t.Setenv("OF_THE_DAEMON", "leaks")
	l := Shell("echo $GIVEN $OF_THE_DAEMON; pwd; echo ${HOME:+home} ${PATH:+path} ${TMPDIR:+tmp}")
	l.Env = map[string]string{"GIVEN": "given"}
	l.Dir = "/usr"
	_, p := Start(t, r, l)
	for _, want := range []string{"given", "/usr", "home path tmp"} {
		if got := strings.TrimSpace(p.Next(t)); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

func noProgram(t *testing.T, r sandbox.Runtime) {
	for _, argv := range [][]string{{"no-such-program-anywhere"}, {"/no/such/program"}} {
		l := Shell("")
		l.Argv = argv
		if _, _, err := TryStart(t, r, l); !errdefs.IsNotFound(err) {
			t.Errorf("%v: got %v, want NotFound", argv, err)
		}
	}
}

func noDirectory(t *testing.T, r sandbox.Runtime) {
	l := Shell("true")
	l.Dir = "/no/such/directory"
	if _, _, err := TryStart(t, r, l); !errdefs.IsNotFound(err) {
		t.Errorf("got %v, want NotFound", err)
	}
}

func nothingToRun(t *testing.T, r sandbox.Runtime) {
	l := Shell("")
	l.Argv = nil
	if _, _, err := TryStart(t, r, l); !errdefs.IsInvalidArgument(err) {
		t.Errorf("got %v, want InvalidArgument", err)
	}
}

func refusedFolder(t *testing.T, r sandbox.Runtime) {
	for _, folder := range []string{"relative", "/", "/etc", "/usr/share", "/proc", "/tmp/../etc"} {
		l := Shell("true")
		l.Folders = []sandbox.Folder{{Host: folder, Mode: sandbox.ReadOnly}}
		if _, _, err := TryStart(t, r, l); !errdefs.IsInvalidArgument(err) {
			t.Errorf("%s: got %v, want InvalidArgument", folder, err)
		}
	}
}

func sameID(t *testing.T, r sandbox.Runtime) {
	l := Shell("exec cat")
	Start(t, r, l)
	if _, _, err := TryStart(t, r, l); !errdefs.IsAlreadyExists(err) {
		t.Errorf("got %v, want AlreadyExists", err)
	}
}

func stopAsks(t *testing.T, r sandbox.Runtime) {
	i, p := Start(t, r, Shell("trap 'echo bye; exit 7' TERM; echo up; while :; do sleep 0.05; done"))
	p.Next(t)
	if err := i.Stop(within(t), 20*time.Second); err != nil {
		t.Fatal(err)
	}
	if got := p.Next(t); got != "bye" {
		t.Errorf("the server said %q", got)
	}
	if exit := exitOf(t, i); exit.Code != 7 {
		t.Errorf("got %+v, want code 7", exit)
	}
}

func stopKills(t *testing.T, r sandbox.Runtime) {
	i, p := Start(t, r, Shell("trap '' TERM; echo up; while :; do sleep 0.05; done"))
	p.Next(t)
	began := time.Now()
	if err := i.Stop(within(t), 100*time.Millisecond); err != nil {
		t.Fatal(err)
	}
	if took := time.Since(began); took < 100*time.Millisecond {
		t.Errorf("killed after %v, before the drain time was over", took)
	}
	if exit := exitOf(t, i); exit.Code != 137 {
		t.Errorf("got %+v, want code 137", exit)
	}
}

func stopTwice(t *testing.T, r sandbox.Runtime) {
	i, _ := Start(t, r, Shell("exec cat"))
	for range 3 {
		if err := i.Stop(within(t), 0); err != nil {
			t.Fatal(err)
		}
	}
}

func waitGivesUp(t *testing.T, r sandbox.Runtime) {
	i, _ := Start(t, r, Shell("exec cat"))
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := i.Wait(ctx); err == nil {
		t.Error("waiting went on")
	}
}

func lifelineEnds(t *testing.T, r sandbox.Runtime) {
	i, p := Start(t, r, Shell("trap 'exit 9' TERM; echo up; while :; do sleep 0.05; done"))
	p.Next(t)
	_ = p.Lifeline.Close()
	if exit := exitOf(t, i); exit.Reason != "lifeline" || exit.Code != 9 {
		t.Errorf("got %+v, want code 9 by the lifeline", exit)
	}
}

func overlapping(t *testing.T, r sandbox.Runtime) {
	var all sync.WaitGroup
	for range 10 {
		all.Go(func() {
			i, p, err := TryStart(t, r, Shell("exec cat"))
			if err != nil {
				t.Error(err)
				return
			}
			if _, err := io.WriteString(p.In, "one of ten\n"); err != nil {
				t.Error(err)
			}
			if got, err := p.Out.ReadString('\n'); err != nil || got != "one of ten\n" {
				t.Errorf("got %q, %v", got, err)
			}
			if err := i.Stop(within(t), 0); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
}

// startAfterEnd starts a sandbox while the only other one of its group is ending: what they share
// must not end under the new one.
func startAfterEnd(t *testing.T, r sandbox.Runtime) {
	ending, _ := Start(t, r, Shell("exec cat"))
	for range 12 {
		last := ending
		stopped := make(chan error, 1)
		go func() { stopped <- last.Stop(within(t), 0) }()
		i, p := Start(t, r, Shell("exec cat"))
		if got := p.Line(t, "there"); got != "there" {
			t.Fatalf("got %q", got)
		}
		if err := <-stopped; err != nil {
			t.Fatal(err)
		}
		ending = i
	}
}
