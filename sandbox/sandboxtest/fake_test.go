package sandboxtest

import (
	"testing"

	"github.com/garita-dev/garita/sandbox"
)

func TestFake(t *testing.T) {
	Suite(t, func(testing.TB) sandbox.Runtime { return NewFake() })
}
