package client_test

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/garita-dev/garita/sandbox"
	"github.com/garita-dev/garita/sandbox/engine/client"
	"github.com/garita-dev/garita/sandbox/sandboxtest"
)

func snapshotOf(folder string) []sandbox.Folder {
	return []sandbox.Folder{{Host: folder, Mode: sandbox.Snapshot, Workspace: sandboxtest.WorkspaceID()}}
}

// startDaemon runs this test binary as a daemon with one sandbox, and returns all its processes.
func startDaemon(t *testing.T, data string) (*exec.Cmd, []int) {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), "GARITA_TEST_DAEMON="+data)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill() })
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatalf("the daemon did not come up: %v", err)
	}
	engine, err := strconv.Atoi(strings.TrimSpace(line))
	if err != nil {
		t.Fatal(err)
	}
	pids := descendants(t, engine)
	if len(pids) < 4 {
		t.Fatalf("only %v below the engine", pids)
	}
	return cmd, append(pids, cmd.Process.Pid)
}

// daemon starts an engine and a sandbox whose server does not heed TERM, then waits to be killed.
func daemon() int {
	ctx := context.Background()
	e, err := client.StartEngine(ctx, client.Config{
		Data: os.Getenv("GARITA_TEST_DAEMON"), Log: os.Stderr, Program: filepath.Join(sandboxtest.Bin(), "garita-engine"),
	})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	r, w, _ := os.Pipe()
	null, _ := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	fds, _ := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	far := os.NewFile(uintptr(fds[1]), "lifeline")
	l := sandboxtest.Shell("trap '' TERM; sleep 1000")
	i, err := e.Start(ctx, l, sandbox.Stdio{In: r, Out: null, Err: null, Lifeline: far})
	if err == nil && e.Cgroups().Freeze {
		err = i.Freeze(ctx)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	_ = far.Close()
	fmt.Println(e.PID())
	<-e.Done()
	_ = w.Close()
	return 0
}
