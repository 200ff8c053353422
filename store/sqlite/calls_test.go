package sqlite_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/containerd/errdefs"
	"github.com/google/go-cmp/cmp"

	"github.com/garita-dev/garita/approvals"
	"github.com/garita-dev/garita/sandbox"
	"github.com/garita-dev/garita/store"
	"github.com/garita-dev/garita/store/sqlite"
)

var allowed = approvals.Decision{
	Effect: approvals.Allow, Class: approvals.Read, Rule: approvals.RuleReads, Reason: "It reads only.",
}

func record(t *testing.T, s *sqlite.Store, r store.CallRecord) {
	t.Helper()
	if err := s.Record(t.Context(), r); err != nil {
		t.Fatal(err)
	}
}

func TestRecordKeepsEverythingAboutACall(t *testing.T) {
	s := newPlace(t).open(t)
	want := store.CallRecord{
		Call: aCall("c1", approvals.Write),
		Decision: approvals.Decision{
			Effect: approvals.Allow, Class: approvals.Write, Rule: "rule", Reason: "Approved.", Request: "r1",
			Outcome: approvals.Approved, By: "page", Waited: 1234 * time.Millisecond,
		},
		Outcome: store.CallWithheld, Error: "it broke", Duration: 42 * time.Microsecond,
		Result:   store.ResultDigest{Digest: "sha256:00", Size: 7},
		Changes:  []sandbox.Change{{Folder: "/home/ana", Path: "a.txt", Kind: sandbox.Added, Type: "file", Size: 3, Held: "why"}},
		Shared:   []approvals.CallID{"c2"},
		Findings: []string{"it changed a.txt"},
	}
	record(t, s, want)
	got, err := s.Call(t.Context(), "c1")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("call (-recorded +found):\n%s", diff)
	}
	events, err := s.Events(t.Context(), 0, 10, "c1")
	if err != nil || len(events) != 1 || events[0].Kind != store.CallFinished {
		t.Errorf("events %v, %v; want one call.finished", events, err)
	}
	if err := s.Record(t.Context(), want); !errdefs.IsAlreadyExists(err) {
		t.Errorf("a second record: got %v, want AlreadyExists", err)
	}
	if v := verify(t, s); !v.OK || v.Records != 1 {
		t.Errorf("after a refused record: %+v", v)
	}
	if _, err := s.Call(t.Context(), "c9"); !errdefs.IsNotFound(err) {
		t.Errorf("an unknown call: got %v, want NotFound", err)
	}
}

func TestArgumentsAreKeptRedactedAndBounded(t *testing.T) {
	s := newPlace(t).open(t)
	for name, tc := range map[string]struct {
		arguments string
		keeps     string
		loses     string
	}{
		"a password":          {`{"path":"a","password":"hunter2x"}`, `"path":"a"`, "hunter2x"},
		"a nested secret":     {`{"env":[{"API_KEY":{"v":"hunter2x"}}]}`, `"API_KEY":"[redacted]"`, "hunter2x"},
		"a token by shape":    {`{"text":"use ghp_0123456789abcdefghijklmnopqrstuvwxyz please"}`, `use [redacted] please`, "ghp_"},
		"an escaped token":    {`{"text":"\u0067hp_0123456789abcdefghijklmnopqrstuvwxyz"}`, `[redacted]`, "hp_0123"},
		"no JSON":             {`{"path": sk-ant-0123456789abcdefghij0123`, `path`, "sk-ant"},
		"something very long": {`{"path":"a.txt","content":"` + strings.Repeat("x", 100<<10) + `"}`, `"path":"a.txt"`, strings.Repeat("x", 2<<10)},
		"many long things":    {`["` + strings.Repeat(strings.Repeat("y", 1000)+`","`, 200) + `"]`, "left out", strings.Repeat("y", 1001)},
	} {
		t.Run(name, func(t *testing.T) {
			c := aCall("c-"+name, approvals.Write)
			c.Arguments = []byte(tc.arguments)
			record(t, s, store.CallRecord{Call: c, Decision: allowed, Outcome: store.CallDone})
			got, err := s.Call(t.Context(), c.ID)
			if err != nil {
				t.Fatal(err)
			}
			kept := string(got.Call.Arguments)
			if !strings.Contains(kept, tc.keeps) || strings.Contains(kept, tc.loses) || len(kept) > 80<<10 {
				t.Errorf("kept %d bytes: %.300s", len(kept), kept)
			}
		})
	}
}

// What is recorded of a call is written more shortly than it was said; what is sent is as it was said.
func TestRecordingACallLeavesItsArgumentsAlone(t *testing.T) {
	p := newPlace(t)
	options := p.options()
	options.Redact = func(b []byte) []byte { return b } // as one does that has nothing to redact
	s, err := sqlite.Open(t.Context(), p.database(), options)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	const said = `{ "path": "a.txt",  "lines": [1, 2] }`
	c := aCall("c1", approvals.Write)
	c.Arguments = []byte(said)
	record(t, s, store.CallRecord{Call: c, Decision: allowed, Outcome: store.CallDone})
	if string(c.Arguments) != said {
		t.Errorf("the arguments are now %s", c.Arguments)
	}
}

func TestTextsAboutACallAreRedactedToo(t *testing.T) {
	s := newPlace(t).open(t)
	const token = "ghp_0123456789abcdefghijklmnopqrstuvwxyz"
	c := aCall("c1", approvals.Execute)
	c.Sentence = "run curl -u " + token
	if err := s.RecordDecision(t.Context(), c, allowed); err != nil {
		t.Fatal(err)
	}
	record(t, s, store.CallRecord{
		Call: c, Decision: allowed, Outcome: store.CallFailed, Error: "no such user " + token, Findings: []string{token + " seen"},
	})
	events, err := s.Events(t.Context(), 0, 10, "")
	if err != nil || len(events) != 2 {
		t.Fatal(events, err)
	}
	for _, e := range events {
		if strings.Contains(string(e.Body), "ghp_") || !strings.Contains(string(e.Body), "run curl -u [redacted]") {
			t.Errorf("%s: %s", e.Kind, e.Body)
		}
	}
}

func TestCallsPagesNewestFirst(t *testing.T) {
	s := newPlace(t).open(t)
	start := time.Date(2026, 11, 29, 10, 0, 0, 0, time.UTC)
	for i := range 10 {
		c := aCall(fmt.Sprintf("c%d", i), approvals.Read)
		c.At = start.Add(time.Duration(i/2) * time.Second) // two at each moment
		c.Server = sandbox.ServerName([]string{"files", "git"}[i%2])
		if i == 7 { // still under way
			if err := s.RecordDecision(t.Context(), c, allowed); err != nil {
				t.Fatal(err)
			}
			continue
		}
		record(t, s, store.CallRecord{Call: c, Decision: allowed, Outcome: store.CallDone})
	}
	list := func(before approvals.CallID, limit int, server sandbox.ServerName) (ids []string) {
		calls, err := s.Calls(t.Context(), before, limit, server)
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range calls {
			ids = append(ids, string(r.Call.ID)+" "+string(r.Outcome))
			if r.Call.Arguments != nil {
				t.Errorf("%s is listed with its arguments", r.Call.ID)
			}
		}
		return ids
	}
	if got := list("", 100, ""); len(got) != 10 {
		t.Errorf("all: %v", got)
	}
	want := []string{"c9 done", "c7 running", "c5 done"}
	if diff := cmp.Diff(want, list("", 3, "git")); diff != "" {
		t.Errorf("first page (-want +got):\n%s", diff)
	}
	want = []string{"c3 done", "c1 done"}
	if diff := cmp.Diff(want, list("c5", 3, "git")); diff != "" {
		t.Errorf("second page (-want +got):\n%s", diff)
	}
	if _, err := s.Calls(t.Context(), "c99", 3, ""); !errdefs.IsNotFound(err) {
		t.Errorf("before an unknown call: %v", err)
	}
}

func TestCounters(t *testing.T) {
	s := newPlace(t).open(t)
	for i, tc := range []struct {
		class  approvals.Class
		answer approvals.Outcome
		ago    time.Duration
	}{
		{approvals.Read, "", 0},
		{approvals.Write, approvals.Approved, 0},
		{approvals.Destroy, approvals.Denied, 0},
		{approvals.Execute, approvals.Approved, 3 * 24 * time.Hour},
		{approvals.Write, approvals.Approved, 8 * 24 * time.Hour},
	} {
		c := aCall(fmt.Sprintf("c%d", i), tc.class)
		c.At = time.Now().Add(-tc.ago)
		record(t, s, store.CallRecord{Call: c, Decision: approvals.Decision{Class: tc.class, Outcome: tc.answer}, Outcome: store.CallDone})
	}
	past, err := s.Before(t.Context(), "files")
	if want := (store.Past{Writes: 3, Approved: 2}); err != nil || past != want {
		t.Errorf("before: %+v, %v; want %+v", past, err, want)
	}
	if n, err := s.CallsToday(t.Context()); err != nil || n != 3 {
		t.Errorf("calls today: %d, %v; want 3", n, err)
	}
}

func TestDemotionsLast(t *testing.T) {
	p := newPlace(t)
	s := p.open(t)
	for _, why := range []string{"it changed a.txt", "again"} {
		if err := s.Demote(t.Context(), store.Demotion{Server: "files", Tool: "read_text_file", Reason: why, Call: "c1"}); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	s = p.open(t)
	got, err := s.Standing(t.Context(), aCall("c2", approvals.Read))
	if err != nil || got.Demoted != "it changed a.txt" {
		t.Errorf("standing %+v, %v", got, err)
	}
	other := aCall("c2", approvals.Read)
	other.Server = "git"
	if got, _ := s.Standing(t.Context(), other); got.Demoted != "" {
		t.Errorf("another server's tool of that name is demoted too: %+v", got)
	}
	if all := s.Demotions(""); len(all) != 1 || all[0].Call != "c1" || all[0].At.IsZero() {
		t.Errorf("demotions: %+v", all)
	}
}

func TestWorkspacesBelongToAnAgent(t *testing.T) {
	s := newPlace(t).open(t)
	ana := approvals.Principal{UID: 1000, Client: "claude"}
	keep := func(id string, p approvals.Principal, folders ...string) store.Workspace {
		w, err := s.KeepWorkspace(t.Context(), store.Workspace{ID: sandbox.WorkspaceID(id), Server: "files", Principal: p, Folders: folders})
		if err != nil {
			t.Fatal(err)
		}
		return w
	}
	first := keep("w1", ana, "/a", "/b")
	if again := keep("w2", ana, "/a", "/b"); !cmp.Equal(again, first) {
		t.Errorf("the same agent and folders got another workspace: %+v", again)
	}
	keep("w3", approvals.Principal{UID: 1000, Client: "cursor"}, "/a", "/b")
	keep("w4", ana, "/a")
	all, err := s.Workspaces(t.Context(), "files")
	if err != nil || len(all) != 3 {
		t.Errorf("workspaces: %+v, %v", all, err)
	}
	got, err := s.Workspace(t.Context(), "w1")
	if err != nil || !cmp.Equal(got, first) {
		t.Errorf("w1: %+v, %v", got, err)
	}
	if err := s.ForgetWorkspace(t.Context(), "w1"); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Workspace(t.Context(), "w1"); !errdefs.IsNotFound(err) {
		t.Errorf("a forgotten workspace: %v", err)
	}
}
