package protocol

import (
	"strings"
	"testing"
)

func TestALineIsNotTakenApartIntoWithoutBound(t *testing.T) {
	m, err := Parse([]byte("[" + strings.Repeat("0,", 20_000) + "0]"))
	if err != nil {
		t.Fatal(err)
	}
	if all, _, err := m.Batch(); err == nil {
		t.Errorf("a batch of %d messages passes", len(all))
	}
	page := `{"tools":[` + strings.Repeat(`{"name":"a"},`, 20_000) + `{"name":"a"}]}`
	if p, err := ParseToolPage([]byte(page)); err == nil {
		t.Errorf("a page of %d tools passes", len(p.Tools))
	}
	for _, few := range []string{`{"tools":[{"name":"a"}]}`, `{"tools":null}`} {
		if _, err := ParseToolPage([]byte(few)); err != nil {
			t.Errorf("%s: %v", few, err)
		}
	}
}
