package client_test

import (
	"context"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/containerd/errdefs"
	"golang.org/x/sys/unix"

	"github.com/garita-dev/garita/sandbox/engine/client"
	"github.com/garita-dev/garita/sandbox/sandboxtest"
)

// eventually waits for a condition that nothing announces.
func eventually(t *testing.T, within time.Duration, what string, ok func() bool) {
	t.Helper()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	deadline := time.After(within)
	for !ok() {
		select {
		case <-tick.C:
		case <-deadline:
			t.Fatalf("not within %v: %s", within, what)
		}
	}
}

func sweepsToZero(t *testing.T, e *client.Engine) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	var last string
	t.Cleanup(func() {
		if t.Failed() {
			t.Log("the last sweep: ", last)
		}
	})
	eventually(t, 10*time.Second, "nothing is left", func() bool {
		s, err := e.Sweep(ctx)
		last = fmt.Sprint(s, err)
		return err == nil && s.Zero()
	})
}

// sweepsToZeroAfter stops what runs first.
func sweepsToZeroAfter(t *testing.T, e *client.Engine) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	all, err := e.Instances(ctx)
	if err != nil {
		t.Fatal(err)
	}
	for _, i := range all {
		if err := e.StopInstance(ctx, i.ID, 0); err != nil {
			t.Error(err)
		}
	}
	sweepsToZero(t, e)
}

func cgroupsLeft(e *client.Engine) int { return e.Cgroups().Left() }

func alive(pids []int) []int {
	var all []int
	for _, pid := range pids {
		if s := statusOf(pid)["State"]; s != "" && !strings.HasPrefix(s, "Z") {
			all = append(all, pid)
		}
	}
	return all
}

func TestKillingTheServerLeavesNothing(t *testing.T) {
	e := shared(t)
	i, p := sandboxtest.Start(t, e, sandboxtest.Shell("sleep 1000 & echo up; exec cat"))
	p.Next(t)
	pids := descendants(t, hostPID(t, e, i.Info().PID))
	if err := unix.Kill(pids[1], unix.SIGKILL); err != nil {
		t.Fatal(err)
	}
	if exit := await(t, i); exit.Code != 137 {
		t.Errorf("got %+v, want 137", exit)
	}
	sweepsToZero(t, e)
	if left := alive(pids); len(left) > 0 {
		t.Errorf("still alive: %v", left)
	}
}

func TestKillingTheShimLeavesNothing(t *testing.T) {
	e := shared(t)
	i, p := sandboxtest.Start(t, e, sandboxtest.Shell("sleep 1000 & echo up; exec cat"))
	p.Next(t)
	pids := descendants(t, hostPID(t, e, i.Info().PID))
	for _, pid := range descendants(t, e.PID())[1:] {
		if strings.HasPrefix(statusOf(pid)["Name"], "containerd-shim") {
			_ = unix.Kill(pid, unix.SIGKILL)
		}
	}
	if exit := await(t, i); exit.Code != 137 {
		t.Errorf("got %+v, want 137", exit)
	}
	sweepsToZero(t, e)
	if left := alive(pids); len(left) > 0 {
		t.Errorf("still alive: %v", left)
	}
	// The engine goes on.
	_, p = sandboxtest.Start(t, e, sandboxtest.Shell("exec cat"))
	if got := p.Line(t, "again"); got != "again" {
		t.Errorf("got %q", got)
	}
}

func TestKillingTheEngineLeavesNothing(t *testing.T) {
	sandboxtest.Need(t, sandboxtest.RootlessContainerd)
	data := t.TempDir()
	e := engineIn(t, data)
	folder := t.TempDir()
	l := sandboxtest.Shell("sleep 1000 & echo up; exec cat")
	l.Folders = snapshotOf(folder)
	i, p := sandboxtest.Start(t, e, l)
	p.Next(t)
	pids := descendants(t, e.PID())
	if len(pids) < 4 {
		t.Fatalf("only %v below the engine", pids)
	}
	// Frozen processes are the hardest to end.
	if err := i.Freeze(within(t)); err != nil && e.Cgroups().Freeze {
		t.Fatal(err)
	}
	if err := unix.Kill(e.PID(), unix.SIGKILL); err != nil {
		t.Fatal(err)
	}
	if exit := await(t, i); exit.Reason != "engine gone" {
		t.Errorf("got %+v", exit)
	}
	eventually(t, 5*time.Second, "every process is gone", func() bool { return len(alive(pids)) == 0 })
	if n := cgroupsLeft(e); n > 0 {
		t.Errorf("%d control groups left", n)
	}
	sweepsToZero(t, engineIn(t, data)) // and the next life finds nothing of the last one
}

// TestKillingTheEngineInTheMiddleOfAStartLeavesNothing kills it ever later after the request.
func TestKillingTheEngineInTheMiddleOfAStartLeavesNothing(t *testing.T) {
	sandboxtest.Need(t, sandboxtest.RootlessContainerd)
	data, folder := t.TempDir(), folderWith(t, map[string]string{"a": "a"})
	for step := range 6 {
		e := engineIn(t, data)
		timer := time.AfterFunc(time.Duration(step)*40*time.Millisecond, func() { _ = unix.Kill(e.PID(), unix.SIGKILL) })
		l := sandboxtest.Shell("exec cat")
		l.Folders, l.Volume = snapshotOf(folder), "v"
		_, _, err := sandboxtest.TryStart(t, e, l)
		<-e.Done()
		timer.Stop()
		if err != nil && !errdefs.IsUnavailable(err) {
			t.Errorf("the start failed with %v, want Unavailable", err)
		}
		if n := cgroupsLeft(e); n > 0 {
			t.Errorf("step %d: %d control groups left", step, n)
		}
	}
	sweepsToZero(t, engineIn(t, data))
}

func TestOrphansInsideAreReaped(t *testing.T) {
	e := shared(t)
	i, p := sandboxtest.Start(t, e, sandboxtest.Shell(`for i in 1 2 3 4 5 6 7 8 9 10; do (sleep 0 & sleep 0 &); done; echo done; exec cat`))
	p.Next(t)
	init := hostPID(t, e, i.Info().PID)
	eventually(t, 20*time.Second, "only init and the server are left, and no zombie", func() bool {
		return len(descendants(t, init)) == 2
	})
}

func TestLettingTheLifelineGoEndsTheSandbox(t *testing.T) {
	e := shared(t)
	i, p := sandboxtest.Start(t, e, sandboxtest.Shell("trap 'echo bye; exit 7' TERM; echo up; while :; do sleep 0.1; done"))
	p.Next(t)
	_ = p.Lifeline.Close()
	if got := p.Next(t); got != "bye" {
		t.Errorf("the server was not asked to end: %q", got)
	}
	if exit := await(t, i); exit.Reason != "lifeline" || exit.Code != 7 {
		t.Errorf("got %+v", exit)
	}
	sweepsToZero(t, e)
}

// TestMain lets the test binary be the daemon that is killed.
func TestMain(m *testing.M) {
	if os.Getenv("GARITA_TEST_DAEMON") != "" {
		os.Exit(daemon())
	}
	code := m.Run()
	closeShared()
	os.Exit(code)
}

func TestKillingTheDaemonLeavesNothing(t *testing.T) {
	sandboxtest.Need(t, sandboxtest.RootlessContainerd)
	data := t.TempDir()
	d, pids := startDaemon(t, data)
	if err := d.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = d.Wait()
	e := engineIn(t, data) // at once, and with the control groups of the last life
	eventually(t, 10*time.Second, "every process is gone", func() bool { return len(alive(pids)) == 0 })
	if n := cgroupsLeft(e); n > 0 {
		t.Errorf("%d control groups left", n)
	}
	sweepsToZero(t, e)
}
