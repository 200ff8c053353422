package daemon

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"time"

	"github.com/containerd/errdefs"
	"golang.org/x/sys/unix"
)

// commandTime is how long a command that gives a value may take.
const commandTime = 30 * time.Second

// commandEnv are the variables that such a command has: where its own settings and the keyring are.
var commandEnv = []string{
	"PATH", "HOME", "USER", "LOGNAME", "LANG", "LC_ALL", "TZ", "TMPDIR",
	"XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME", "XDG_CACHE_HOME", "XDG_RUNTIME_DIR",
	"DBUS_SESSION_BUS_ADDRESS", "SSH_AUTH_SOCK", "GNUPGHOME",
}

// runForValue runs argv and returns what it prints, without the newline at the end. There is no shell and
// no input; what it says on its standard error is not kept, for it may be the value. FailedPrecondition.
func runForValue(ctx context.Context, argv []string) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, commandTime)
	defer cancel()
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	cmd.Dir = "/"
	for _, name := range commandEnv {
		if value, ok := os.LookupEnv(name); ok {
			cmd.Env = append(cmd.Env, name+"="+value)
		}
	}
	out := bytesUpTo{most: maxSecret + 2, full: cancel}
	cmd.Stdout = &out
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true} // no terminal to ask at
	cmd.Cancel = func() error { return unix.Kill(-cmd.Process.Pid, unix.SIGKILL) }
	cmd.WaitDelay = time.Second
	err := cmd.Run()
	value := withoutNewline(out.kept)
	if err == nil {
		err = checkValue(value)
	}
	if err == nil {
		return value, nil
	}
	clear(value)
	return nil, fmt.Errorf("its command %s %s; run it at a terminal to see why: %w", argv[0], failing(ctx, err, out.over), errdefs.ErrFailedPrecondition)
}

// failing says in a clause how a command failed, without what it said.
func failing(ctx context.Context, err error, over bool) string {
	var exit *exec.ExitError
	switch {
	case over:
		return fmt.Sprintf("prints more than %d bytes", maxSecret)
	case ctx.Err() != nil:
		return fmt.Sprintf("did not end within %s", commandTime)
	case errors.As(err, &exit):
		return "failed (" + exit.String() + ")"
	case errdefs.IsInvalidArgument(err):
		return "gives no value: " + strings.TrimSuffix(err.Error(), ": "+errdefs.ErrInvalidArgument.Error())
	}
	return "cannot be run (" + err.Error() + ")"
}

func withoutNewline(b []byte) []byte {
	return bytes.TrimSuffix(bytes.TrimSuffix(b, []byte("\n")), []byte("\r"))
}

// bytesUpTo keeps what is written to it, and breaks off when that is too much: who writes may not care that
// nobody reads any more, so it is ended.
type bytesUpTo struct {
	kept []byte // no bytes.Buffer: io.Copy has one read all there is
	most int
	full func()
	over bool
}

func (b *bytesUpTo) Write(p []byte) (int, error) {
	if len(b.kept)+len(p) > b.most {
		b.over = true
		b.full()
		return 0, errors.New("too much")
	}
	b.kept = append(b.kept, p...)
	return len(p), nil
}
