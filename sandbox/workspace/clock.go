package workspace

import (
	"fmt"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// clock says how well a file's change time tells two changes apart.
//
// Most kernels stamp files with the time of the last timer tick (1–10 ms), so a file changed, looked
// at and changed again within one tick looks untouched. From 6.13 on many file systems give a
// change after a look its own stamp.
type clock struct {
	tick time.Duration // 0: a change after a look always shows
	// blind: writes through a mapping leave no stamp at all (tmpfs has no write-back), so that contents
	// have to be compared.
	blind bool
}

// probeClock tries it on the file system of dir.
func probeClock(dir string) (clock, error) {
	f, err := os.CreateTemp(dir, ".clock-")
	if err != nil {
		return clock{}, fmt.Errorf("try the file clock: %w", err)
	}
	defer os.Remove(f.Name())
	defer f.Close()
	var fs unix.Statfs_t
	if err := unix.Fstatfs(int(f.Fd()), &fs); err != nil {
		return clock{}, fmt.Errorf("try the file clock: %w", err)
	}
	c := clock{blind: fs.Type == unix.TMPFS_MAGIC || fs.Type == unix.RAMFS_MAGIC}
	for range 8 {
		fine, err := changeShows(f)
		if err != nil {
			return clock{}, fmt.Errorf("try the file clock: %w", err)
		}
		if !fine {
			c.tick = coarseTick()
			break
		}
	}
	return c, nil
}

func changeShows(f *os.File) (bool, error) {
	before, err := statFile(f)
	if err != nil {
		return false, err
	}
	if _, err := f.WriteAt([]byte{'x'}, 0); err != nil {
		return false, err
	}
	after, err := statFile(f)
	return before.Ctime != after.Ctime, err
}

// coarseTick is the kernel's timer tick, with a little to spare.
func coarseTick() time.Duration {
	var res unix.Timespec
	if unix.ClockGetres(unix.CLOCK_REALTIME_COARSE, &res) != nil {
		return 11 * time.Millisecond
	}
	return time.Duration(res.Nano()) + time.Millisecond
}

// unsettled is how long to wait until a change newest (unix nanoseconds) can no longer be hidden
// by another one in the same tick.
func (c clock) unsettled(newest, now int64) time.Duration {
	if c.tick == 0 {
		return 0
	}
	wait := c.tick - time.Duration(now-newest)
	return max(0, min(wait, c.tick))
}
