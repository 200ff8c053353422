package frontend

import (
	"io/fs"
	"testing"
)

func TestDistAlwaysHasAPage(t *testing.T) {
	page, err := fs.ReadFile(Dist(), "index.html")
	if err != nil {
		t.Fatalf("no page at the root: %v", err)
	}
	if len(page) == 0 {
		t.Error("the page is empty")
	}
}
