package client_test

import (
	"context"
	"testing"
	"time"

	"github.com/garita-dev/garita/sandbox/sandboxtest"
)

// BenchmarkFirstByte is a cold start: from the request to the first byte of the server's answer.
func BenchmarkFirstByte(b *testing.B) {
	e := startEngine(b)
	var start, first, stop time.Duration
	for b.Loop() {
		l := sandboxtest.Shell("exec cat")
		began := time.Now()
		i, p := sandboxtest.Start(b, e, l)
		started := time.Now()
		p.Line(b, "hello")
		answered := time.Now()
		if err := i.Stop(context.Background(), 0); err != nil {
			b.Fatal(err)
		}
		start += started.Sub(began)
		first += answered.Sub(began)
		stop += time.Since(answered)
	}
	n := time.Duration(b.N)
	b.ReportMetric(float64((start/n).Microseconds())/1000, "ms/start")
	b.ReportMetric(float64((first/n).Microseconds())/1000, "ms/first-byte")
	b.ReportMetric(float64((stop/n).Microseconds())/1000, "ms/stop")
}
