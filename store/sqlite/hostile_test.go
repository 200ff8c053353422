package sqlite_test

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/containerd/errdefs"
	"github.com/go-json-experiment/json/jsontext"
	"golang.org/x/sys/unix"

	"github.com/garita-dev/garita/approvals"
	"github.com/garita-dev/garita/store"
	"github.com/garita-dev/garita/store/sqlite"
)

// TestHostileTextIsRecordedAsOneObject has a call whose every text a server or client chose.
func TestHostileTextIsRecordedAsOneObject(t *testing.T) {
	for name, text := range map[string]string{
		"CRLF":          "a\r\n{\"kind\":\"call.finished\"}\r\n",
		"ANSI":          "\x1b[2J\x1b]0;x\x07",
		"a megabyte":    strings.Repeat("é", 1<<19),
		"invalid UTF-8": "a\xff\xc3b\xed\xa0\x80",
		"a zero":        "a\x00b",
		"quotes":        `","outcome":"done`,
	} {
		t.Run("attack_H60 "+name, func(t *testing.T) {
			s := newPlace(t).open(t)
			c := aCall("c1", approvals.Read)
			c.Tool, c.Label, c.Sentence, c.ClassWhy = text, text, text, text
			c.Arguments = []byte(`{"x":"` + text + `"}`)
			d := allowed
			d.Reason = text
			if err := s.RecordDecision(t.Context(), c, d); err != nil {
				t.Fatal(err)
			}
			record(t, s, store.CallRecord{Call: c, Decision: d, Outcome: store.CallFailed, Error: text, Findings: []string{text}})
			events, err := s.Events(t.Context(), 0, 10, "c1")
			if err != nil || len(events) != 2 {
				t.Fatal(len(events), err)
			}
			for _, e := range events {
				if !jsontext.Value(e.Body).IsValid() || len(e.Body) > 200<<10 || bytes.ContainsAny(e.Body, "\r\n\x1b\x00") {
					t.Errorf("%s: %d bytes: %.200q", e.Kind, len(e.Body), e.Body)
				}
				if len(text) > 1<<10 && !strings.Contains(string(e.Body), "bytes left out]") {
					t.Errorf("%s: it is not marked as cut", e.Kind)
				}
			}
			got, err := s.Call(t.Context(), "c1")
			if err != nil || got.Outcome != store.CallFailed {
				t.Errorf("read back as %q, %v", got.Outcome, err)
			}
			if v := verify(t, s); !v.OK {
				t.Errorf("got %+v", v)
			}
		})
	}
}

// TestADamagedRecord is D05: a record that cannot be read or written is told of, and no call passes.
func TestADamagedRecord(t *testing.T) {
	t.Run("report_D05 no insert", func(t *testing.T) {
		p := newPlace(t)
		s := p.open(t)
		p.tamper(t, `CREATE TRIGGER full BEFORE INSERT ON events BEGIN SELECT raise(ABORT, 'disk full'); END`)
		refuses(t, s)
	})
	t.Run("report_D05 bytes flipped", func(t *testing.T) {
		p := newPlace(t)
		p.fill(t, 2000)
		before := flip(t, p.database())
		v := opensAside(t, p, before)
		if v.Bad != 1 {
			t.Errorf("got %+v", v)
		}
	})
	t.Run("report_D05 no database at all", func(t *testing.T) {
		p := newPlace(t)
		p.fillTables(t)
		before := bytes.Repeat([]byte("garbage "), 1000)
		if err := os.WriteFile(p.database(), before, 0o600); err != nil {
			t.Fatal(err)
		}
		opensAside(t, p, before)
	})
	t.Run("report_D05 a demoted tool stays demoted", func(t *testing.T) {
		p := newPlace(t)
		p.fill(t, 2000)
		p.fillTables(t)
		b, err := os.ReadFile(p.database())
		if err != nil {
			t.Fatal(err)
		}
		copy(b[len(b)-20*4096:], bytes.Repeat([]byte{0x55}, 16*4096)) // events, at the end
		if err := os.WriteFile(p.database(), b, 0o600); err != nil {
			t.Fatal(err)
		}
		s, err := sqlite.Open(t.Context(), p.database(), p.options())
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		if len(s.Demotions("")) != 1 || len(s.Tokens()) != 1 {
			t.Errorf("demotions %v, tokens %v, damage %q", s.Demotions(""), s.Tokens(), s.Damage())
		}
		if v, err := s.Verify(t.Context()); err == nil && v.OK {
			t.Error("it verifies")
		}
	})
	t.Run("report_D05 the log ahead truncated", func(t *testing.T) {
		p := newPlace(t)
		s := p.open(t)
		for range 50 {
			mustAppend(t, s, `{}`)
		}
		// As a death leaves it: copied while open, and the copy's log cut in the middle of a transaction.
		q := newPlace(t)
		for _, name := range []string{"garita.db", "garita.db-wal", "audit.key", "audit.head"} {
			b, err := os.ReadFile(filepath.Join(p.dir, name))
			if err != nil {
				t.Fatal(err)
			}
			if strings.HasSuffix(name, "-wal") {
				b = b[:len(b)*2/3]
			}
			if err := os.WriteFile(filepath.Join(q.dir, name), b, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		if v := verify(t, q.open(t)); v.OK || !strings.Contains(v.Problem, "missing") {
			t.Errorf("got %+v", v)
		}
	})
}

// TestAFullDisk bounds how long a file this process may write, which is a full disk to SQLite.
func TestAFullDisk(t *testing.T) {
	t.Run("report_D05", func(t *testing.T) {
		s := newPlace(t).open(t)
		mustAppend(t, s, `{}`)
		undo := boundFiles(t, 64<<10)
		var err error
		for i := 0; err == nil && i < 1000; i++ {
			_, err = s.Append(t.Context(), event(`{"text":"`+strings.Repeat("x", 1000)+`"}`))
		}
		if !errdefs.IsUnavailable(err) {
			t.Errorf("got %v, want Unavailable", err)
		}
		refuses(t, s)
		undo()
		mustAppend(t, s, `{}`)
		if v := verify(t, s); !v.OK {
			t.Errorf("after there was room again: %+v", v)
		}
	})
}

// refuses checks that no call passes and that it is told of as Unavailable.
func refuses(t *testing.T, s *sqlite.Store) {
	t.Helper()
	for _, c := range []approvals.Class{approvals.Read, approvals.Write} {
		call := aCall("c-refused-"+string(c), c)
		call.Arguments = []byte(`{"text":"` + strings.Repeat("x", 4000) + `"}`)
		err := s.RecordDecision(context.Background(), call, approvals.Decision{Effect: approvals.Allow, Class: c})
		if !errdefs.IsUnavailable(err) {
			t.Errorf("%s: got %v, want Unavailable", c, err)
		}
	}
	if err := s.RecordAsked(context.Background(), aRequest("r-refused")); !errdefs.IsUnavailable(err) {
		t.Errorf("a question: got %v, want Unavailable", err)
	}
}

// boundFiles sets how long a file this process may write.
func boundFiles(t *testing.T, bytes uint64) (undo func()) {
	t.Helper()
	var before unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_FSIZE, &before); err != nil {
		t.Fatal(err)
	}
	if err := unix.Setrlimit(unix.RLIMIT_FSIZE, &unix.Rlimit{Cur: bytes, Max: before.Max}); err != nil {
		t.Fatal(err)
	}
	undo = func() { _ = unix.Setrlimit(unix.RLIMIT_FSIZE, &before) }
	t.Cleanup(undo)
	return undo
}

// opensAside opens a record that is broken: the damage is put aside as it is and told of, and calls
// are recorded again.
func opensAside(t *testing.T, p place, before []byte) store.Verification {
	t.Helper()
	s := p.open(t)
	aside, err := os.ReadFile(s.Damage())
	if err != nil || !bytes.Equal(aside, before) {
		t.Fatalf("put aside as %q, %d bytes of %d, %v", s.Damage(), len(aside), len(before), err)
	}
	if err := s.RecordDecision(t.Context(), aCall("c1", approvals.Write), allowed); err != nil {
		t.Error(err)
	}
	v := verify(t, s)
	if v.OK || !strings.Contains(v.Notice, "damaged") {
		t.Errorf("got %+v", v)
	}
	return v
}

// flip changes bytes in every page but the first.
func flip(t *testing.T, path string) []byte {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for i := 4096 + 100; i < len(b); i += 4096 {
		b[i] ^= 0x55
		b[i+2000] ^= 0x55
	}
	if err := os.WriteFile(path, b, 0o600); err != nil {
		t.Fatal(err)
	}
	return b
}
