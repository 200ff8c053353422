package sqlite_test

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/garita-dev/garita/approvals"
	"github.com/garita-dev/garita/store"
)

// percentiles reports the middle and the 99th of 100 of what op took, and the processor time of the
// process for one, which a busy machine distorts less.
func percentiles(b *testing.B, op func(i int) error) {
	took := make([]time.Duration, 0, b.N)
	before := cpu(b)
	for i := 0; b.Loop(); i++ {
		began := time.Now()
		if err := op(i); err != nil {
			b.Fatal(err)
		}
		took = append(took, time.Since(began))
	}
	b.ReportMetric(float64((cpu(b)-before).Nanoseconds())/float64(len(took)), "cpu-ns")
	slices.Sort(took)
	b.ReportMetric(float64(took[len(took)/2].Nanoseconds()), "p50-ns")
	b.ReportMetric(float64(took[len(took)*99/100].Nanoseconds()), "p99-ns")
}

func cpu(b *testing.B) time.Duration {
	var u unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

func BenchmarkAppend(b *testing.B) {
	s := newPlace(b).open(b)
	e := store.Event{
		Kind: store.CallDecided, Principal: approvals.Principal{UID: 1000, Client: "claude"}, Session: "s0000000000000001",
		Server: "files", Body: []byte(`{"tool":"read_text_file","rule":"default rule 1 (reads pass)","reason":"It reads only."}`),
	}
	percentiles(b, func(i int) error {
		e.Call = approvals.CallID(fmt.Sprintf("c%016x", i*7919))
		_, err := s.Append(context.Background(), e)
		return err
	})
}

func BenchmarkAppendDurable(b *testing.B) {
	s := newPlace(b).open(b)
	e := store.Event{Kind: store.CallDecided, Server: "files", Body: []byte(`{"tool":"write_file"}`)}
	percentiles(b, func(int) error {
		_, err := s.AppendDurable(context.Background(), e)
		return err
	})
}

// BenchmarkReadCall is all a read costs the record: its decision and its end.
func BenchmarkReadCall(b *testing.B) {
	s := newPlace(b).open(b)
	ctx := context.Background()
	percentiles(b, func(i int) error {
		c := aCall(fmt.Sprintf("c%016x", i*7919), approvals.Read)
		d := approvals.Decision{Effect: approvals.Allow, Class: approvals.Read, Rule: approvals.RuleReads, Reason: "It reads only."}
		if err := s.RecordDecision(ctx, c, d); err != nil {
			return err
		}
		return s.Record(ctx, store.CallRecord{Call: c, Decision: d, Outcome: store.CallDone, Duration: time.Millisecond})
	})
}

// BenchmarkVerify checks a log of 20,000 events.
func BenchmarkVerify(b *testing.B) {
	p := newPlace(b)
	p.fill(b, 20_000)
	s := p.open(b)
	for b.Loop() {
		if v := verify(b, s); !v.OK {
			b.Fatal(v)
		}
	}
}

// BenchmarkCalls lists the newest 100 of 2,000 calls.
func BenchmarkCalls(b *testing.B) {
	s := newPlace(b).open(b)
	for i := range 2000 {
		c := aCall(fmt.Sprintf("c%016x", i*7919), approvals.Read)
		if err := s.Record(b.Context(), store.CallRecord{Call: c, Outcome: store.CallDone}); err != nil {
			b.Fatal(err)
		}
	}
	for b.Loop() {
		if calls, err := s.Calls(b.Context(), "", 100, ""); err != nil || len(calls) != 100 {
			b.Fatal(len(calls), err)
		}
	}
}
