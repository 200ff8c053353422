package door

import (
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"
)

// TestConformance runs the official suite against a server behind the door, if GARITA_CONFORMANCE
// names the suite's program, GARITA_NODE a node that runs it, and GARITA_EVERYTHING the reference
// server of go-sdk. The totals are those of the server without the door.
func TestConformance(t *testing.T) {
	suite, node, server := os.Getenv("GARITA_CONFORMANCE"), os.Getenv("GARITA_NODE"), os.Getenv("GARITA_EVERYTHING")
	if suite == "" || node == "" || server == "" {
		t.Skip("GARITA_CONFORMANCE, GARITA_NODE and GARITA_EVERYTHING are not all set")
	}
	for revision, want := range map[string]string{"2025-11-25": "82 passed, 0 failed", "2026-07-28": "165 passed, 30 failed"} {
		t.Run(revision, func(t *testing.T) {
			_, url := open(t, Options{Backend: one(program(server))}, withToken("secret"))
			cmd := exec.CommandContext(t.Context(), node, suite, "server", "--url", url+"/mcp/srv", "--requirements", revision)
			if dir := os.Getenv("GARITA_CONFORMANCE_OUT"); dir != "" {
				cmd.Args = append(cmd.Args, "-o", dir+"/"+revision)
			}
			out, _ := cmd.CombinedOutput() // it fails for the 30, too
			total := regexp.MustCompile(`Total: (.*)`).FindStringSubmatch(string(out))
			if total == nil || total[1] != want {
				_, summary, _ := strings.Cut(string(out), "=== SUMMARY ===")
				t.Errorf("got %s, want %s\n%s", fmt.Sprint(total), want, summary)
			}
		})
	}
}
