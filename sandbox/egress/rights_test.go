package egress_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/garita-dev/garita/sandbox/engine/client"
)

// children lists the processes whose parent is this one and whose command line ends in "egress".
func children() (pids []int) {
	entries, _ := os.ReadDir("/proc")
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil {
			continue
		}
		line, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
		if field(pid, "PPid") == strconv.Itoa(os.Getpid()) && strings.HasSuffix(string(line), "\x00egress\x00") {
			pids = append(pids, pid)
		}
	}
	return pids
}

// field is one line of /proc/PID/status.
func field(pid int, name string) string {
	text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	for line := range strings.Lines(string(text)) {
		if rest, ok := strings.CutPrefix(line, name+":"); ok {
			return strings.TrimSpace(rest)
		}
	}
	return ""
}

func TestTheWallHasNoRights(t *testing.T) {
	t.Setenv("GARITA_TEST_SECRET", "in the daemon's environment")
	leak, err := os.CreateTemp(t.TempDir(), "of-the-daemon")
	if err != nil {
		t.Fatal(err)
	}
	defer leak.Close()
	// As a file that some shell has left open to the daemon.
	if _, err := unix.FcntlInt(leak.Fd(), unix.F_SETFD, 0); err != nil {
		t.Fatal(err)
	}
	w, _ := startWall(t)
	answers(t, w)
	pids := children()
	if len(pids) != 1 {
		t.Fatalf("the walls are %v", pids)
	}
	const none = "0000000000000000"
	for name, want := range map[string]string{"CapEff": none, "CapPrm": none, "CapInh": none, "CapAmb": none, "NoNewPrivs": "1"} {
		if got := field(pids[0], name); got != want {
			t.Errorf("%s is %s, want %s", name, got, want)
		}
	}
	tasks, err := os.ReadDir(fmt.Sprintf("/proc/%d/task", pids[0]))
	if err != nil {
		t.Fatal(err)
	}
	for _, task := range tasks {
		text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/task/%s/status", pids[0], task.Name()))
		if !strings.Contains(string(text), "CapEff:\t"+none) || !strings.Contains(string(text), "NoNewPrivs:\t1") {
			t.Errorf("thread %s has kept rights", task.Name())
		}
	}
	fds, err := os.ReadDir(fmt.Sprintf("/proc/%d/fd", pids[0]))
	if err != nil && os.Geteuid() == 0 {
		t.Fatal(err)
	}
	for _, fd := range fds {
		if to, _ := os.Readlink(fmt.Sprintf("/proc/%d/fd/%s", pids[0], fd.Name())); to == leak.Name() {
			t.Error("a file of the daemon's stayed open")
		}
	}
	if env, _ := os.ReadFile(fmt.Sprintf("/proc/%d/environ", pids[0])); strings.Contains(string(env), "GARITA_TEST_SECRET") {
		t.Error("the daemon's environment went along")
	}
}

// answers waits for the wall: an answer means that the process has finished giving up.
func answers(t *testing.T, w *client.Wall) {
	t.Helper()
	r, err := w.ServeRegistry(t.Context(), client.RegistryConfig{Default: "https://x/"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
}

func TestTheWallEndsWithTheDaemon(t *testing.T) {
	w, _ := startWall(t)
	answers(t, w)
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if err := w.Err(); err != nil {
		t.Errorf("it ended with %v", err)
	}
	if pids := children(); len(pids) != 0 {
		t.Errorf("left: %v", pids)
	}
	if _, err := w.ServeRegistry(t.Context(), client.RegistryConfig{Default: "https://x/"}, nil); err == nil {
		t.Error("a closed wall serves")
	}
}

// daemon is a process with a wall, to be killed: it says the wall's pid once the wall answers.
func daemon() int {
	w, err := client.StartWall(context.Background(), client.Config{Program: os.Args[0]})
	if err != nil {
		return 1
	}
	if _, err := w.ServeRegistry(context.Background(), client.RegistryConfig{Default: "https://x/"}, nil); err != nil {
		return 1
	}
	for _, pid := range children() {
		fmt.Println(pid)
	}
	<-w.Done()
	return 0
}

func TestAKilledDaemonTakesTheWallAlong(t *testing.T) {
	for name, stopped := range map[string]bool{"a wall at work": false, "a wall that hangs": true} {
		t.Run(name, func(t *testing.T) {
			d := exec.Command(os.Args[0], "daemon")
			out, err := d.StdoutPipe()
			if err != nil {
				t.Fatal(err)
			}
			if err := d.Start(); err != nil {
				t.Fatal(err)
			}
			var wall int
			if _, err := fmt.Fscan(out, &wall); err != nil {
				t.Fatalf("the wall did not start: %v", err)
			}
			if stopped {
				_ = unix.Kill(wall, unix.SIGSTOP)
			}
			if err := d.Process.Kill(); err != nil {
				t.Fatal(err)
			}
			_ = d.Wait()
			eventually(t, "the wall has ended", func() bool {
				state := field(wall, "State")
				return state == "" || strings.HasPrefix(state, "Z")
			})
		})
	}
}
