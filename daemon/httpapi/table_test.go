package httpapi

import (
	"bytes"
	"flag"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/garita-dev/garita/daemon/api"
)

var update = flag.Bool("update", false, "write golden files anew")

// TestTable holds the permission table to what is agreed: a change of either shows here.
func TestTable(t *testing.T) {
	var got bytes.Buffer
	for _, r := range New(nil, Options{}).routes() {
		fmt.Fprintf(&got, "%-6s %-42s %s\n", r.method, r.path, r.doors)
	}
	golden(t, "testdata/table.txt", got.Bytes())
}

func TestOpenAPI(t *testing.T) {
	got, err := OpenAPI()
	if err != nil {
		t.Fatal(err)
	}
	golden(t, "openapi.yaml", got)
}

func golden(t *testing.T, path string, got []byte) {
	t.Helper()
	if *update {
		if err := os.WriteFile(path, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Fatalf("%s is not what the code says (go generate ./daemon/httpapi): %s", path, diff)
	}
}

// TestEveryRouteOfTheContractIsInTheTable compares the table with the list in daemon/api's package comment.
func TestEveryRouteOfTheContractIsInTheTable(t *testing.T) {
	src, err := os.ReadFile("../api/api.go")
	if err != nil {
		t.Fatal(err)
	}
	said := map[string]bool{}
	for _, m := range regexp.MustCompile(`(?m)^//\t(GET|POST|DELETE) +(/api/v1/[^ ?\n]+)`).FindAllStringSubmatch(string(src), -1) {
		said[m[1]+" "+strings.Replace(m[2], "/workspaces/{server}", "/workspaces/{name}", 1)] = true
	}
	table := map[string]bool{}
	for _, r := range New(nil, Options{}).routes() {
		table[r.method+" "+r.path] = true
	}
	if diff := cmp.Diff(said, table); diff != "" {
		t.Fatal(diff)
	}
}

// TestMuxesHoldNothingButTheTable asks each door's router which pattern it would use for every route.
func TestMuxesHoldNothingButTheTable(t *testing.T) {
	s := New(nil, Options{})
	mux := http.NewServeMux()
	h := newAPI(mux, "")
	for _, r := range s.routes() {
		r.endpoint(mux, h, r.operation())
		req := httptest.NewRequest(r.method, strings.NewReplacer("{id}", "x", "{name}", "x", "{server}", "x").Replace(r.path), nil)
		if _, pattern := mux.Handler(req); pattern != r.method+" "+r.path {
			t.Errorf("%s %s is served by %q", r.method, r.path, pattern)
		}
	}
	for _, path := range []string{"/docs", "/openapi.json", "/openapi.yaml", "/schemas/Call.json"} {
		if _, pattern := mux.Handler(httptest.NewRequest("GET", path, nil)); pattern != "" {
			t.Errorf("%s is served by %q", path, pattern)
		}
	}
}

// RoutesForTest lists method, example path and whether the page may call it.
func RoutesForTest() (out []struct {
	Method, Path string
	Page, Socket bool
},
) {
	for _, r := range New(nil, Options{}).routes() {
		out = append(out, struct {
			Method, Path string
			Page, Socket bool
		}{r.method, strings.NewReplacer("{id}", "x1", "{name}", "files", "{server}", "files").Replace(r.path), r.doors&byPage != 0, r.doors&bySocket != 0})
	}
	return out
}

func TestWithStatus(t *testing.T) {
	for code, want := range map[string]int{"denied": 403, "not_found": 404, "precondition": 412, "nonsense": 500} {
		if got := problemOf(&api.Problem{Code: code}).Status; got != want {
			t.Errorf("%s: got %d, want %d", code, got, want)
		}
	}
}
