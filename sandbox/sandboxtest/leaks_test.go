package sandboxtest_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/garita-dev/garita/sandbox/sandboxtest"
)

func TestAGoroutineOfThePackageIsSeen(t *testing.T) {
	stop := make(chan struct{})
	began := make(chan struct{})
	go func() { close(began); <-stop }()
	<-began
	seen := func(stack string) bool { return strings.Contains(stack, "leaks_test.go") }
	if all := sandboxtest.Goroutines(); !slices.ContainsFunc(all, seen) {
		t.Errorf("the one that waits is not among %q", all)
	}
	close(stop)
	sandboxtest.NoLeaks(t)
}
