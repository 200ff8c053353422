package trim

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestOnlyWhatWasNeverWrittenIsGivenBack(t *testing.T) {
	const smaps = `00400000-0098b000 r-xp 00000000 fe:00 1          /bin/garita-engine
Size:               5676 kB
Anonymous:             0 kB
VmFlags: rd ex mr mw me
0098b000-01000000 r--p 0058b000 fe:00 1          /bin/garita-engine
Anonymous:             0 kB
01000000-01001000 r--p 00c00000 fe:00 1          /bin/garita-engine
Anonymous:             4 kB
01001000-01100000 rw-p 00c00000 fe:00 1          /bin/garita-engine
Anonymous:             0 kB
c000000000-c000400000 r--p 00000000 00:00 0
Anonymous:             0 kB
7f0000000000-7f0000001000 r-xp 00000000 fe:00 2  /lib/libc.so.6
Anonymous:             0 kB
`
	want := []memoryRange{{0x400000, 0x58b000}, {0x98b000, 0x675000}}
	got := cleanRanges(smaps, "/bin/garita-engine")
	if diff := cmp.Diff(got, want, cmp.AllowUnexported(memoryRange{})); diff != "" {
		t.Error(diff)
	}
}
