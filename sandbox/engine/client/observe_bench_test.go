package client_test

import (
	"fmt"
	"testing"

	"github.com/garita-dev/garita/sandbox/sandboxtest"
)

// What looking costs a server: the same thousand lookups, watched and not.
func BenchmarkObservedLookups(b *testing.B) {
	for _, observed := range []bool{false, true} {
		b.Run(fmt.Sprintf("observed=%t", observed), func(b *testing.B) {
			e := startEngine(b)
			l := sandboxtest.Shell(`while read go; do n=0; while [ $n -lt 1000 ]; do [ -e /usr/none ]; n=$((n+1)); done; echo done; done`)
			l.Observe = observed
			_, p := sandboxtest.Start(b, e, l)
			for b.Loop() {
				p.Line(b, "go")
			}
		})
	}
}
