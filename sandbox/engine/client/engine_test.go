package client_test

import (
	"context"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/garita-dev/garita/sandbox/engine/client"
	"github.com/garita-dev/garita/sandbox/sandboxtest"
)

// startEngine starts an engine whose data is the test's own.
func startEngine(t testing.TB) *client.Engine {
	t.Helper()
	sandboxtest.Need(t, sandboxtest.RootlessContainerd)
	return engineIn(t, t.TempDir())
}

// theEngine is one engine for the tests that leave it as they found it; TestMain closes it.
var theEngine struct {
	sync.Mutex
	*client.Engine
}

func shared(t testing.TB) *client.Engine {
	t.Helper()
	sandboxtest.Need(t, sandboxtest.RootlessContainerd)
	theEngine.Lock()
	defer theEngine.Unlock()
	if theEngine.Engine == nil {
		data, err := os.MkdirTemp("", "garita-engine-test")
		if err != nil {
			t.Fatal(err)
		}
		e, err := open(client.Config{Data: data})
		if err != nil {
			t.Fatal(err)
		}
		theEngine.Engine = e
	}
	return theEngine.Engine
}

func closeShared() {
	if theEngine.Engine != nil {
		_ = theEngine.Close()
	}
	left, _ := filepath.Glob(filepath.Join(os.TempDir(), "garita-engine-test*"))
	for _, dir := range left {
		_ = os.RemoveAll(dir) // another user's stay
	}
}

func open(c client.Config) (*client.Engine, error) {
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	c.Log, c.Program = os.Stderr, filepath.Join(sandboxtest.Bin(), "garita-engine")
	return client.StartEngine(ctx, c)
}

func engineIn(t testing.TB, data string) *client.Engine {
	t.Helper()
	return engineWith(t, client.Config{Data: data})
}

func engineWith(t testing.TB, c client.Config) *client.Engine {
	t.Helper()
	e, err := open(c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := e.Close(); err != nil {
			t.Errorf("close the engine: %v", err)
		}
	})
	return e
}

func TestAServerAnswersOverRealPipes(t *testing.T) {
	e := shared(t)
	i, p := sandboxtest.Start(t, e, sandboxtest.Shell("exec cat"))
	if got := p.Line(t, "hello"); got != "hello" {
		t.Errorf("got %q, want hello", got)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	if err := i.Stop(ctx, time.Second); err != nil {
		t.Fatal(err)
	}
	exit, err := i.Wait(ctx)
	if err != nil || exit.Code != 143 {
		t.Errorf("got %+v, %v; want the code of TERM", exit, err)
	}
	s, err := e.Sweep(ctx)
	if err != nil || !s.Zero() {
		t.Errorf("left behind: %+v, %v", s, err)
	}
}
