// Package trim gives memory back to the system that starting needed and serving does not: most of a
// large program's pages are read once, by what runs before main.
package trim

import (
	"os"
	"runtime/debug"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// SettleAfter is how long after the last start or end memory is given back. Measured: it takes a
// third off the engine, half off the daemon and two thirds off the wall.
const SettleAfter = 2 * time.Second

// Settle gives memory back in SettleAfter, and again whenever the timer is reset. The caller stops it.
func Settle() *time.Timer { return time.AfterFunc(SettleAfter, Memory) }

// Memory gives unused memory back now: the heap's, and the pages of the program itself. Those are read
// again from the page cache where used.
func Memory() {
	debug.FreeOSMemory()
	maps, err := os.ReadFile("/proc/self/smaps")
	if err != nil {
		return
	}
	self, err := os.Executable()
	if err != nil {
		return
	}
	for _, r := range cleanRanges(string(maps), self) {
		_, _, _ = unix.Syscall(unix.SYS_MADVISE, r.start, r.size, unix.MADV_DONTNEED) // a hint; nothing depends on it
	}
}

type memoryRange struct{ start, size uintptr }

// cleanRanges finds, in the text of smaps, the read-only mappings of file that hold no page that was
// ever written to: a dynamic linker's own are read-only too, and would be lost.
func cleanRanges(smaps, file string) []memoryRange {
	var ranges []memoryRange
	var current memoryRange
	for line := range strings.Lines(smaps) {
		fields := strings.Fields(line)
		switch {
		case len(fields) < 2:
		case strings.Contains(fields[0], "-"): // the first line of a mapping
			current = memoryRange{}
			if len(fields) == 6 && fields[5] == file && !strings.Contains(fields[1], "w") {
				current = parseRange(fields[0])
			}
		case fields[0] == "Anonymous:" && fields[1] == "0" && current.size > 0:
			ranges = append(ranges, current)
		}
	}
	return ranges
}

func parseRange(text string) memoryRange {
	from, to, _ := strings.Cut(text, "-")
	start, err1 := strconv.ParseUint(from, 16, 64)
	end, err2 := strconv.ParseUint(to, 16, 64)
	if err1 != nil || err2 != nil || start >= end {
		return memoryRange{}
	}
	return memoryRange{uintptr(start), uintptr(end - start)}
}
