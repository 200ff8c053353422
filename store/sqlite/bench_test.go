package sqlite_test

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/garita-dev/garita/approvals"
	"github.com/garita-dev/garita/store"
)

// percentiles reports the middle and the 99th of 100 of what op took.
func percentiles(b *testing.B, op func(i int) error) {
	took := make([]time.Duration, 0, b.N)
	for i := 0; b.Loop(); i++ {
		began := time.Now()
		if err := op(i); err != nil {
			b.Fatal(err)
		}
		took = append(took, time.Since(began))
	}
	slices.Sort(took)
	b.ReportMetric(float64(took[len(took)/2].Nanoseconds()), "p50-ns")
	b.ReportMetric(float64(took[len(took)*99/100].Nanoseconds()), "p99-ns")
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
