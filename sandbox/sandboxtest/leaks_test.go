package sandboxtest_test

import (
	"testing"

	"github.com/garita-dev/garita/sandbox/sandboxtest"
)

func TestAGoroutineOfThePackageIsSeen(t *testing.T) {
	stop := make(chan struct{})
	began := make(chan struct{})
	go func() { close(began); <-stop }()
	<-began
	if n := len(sandboxtest.Goroutines()); n != 1 {
		t.Errorf("%d goroutines are seen, want the one that waits", n)
	}
	close(stop)
	sandboxtest.NoLeaks(t)
}
