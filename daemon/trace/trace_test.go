package trace

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

func redact(b []byte) []byte { return bytes.ReplaceAll(b, []byte("hunter2"), []byte("[redacted]")) }

func TestNothingIsKeptUntilItIsSwitchedOn(t *testing.T) {
	l := New(redact)
	r := l.Open(Session{ID: "s1", Server: "files"})
	r.Record(FromClient, []byte(`{"a":1}`))
	l.Switch(true)
	r.Record(FromClient, []byte(`{"password":"hunter2"}`))
	r.Record(ToServer, []byte(`{"b":2}`))
	lines := r.Lines(t.Context(), 0)
	if len(lines) != 2 || lines[0].Text != `{"password":"[redacted]"}` || lines[0].Dir != FromClient || lines[0].Size != 22 || lines[1].Seq != 2 {
		t.Errorf("%+v", lines)
	}
	l.Switch(false)
	r.End()
	if lines := r.Lines(t.Context(), 0); len(lines) != 0 {
		t.Errorf("after it was switched off: %+v", lines)
	}
}

func TestARingIsBounded(t *testing.T) {
	l := New(redact)
	l.Switch(true)
	r := l.Open(Session{ID: "s1"})
	for range 2 * ringMessages {
		r.Record(FromServer, []byte("{}"))
	}
	if lines := r.Lines(t.Context(), 0); len(lines) != ringMessages || lines[0].Seq != ringMessages+1 {
		t.Errorf("%d lines from %d", len(lines), lines[0].Seq)
	}
	long := []byte(strings.Repeat("ü", textBytes))
	for range ringMessages {
		r.Record(FromServer, long)
	}
	if r.bytes > ringBytes || len(r.lines) == 0 || len(r.lines[0].Text) > textBytes+len("…") {
		t.Errorf("%d bytes in %d lines", r.bytes, len(r.lines))
	}
	r.Record(FromServer, bytes.Repeat([]byte("x"), redactBytes+1))
	if last := r.lines[len(r.lines)-1]; last.Text != "" || last.Size != redactBytes+1 {
		t.Errorf("a message too long to redact: %d bytes, %d kept", last.Size, len(last.Text))
	}
}

func TestSessionsThatEndedAreKeptForAWhile(t *testing.T) {
	l := New(redact)
	lasting := l.Open(Session{ID: "lasting"})
	for n := range 2 * endedSessions {
		l.Open(Session{ID: fmt.Sprint(n)}).End()
	}
	all := l.Sessions()
	if len(all) != endedSessions+1 || all[len(all)-1].ID != "lasting" || all[0].Ended.IsZero() {
		t.Errorf("%d sessions, the oldest %s", len(all), all[len(all)-1].ID)
	}
	if r, ok := l.Session("lasting"); !ok || r != lasting {
		t.Error("it is not found")
	}
	if _, ok := l.Session("0"); ok {
		t.Error("the first that ended is still there")
	}
}

func TestATraceIsFollowed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := New(redact)
		l.Switch(true)
		r := l.Open(Session{ID: "s1"})
		got := make(chan []Line)
		read := func(ctx context.Context, seq int64) { got <- r.Lines(ctx, seq) }
		go read(t.Context(), 0)
		synctest.Wait()
		r.Record(ToClient, []byte("{}"))
		if lines := <-got; len(lines) != 1 {
			t.Errorf("%+v", lines)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		go read(ctx, 1)
		if lines := <-got; len(lines) != 0 {
			t.Errorf("%+v", lines)
		}
		go read(t.Context(), 1)
		synctest.Wait()
		r.End()
		if lines := <-got; len(lines) != 0 {
			t.Errorf("%+v", lines)
		}
	})
}

func TestANilRingDoesNothing(t *testing.T) {
	var r *Ring
	r.Record(FromClient, nil)
	r.End()
	if r.Lines(t.Context(), 0) != nil {
		t.Error("it has lines")
	}
}

func TestRecordingCostsNothingWhileItIsOff(t *testing.T) {
	r, raw := New(redact).Open(Session{ID: "s1"}), []byte("{}")
	if n := testing.AllocsPerRun(100, func() { r.Record(FromClient, raw) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}
