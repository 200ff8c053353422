package sandboxtest

import (
	"os"
	"path/filepath"
	"testing"
)

// Testdata is the directory of real configs, tools, faults and attacks: $GARITA_TESTDATA, or
// ../shared/testdata beside the module. A test is skipped without it, unless GARITA_REQUIRE names
// "testdata".
func Testdata(tb testing.TB) string {
	tb.Helper()
	dir := os.Getenv("GARITA_TESTDATA")
	if dir == "" {
		dir = filepath.Join(moduleRoot(tb), "..", "shared", "testdata")
	}
	if _, err := os.Stat(filepath.Join(dir, "field-reports.tsv")); err != nil {
		absent(tb, "testdata", "there is none (set GARITA_TESTDATA): "+err.Error())
	}
	return dir
}

func moduleRoot(tb testing.TB) string {
	tb.Helper()
	dir, err := os.Getwd()
	if err != nil {
		tb.Fatal(err)
	}
	for at := dir; ; at = filepath.Dir(at) {
		if _, err := os.Stat(filepath.Join(at, "go.mod")); err == nil {
			return at
		}
		if at == filepath.Dir(at) {
			tb.Fatalf("no go.mod above %s", dir)
		}
	}
}
