package config

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestSplitWords(t *testing.T) {
	for name, tt := range map[string]struct {
		line string
		want []string
	}{
		"plain":                  {"npx -y pkg", []string{"npx", "-y", "pkg"}},
		"quotes group":           {`node 'a b' "c d"`, []string{"node", "a b", "c d"}},
		"quotes join":            {`a'b'"c"d`, []string{"abcd"}},
		"an empty word":          {`a '' b`, []string{"a", "", "b"}},
		"a backslash":            {`a\ b c`, []string{"a b", "c"}},
		"quoted shell signs":     {`a '|&;<>$()' "x;y"`, []string{"a", "|&;<>$()", "x;y"}},
		"escape in double quote": {`"a\"b\$c\d"`, []string{`a"b$c\d`}},
		"workspace stays":        {`fs ${workspace} "${workspace}/x"`, []string{"fs", "${workspace}", "${workspace}/x"}},
		"tabs and newlines":      {"a\tb\nc", []string{"a", "b", "c"}},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := splitWords(tt.line)
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(got, tt.want); d != "" {
				t.Error(d)
			}
		})
	}
	for name, line := range map[string]string{
		"a pipe": "a | b", "a variable": "a $HOME", "a quoted variable": `a "$HOME"`, "a substitution": "a `b`", "a list": "a; b",
		"an open quote": "a 'b", "an open double quote": `a "b`, "a last backslash": `a\`, "nothing": "  ", "a redirection": "a >b",
	} {
		t.Run(name+" is refused", func(t *testing.T) {
			if got, err := splitWords(line); err == nil {
				t.Errorf("got %q, want an error", got)
			}
		})
	}
}

func FuzzWords(f *testing.F) {
	f.Add("a", "b c", "'")
	f.Add("", "\\", "${workspace}")
	f.Fuzz(func(t *testing.T, a, b, c string) {
		words := []string{a, b, c}
		got, err := splitWords(joinWords(words))
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(got, words); d != "" {
			t.Error(d)
		}
	})
}
