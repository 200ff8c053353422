package daemon

import (
	"os"
	"os/exec"
	"slices"
	"testing"

	"github.com/garita-dev/garita/daemon/httpapi"
)

func TestWhatDescendsFromAnAttachedClientIsFound(t *testing.T) {
	child := sleeper(t)
	a := newAttached()
	t.Cleanup(a.close)
	if err := a.hold(os.Getpid()); err != nil {
		t.Fatal(err)
	}
	if got := a.among(opener(child.Process.Pid)); got != os.Getpid() {
		t.Errorf("a child's attached ancestor is %d, want %d", got, os.Getpid())
	}
	if got := a.among(opener(os.Getppid())); got != 0 {
		t.Errorf("a parent is taken for a descendant of %d", got)
	}
	earlier := httpapi.Opener{{PID: os.Getpid(), Start: "1"}}
	if a.among(earlier) != 0 {
		t.Error("another process that once had this pid is taken for the client")
	}
}

func TestADeadClientIsForgotten(t *testing.T) {
	a := newAttached()
	dead := sleeper(t)
	if err := a.hold(dead.Process.Pid); err != nil {
		t.Fatal(err)
	}
	o := opener(dead.Process.Pid)
	if a.among(o) == 0 {
		t.Error("a living client is not held")
	}
	_ = dead.Process.Kill()
	_ = dead.Wait()
	if a.among(o) != 0 || len(a.held) != 0 {
		t.Error("a pid that may be anyone's by now is still held")
	}
	if err := a.hold(dead.Process.Pid); err == nil {
		t.Error("a dead process was held")
	}
}

func TestLineageEndsBelowInit(t *testing.T) {
	line := lineage(os.Getpid())
	if len(line) < 2 || line[0] != os.Getpid() || line[1] != os.Getppid() || slices.Contains(line, 1) {
		t.Errorf("lineage %v of %d, child of %d", line, os.Getpid(), os.Getppid())
	}
}

func TestAProcessWithoutATerminalIsNone(t *testing.T) {
	cmd := exec.Command("setsid", "sleep", "60")
	if err := cmd.Start(); err != nil {
		t.Skipf("no setsid: %v", err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	if terminal(cmd.Process.Pid) {
		t.Error("a process without a terminal passes for one at a terminal")
	}
}

func sleeper(t *testing.T) *exec.Cmd {
	t.Helper()
	cmd := exec.Command("sleep", "60")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	return cmd
}

func TestFieldsBehindACommandOfAnyName(t *testing.T) {
	tail := "S 1 2 3"
	for name, tt := range map[string]struct {
		stat string
		want int
	}{
		"plain":                  {"12 (sh) " + tail, 4},
		"brackets in the name":   {"12 (a) S 9 9 (b) " + tail, 4},
		"nothing":                {"", 0},
		"a name that never ends": {"12 (sh " + tail, 0},
	} {
		if got := len(afterCommand(tt.stat)); got != tt.want {
			t.Errorf("%s: %d fields, want %d", name, got, tt.want)
		}
	}
	if startOf(os.Getpid()) == "" {
		t.Error("when this very process started is not known")
	}
}
