package sqlite_test

import (
	"context"
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"github.com/garita-dev/garita/approvals"
	"github.com/garita-dev/garita/store"
	"github.com/garita-dev/garita/store/sqlite"
)

// place is where one record's three files lie.
type place struct{ dir string }

func newPlace(t testing.TB) place { return place{t.TempDir()} }

func (p place) database() string { return filepath.Join(p.dir, "garita.db") }

func (p place) options() sqlite.Options {
	return sqlite.Options{KeyFile: filepath.Join(p.dir, "audit.key"), HeadFile: filepath.Join(p.dir, "audit.head")}
}

// open opens the record and closes it when the test ends.
func (p place) open(t testing.TB) *sqlite.Store {
	t.Helper()
	s, err := sqlite.Open(context.Background(), p.database(), p.options())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	return s
}

// fill appends n events and closes the record.
func (p place) fill(t testing.TB, n int) {
	t.Helper()
	s := p.open(t)
	for i := range n {
		mustAppend(t, s, fmt.Sprintf(`{"n":%d}`, i+1))
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
}

func mustAppend(t testing.TB, s *sqlite.Store, body string) store.Event {
	t.Helper()
	e, err := s.Append(context.Background(), store.Event{Kind: store.SessionOpened, Server: "files", Body: []byte(body)})
	if err != nil {
		t.Fatal(err)
	}
	return e
}

func verify(t testing.TB, s *sqlite.Store) store.Verification {
	t.Helper()
	v, err := s.Verify(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func aCall(id string, class approvals.Class) approvals.Call {
	return approvals.Call{
		ID: approvals.CallID(id), Session: "s0000000000000001", Principal: approvals.Principal{UID: 1000, Client: "claude-desktop"},
		Label: "Claude", Server: "files", Spec: "sha256:spec", Instance: "i0000000000000001", Workspace: "w0000000000000001",
		Tool: "read_text_file", Pin: "sha256:pin", Arguments: []byte(`{"path":"/home/ana/shop/a.txt"}`),
		Class: class, ClassWhy: "its name says so", Sentence: "read a.txt", At: time.Now().Truncate(time.Microsecond).UTC(),
	}
}
