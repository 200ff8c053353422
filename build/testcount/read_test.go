package main

import (
	"path/filepath"
	"strings"
	"testing"
)

func TestReadGo(t *testing.T) {
	for name, test := range map[string]struct {
		in   string
		want counts
		says string
	}{
		"each way a test ends": {
			in: `{"Action":"pass","Package":"p","Test":"A"}
{"Action":"output","Package":"p","Test":"B","Output":"    x_test.go:1: no bus\n"}
{"Action":"skip","Package":"p","Test":"B"}
{"Action":"output","Package":"p","Test":"C","Output":"got 1, want 2\n"}
{"Action":"fail","Package":"p","Test":"C"}
{"Action":"fail","Package":"p"}
`,
			want: counts{1, 1, 1},
			says: "got 1, want 2",
		},
		"a skip's reason is told": {
			in: `{"Action":"output","Package":"p","Test":"B","Output":"    x_test.go:1: no bus\n"}
{"Action":"skip","Package":"p","Test":"B"}
`,
			want: counts{Skipped: 1},
			says: "p B: x_test.go:1: no bus",
		},
		"a package that does not compile": {
			in:   `{"Action":"build-output","ImportPath":"p","Output":"undefined: x\n"}` + "\n" + `{"Action":"fail","Package":"p"}`,
			want: counts{Failed: 1},
			says: "undefined: x",
		},
		"what is not JSON is passed on": {in: "go: no such tool\n", says: "go: no such tool"},
	} {
		t.Run(name, func(t *testing.T) {
			var out strings.Builder
			got, err := readGo(strings.NewReader(test.in), &out, true)
			if err != nil || got != test.want {
				t.Errorf("got %v, %v, want %v", got, err, test.want)
			}
			if !strings.Contains(out.String(), test.says) {
				t.Errorf("said %q, without %q", out.String(), test.says)
			}
		})
	}
}

func TestReadVitest(t *testing.T) {
	got, err := readVitest(strings.NewReader(`{"numPassedTests":3,"numFailedTests":1,"numPendingTests":2,"numTodoTests":0,
		"testResults":[{"status":"failed","assertionResults":[]},{"status":"failed","assertionResults":[{"status":"failed"}]}]}`))
	if want := (counts{3, 2, 2}); err != nil || got != want {
		t.Errorf("got %v, %v, want %v", got, err, want)
	}
}

func TestCountsAddUp(t *testing.T) {
	file := filepath.Join(t.TempDir(), "counts")
	for _, c := range []counts{{1, 2, 3}, {10, 0, 5}} {
		if err := keep(file, c); err != nil {
			t.Fatal(err)
		}
	}
	got, err := load(file)
	if want := (counts{11, 2, 8}); err != nil || got != want {
		t.Errorf("got %v, %v, want %v", got, err, want)
	}
}
