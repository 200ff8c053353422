package client_test

import (
	"testing"

	"github.com/garita-dev/garita/sandbox"
	"github.com/garita-dev/garita/sandbox/sandboxtest"
)

func TestEngineIsARuntime(t *testing.T) {
	sandboxtest.Suite(t, func(t testing.TB) sandbox.Runtime { return shared(t) })
}
