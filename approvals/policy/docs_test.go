package policy

import (
	"os"
	"regexp"
	"testing"
	"time"
)

// TestTheDocumentationsExamples parses what docs/policy.md shows, and tries its cases.
func TestTheDocumentationsExamples(t *testing.T) {
	local := time.Local
	t.Cleanup(func() { time.Local = local })
	time.Local = time.UTC // hours are the machine's
	text, err := os.ReadFile("../../docs/policy.md")
	if err != nil {
		t.Fatal(err)
	}
	blocks := func(kind string) [][]byte {
		var out [][]byte
		for _, m := range regexp.MustCompile("(?s)```yaml "+kind+"\n(.*?)```").FindAllSubmatch(text, -1) {
			out = append(out, m[1])
		}
		if len(out) == 0 {
			t.Fatalf("no %s in the documentation", kind)
		}
		return out
	}
	for _, b := range blocks("policy") {
		if _, err := Parse("docs", b); err != nil {
			t.Error(err)
		}
	}
	p, err := Parse("docs", blocks("policy")[0])
	if err != nil {
		t.Fatal(err)
	}
	cases, err := ParseCases("docs", blocks("cases")[0])
	if err != nil {
		t.Fatal(err)
	}
	for _, v := range Try(p, cases) {
		if v.Wrong != "" {
			t.Errorf("%s: %s (%s)", v.Name, v.Wrong, v.Got.Reason)
		}
	}
}

// TestTheStartingPolicy: it has no rules, and its rules in comments are right.
func TestTheStartingPolicy(t *testing.T) {
	text, err := os.ReadFile("../../assets/policy.yaml")
	if err != nil {
		t.Fatal(err)
	}
	if p, err := Parse("policy.yaml", text); err != nil || len(p.Rules) != 0 {
		t.Fatalf("%v, %d rules", err, len(p.Rules))
	}
	at := regexp.MustCompile(`(?m)^rules: \[\]$`).FindIndex(text)
	head, tail := text[:at[0]], regexp.MustCompile(`(?s)#\n#   #.*`).Find(text[at[1]:])
	commented := regexp.MustCompile(`(?m)^# ?`).ReplaceAll(tail, nil)
	p, err := Parse("policy.yaml", append(append(append([]byte{}, head...), "rules:\n"...), commented...))
	if err != nil || len(p.Rules) != 5 {
		t.Fatalf("%v, %d rules", err, len(p.Rules))
	}
	if w := Review(p); len(w) != 0 {
		t.Errorf("the examples are warned of: %v", w)
	}
}
