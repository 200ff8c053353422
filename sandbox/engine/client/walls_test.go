package client_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/garita-dev/garita/sandbox"
	"github.com/garita-dev/garita/sandbox/engine/client"
	"github.com/garita-dev/garita/sandbox/sandboxtest"
)

// hostPID finds the sandbox's PID 1 in the host's pid namespace: the engine's descendant that the
// engine knows by inner.
func hostPID(t *testing.T, e *client.Engine, inner int) int {
	t.Helper()
	for _, pid := range descendants(t, e.PID()) {
		status := statusOf(pid)
		ids := strings.Fields(status["NSpid"])
		if len(ids) == 3+nested() && ids[len(ids)-2] == strconv.Itoa(inner) && ids[len(ids)-1] == "1" {
			return pid
		}
	}
	t.Fatalf("no process of the host is the engine's %d", inner)
	return 0
}

// nested is how deep this test's own pid namespace is.
func nested() int { return len(strings.Fields(statusOf(os.Getpid())["NSpid"])) - 1 }

func statusOf(pid int) map[string]string {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return nil
	}
	fields := map[string]string{}
	for line := range strings.Lines(string(text)) {
		name, value, _ := strings.Cut(line, ":")
		fields[name] = strings.TrimSpace(value)
	}
	return fields
}

// descendants lists pid and every process below it.
func descendants(t *testing.T, pid int) []int {
	t.Helper()
	return descendantsOf(pid)
}

func descendantsOf(pid int) []int {
	children := map[int][]int{}
	entries, _ := os.ReadDir("/proc")
	for _, entry := range entries {
		if child, err := strconv.Atoi(entry.Name()); err == nil {
			parent, _ := strconv.Atoi(statusOf(child)["PPid"])
			children[parent] = append(children[parent], child)
		}
	}
	all := []int{pid}
	for i := 0; i < len(all); i++ {
		all = append(all, children[all[i]]...)
	}
	return all
}

func TestASandboxIsBehindItsOwnWalls(t *testing.T) {
	e := shared(t)
	i, p := sandboxtest.Start(t, e, sandboxtest.Shell("exec cat"))
	if got := p.Line(t, "ready"); got != "ready" {
		t.Fatal(got)
	}
	init := hostPID(t, e, i.Info().PID)
	all := descendants(t, init)
	if len(all) < 2 {
		t.Fatalf("garita-init %d has no server below it", init)
	}
	for _, pid := range all {
		t.Run(statusOf(pid)["Name"], func(t *testing.T) { checkWalls(t, e.PID(), pid) })
	}
	if os.Geteuid() != 0 {
		for _, pid := range descendants(t, e.PID()) {
			if uids := strings.Fields(statusOf(pid)["Uid"]); len(uids) > 0 && uids[0] == "0" {
				t.Errorf("process %d (%s) runs as the host's root", pid, statusOf(pid)["Name"])
			}
		}
	}
}

func checkWalls(t *testing.T, engine, pid int) {
	status := statusOf(pid)
	for field, want := range map[string]string{
		"CapEff": "0000000000000000", "CapPrm": "0000000000000000", "CapBnd": "0000000000000000",
		"Seccomp": "2", "NoNewPrivs": "1",
	} {
		if status[field] != want {
			t.Errorf("%s is %s, want %s", field, status[field], want)
		}
	}
	if here, there := read(t, pid, "uid_map"), read(t, engine, "uid_map"); here == there {
		t.Errorf("uid_map is the engine's: %s", here)
	}
	for _, ns := range []string{"user", "net", "mnt", "pid", "ipc", "uts"} {
		here, err := os.Readlink(fmt.Sprintf("/proc/%d/ns/%s", pid, ns))
		if err != nil {
			t.Error(err)
		}
		for whose, other := range map[string]int{"the engine's": engine, "the host's": os.Getpid()} {
			if there, err := os.Readlink(fmt.Sprintf("/proc/%d/ns/%s", other, ns)); err == nil && there == here {
				t.Errorf("namespace %s is %s", ns, whose)
			}
		}
	}
}

func read(t *testing.T, pid int, name string) string {
	t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/%s", pid, name))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func TestContainerdListsTheTask(t *testing.T) {
	e := shared(t)
	ctr := sandboxtest.Program(t, "ctr")
	i, _ := sandboxtest.Start(t, e, sandboxtest.Shell("exec cat"))
	args := []string{"-t", strconv.Itoa(e.PID()), "-m", "-p"}
	if os.Geteuid() != 0 {
		args = append(args, "-U", "--preserve-credentials")
	}
	args = append(args, ctr, "-a", "/run/containerd/containerd.sock", "-n", "garita", "tasks", "ls")
	out, err := exec.Command("nsenter", args...).CombinedOutput()
	if err != nil || !strings.Contains(string(out), string(i.Info().ID)) || !strings.Contains(string(out), "RUNNING") {
		t.Errorf("ctr tasks ls: %v\n%s", err, out)
	}
}

func TestWhatAServerSees(t *testing.T) {
	e := shared(t)
	secret := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(secret, []byte("s3cret"), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("GARITA_TEST_SECRET", "s3cret")
	folder := t.TempDir()
	if err := os.WriteFile(filepath.Join(folder, "a.txt"), []byte("hello"), 0o644); err != nil {
		t.Fatal(err)
	}
	l := sandboxtest.Shell("while read line; do eval \"$line\" 2>&1 | tr '\\n' ' '; echo; done")
	l.Folders = []sandbox.Folder{{Host: folder, Mode: sandbox.ReadOnly}}
	l.Env = map[string]string{"GIVEN": "yes"}
	_, p := sandboxtest.Start(t, e, l)
	home, _ := os.UserHomeDir()
	for name, c := range map[string]struct{ ask, want string }{
		"its own ids":             {"id -u; id -g", "1000 1000"},
		"its home":                {"pwd; echo $HOME; touch $HOME/x && echo writable", "/home/user /home/user writable"},
		"its variables":           {"echo $GIVEN; env | grep -c SECRET", "yes 0"},
		"its folder":              {"cat " + folder + "/a.txt; echo; cat /workspace/project/a.txt", "hello hello"},
		"a read-only folder":      {"touch " + folder + "/b 2>/dev/null || echo refused", "refused"},
		"a read-only root":        {"touch /x /usr/x /etc/x 2>/dev/null || echo refused", "refused"},
		"no file of the host":     {"cat " + secret + " 2>/dev/null || echo none", "none"},
		"no home of the host":     {"ls -A " + home + " 2>/dev/null | grep -v '^$' || echo none", "none"},
		"no process of the host":  {"ls /proc | grep -c '^[0-9]*$' | awk '{print ($1<10)?\"few\":\"many\"}'", "few"},
		"no network but loopback": {"tail -n +3 /proc/net/dev | cut -d: -f1 | tr -d ' '", "lo"},
		"no tracing of PID 1":     {"cat /proc/1/environ 2>/dev/null || echo refused; ls /proc/1/fd 2>/dev/null || echo refused", "refused refused"},
		"no socket of the engine": {"ls -l /proc/self/fd | grep -c socket", "0"},
		"a temporary directory":   {"echo x > $TMPDIR/f && cat $TMPDIR/f", "x"},
		"awk by alternatives":     {"echo 1 2 | awk '{print $2}'", "2"},
		"no new user namespace":   {"unshare -U true 2>/dev/null || echo refused", "refused"},
		"no mounting":             {"mount -t tmpfs x /tmp 2>/dev/null || echo refused", "refused"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := strings.TrimSpace(p.Line(t, c.ask)); got != c.want {
				t.Errorf("%s\n got %q\nwant %q", c.ask, got, c.want)
			}
		})
	}
}
