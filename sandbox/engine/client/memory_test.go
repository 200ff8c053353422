package client_test

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/garita-dev/garita/sandbox/sandboxtest"
)

// pss is what a process takes of memory in KiB, shared pages counted in parts.
func pss(pid int) int {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/smaps_rollup", pid))
	if err != nil {
		return 0
	}
	for line := range strings.Lines(string(text)) {
		if value, ok := strings.CutPrefix(line, "Pss:"); ok {
			n, _ := strconv.Atoi(strings.Fields(value)[0])
			return n
		}
	}
	return 0
}

// settle lets the engine give memory back, which it does two seconds after the last start.
func settle() { <-time.After(4 * time.Second) }

// BenchmarkTenSandboxes measures ten at once: until all have answered, and what everything but the
// servers takes of memory.
func BenchmarkTenSandboxes(b *testing.B) {
	e := startEngine(b)
	settle()
	idle := pss(e.PID())
	for b.Loop() {
		began := time.Now()
		var all sync.WaitGroup
		for range 10 {
			all.Go(func() {
				_, p, err := sandboxtest.TryStart(b, e, sandboxtest.Shell("exec cat"))
				if err != nil {
					b.Error(err)
					return
				}
				p.Line(b, "hello")
			})
		}
		all.Wait()
		b.ReportMetric(float64(time.Since(began).Milliseconds()), "ms/all-ready")
		settle()
		total := map[string]int{"idle-engine": idle}
		for _, pid := range descendantsOf(e.PID()) {
			total[statusOf(pid)["Name"]] += pss(pid)
		}
		for name, kib := range total {
			b.ReportMetric(float64(kib)/1024, "MiB/"+name)
		}
	}
}
