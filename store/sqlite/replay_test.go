package sqlite_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/garita-dev/garita/approvals"
	"github.com/garita-dev/garita/store"
)

func TestCallsSinceTellsThemWithTheirArguments(t *testing.T) {
	s := newPlace(t).open(t)
	start := time.Date(2026, 11, 1, 12, 0, 0, 0, time.UTC)
	for i, id := range []string{"c1", "c2", "c3"} {
		c := aCall(id, approvals.Read)
		c.At, c.Arguments = start.Add(time.Duration(i)*time.Hour), []byte(`{"password":"x","n":1}`)
		record(t, s, store.CallRecord{Call: c, Decision: allowed, Outcome: store.CallDone})
	}
	var got []string
	err := s.CallsSince(t.Context(), start.Add(time.Hour), func(r store.CallRecord) {
		got = append(got, string(r.Call.ID)+" "+string(r.Call.Arguments))
	})
	if err != nil {
		t.Fatal(err)
	}
	want := []string{`c2 {"password":"[redacted]","n":1}`, `c3 {"password":"[redacted]","n":1}`}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
