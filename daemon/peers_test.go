package daemon

import (
	"os"
	"os/exec"
	"slices"
	"testing"
)

func TestWhatDescendsFromAnAttachedClientIsFound(t *testing.T) {
	client := sleeper(t)
	a := newAttached()
	release, err := a.hold(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	if got := a.ancestor(client.Process.Pid); got != os.Getpid() {
		t.Errorf("a child's attached ancestor is %d, want %d", got, os.Getpid())
	}
	if got := a.ancestor(os.Getppid()); got != 0 {
		t.Errorf("a parent is taken for a descendant of %d", got)
	}
	again, _ := a.hold(os.Getpid())
	release()
	release() // twice counts once
	if a.ancestor(client.Process.Pid) == 0 {
		t.Error("forgotten while another session of it is open")
	}
	again()
	if a.ancestor(client.Process.Pid) != 0 || len(a.held) != 0 {
		t.Error("still held after its last session")
	}
}

func TestADeadClientHasNoDescendants(t *testing.T) {
	a := newAttached()
	dead := sleeper(t)
	pid := dead.Process.Pid
	if _, err := a.hold(pid); err != nil {
		t.Fatal(err)
	}
	_ = dead.Process.Kill()
	_ = dead.Wait()
	if a.ancestor(pid) != 0 {
		t.Error("a pid that may be anyone's by now is still held")
	}
	if _, err := a.hold(pid); err == nil {
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
