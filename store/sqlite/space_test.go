package sqlite

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/containerd/errdefs"

	"github.com/garita-dev/garita/approvals"
	"github.com/garita-dev/garita/store"
)

func openAt(t *testing.T, dir string) *Store {
	t.Helper()
	s, err := Open(t.Context(), filepath.Join(dir, "garita.db"), Options{
		KeyFile: filepath.Join(dir, "audit.key"), HeadFile: filepath.Join(dir, "audit.head"),
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

func TestALowDisk(t *testing.T) {
	s := openAt(t, t.TempDir())
	free := int64(2 << 30)
	s.diskFree = func(string) (int64, error) { return free, nil }
	keeps := func(id approvals.CallID) bool {
		t.Helper()
		c := approvals.Call{ID: id, At: time.Now(), Arguments: []byte(`{"text":"` + strings.Repeat("x", 2000) + `"}`)}
		d := approvals.Decision{Effect: approvals.Allow, Class: approvals.Read}
		if err := s.RecordDecision(t.Context(), c, d); err != nil {
			t.Fatal(err)
		}
		if err := s.Record(t.Context(), store.CallRecord{Call: c, Decision: d, Outcome: store.CallDone}); err != nil {
			t.Fatal(err)
		}
		got, err := s.Call(t.Context(), id)
		if err != nil {
			t.Fatal(err)
		}
		return len(got.Call.Arguments) > 2000
	}
	t.Run("report_Y01", func(t *testing.T) {
		r := store.Retention{Free: 1 << 30}
		if err := s.Retain(t.Context(), r); err != nil {
			t.Fatal(err)
		}
		if !keeps("c1") {
			t.Error("with room, arguments are not kept")
		}
		free = 1<<30 - 1
		if err := s.Trim(t.Context()); err != nil {
			t.Fatal(err)
		}
		if space, err := s.Space(t.Context()); err != nil || !space.Low || space.Free != free {
			t.Errorf("got %+v, %v", space, err)
		}
		if keeps("c2") {
			t.Error("on a low disk, arguments are kept")
		}
		free = 3 << 30
		if err := s.Trim(t.Context()); err != nil {
			t.Fatal(err)
		}
		if !keeps("c3") {
			t.Error("with room again, arguments are not kept")
		}
	})
	events, err := s.Events(t.Context(), 0, 100, "")
	if err != nil {
		t.Fatal(err)
	}
	var kinds []string
	for _, e := range events {
		if strings.HasPrefix(string(e.Kind), "disk.") {
			kinds = append(kinds, string(e.Kind))
		}
	}
	if got := strings.Join(kinds, " "); got != "disk.low disk.recovered" {
		t.Errorf("recorded: %s", got)
	}
}

// TestADeathWhileDropping stops between what is told and what is done: the next trim goes on, and
// the record verifies throughout.
func TestADeathWhileDropping(t *testing.T) {
	dir := t.TempDir()
	s := openAt(t, dir)
	for range 8000 {
		if _, err := s.Append(t.Context(), store.Event{Kind: store.SessionOpened, Session: "s1", Body: []byte(`{}`)}); err != nil {
			t.Fatal(err)
		}
	}
	s.checkpoints.wait()
	good := func() {
		t.Helper()
		if v, err := s.Verify(t.Context()); err != nil || !v.OK {
			t.Errorf("got %+v, %v", v, err)
		}
	}
	s.retention.Keep = time.Nanosecond
	x, err := s.over(t.Context())
	if err != nil || x.seq < 7000 {
		t.Fatal(x.seq, err)
	}
	if err := s.tellDropped(t.Context(), x); err != nil {
		t.Fatal(err)
	}
	good()
	if done, err := s.dropSome(t.Context(), x.seq); err != nil || done {
		t.Fatal(done, err)
	}
	good()
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	s = openAt(t, dir)
	good()
	if err := s.Retain(t.Context(), store.Retention{Keep: time.Nanosecond}); err != nil {
		t.Fatal(err)
	}
	good()
	if v, err := s.Verify(t.Context()); err != nil || v.Records > 1000 {
		t.Errorf("got %+v, %v", v, err)
	}
}

func TestTheDiskCannotBeMeasured(t *testing.T) {
	s := openAt(t, t.TempDir())
	s.diskFree = func(string) (int64, error) { return 0, errors.New("gone") }
	if err := s.Trim(t.Context()); err == nil {
		t.Error("nothing was said")
	}
}

// What is written to a file that nobody will find again is not recorded.
func TestNothingIsRecordedInAFileThatWasTakenAway(t *testing.T) {
	dir := t.TempDir()
	s := openAt(t, dir)
	event := store.Event{Kind: "test", Body: []byte(`{}`)}
	if _, err := s.Append(t.Context(), event); err != nil {
		t.Fatal(err)
	}
	path, aside := s.path, filepath.Join(dir, "aside.db")
	for name, put := range map[string]func() error{
		"removed":  func() error { return nil },
		"replaced": func() error { return os.WriteFile(path, nil, 0o600) },
	} {
		if err := os.Rename(path, aside); err != nil {
			t.Fatal(err)
		}
		if err := put(); err != nil {
			t.Fatal(err)
		}
		if _, err := s.Append(t.Context(), event); !errdefs.IsUnavailable(err) {
			t.Errorf("%s: got %v, want an error of kind Unavailable", name, err)
		}
		if err := os.Rename(aside, path); err != nil {
			t.Fatal(err)
		}
		if _, err := s.Append(t.Context(), event); err != nil {
			t.Errorf("%s and put back: %v", name, err)
		}
	}
}
