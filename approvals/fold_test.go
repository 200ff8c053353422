package approvals

import (
	"strings"
	"testing"
)

func TestFoldedName(t *testing.T) {
	names := []string{"path", "PATH", "Path", "pa th", "kind", "Kind", "\u212aind", "argument\u017f", "arguments", "Größe", "GRÖSSE", "größe", "σ", "ς", "Σ", ""}
	for _, a := range names {
		for _, b := range names {
			if got, want := FoldedName(a) == FoldedName(b), strings.EqualFold(a, b); got != want {
				t.Errorf("%q and %q: same %v, want %v", a, b, got, want)
			}
		}
	}
}
