package client_test

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/garita-dev/garita/sandbox"
	"github.com/garita-dev/garita/sandbox/engine/client"
	"github.com/garita-dev/garita/sandbox/rootless"
	"github.com/garita-dev/garita/sandbox/sandboxtest"
)

func await(t *testing.T, i sandbox.Instance) sandbox.Exit {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 40*time.Second)
	defer cancel()
	exit, err := i.Wait(ctx)
	if err != nil {
		t.Fatalf("wait: %v", err)
	}
	return exit
}

func TestALimitIsListedOnlyWhereItHolds(t *testing.T) {
	e := shared(t)
	i, _ := sandboxtest.Start(t, e, sandboxtest.Shell("exec cat"))
	for _, l := range i.Info().Limits {
		if byCgroup := l.By != "rlimit"; byCgroup != holds(e.Cgroups(), l.Name) {
			t.Errorf("%s is said to hold by %s, with control groups %+v", l.Name, l.By, e.Cgroups())
		}
	}
	listed := slices.ContainsFunc(i.Info().Limits, func(l sandbox.LimitInForce) bool { return l.Name == "cpus" })
	if listed != e.Cgroups().CPU {
		t.Errorf("cpus listed: %v, held: %v", listed, e.Cgroups().CPU)
	}
}

func holds(c rootless.Cgroups, name string) bool {
	return map[string]bool{"memory": c.Memory, "pids": c.PIDs, "cpus": c.CPU}[name]
}

// A start may use every processor; a few seconds later the limit holds.
func TestProcessorTimeIsLimitedOnceTheStartIsOver(t *testing.T) {
	e := shared(t)
	if !e.Cgroups().CPU {
		t.Skip("processor time is not limited on this host")
	}
	l := sandboxtest.Shell("exec cat")
	l.Limits = sandbox.Limits{CPUs: 0.5}
	i, _ := sandboxtest.Start(t, e, l)
	if got := quota(t, e.Cgroups(), i.Info().ID); got == "50000" {
		t.Error("the start is limited")
	}
	deadline := time.After(30 * time.Second)
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for quota(t, e.Cgroups(), i.Info().ID) != "50000" {
		select {
		case <-tick.C:
		case <-deadline:
			t.Fatalf("after 30 s the quota is %q", quota(t, e.Cgroups(), i.Info().ID))
		}
	}
}

// quota is how many microseconds of 100,000 the sandbox may run, as its control group says.
func quota(t *testing.T, c rootless.Cgroups, id sandbox.InstanceID) string {
	t.Helper()
	file := map[int]string{1: "cpu.cfs_quota_us", 2: "cpu.max"}[c.Version]
	text, err := os.ReadFile(filepath.Join(c.Dir("cpu", string(id)), file))
	if err != nil {
		t.Fatal(err)
	}
	return strings.Fields(string(text))[0]
}

// hog asks for far more memory than it may have, touching every page.
const hog = `exec perl -e '$x = "a" x (1 << 20); my @all; push @all, $x . $_ for 1 .. 4000; print "unharmed\n"; <STDIN>'`

func TestAMemoryHogIsStoppedAndNamed(t *testing.T) {
	e := shared(t)
	l := sandboxtest.Shell(hog)
	l.Limits = sandbox.Limits{Memory: 64 << 20}
	i, p := sandboxtest.Start(t, e, l)
	exit := await(t, i)
	if exit.Code == 0 {
		t.Errorf("it was not stopped: %+v", exit)
	}
	if e.Cgroups().Memory && exit.Reason != "out of memory" {
		t.Errorf("got %+v, stderr %s; want the reason named", exit, p.Stderr())
	}
}

func TestAForkBombIsStoppedAndNamed(t *testing.T) {
	e := shared(t)
	l := sandboxtest.Shell(`i=0; while [ $i -lt 400 ]; do sleep 60 & i=$((i+1)); done; echo unharmed`)
	l.Limits = sandbox.Limits{PIDs: 40}
	i, p := sandboxtest.Start(t, e, l)
	exit := await(t, i)
	if exit.Code == 0 || !strings.Contains(p.Stderr(), "fork") {
		t.Errorf("got %+v, stderr %s; want forks refused", exit, p.Stderr())
	}
	if e.Cgroups().PIDs && exit.Reason != "too many processes" {
		t.Errorf("got %+v, want the reason named", exit)
	}
}

func TestAFrozenSandboxDoesNotRun(t *testing.T) {
	e := shared(t)
	i, p := sandboxtest.Start(t, e, sandboxtest.Shell("exec cat"))
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	err := i.Freeze(ctx)
	if !e.Cgroups().Freeze {
		if err == nil {
			t.Error("frozen without a freezer")
		}
		return
	}
	if err != nil {
		t.Fatal(err)
	}
	init := hostPID(t, e, i.Info().PID)
	if state := statusOf(init)["State"]; !strings.HasPrefix(state, "D") && !frozen(t, init) {
		t.Errorf("garita-init is in state %q while frozen", state)
	}
	if err := i.Thaw(ctx); err != nil {
		t.Fatal(err)
	}
	if got := p.Line(t, "awake"); got != "awake" {
		t.Errorf("after thawing: %q", got)
	}
	if err := i.Freeze(ctx); err != nil {
		t.Fatal(err)
	}
	if err := i.Stop(ctx, time.Second); err != nil {
		t.Errorf("stop a frozen sandbox: %v", err)
	}
}

// frozen looks at what the process waits for; some kernels show a frozen process as sleeping.
func frozen(t *testing.T, pid int) bool {
	return strings.Contains(read(t, pid, "wchan"), "freez") || strings.Contains(read(t, pid, "wchan"), "refrigerator")
}

func TestWithoutControlGroupsRlimitsHold(t *testing.T) {
	sandboxtest.Need(t, sandboxtest.RootlessContainerd)
	e := engineWith(t, client.Config{Data: t.TempDir(), Cgroups: &rootless.Cgroups{Why: "this test wants none"}})
	i, _ := sandboxtest.Start(t, e, sandboxtest.Shell("exec cat"))
	for _, l := range i.Info().Limits {
		if l.By != "rlimit" || l.Name == "pids" && os.Geteuid() == 0 {
			t.Errorf("%+v is listed without control groups", l)
		}
	}
	l := sandboxtest.Shell(hog)
	l.Limits = sandbox.Limits{Memory: 64 << 20}
	i, p := sandboxtest.Start(t, e, l)
	if exit := await(t, i); exit.Code == 0 {
		t.Errorf("memory: got %+v, stderr %s", exit, p.Stderr())
	}
	if os.Geteuid() == 0 {
		return // the kernel bounds no process of root's
	}
	l = sandboxtest.Shell(`i=0; while [ $i -lt 400 ]; do sleep 60 & i=$((i+1)); done; echo unharmed`)
	l.Limits = sandbox.Limits{PIDs: 40}
	i, p = sandboxtest.Start(t, e, l)
	if exit := await(t, i); exit.Code == 0 || !strings.Contains(p.Stderr(), "fork") {
		t.Errorf("processes: got %+v, stderr %s", exit, p.Stderr())
	}
}
