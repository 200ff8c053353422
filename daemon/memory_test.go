package daemon

import (
	"os"
	"os/exec"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// keptMemory is the variable that makes a copy of this program say how its memory is kept.
const keptMemory = "GARITA_TEST_KEPT_MEMORY"

func init() {
	if os.Getenv(keptMemory) == "" {
		return
	}
	if err := keepMemory(); err != nil {
		panic(err)
	}
	var limit unix.Rlimit
	_ = unix.Getrlimit(unix.RLIMIT_CORE, &limit)
	dumpable, _ := unix.PrctlRetInt(unix.PR_GET_DUMPABLE, 0, 0, 0, 0)
	if limit.Cur == 0 && limit.Max == 0 && dumpable == 0 {
		_, _ = os.Stdout.WriteString("kept\n")
	}
	os.Exit(0)
}

func TestNobodyReadsTheDaemonsMemory(t *testing.T) {
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), program)
	cmd.Env = []string{keptMemory + "=1"}
	if out, err := cmd.Output(); err != nil || strings.TrimSpace(string(out)) != "kept" {
		t.Errorf("%q, %v", out, err)
	}
}
