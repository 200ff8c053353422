package daemon

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestACommandThatPrintsTooMuchIsEnded: it may not care that nobody reads what it prints.
func TestACommandThatPrintsTooMuchIsEnded(t *testing.T) {
	after := filepath.Join(t.TempDir(), "after")
	_, err := runForValue(t.Context(), []string{"sh", "-c", `trap "" PIPE; head -c 1000000 /dev/zero 2>/dev/null; sleep 5; touch "$0"`, after})
	if err == nil || !strings.Contains(err.Error(), "prints more than") {
		t.Errorf("%v", err)
	}
	if _, err := os.Stat(after); err == nil {
		t.Error("it went on to its end")
	}
}
