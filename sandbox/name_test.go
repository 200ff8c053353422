package sandbox

import (
	"strings"
	"testing"

	"github.com/containerd/errdefs"
)

func TestParseServerName(t *testing.T) {
	for _, good := range []string{"a", "files", "awslabs.cdk-mcp-server", "A_1", "9", strings.Repeat("x", 64)} {
		if got, err := ParseServerName(good); err != nil || string(got) != good {
			t.Errorf("ParseServerName(%q) = %q, %v; want it as it is", good, got, err)
		}
	}
	for _, bad := range []string{"", ".", "..", "-x", "_x", "a/b", "../x", "a b", "文", "a\x00", "a\n", strings.Repeat("x", 65)} {
		if got, err := ParseServerName(bad); !errdefs.IsInvalidArgument(err) {
			t.Errorf("ParseServerName(%q) = %q, %v; want InvalidArgument", bad, got, err)
		}
	}
}
