package egress

import (
	"errors"
	"fmt"
	"math"
	"os"
	"runtime"
	"syscall"

	"golang.org/x/sys/unix"
)

// giveUpRights leaves this process without capabilities and without a way to gain any, and bound
// to its parent's life. Some of it holds per thread, so it is done by one thread that then executes
// this program anew: the new one inherits it as a whole, and finds nothing left to do.
func giveUpRights() error {
	given, err := rightsGiven()
	if err != nil {
		return err
	}
	if given {
		return lockDown()
	}
	runtime.LockOSThread()
	steps := []struct {
		what string
		do   func() error
	}{
		{"end with the daemon", func() error { return prctl(unix.PR_SET_PDEATHSIG, uintptr(unix.SIGKILL)) }},
		{"drop capabilities", dropCapabilities},
		{"keep no file of the daemon's", func() error {
			return unix.CloseRange(controlFD+1, math.MaxInt32, unix.CLOSE_RANGE_CLOEXEC)
		}},
		{"gain no privileges", func() error { return prctl(unix.PR_SET_NO_NEW_PRIVS, 1) }},
	}
	for _, s := range steps {
		if err := s.do(); err != nil {
			return fmt.Errorf("%s: %w", s.what, err)
		}
	}
	return syscall.Exec("/proc/self/exe", os.Args, os.Environ())
}

// lockDown is what holds for the process as a whole, after the last exec.
func lockDown() error {
	unix.Umask(0o077)
	none := unix.Rlimit{}
	if err := unix.Setrlimit(unix.RLIMIT_CORE, &none); err != nil {
		return fmt.Errorf("write no core: %w", err)
	}
	// Other processes of the user cannot read this one's memory, where tokens are.
	return prctl(unix.PR_SET_DUMPABLE, 0)
}

// rightsGiven says whether nothing is left to give up.
func rightsGiven() (bool, error) {
	held, err := capabilities()
	if err != nil {
		return false, err
	}
	noNew, err := unix.PrctlRetInt(unix.PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0)
	return err == nil && noNew == 1 && !held, err
}

// capabilities says whether this thread holds any.
func capabilities() (bool, error) {
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var data [2]unix.CapUserData
	if err := unix.Capget(&header, &data[0]); err != nil {
		return false, fmt.Errorf("read capabilities: %w", err)
	}
	return data[0].Effective|data[1].Effective|data[0].Permitted|data[1].Permitted != 0, nil
}

// dropCapabilities empties all sets. Where the user is root, it also ends root's claim to have
// them back at the next exec.
func dropCapabilities() error {
	held, err := capabilities()
	if err != nil || !held {
		return err
	}
	for c := uintptr(0); c <= unix.CAP_LAST_CAP; c++ {
		if err := prctl(unix.PR_CAPBSET_DROP, c); err != nil && !errors.Is(err, unix.EINVAL) {
			return err
		}
	}
	const noRoot, noRootLocked = 1 << 0, 1 << 1 // SECBIT_NOROOT and its lock, from linux/securebits.h
	if err := prctl(unix.PR_SET_SECUREBITS, noRoot|noRootLocked); err != nil {
		return err
	}
	_ = prctl(unix.PR_CAP_AMBIENT, unix.PR_CAP_AMBIENT_CLEAR_ALL)
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var none [2]unix.CapUserData
	return unix.Capset(&header, &none[0])
}

func prctl(option int, arg uintptr) error { return unix.Prctl(option, arg, 0, 0, 0) }
