package daemon

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/garita-dev/garita/sandbox"
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
