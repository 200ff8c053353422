package main

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"time"
)

// sample is measured times.
type sample []time.Duration

// at is the p-th percentile, 0 for an empty sample.
func (s sample) at(p int) time.Duration {
	if len(s) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(s))
	return sorted[min(len(sorted)-1, len(sorted)*p/100)]
}

func ms(d time.Duration) string { return fmt.Sprintf("%.3g ms", float64(d)/float64(time.Millisecond)) }

func mb(bytes int64) string { return fmt.Sprintf("%.1f MB", float64(bytes)/1e6) }

func ratio(a, b time.Duration) float64 {
	if b == 0 {
		return 0
	}
	return float64(a) / float64(b)
}

// note tells a person who waits how far it is; the table goes to standard output.
func note(format string, args ...any) { fmt.Fprintf(os.Stderr, format+"\n", args...) }

// machine says what this was measured on.
func machine() {
	fmt.Printf("%s · %s · %d processors · kernel %s · %s · node %s · load %s\n", time.Now().Format("2006-01-02"),
		value("/proc/cpuinfo", "model name"), runtime.NumCPU(), firstWord("/proc/sys/kernel/osrelease"), runtime.Version(),
		output("node", "--version"), firstWord("/proc/loadavg"))
}

func value(file, name string) string {
	f, err := os.Open(file)
	if err != nil {
		return "unknown"
	}
	defer f.Close()
	for lines := bufio.NewScanner(f); lines.Scan(); {
		if key, v, ok := strings.Cut(lines.Text(), ":"); ok && strings.TrimSpace(key) == name {
			return strings.TrimSpace(v)
		}
	}
	return "unknown"
}

func firstWord(file string) string {
	text, _ := os.ReadFile(file)
	word, _, _ := strings.Cut(strings.TrimSpace(string(text)), " ")
	return word
}

func output(name string, args ...string) string {
	out, err := exec.Command(name, args...).Output()
	if err != nil {
		return "missing"
	}
	return strings.TrimSpace(string(out))
}
