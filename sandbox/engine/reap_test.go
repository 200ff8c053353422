package engine

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// TestOrphansAreReapedAndChildrenAreNot makes this process inherit orphans, as PID 1 does.
func TestOrphansAreReapedAndChildrenAreNot(t *testing.T) {
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() { defer close(ended); reap(ctx, 300*time.Millisecond) }()
	defer func() { cancel(); <-ended }()

	cmd := exec.Command("/bin/sh", "-c", "sleep 0.05 & echo $!")
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err != nil {
		t.Errorf("a child was taken from its owner: %v", err)
	}
	orphan, err := strconv.Atoi(strings.TrimSpace(line))
	if err != nil {
		t.Fatal(err)
	}
	deadline := time.After(20 * time.Second)
	for tick := time.Tick(20 * time.Millisecond); ; {
		if _, err := os.Stat(fmt.Sprintf("/proc/%d", orphan)); err != nil {
			return
		}
		select {
		case <-tick:
		case <-deadline:
			t.Fatalf("the orphan %d is still there", orphan)
		}
	}
}

func TestCounter(t *testing.T) {
	file := t.TempDir() + "/memory.events"
	if err := os.WriteFile(file, []byte("low 0\noom 7\noom_kill 3\noom_group_kill x\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]int64{"oom_kill": 3, "oom": 7, "oom_group_kill": 0, "absent": 0} {
		if got := counter(file, name); got != want {
			t.Errorf("%s: got %d, want %d", name, got, want)
		}
	}
	if got := counter(file+".absent", "oom_kill"); got != 0 {
		t.Errorf("without a file: got %d", got)
	}
}
