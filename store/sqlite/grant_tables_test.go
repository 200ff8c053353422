package sqlite_test

import (
	"context"
	"testing"
	"time"

	"github.com/garita-dev/garita/approvals"
)

// TestPermissionsAreHeldToTheEvents edits permissions behind the record's back.
func TestPermissionsAreHeldToTheEvents(t *testing.T) {
	for name, tc := range map[string]struct {
		tamper string
		bad    int64
	}{
		"nothing":             {`SELECT 1`, 0},
		"revived":             {`UPDATE grants SET revoked = 0 WHERE id = 'g2'`, 9},
		"for ever":            {`UPDATE grants SET scope = 'always', until = 0 WHERE id = 'g1'`, 3},
		"longer":              {`UPDATE grants SET until = until + 86400000000 WHERE id = 'g1'`, 3},
		"another's":           {`UPDATE grants SET client = 'cursor' WHERE id = 'g1'`, 3},
		"another tool":        {`UPDATE grants SET tool = 'delete' WHERE id = 'g1'`, 3},
		"another pin":         {`UPDATE grants SET pin = 'sha256:other' WHERE id = 'g1'`, 3},
		"another server":      {`UPDATE grants SET server = 'git' WHERE id = 'g1'`, 3},
		"any arguments":       {`UPDATE grants SET arguments = '[]' WHERE id = 'g1'`, 3},
		"other arguments":     {`UPDATE grants SET arguments = '[{"path":"/path","prefix":"/"}]' WHERE id = 'g1'`, 3},
		"sensitive ones, too": {`UPDATE grants SET sensitive = 1 WHERE id = 'g1'`, 3},
	} {
		t.Run(name, func(t *testing.T) {
			p := newPlace(t)
			s := p.open(t)
			give(t, s, "g1", "r1")
			give(t, s, "g2", "r2")
			if err := s.RecordRevoked(t.Context(), "g2", "page", time.Now()); err != nil {
				t.Fatal(err)
			}
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
			p.tamper(t, tc.tamper)
			if v := verify(t, p.open(t)); v.OK != (tc.bad == 0) || v.Bad != tc.bad {
				t.Errorf("got %+v, want bad %d", v, tc.bad)
			}
		})
	}
}

// give asks a question and answers it with a permission: four events.
func give(t *testing.T, s interface {
	RecordAsked(ctx context.Context, r approvals.Request) error
	RecordGranted(ctx context.Context, r approvals.Request, d approvals.Decision, g approvals.Grant) error
}, id approvals.GrantID, request string,
) {
	t.Helper()
	r := aRequest(request)
	if err := s.RecordAsked(t.Context(), r); err != nil {
		t.Fatal(err)
	}
	ended, err := r.Approve("page", r.Asked.Add(time.Second))
	if err != nil {
		t.Fatal(err)
	}
	g := approvals.Grant{
		ID: id, Scope: "until", Principal: r.Call.Principal, Server: r.Call.Server, Spec: r.Call.Spec, Tool: r.Call.Tool, Pin: r.Call.Pin,
		Class: approvals.Write, Until: time.Now().Add(time.Hour), Request: r.ID, By: "page", Created: time.Now(),
		Arguments: []approvals.Argument{{Path: "/path", Prefix: "/home/ana/"}},
	}
	if err := s.RecordGranted(t.Context(), ended, ended.Decision(), g); err != nil {
		t.Fatal(err)
	}
}
