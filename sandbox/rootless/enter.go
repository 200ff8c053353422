package rootless

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// Enter is called first thing by a process that Start started. It waits for its ids, executes
// itself again to gain the capabilities they bring in the new namespace, makes the private mounts
// (a fresh /proc, an empty /run) and returns Child.Config.
func Enter() (config []byte, err error) {
	stage, fd, err := parseStage(os.Getenv(stageVariable))
	if err != nil {
		return nil, err
	}
	sync := os.NewFile(uintptr(fd), "sync")
	if stage == "map" {
		return nil, awaitMapping(sync)
	}
	defer sync.Close()
	if err := os.Unsetenv(stageVariable); err != nil {
		return nil, err
	}
	unix.CloseOnExec(fd)
	// Groups of the host have no name here; none is kept.
	if err := unix.Setgroups(nil); err != nil {
		return nil, fmt.Errorf("drop supplementary groups: %w", err)
	}
	if err := privateMounts(); err != nil {
		return nil, err
	}
	return io.ReadAll(io.LimitReader(sync, maxConfig))
}

func parseStage(s string) (stage string, fd int, err error) {
	stage, number, ok := strings.Cut(s, ":")
	fd, convErr := strconv.Atoi(number)
	if !ok || convErr != nil || fd < 3 || (stage != "map" && stage != "mount") {
		return "", 0, errors.New("this command is started by the garita daemon, not by hand")
	}
	return stage, fd, nil
}

// awaitMapping returns only when it fails: the first exec after CLONE_NEWUSER came before the
// mapping and lost every capability, so a second one is needed once ids are mapped.
func awaitMapping(sync *os.File) error {
	if _, err := io.ReadFull(sync, make([]byte, 1)); err != nil {
		return fmt.Errorf("wait for mapped ids: %w", err)
	}
	if _, err := unix.FcntlInt(sync.Fd(), unix.F_SETFD, 0); err != nil {
		return fmt.Errorf("keep the configuration's pipe: %w", err)
	}
	if err := os.Setenv(stageVariable, "mount:"+strconv.Itoa(int(sync.Fd()))); err != nil {
		return err
	}
	self, err := os.Executable() // by its path, so that it keeps its name in listings
	if err != nil {
		return err
	}
	err = unix.Exec(self, os.Args, os.Environ())
	return fmt.Errorf("execute again with mapped ids: %w", err)
}

// privateMounts makes this mount namespace our own: nothing mounted here shows on the host.
func privateMounts() error {
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return fmt.Errorf("make mounts private: %w", err)
	}
	flags := uintptr(unix.MS_NOSUID | unix.MS_NODEV | unix.MS_NOEXEC)
	if err := unix.Mount("proc", "/proc", "proc", flags, ""); err != nil {
		return fmt.Errorf("mount a fresh /proc: %w", err)
	}
	if err := unix.Mount("tmpfs", "/run", "tmpfs", unix.MS_NOSUID|unix.MS_NODEV, "mode=755"); err != nil {
		return fmt.Errorf("mount a private /run: %w", err)
	}
	return nil
}
