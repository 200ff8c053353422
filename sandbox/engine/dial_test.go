package engine

import (
	"net/netip"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"
)

func TestParseListeners(t *testing.T) {
	const head = "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n"
	for name, test := range map[string]struct {
		table string
		want  []string
	}{
		"nothing":                      {head, nil},
		"one that listens":             {head + "   0: 0100007F:1F90 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 1\n", []string{"127.0.0.1:8080"}},
		"any address":                  {head + "   0: 00000000:0BB8 00000000:0000 0A\n", []string{"0.0.0.0:3000"}},
		"version six":                  {head + "   0: 00000000000000000000000001000000:0BB8 00000000000000000000000000000000:0000 0A\n", []string{"[::1]:3000"}},
		"connections are not told":     {head + "   0: 0100007F:1F90 0100007F:0BB8 01\n", nil},
		"lines that cannot be read":    {head + "   0: 0100007F 00000000:0000 0A\n   1: XX00007F:1F90 0:0 0A\n   2: 01:1F90 0:0 0A\n", nil},
		"no more than a person reads":  {head + strings.Repeat("   0: 0100007F:1F90 00000000:0000 0A\n", 99), repeated("127.0.0.1:8080", maxListeners)},
		"a table that is cut or empty": {"   0: 01", nil},
	} {
		t.Run(name, func(t *testing.T) {
			var got []string
			for _, at := range parseListeners(strings.NewReader(test.table)) {
				got = append(got, at.String())
			}
			if d := cmp.Diff(test.want, got); d != "" {
				t.Errorf("-want +got:\n%s", d)
			}
		})
	}
}

func repeated(s string, n int) (all []string) {
	for range n {
		all = append(all, s)
	}
	return all
}

func TestThreadsThatEnterANetworkAreNotUsedAgain(t *testing.T) {
	seen := make(chan int, 50)
	for range cap(seen) {
		go onThreadThatEnds(func() { seen <- unix.Gettid() })
	}
	for range cap(seen) {
		id := <-seen
		if id == unix.Getpid() {
			t.Error("the first thread was used, which never ends")
		}
	}
}

func FuzzParseListeners(f *testing.F) {
	f.Add("   0: 0100007F:1F90 00000000:0000 0A\n")
	f.Fuzz(func(t *testing.T, table string) {
		for _, at := range parseListeners(strings.NewReader(table)) {
			if !at.IsValid() || at.Addr() == (netip.Addr{}) {
				t.Errorf("%q gives %v", table, at)
			}
		}
	})
}
