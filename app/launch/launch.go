// Package launch starts the user's daemon for the commands and windows that need it.
//
// The daemon it starts is nobody's child: it has a session of its own, none of the starter's files
// and only those variables that a daemon needs. A client's environment holds its tokens.
package launch

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// Options say how a daemon is found and started. All fields are required.
type Options struct {
	Program  string                      // absolute path of garita
	Log      string                      // file that the daemon's output is added to; its folder is made
	Knock    func(context.Context) error // nil once a daemon answers
	Starting func() bool                 // whether a daemon is on its way: it holds its lock
}

const (
	// grace is how long another start, a moment before ours, may take to reach its lock.
	grace = 300 * time.Millisecond
	// wait is how long a daemon may take from its start to its first answer (DESIGN §5).
	wait = 10 * time.Second
	step = 20 * time.Millisecond
)

// Ensure returns once a daemon answers, and starts one if there is none. Of several that are started
// at a time one stays: the others find its lock and end. The error says what the daemon said.
func Ensure(ctx context.Context, o Options) error {
	if o.Knock(ctx) == nil {
		return nil
	}
	if ok, err := until(ctx, grace, func() bool { return o.Starting() || o.Knock(ctx) == nil }); err != nil {
		return err
	} else if ok {
		return o.await(ctx, nil)
	}
	d, err := start(o)
	if err != nil {
		return fmt.Errorf("start the daemon: %w", err)
	}
	return o.await(ctx, d)
}

// await waits for an answer, but not for a daemon that has ended and left no other in its place.
func (o Options) await(ctx context.Context, d *started) error {
	ended := false
	ok, err := until(ctx, wait, func() bool {
		if o.Knock(ctx) == nil {
			return true
		}
		ended = d.hasEnded() && !o.Starting()
		return ended
	})
	switch {
	case err != nil:
		return err
	case ok && !ended:
		return nil
	case ended && o.Knock(ctx) == nil: // it answered and ended between two looks; another has come
		return nil
	case ended:
		return fmt.Errorf("start the daemon: it ended at once (%w):\n%s", d.err, indent(d.said(o.Log)))
	}
	return fmt.Errorf("start the daemon: no answer within %v; its log is %s", wait, o.Log)
}

// until looks, now and at every step, until it sees what it waits for or time is up.
func until(ctx context.Context, limit time.Duration, look func() bool) (bool, error) {
	late := time.NewTimer(limit)
	defer late.Stop()
	tick := time.NewTicker(step)
	defer tick.Stop()
	for {
		if look() {
			return true, nil
		}
		select {
		case <-ctx.Done():
			return false, ctx.Err()
		case <-late.C:
			return false, nil
		case <-tick.C:
		}
	}
}

// openLog opens the log for adding to it. One that has grown is put aside first; one is kept.
func openLog(path string) (*os.File, error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return nil, err
	}
	if info, err := os.Lstat(path); err == nil && info.Size() > maxLog {
		if err := os.Rename(path, path+".old"); err != nil {
			return nil, err
		}
	}
	return os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
}

// maxLog is when a log is put aside, in bytes.
const maxLog = 8 << 20

// maxSaid bounds how much of a daemon's last words is shown, in bytes.
const maxSaid = 2 << 10

// tail reads the end of what was added to a file since it had a size.
func tail(path string, since int64) string {
	f, err := os.Open(path)
	if err != nil {
		return ""
	}
	defer f.Close()
	if info, err := f.Stat(); err == nil && info.Size()-since > maxSaid {
		since = info.Size() - maxSaid
	}
	data, err := io.ReadAll(io.NewSectionReader(f, since, maxSaid))
	if err != nil && !errors.Is(err, io.EOF) {
		return ""
	}
	return strings.TrimSpace(string(data))
}

func indent(s string) string {
	if s == "" {
		return "  (it said nothing)"
	}
	return "  " + strings.ReplaceAll(s, "\n", "\n  ")
}
