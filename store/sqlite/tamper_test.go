package sqlite_test

import (
	"database/sql"
	"fmt"
	"os"
	"strings"
	"testing"

	_ "github.com/mattn/go-sqlite3"

	"github.com/garita-dev/garita/store/sqlite"
)

// tamper changes the database behind the store's back.
func (p place) tamper(t testing.TB, statements ...string) {
	t.Helper()
	db, err := sql.Open("sqlite3", p.database())
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	for _, s := range statements {
		if _, err := db.Exec(s); err != nil {
			t.Fatalf("%s: %v", s, err)
		}
	}
}

func TestVerifyNamesTheRecord(t *testing.T) {
	const records = 600 // two anchors on the way, one at the end
	for _, tc := range []struct {
		name   string
		tamper []string
		after  int // events appended after the tampering
		bad    int64
		says   string
	}{
		{"a body is edited", []string{`UPDATE events SET body = '{"n":0}' WHERE seq = 300`}, 0, 300, "changed"},
		{"a time is edited", []string{`UPDATE events SET at = at + 1 WHERE seq = 1`}, 0, 1, "changed"},
		{"the newest is edited", []string{`UPDATE events SET server = 'other' WHERE seq = 600`}, 0, 600, "changed"},
		{"two change places", []string{
			`UPDATE events SET seq = -1 WHERE seq = 41`, `UPDATE events SET seq = 41 WHERE seq = 47`, `UPDATE events SET seq = 47 WHERE seq = -1`,
		}, 0, 41, "another one's place"},
		{"one in the middle is deleted", []string{`DELETE FROM events WHERE seq = 77`}, 0, 77, "missing"},
		{"the first is deleted", []string{`DELETE FROM events WHERE seq = 1`}, 0, 1, "missing"},
		{"the tail is cut", []string{`DELETE FROM events WHERE seq > 590`}, 0, 591, "missing"},
		{"the newest is cut", []string{`DELETE FROM events WHERE seq = 600`}, 0, 600, "missing"},
		{"the tail is cut with its signatures", []string{`DELETE FROM events WHERE seq > 200`, `DELETE FROM anchors WHERE seq > 200`}, 0, 201, "missing"},
		{"the tail is cut and the log goes on", []string{`DELETE FROM events WHERE seq > 590`}, 30, 591, "missing"},
		{"the newest is cut and the log goes on", []string{`DELETE FROM events WHERE seq = 600`}, 1, 600, "missing"},
		{"everything is deleted", []string{`DELETE FROM events`, `DELETE FROM anchors`, `DELETE FROM meta`}, 0, 1, "missing"},
		{"everything is deleted and the log goes on", []string{`DELETE FROM events`, `DELETE FROM anchors`, `DELETE FROM meta`}, 5, 1, "missing"},
		{"one is added", []string{
			`INSERT INTO events SELECT seq+1, at, kind, uid, client, session, server, call, body, hash, prev, token FROM events WHERE seq = 600`,
		}, 0, 601, ""},
		{"a signature is deleted", []string{`DELETE FROM anchors WHERE seq = 512`}, 0, 600, "signature before it, at 512"},
		{"the newest signature is deleted", []string{`DELETE FROM anchors WHERE seq = 600`}, 0, 600, "signature is missing"},
		{"a signature is forged", []string{`UPDATE anchors SET sig = randomblob(64) WHERE seq = 512`}, 0, 512, "signature is false"},
		{"a hash is cut short", []string{`UPDATE events SET hash = x'00' WHERE seq = 9`}, 0, 9, "cannot be read"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			p := newPlace(t)
			p.fill(t, records)
			p.tamper(t, tc.tamper...)
			if tc.after > 0 {
				p.fill(t, tc.after)
			}
			v := verify(t, p.open(t))
			if v.OK || v.Bad != tc.bad || !strings.Contains(v.Problem, tc.says) || !strings.Contains(v.Problem, fmt.Sprint(tc.bad)) {
				t.Errorf("got ok %v, bad %d, problem %q; want bad %d, a problem that says %q", v.OK, v.Bad, v.Problem, tc.bad, tc.says)
			}
			if v.Records > tc.bad {
				t.Errorf("%d records verified, though %d is bad", v.Records, tc.bad)
			}
		})
	}
}

func TestVerifyMissesTheHeadFile(t *testing.T) {
	for name, harm := range map[string]func(head string) error{
		"taken away": os.Remove,
		"emptied":    func(head string) error { return os.Truncate(head, 0) },
		"overwritten": func(head string) error {
			return os.WriteFile(head, make([]byte, 1024), 0o600)
		},
	} {
		t.Run(name, func(t *testing.T) {
			p := newPlace(t)
			p.fill(t, 10)
			if err := harm(p.options().HeadFile); err != nil {
				t.Fatal(err)
			}
			p.fill(t, 10) // and nothing heals it
			v := verify(t, p.open(t))
			if v.OK || v.Bad != 11 || !strings.Contains(v.Problem, "vouched") {
				t.Errorf("got %+v", v)
			}
		})
	}
}

func TestVerifyMissesWhatChangesWhileOpen(t *testing.T) {
	for _, tc := range []struct {
		name string
		harm func(t *testing.T, p place)
		bad  int64
	}{
		{"an edit", func(t *testing.T, p place) { p.tamper(t, `UPDATE events SET kind = 'x' WHERE seq = 3`) }, 3},
		{"a cut tail", func(t *testing.T, p place) { p.tamper(t, `DELETE FROM events WHERE seq > 8`) }, 9},
		{"a head file overwritten", func(t *testing.T, p place) {
			if err := os.WriteFile(p.options().HeadFile, []byte("x"), 0o600); err != nil {
				t.Fatal(err)
			}
		}, 10},
	} {
		t.Run(tc.name, func(t *testing.T) {
			p := newPlace(t)
			s := p.open(t)
			for range 10 {
				mustAppend(t, s, `{}`)
			}
			tc.harm(t, p)
			if v := verify(t, s); v.OK || v.Bad != tc.bad {
				t.Errorf("got %+v, want bad %d", v, tc.bad)
			}
		})
	}
}

func TestVerifyFindsAnEventAddedWhileOpen(t *testing.T) {
	p := newPlace(t)
	s := p.open(t)
	for range 10 {
		mustAppend(t, s, `{}`)
	}
	p.tamper(t, `INSERT INTO events SELECT seq+1, at, kind, uid, client, session, server, call, body, prev, hash, token FROM events WHERE seq = 10`)
	if _, err := s.Append(t.Context(), event("{}")); err == nil {
		t.Error("an append over a foreign event did not fail")
	}
	mustAppend(t, s, `{}`) // goes on behind it
	if v := verify(t, s); v.OK || v.Bad != 11 {
		t.Errorf("got %+v, want bad 11", v)
	}
}

func TestVerifyFindsARewrittenTail(t *testing.T) {
	p := newPlace(t)
	p.fill(t, 300)
	other := newPlace(t)
	other.fill(t, 300) // the same bodies, chained just as well, but not ours
	p.tamper(t, `ATTACH '`+other.database()+`' AS other`,
		`DELETE FROM main.events WHERE seq > 250`,
		`INSERT INTO main.events SELECT * FROM other.events WHERE seq > 250`)
	if v := verify(t, p.open(t)); v.OK || v.Bad != 250 && v.Bad != 251 {
		t.Errorf("got %+v", v)
	}
}

func TestVerifyRefusesAnotherKey(t *testing.T) {
	p := newPlace(t)
	p.fill(t, 10)
	if err := os.Remove(p.options().KeyFile); err != nil {
		t.Fatal(err)
	}
	if v := verify(t, p.open(t)); v.OK || v.Bad != 10 {
		t.Errorf("got %+v", v)
	}
}

func TestVerifyWholeLog(t *testing.T) {
	p := newPlace(t)
	if v := verify(t, p.open(t)); !v.OK || v.Records != 0 {
		t.Errorf("empty log: got %+v", v)
	}
	q := newPlace(t)
	for range 3 {
		q.fill(t, 300)
	}
	v := verify(t, q.open(t))
	if !v.OK || v.Records != 900 || v.Bad != 0 || v.Problem != "" || !strings.Contains(v.Notice, "audit.key") {
		t.Errorf("got %+v", v)
	}
}

func TestOpenRefuses(t *testing.T) {
	p := newPlace(t)
	p.fill(t, 1)
	t.Run("a second opener", func(t *testing.T) {
		p.open(t)
		if _, err := sqlite.Open(t.Context(), p.database(), p.options()); err == nil {
			t.Error("two stores write one log")
		}
	})
	t.Run("a key others can read", func(t *testing.T) {
		if err := os.Chmod(p.options().KeyFile, 0o644); err != nil {
			t.Fatal(err)
		}
		if _, err := sqlite.Open(t.Context(), p.database(), p.options()); err == nil {
			t.Error("a key that all may read was used")
		}
	})
}

// TestEveryColumnIsCovered changes each column of a record and of a signature: none goes unseen.
func TestEveryColumnIsCovered(t *testing.T) {
	for _, change := range []string{
		`events SET seq = seq + 1000`, `events SET at = at - 1`, `events SET kind = 'call.decided'`, `events SET uid = 7`,
		`events SET client = 'x'`, `events SET session = 'x'`, `events SET server = 'x'`, `events SET call = 'x'`,
		`events SET body = '{ }'`, `events SET prev = randomblob(32)`, `events SET hash = randomblob(32)`,
		`anchors SET seq = seq - 1`, `anchors SET at = at - 1`, `anchors SET prev = prev + 1`,
		`anchors SET hash = randomblob(32)`, `anchors SET sig = zeroblob(64)`,
	} {
		t.Run(change, func(t *testing.T) {
			p := newPlace(t)
			p.fill(t, 20) // signed at 20, when it is closed
			p.tamper(t, `UPDATE `+change+` WHERE seq = 20`)
			if v := verify(t, p.open(t)); v.OK || v.Bad < 19 || v.Bad > 20 {
				t.Errorf("got %+v", v)
			}
		})
	}
}
