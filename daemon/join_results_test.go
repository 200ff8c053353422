package daemon

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"

	"github.com/garita-dev/garita/approvals"
	"github.com/garita-dev/garita/sandbox"
	"github.com/garita-dev/garita/store"
	"github.com/garita-dev/garita/store/sqlite"
)

func TestTheOldestResultsGoFirst(t *testing.T) {
	dir := t.TempDir()
	for i, name := range []string{"b", "a", "c"} {
		file := filepath.Join(dir, name)
		if err := os.WriteFile(file, make([]byte, 10), 0o600); err != nil {
			t.Fatal(err)
		}
		at := time.Unix(int64(1000+i), 0)
		if err := os.Chtimes(file, at, at); err != nil {
			t.Fatal(err)
		}
	}
	if err := boundResults(dir, 25); err != nil {
		t.Fatal(err)
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var left []string
	for _, e := range entries {
		left = append(left, e.Name())
	}
	if diff := cmp.Diff([]string{"a", "c"}, left); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
}

func TestAServerElsewhereIsAtItsOwnHost(t *testing.T) {
	if reachable(sandbox.Server{}) != nil {
		t.Error("a server in a sandbox may reach a host")
	}
	may := reachable(sandbox.Server{Source: sandbox.Source{URL: "https://MCP.example.com/x"}})
	if !may("mcp.example.com") || may("example.com") {
		t.Error("a server elsewhere may reach others than its own host")
	}
}

func TestWhatTheRecordKeepsOfArguments(t *testing.T) {
	for name, arguments := range map[string]string{
		"CRLF": `{"a":"x\r\n{\"seq\":1}"}`, "ANSI": `{"a":"\u001b[2J","\u001b[1m":1}`, "a megabyte": `{"a":"` + strings.Repeat("x ", 1<<19) + `"}`,
		"invalid UTF-8": "{\"a\":\"\xff\xc3\"}", "no JSON": "a\r\nb\x1b[2J", "a token": `{"a":"ghp_` + "1234567890abcdefghijABCDEFGHIJ123456" + `"}`,
	} {
		t.Run("attack_H60 "+name, func(t *testing.T) {
			ctx, dir := t.Context(), t.TempDir()
			db, err := sqlite.Open(ctx, filepath.Join(dir, "garita.db"), sqlite.Options{KeyFile: filepath.Join(dir, "key"), HeadFile: filepath.Join(dir, "head"), Redact: known.Record})
			if err != nil {
				t.Fatal(err)
			}
			defer db.Close()
			call := approvals.Call{ID: "c0000000000000001", Session: "s1", Server: "evil", Tool: "read\r\n\x1b[2J" + strings.Repeat("a", 1000), Arguments: []byte(arguments), Class: approvals.Read, At: time.Now()}
			d := approvals.Decision{Effect: approvals.Allow, Class: approvals.Read}
			if err := db.RecordDecision(ctx, call, d); err != nil {
				t.Fatal(err)
			}
			if err := db.Record(ctx, store.CallRecord{Call: call, Decision: d, Outcome: store.CallDone}); err != nil {
				t.Fatal(err)
			}
			events, err := db.Events(ctx, 0, 100, "")
			if err != nil || len(events) < 2 {
				t.Fatalf("%d events, %v", len(events), err)
			}
			for _, e := range events {
				if strings.ContainsAny(string(e.Body), "\r\n\x1b") || !jsontext.Value(e.Body).IsValid() || strings.Contains(string(e.Body), "ghp_") || len(e.Body) > 100<<10 {
					t.Errorf("%d bytes: %.300q", len(e.Body), e.Body)
				}
			}
			if all := string(events[len(events)-1].Body); len(arguments) > 1<<19 && !strings.Contains(all, "left out") {
				t.Errorf("not marked as cut: %.300s", all)
			}
		})
	}
}
