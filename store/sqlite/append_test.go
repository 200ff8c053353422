package sqlite_test

import (
	"context"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/containerd/errdefs"
	"github.com/google/go-cmp/cmp"

	"github.com/garita-dev/garita/approvals"
	"github.com/garita-dev/garita/store"
)

func event(body string) store.Event {
	return store.Event{Kind: store.SessionOpened, Body: []byte(body)}
}

func TestAppendReturnsWhatEventsLists(t *testing.T) {
	s := newPlace(t).open(t)
	var want []store.Event
	for i := range 5 {
		e := store.Event{
			Kind: store.CallDecided, Principal: approvals.Principal{UID: 1000, Client: "c"}, Session: "s1", Server: "files",
			Call: approvals.CallID(fmt.Sprintf("c%d", i%2)), Body: []byte(`{"text":"` + strings.Repeat("é", i) + `"}`),
			At: time.Date(2026, 11, 29, 1, 2, 3, 456789, time.Local),
		}
		got, err := s.AppendDurable(t.Context(), e)
		if err != nil {
			t.Fatal(err)
		}
		want = append(want, got)
	}
	got, err := s.Events(t.Context(), 0, 100, "")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("events (-appended +listed):\n%s", diff)
	}
	got, err = s.Events(t.Context(), 1, 1, "c0")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want[2:3], got); diff != "" {
		t.Errorf("one call's events (-want +got):\n%s", diff)
	}
	if want[0].Seq != 1 || want[1].Prev != want[0].Hash || s.LastSeq() != 5 {
		t.Errorf("the chain does not link: %+v", want[:2])
	}
}

func TestAppendRefusesWhatIsNoObject(t *testing.T) {
	s := newPlace(t).open(t)
	for _, body := range []string{"", "null", "[]", `{"a":1`, "{}{}", "{\"a\":\"\xff\"}", `{"a":1,"a":2}`, `{"a":"` + strings.Repeat("x", 1<<20) + `"}`} {
		if _, err := s.Append(t.Context(), event(body)); !errdefs.IsInvalidArgument(err) {
			t.Errorf("body %.20q: got %v, want InvalidArgument", body, err)
		}
	}
}

func TestAppendFailsClosed(t *testing.T) {
	p := newPlace(t)
	s := p.open(t)
	mustAppend(t, s, `{}`)
	t.Run("when the caller has gone", func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if _, err := s.Append(ctx, event(`{}`)); err == nil {
			t.Error("appended for nobody")
		}
	})
	t.Run("when the table cannot be written", func(t *testing.T) {
		p.tamper(t, `CREATE TRIGGER full BEFORE INSERT ON events BEGIN SELECT raise(ABORT, 'disk full'); END`)
		for _, c := range []approvals.Class{approvals.Read, approvals.Write} {
			err := s.RecordDecision(t.Context(), aCall("c1", c), approvals.Decision{Effect: approvals.Allow, Class: c})
			if !errdefs.IsUnavailable(err) {
				t.Errorf("%s: got %v, want Unavailable", c, err)
			}
		}
		p.tamper(t, `DROP TRIGGER full`)
		mustAppend(t, s, `{}`)
		if v := verify(t, s); !v.OK || v.Records != 2 {
			t.Errorf("after the disk had room again: %+v", v)
		}
	})
	t.Run("when closed", func(t *testing.T) {
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		if _, err := s.Append(t.Context(), event(`{}`)); !errdefs.IsUnavailable(err) {
			t.Errorf("got %v, want Unavailable", err)
		}
	})
}

func TestAppendsMayOverlap(t *testing.T) {
	s := newPlace(t).open(t)
	var writers sync.WaitGroup
	for w := range 8 {
		writers.Go(func() {
			for i := range 200 {
				e := event(fmt.Sprintf(`{"writer":%d,"n":%d}`, w, i))
				var err error
				if i%50 == 0 {
					_, err = s.AppendDurable(t.Context(), e)
				} else {
					_, err = s.Append(t.Context(), e)
				}
				if err != nil {
					t.Error(err)
				}
			}
		})
	}
	for range 5 {
		if v := verify(t, s); !v.OK {
			t.Errorf("while writing: %+v", v)
		}
	}
	writers.Wait()
	if v := verify(t, s); !v.OK || v.Records != 1600 {
		t.Errorf("afterwards: %+v", v)
	}
}

func TestFilesArePrivate(t *testing.T) {
	p := newPlace(t)
	s := p.open(t)
	mustAppend(t, s, `{}`)
	entries, err := os.ReadDir(p.dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		info, err := e.Info()
		if err != nil {
			t.Fatal(err)
		}
		if info.Mode().Perm()&0o077 != 0 {
			t.Errorf("%s has mode %v", e.Name(), info.Mode())
		}
	}
	if len(entries) < 4 { // database, its log, key, head
		t.Errorf("only %d files", len(entries))
	}
}
