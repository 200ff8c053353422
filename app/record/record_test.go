package record

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"

	"github.com/garita-dev/garita/daemon/api"
)

var at = time.Date(2026, 11, 29, 10, 0, 0, 0, time.UTC)

const finished = `{"call":{"id":"c00000000000000a1","at":"2026-11-29T09:59:59.5Z","session":"s1","tool":"write_file","class":"write","sandbox":"i1","workspace":"w1",` +
	`"sentence":"write a.txt","arguments":{"path":"a.txt"},"arguments_size":16,"traceparent":"00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"},` +
	`"decision":{"effect":"allow","class":"write","rule":"approved once","reason":"A person said so.","request":"r1","outcome":"approved","by":"page","waited_us":8100000},` +
	`"outcome":"done","duration_us":12000,"result_digest":"sha256:00","result_size":7,` +
	`"changes":[{"folder":"/home/ana","path":"a.txt","kind":"added","type":"file","size":3,"held":"","stale":false}],"hosts":["api.github.com:443"],"findings":["a link"]}`

func ended(body string) api.AuditEvent {
	return api.AuditEvent{
		Seq: 5, At: at, Kind: "call.finished", Principal: "uid:1000/claude", Session: "s1", Server: "files",
		Call: "c00000000000000a1", Body: []byte(body), Hash: "sha256:11",
	}
}

func export(t *testing.T, to func(*bytes.Buffer) Exporter, events ...api.AuditEvent) string {
	t.Helper()
	var out bytes.Buffer
	x := to(&out)
	for _, e := range events {
		if err := x.Event(e); err != nil {
			t.Fatal(err)
		}
	}
	if err := x.Close(); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

func TestASpanIsAsTheConventionsHaveIt(t *testing.T) {
	got := export(t, func(b *bytes.Buffer) Exporter { return Spans(b, false) }, ended(finished), api.AuditEvent{Kind: "session.opened"})
	v := jsontext.Value(got)
	if err := v.Indent(jsontext.WithIndent("  ")); err != nil {
		t.Fatal(err)
	}
	const golden = "testdata/span.json"
	if os.Getenv("UPDATE") != "" {
		if err := os.WriteFile(golden, append(v, '\n'), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(strings.TrimSpace(string(want)), strings.TrimSpace(string(v))); diff != "" {
		t.Errorf("span (-want +got; UPDATE=1 writes it anew):\n%s", diff)
	}
}

func TestArgumentsAreLeftOutUnlessTheyAreWanted(t *testing.T) {
	for name, to := range map[string]func(w *bytes.Buffer, arguments bool) Exporter{
		"jsonl": func(w *bytes.Buffer, a bool) Exporter { return Lines(w, a) },
		"otlp":  func(w *bytes.Buffer, a bool) Exporter { return Spans(w, a) },
	} {
		t.Run(name, func(t *testing.T) {
			without := export(t, func(b *bytes.Buffer) Exporter { return to(b, false) }, ended(finished))
			with := export(t, func(b *bytes.Buffer) Exporter { return to(b, true) }, ended(finished))
			if strings.Contains(without, `"path\":\"a.txt`) || strings.Contains(without, `{"path":"a.txt"}`) || strings.Contains(without, "write a.txt") {
				t.Errorf("without: %s", without)
			}
			if !strings.Contains(with, `"path":"a.txt"`) && !strings.Contains(with, `\"path\":\"a.txt\"`) {
				t.Errorf("with: %s", with)
			}
		})
	}
}

func TestACallWithoutACallersSpanBelongsToItsSession(t *testing.T) {
	of := func(session, traceparent string) [2]string {
		trace, span, _ := parent(session, traceparent)
		return [2]string{trace, span}
	}
	if of("s1", "") != of("s1", "00-00000000000000000000000000000000-b7ad6b7169203331-01") || of("s1", "") == of("s2", "") || of("s1", "")[1] != "" {
		t.Error("traces are mixed up")
	}
	if id := spanID("c0000000000000000"); len(id) != 16 || strings.Trim(id, "0") == "" {
		t.Errorf("span id %s", id)
	}
}

func TestFailuresHaveATypeAndAStatus(t *testing.T) {
	for outcome, want := range map[string]string{"failed": "tool_error", "refused": "garita.refused", "withheld": "garita.withheld", "unknown": "garita.unknown"} {
		got := export(t, func(b *bytes.Buffer) Exporter { return Spans(b, false) }, ended(strings.Replace(finished, `"outcome":"done"`, `"outcome":"`+outcome+`"`, 1)))
		if !strings.Contains(got, `{"key":"error.type","value":{"stringValue":"`+want+`"}}`) || !strings.Contains(got, `"status":{"code":2`) {
			t.Errorf("%s: %s", outcome, got)
		}
	}
}

func TestAnyBodyGoesThrough(t *testing.T) {
	for _, body := range []string{`{}`, `null`, `{"call":7,"changes":{}}`, `{"call":{"arguments":{"call":{"arguments":1}}},"arguments":2}`, `{"decision":[]}`} {
		e := ended(body)
		for _, line := range []string{
			export(t, func(b *bytes.Buffer) Exporter { return Lines(b, false) }, e),
			export(t, func(b *bytes.Buffer) Exporter { return Spans(b, true) }, e),
		} {
			if strings.Count(line, "\n") != 1 || !jsontext.Value(line).IsValid() {
				t.Errorf("%s: %s", body, line)
			}
		}
		Tell(e)
	}
}

type broken struct{}

func (broken) Write([]byte) (int, error) { return 0, errors.New("disk full") }

func TestAFullDiskIsToldOf(t *testing.T) {
	t.Run("report_D05", func(t *testing.T) {
		if err := Lines(broken{}, false).Event(ended(finished)); err == nil {
			t.Error("jsonl: nothing was said")
		}
		x := Spans(broken{}, false)
		if err := errors.Join(x.Event(ended(finished)), x.Close()); err == nil {
			t.Error("otlp: nothing was said")
		}
	})
}

// counter counts and forgets.
type counter int64

func (c *counter) Write(p []byte) (int, error) { *c += counter(len(p)); return len(p), nil }

func TestALongRecordTakesLittleMemory(t *testing.T) {
	t.Run("report_Y01", func(t *testing.T) {
		var before, after runtime.MemStats
		for _, x := range []Exporter{Lines(new(counter), false), Spans(new(counter), true)} {
			runtime.GC()
			runtime.ReadMemStats(&before)
			for i := range 4000 {
				e := ended(finished)
				e.Call = fmt.Sprintf("c%016x", i+1)
				if err := x.Event(e); err != nil {
					t.Fatal(err)
				}
			}
			runtime.GC()
			runtime.ReadMemStats(&after)
			if grown := int64(after.HeapAlloc) - int64(before.HeapAlloc); grown > 4<<20 {
				t.Errorf("%T holds %d bytes after 4,000 calls", x, grown)
			}
		}
	})
}

// TestASessionIsToldFromTheRecordAlone is what audit session prints, event by event.
func TestASessionIsToldFromTheRecordAlone(t *testing.T) {
	var steps []string
	for _, e := range []api.AuditEvent{
		{Kind: "session.opened", Principal: "uid:1000/claude", Server: "files", Body: []byte(`{"workspace":"w1"}`)},
		{Kind: "instance.started", Body: []byte(`{"sandbox":"i1","package":{"name":"@x/y","version":"1.2.3"}}`)},
		{Kind: "approval.asked", Body: []byte(`{"request":"r1","why":{"reason":"It may change something."},"call":{"tool":"write_file","sentence":"write a.txt"}}`)},
		{Kind: "approval.answered", Body: []byte(`{"request":"r1","outcome":"approved","by":"page","waited_us":8100000}`)},
		{Kind: "call.decided", Body: []byte(`{"call":{"tool":"write_file","sentence":"write a.txt"},"decision":{"effect":"allow","class":"write","rule":"approved once","reason":"A person said so."}}`)},
		ended(finished),
		{Kind: "tool.demoted", Body: []byte(`{"tool":"read","reason":"it wrote"}`)},
		{Kind: "instance.ended", Body: []byte(`{"sandbox":"i1","code":0,"reason":"stopped"}`)},
		{Kind: "session.closed", Body: []byte(`{"error":""}`)},
		{Kind: "something.new", Body: []byte(`{"x":1}`)},
	} {
		s := Tell(e)
		steps = append(steps, s.What)
		for _, d := range s.Details {
			steps = append(steps, "  "+d)
		}
	}
	want := `session opened
  agent: uid:1000/claude
  server: files
  workspace: w1
sandbox i1 started
  package: @x/y@1.2.3
write_file: a person is asked
  which: write a.txt
  because: It may change something.
  question: r1
the question is approved
  by: page
  after: 8.1s
  question: r1
write_file: allowed by approved once
  which: write a.txt
  class: write
  because: A person said so.
write_file: done after 12ms
  result: 7 bytes, sha256:00
  added: /home/ana/a.txt
  host: api.github.com:443
  found: a link
read may no longer pass as a read
  because: it wrote
sandbox i1 ended: stopped
  exit status: 0
session closed
something.new`
	if diff := cmp.Diff(want, strings.Join(steps, "\n")); diff != "" {
		t.Errorf("story (-want +got):\n%s", diff)
	}
}

func FuzzTell(f *testing.F) {
	f.Add("call.finished", []byte(finished))
	f.Fuzz(func(t *testing.T, kind string, body []byte) {
		e := api.AuditEvent{Kind: kind, Body: body}
		if _, err := json.Marshal(Tell(e), jsontext.AllowInvalidUTF8(true)); err != nil {
			t.Error(err)
		}
		_ = Lines(new(counter), false).Event(e)
		_ = Spans(new(counter), true).Event(e)
	})
}
