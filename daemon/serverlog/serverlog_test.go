package serverlog

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/garita-dev/garita/sandbox"
)

var noon = time.Date(2026, 11, 29, 12, 0, 0, 0, time.UTC)

func open(t *testing.T, bound int64) *Dir {
	t.Helper()
	d, err := Open(filepath.Join(t.TempDir(), "logs"))
	if err != nil {
		t.Fatal(err)
	}
	if err := d.Bound(bound, false); err != nil {
		t.Fatal(err)
	}
	return d
}

func lines(t *testing.T, d *Dir, name string) []string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(d.path, name))
	if err != nil {
		t.Fatal(err)
	}
	return strings.Split(strings.TrimSuffix(string(b), "\n"), "\n")
}

func used(t *testing.T, d *Dir) (n int64) {
	t.Helper()
	files, err := d.files()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		n += f.size
	}
	return n
}

// TestReconnectLoop is a server whose peer is gone: 800 lines a minute for an hour.
func TestReconnectLoop(t *testing.T) {
	for name, line := range map[string]func(i int) string{
		"the same each time": func(int) string { return "Error: connect ECONNREFUSED 127.0.0.1:5432" },
		"with a time":        func(i int) string { return noon.Add(time.Duration(i)*75*time.Millisecond).String() + " ECONNREFUSED" },
		"three lines": func(i int) string {
			return [...]string{"connecting", "Error: ECONNREFUSED", "    at TCP (net.js:12)"}[i%3]
		},
	} {
		t.Run("report_Y03 "+name, func(t *testing.T) {
			d := open(t, 1<<20)
			l := d.Log("db", "i1")
			var c Collapser
			const n = 48_000
			loops, now := 0, noon
			for i := range n {
				v := c.Add(line(i), now)
				if v.Loop {
					loops++
				}
				if err := l.Add(v, 0, now); err != nil {
					t.Fatal(err)
				}
				now = now.Add(75 * time.Millisecond)
			}
			if err := l.Close(); err != nil {
				t.Fatal(err)
			}
			got := lines(t, d, "db/i1.jsonl")
			var last entry
			if err := json.Unmarshal([]byte(got[len(got)-1]), &last); err != nil {
				t.Fatal(err)
			}
			if len(got) > 250 || last.Times < n/3-100 {
				t.Errorf("%d lines, the last %s", len(got), got[len(got)-1])
			}
			if text, times := c.Loop(now); text == "" || times < n/3 || loops != 1 {
				t.Errorf("the loop is %q, %d times, told %d times", text, times, loops)
			}
			if text, _ := c.Loop(now.Add(time.Hour)); text != "" {
				t.Errorf("an hour later it still loops: %q", text)
			}
		})
	}
}

func TestWhatDiffersStays(t *testing.T) {
	var c Collapser
	for i := range 30 {
		if v := c.Add(fmt.Sprintf("listening on %c", 'a'+i), noon); !v.New {
			t.Errorf("line %d is taken for another", i)
		}
	}
	for i, want := range []bool{true, true, true} {
		if v := c.Add(fmt.Sprintf("port %d", 3000+i), noon); v.New != want {
			t.Errorf("port %d: new is %v", 3000+i, v.New)
		}
	}
	if text, _ := c.Loop(noon); text != "" {
		t.Errorf("a loop: %q", text)
	}
}

func TestASlowRepetitionIsNoLoop(t *testing.T) {
	var c Collapser
	now := noon
	for range 1000 {
		if c.Add("heartbeat", now).Loop {
			t.Fatal("a heartbeat is taken for a loop")
		}
		now = now.Add(30 * time.Second)
	}
}

// TestBytesStayBounded writes different lines, 5 MB a second for what would be minutes, from several sandboxes.
func TestBytesStayBounded(t *testing.T) {
	t.Run("report_Y01", func(t *testing.T) {
		const bound = 1 << 20
		d := open(t, bound)
		filler := strings.Repeat("x", 500)
		for s := range 20 {
			l := d.Log("loud", sandbox.InstanceID(fmt.Sprint("i", s)))
			for i := range 1000 {
				text := fmt.Sprintf("%c%c%c %s", 'a'+i%26, 'a'+i/26%26, 'a'+s, filler)
				if err := l.Add(Verdict{Text: text, Times: 1, New: true}, 0, noon); err != nil {
					t.Fatal(err)
				}
			}
			if err := l.Close(); err != nil {
				t.Fatal(err)
			}
			if n := used(t, d); n > bound {
				t.Fatalf("after %d sandboxes they have %d bytes", s+1, n)
			}
		}
		if err := d.Bound(bound, true); err != nil {
			t.Fatal(err)
		}
		before := used(t, d)
		l := d.Log("loud", "last")
		if err := l.Add(Verdict{Text: "x", New: true}, 0, noon); err != nil || used(t, d) != before {
			t.Errorf("on a low disk something was kept: %v", err)
		}
	})
}

func TestHostileLines(t *testing.T) {
	for name, raw := range map[string][]byte{
		"CRLF":           []byte("one\r\ntwo: \"}\r\n"),
		"ANSI":           []byte("\x1b[2J\x1b]0;title\x07red\n"),
		"a million":      bytes.Repeat([]byte("é"), 1<<19),
		"invalid UTF-8":  []byte("a\xff\xfe\xc3b\n"),
		"a zero":         []byte("a\x00b"),
		"line separator": []byte("a\u2028b\u2029c"),
	} {
		t.Run("attack_H60 "+name, func(t *testing.T) {
			d := open(t, 1<<20)
			l := d.Log("files", "i1")
			text := Line(raw, false)
			if err := l.Add(Verdict{Text: text, New: true}, 0, noon); err != nil {
				t.Fatal(err)
			}
			if err := l.Close(); err != nil {
				t.Fatal(err)
			}
			got := lines(t, d, "files/i1.jsonl")
			if len(got) != 1 || !jsontext.Value(got[0]).IsValid() || len(got[0]) > 6*longest || strings.ContainsAny(got[0], "\x1b\x00\r") {
				t.Errorf("kept as %d lines: %.200q", len(got), got)
			}
			if len(raw) > longest && !strings.Contains(got[0], "[cut]") {
				t.Error("it is not marked as cut")
			}
		})
	}
}

func FuzzLine(f *testing.F) {
	f.Add([]byte("a\r\n"), false)
	f.Add([]byte("\xf0\x9f\x98"), true)
	f.Fuzz(func(t *testing.T, raw []byte, cut bool) {
		line := Line(raw, cut)
		if b, err := json.Marshal(entry{Text: line}); err != nil || bytes.ContainsAny(b, "\n\r\x1b") {
			t.Errorf("%q: %s, %v", raw, b, err)
		}
	})
}
