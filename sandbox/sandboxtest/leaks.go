package sandboxtest

import (
	"fmt"
	"net/http"
	"os"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"
)

// Main is the TestMain of a package whose goroutines have to end: it runs the tests, ends the process, and
// fails it when half a minute later goroutines are left that run the package's code.
func Main(m *testing.M) {
	code := m.Run()
	if left := leaked(callersPackage()); code == 0 && len(left) > 0 {
		fmt.Fprintln(os.Stderr, "goroutines are left:\n"+strings.Join(left, "\n\n"))
		code = 1
	}
	os.Exit(code)
}

// NoLeaks fails the test when half a minute later goroutines are left that run the code of the package
// that calls it, other than tests.
func NoLeaks(t testing.TB) {
	t.Helper()
	if left := leaked(callersPackage()); len(left) > 0 {
		t.Errorf("goroutines are left:\n%s", strings.Join(left, "\n\n"))
	}
}

// Goroutines are the stacks of goroutines that run the code of the package that calls it, other than tests.
func Goroutines() []string { return running(callersPackage()) }

// leaked polls: one that has done its last work may still be on its way out.
func leaked(pkg string) []string {
	if c, ok := http.DefaultTransport.(*http.Transport); ok {
		c.CloseIdleConnections()
	}
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	left := running(pkg)
	for deadline := time.Now().Add(30 * time.Second); len(left) > 0 && time.Now().Before(deadline); <-tick.C {
		left = running(pkg)
	}
	return left
}

// running are the stacks of goroutines in which pkg's code is, or which it has started.
func running(pkg string) []string {
	buf := make([]byte, 4<<20)
	stacks := strings.Split(string(buf[:runtime.Stack(buf, true)]), "\n\n")
	return slices.DeleteFunc(stacks, func(stack string) bool {
		ours := strings.Contains(stack, pkg+".") || strings.Contains(stack, pkg+"_test.")
		return !ours || strings.Contains(stack, "sandboxtest.running") ||
			strings.Contains(stack, "testing.tRunner")
	})
}

// callersPackage is the import path of who called the function that calls it; of tests in a package of
// their own, that of what they test.
func callersPackage() string {
	pc, _, _, _ := runtime.Caller(2)
	name := runtime.FuncForPC(pc).Name()
	folder, last := name[:strings.LastIndex(name, "/")+1], name[strings.LastIndex(name, "/")+1:]
	base, _, _ := strings.Cut(last, ".")
	return folder + strings.TrimSuffix(base, "_test")
}
