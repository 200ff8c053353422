package sqlite_test

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/containerd/errdefs"

	"github.com/garita-dev/garita/approvals"
	"github.com/garita-dev/garita/sandbox"
	"github.com/garita-dev/garita/store"
	"github.com/garita-dev/garita/store/sqlite"
)

func retain(t testing.TB, s *sqlite.Store, r store.Retention) {
	t.Helper()
	if err := s.Retain(t.Context(), r); err != nil {
		t.Fatal(err)
	}
}

func TestARecordWithinItsBoundsDropsNothing(t *testing.T) {
	s := newPlace(t).open(t)
	for range 600 {
		mustAppend(t, s, `{}`)
	}
	retain(t, s, store.Retention{Size: 1 << 30, Keep: time.Hour})
	if v := verify(t, s); !v.OK || v.Records != 600 || v.Dropped.Upto != 0 {
		t.Errorf("got %+v", v)
	}
}

func TestOldEventsAreDroppedAndWhatIsLeftVerifies(t *testing.T) {
	p := newPlace(t)
	s := p.open(t)
	old := time.Now().Add(-100 * 24 * time.Hour)
	for i := range 5000 {
		e := store.Event{Kind: store.SessionOpened, Session: "s1", Body: []byte(`{}`)}
		if i < 4000 {
			e.At = old
		}
		if _, err := s.Append(t.Context(), e); err != nil {
			t.Fatal(err)
		}
	}
	retain(t, s, store.Retention{Keep: 90 * 24 * time.Hour})
	v := verify(t, s)
	if !v.OK || v.Dropped.Upto < 3744 || v.Dropped.Upto > 4000 || v.Records != 5001-v.Dropped.Upto || !strings.Contains(v.Dropped.Why, "kept for") {
		t.Errorf("got %+v", v)
	}
}

// TestTheRecordStaysWithinItsBytes simulates a million rows with thousands and a small bound: however much comes, the record
// stays at its bound, still verifies, and its calls can still be read.
func TestTheRecordStaysWithinItsBytes(t *testing.T) {
	t.Run("report_Y01", func(t *testing.T) {
		p := newPlace(t)
		s := p.open(t)
		const bound = 4 << 20
		retain(t, s, store.Retention{Size: bound})
		for i := range 4000 {
			c := aCall(fmt.Sprintf("c%016x", i), approvals.Read)
			c.Arguments = []byte(`{"text":"` + strings.Repeat("x", 1000) + `"}`)
			if i%1000 == 0 {
				c.Arguments = []byte(`{"text":"` + strings.Repeat("x", 50<<20>>4) + `"}`)
			}
			if err := s.RecordDecision(t.Context(), c, allowed); err != nil {
				t.Fatal(err)
			}
			record(t, s, store.CallRecord{Call: c, Decision: allowed, Outcome: store.CallDone, Result: store.ResultDigest{Digest: "sha256:00", Size: 50 << 20}})
		}
		if err := s.Trim(t.Context()); err != nil {
			t.Fatal(err)
		}
		v := verify(t, s)
		space, err := s.Space(t.Context())
		if err != nil || !v.OK || v.Dropped.Upto < 2000 || space.Size > bound {
			t.Errorf("got %+v, %+v, %v", v, space, err)
		}
		info, err := os.Stat(p.database())
		if err != nil || info.Size() > 4*bound {
			t.Errorf("the file has %d bytes, %v", info.Size(), err)
		}
		calls, err := s.Calls(t.Context(), "", 100, "")
		if err != nil || len(calls) != 100 {
			t.Errorf("%d calls, %v", len(calls), err)
		}
		if _, err := s.Call(t.Context(), "c0000000000000001"); !errdefs.IsNotFound(err) {
			t.Errorf("a dropped call: got %v, want NotFound", err)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		if again := check(t, p); !again.OK || again.Dropped.Upto < v.Dropped.Upto {
			t.Errorf("opened again: %+v", again)
		}
	})
}

func TestDroppingIsNoCoverForDamage(t *testing.T) {
	for name, tc := range map[string]struct {
		tamper []string
		bad    int64
		says   string
	}{
		"a whole segment more":       {[]string{`DELETE FROM events WHERE seq <= 1280`, `DELETE FROM anchors WHERE seq < 1280`}, 1025, "nothing in the record says"},
		"some events more":           {[]string{`DELETE FROM events WHERE seq <= 1100`}, 1, "missing"},
		"its signature":              {[]string{`DELETE FROM anchors WHERE seq = 1024`}, 1, ""},
		"a forged signature":         {[]string{`UPDATE anchors SET sig = randomblob(64) WHERE seq = 1024`}, 1, ""},
		"the event that tells of it": {[]string{`DELETE FROM events WHERE kind = 'record.dropped'`}, 0, "missing"},
	} {
		t.Run(name, func(t *testing.T) {
			p := newPlace(t)
			s := p.open(t)
			old := time.Now().Add(-time.Hour)
			for i := range 2048 {
				e := event(`{}`)
				if i < 1024 {
					e.At = old
				}
				if _, err := s.Append(t.Context(), e); err != nil {
					t.Fatal(err)
				}
			}
			retain(t, s, store.Retention{Keep: time.Minute})
			v := verify(t, s)
			if !v.OK || v.Dropped.Upto != 1024 {
				t.Fatalf("before: %+v", v)
			}
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
			p.tamper(t, tc.tamper...)
			v = verify(t, p.open(t))
			if v.OK || tc.bad != 0 && v.Bad != tc.bad || !strings.Contains(v.Problem, tc.says) {
				t.Errorf("got %+v", v)
			}
		})
	}
}

// TestTheTablesAreHeldToTheEvents edits what is looked up often, and leaves the chain as it was.
func TestTheTablesAreHeldToTheEvents(t *testing.T) {
	for name, tc := range map[string]struct {
		tamper string
		bad    int64
		says   string
	}{
		"a call's outcome":           {`UPDATE calls SET outcome = 'failed'`, 2, "listing of calls"},
		"a call's class":             {`UPDATE calls SET class = 'write'`, 2, "listing of calls"},
		"a call's answer":            {`UPDATE calls SET answer = 'approved'`, 2, "listing of calls"},
		"a call is hidden":           {`DELETE FROM calls`, 2, "listing of calls"},
		"a call is invented":         {`INSERT INTO calls VALUES (1, 'c9', 1, 'files', 'read', '', 'done')`, 1, "listing of calls"},
		"a call is hidden from show": {`DELETE FROM mentions WHERE id = 'c1' AND seq = 2`, 2, "index"},
		"a session is hidden":        {`DELETE FROM mentions WHERE id LIKE 's%' AND seq = 1`, 1, "index"},
		"a mention is invented":      {`INSERT INTO mentions VALUES ('c7', 2)`, 2, "index"},
		"an answer is turned":        {`UPDATE requests SET outcome = 'approved'`, 4, "list of questions"},
		"another answered":           {`UPDATE requests SET by = 'cli'`, 4, "list of questions"},
		"a question is hidden":       {`DELETE FROM requests`, 3, "list of questions"},
		"a demotion is lifted":       {`DELETE FROM demotions`, 6, "right to pass as a read"},
		"a token is revived":         {`UPDATE tokens SET revoked = 0`, 8, "in use again"},
		"a token opens more":         {`UPDATE tokens SET servers = '["files","git"]'`, 7, "opens other"},
		"a token is forged":          {`INSERT INTO tokens VALUES ('t9', zeroblob(32), 'n', '["files"]', '[]', 1, 0, 0, 0)`, 9, "no record up to it made"},
		"a permission is forged":     {`INSERT INTO grants VALUES ('g9', 'always', 1000, '', '', 'files', 's', 't', 'p', 'write', 0, '', '', 0, '[]', 'r', 'cli', 1, 0, 0, 0)`, 9, "no record up to it made"},
		"a token lasts longer":       {`UPDATE tokens SET expires = 9999999999999999`, 7, "longer"},
	} {
		t.Run(name, func(t *testing.T) {
			p := newPlace(t)
			p.fillTables(t)
			p.tamper(t, tc.tamper)
			v := verify(t, p.open(t))
			if v.OK || v.Bad != tc.bad || !strings.Contains(v.Problem, tc.says) {
				t.Errorf("got %+v, want bad %d, %q", v, tc.bad, tc.says)
			}
		})
	}
	t.Run("nothing", func(t *testing.T) {
		p := newPlace(t)
		p.fillTables(t)
		if v := verify(t, p.open(t)); !v.OK {
			t.Errorf("got %+v", v)
		}
	})
}

// fillTables records a call (1, 2), a question that was denied (3 to 5), a demotion (6) and a token
// that was revoked (7, 8), and closes the record.
func (p place) fillTables(t *testing.T) {
	t.Helper()
	s := p.open(t)
	c := aCall("c1", approvals.Read)
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	must(s.RecordDecision(t.Context(), c, allowed))
	record(t, s, store.CallRecord{Call: c, Decision: allowed, Outcome: store.CallDone})
	r := aRequest("r1")
	must(s.RecordAsked(t.Context(), r))
	r.Outcome, r.Answered, r.By = approvals.Denied, time.Now(), "page"
	must(s.RecordAnswered(t.Context(), r, approvals.Decision{Effect: approvals.Deny, Class: approvals.Write, Outcome: approvals.Denied}))
	must(s.Demote(t.Context(), store.Demotion{Server: "files", Tool: "read", Reason: "it wrote", Call: "c1"}))
	token, _, err := s.CreateToken(t.Context(), approvals.Principal{UID: 1}, store.Token{Name: "t", Servers: []sandbox.ServerName{"files"}})
	must(err)
	must(s.RevokeToken(t.Context(), approvals.Principal{UID: 1}, token.ID))
	must(s.Close())
}
