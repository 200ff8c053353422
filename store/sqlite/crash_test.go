package sqlite_test

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"

	"github.com/garita-dev/garita/store"
	"github.com/garita-dev/garita/store/sqlite"
)

// TestCrash kills a process in the middle of its appends, again and again on one log. Whatever it
// was told is recorded must be there, and the log must verify.
func TestCrash(t *testing.T) {
	if dir := os.Getenv("GARITA_TEST_CRASH"); dir != "" {
		appendUntilKilled(place{dir})
	}
	p := newPlace(t)
	acknowledged := int64(0)
	for round := range 8 {
		acknowledged = killInTheMiddle(t, p, 40+round*53, acknowledged)
		v := check(t, p)
		if !v.OK || v.Records < acknowledged {
			t.Fatalf("after kill %d: %+v, though %d were acknowledged", round+1, v, acknowledged)
		}
		acknowledged = v.Records
	}
}

// check opens the record, verifies it and closes it.
func check(t *testing.T, p place) store.Verification {
	t.Helper()
	s, err := sqlite.Open(t.Context(), p.database(), p.options())
	if err != nil {
		t.Fatal(err)
	}
	v := verify(t, s)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	return v
}

// killInTheMiddle runs a child that appends, kills it after so many acknowledgements and returns the
// last Seq it acknowledged.
func killInTheMiddle(t *testing.T, p place, after int, last int64) int64 {
	t.Helper()
	child := exec.Command(os.Args[0], "-test.run=^TestCrash$")
	child.Env = append(os.Environ(), "GARITA_TEST_CRASH="+p.dir)
	child.Stderr = os.Stderr
	out, err := child.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(out)
	for n := 0; lines.Scan(); n++ {
		if seq, err := strconv.ParseInt(strings.TrimSpace(lines.Text()), 10, 64); err == nil {
			last = seq
		}
		if n == after {
			if err := child.Process.Kill(); err != nil {
				t.Fatal(err)
			}
		}
	}
	_ = child.Wait() // it was killed
	return last
}

func appendUntilKilled(p place) {
	s, err := sqlite.Open(context.Background(), p.database(), p.options())
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	for i := 0; ; i++ {
		write := s.Append
		if i%20 == 19 {
			write = s.AppendDurable
		}
		e, err := write(context.Background(), event(`{"text":"`+strings.Repeat("x", i%300)+`"}`))
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		fmt.Println(e.Seq)
	}
}
