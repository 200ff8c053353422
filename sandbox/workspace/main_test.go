package workspace

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// inNamespace is set in the copy of the test binary that runs where it may mount.
const inNamespace = "GARITA_TEST_IN_NAMESPACE"

// TestMain runs the tests in a user and mount namespace of their own, as uid 0 mapped to the
// caller: as the engine does, and for an ordinary user as for root.
func TestMain(m *testing.M) {
	if os.Getenv(inNamespace) != "" {
		if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
			fmt.Fprintln(os.Stderr, "make mounts private:", err)
			os.Exit(1)
		}
		unix.Umask(0o022)
		_ = flag.Set("rapid.checks", "40") // the command line says more
		os.Exit(m.Run())
	}
	err := again()
	var exit *exec.ExitError
	switch {
	case errors.As(err, &exit):
		os.Exit(exit.ExitCode())
	case err != nil && strings.Contains(os.Getenv("GARITA_REQUIRE"), "rootless-containerd"):
		fmt.Fprintln(os.Stderr, "rootless-containerd is required, and there is no user namespace here:", err)
		os.Exit(1)
	case err != nil:
		fmt.Println("SKIP: no user namespace here:", err)
	}
}

func again() error {
	cmd := exec.Command("/proc/self/exe", os.Args[1:]...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	cmd.Env = append(os.Environ(), inNamespace+"=1")
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags:  unix.CLONE_NEWUSER | unix.CLONE_NEWNS,
		UidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getuid(), Size: 1}},
		GidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getgid(), Size: 1}},
	}
	return cmd.Run()
}
