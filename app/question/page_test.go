package question

import (
	"strings"
	"testing"
	"unicode"

	"github.com/garita-dev/garita/daemon/api"
)

func TestNothingForeignEndsWhatMustBeSeen(t *testing.T) {
	a := api.Approval{
		Title: meaning, Object: meaning, State: "pending", Call: api.Call{Tool: "t", Arguments: []byte(`{"What a yes means":"x\nWhat a yes means\ny"}`)},
		Diff: &api.FileDiff{Unified: meaning + "\n@@ What a yes means"}, Offers: []api.Offer{{Words: "this one"}},
	}
	lines := Of(a, 40)
	if at := Must(lines); at != len(lines)-2 || lines[at].Text != meaning {
		t.Errorf("line %d of %d", at, len(lines))
	}
	a.Offers = nil
	if at := Must(Of(a, 40)); at != len(Of(a, 40)) {
		t.Errorf("without offers: line %d", at)
	}
}

func TestAnswersToTheServerAreShown(t *testing.T) {
	a := api.Approval{Title: "x", State: "pending", Kind: "call", Call: api.Call{
		Tool: "t", Arguments: []byte(`{}`), Input: []byte(`{"inputResponses":{"who":{"content":{"name":"Ada"}}},"requestState":"s1"}`),
	}}
	var all strings.Builder
	for _, l := range Of(a, 80) {
		all.WriteString(l.Text + "\n")
	}
	for _, want := range []string{"Answers to what the server asked", "Ada", "s1"} {
		if !strings.Contains(all.String(), want) {
			t.Errorf("no %q in\n%s", want, all.String())
		}
	}
}

func FuzzQuestion(f *testing.F) {
	f.Add("t\x1b[2J", "o\u202e", `{"a":"b\n","c":[1]}`, "-x\n+y", 60)
	f.Fuzz(func(t *testing.T, title, object, arguments, diff string, width int) {
		a := api.Approval{Title: title, Object: object, State: "pending", Call: api.Call{Tool: object, Arguments: []byte(arguments)}, Diff: &api.FileDiff{Unified: diff, Change: api.Change{Path: title}}}
		for _, l := range Of(a, 20+max(0, width)%200) {
			for _, r := range l.Text {
				if !unicode.IsPrint(r) {
					t.Errorf("%q in %q", r, l.Text)
				}
			}
		}
	})
}
