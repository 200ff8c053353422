package main

import (
	"bytes"
	"testing"
	"unicode"

	"github.com/go-json-experiment/json/jsontext"
)

func TestSafe(t *testing.T) {
	for text, want := range map[string]string{
		"plain, é ü 漢字 👍":               "plain, é ü 漢字 👍",
		"\x1b[2Jgone":                   `\x1b[2Jgone`,
		"\x1b]8;;http://x\aclick\x1b\\": `\x1b]8;;http://x\x07click\x1b\`,
		"a\nb\tc\rd":                    `a\nb\tc\rd`,
		"\u202egpj.exe":                 `\u202egpj.exe`,
		"zero\u200bwidth\ufeff":         `zero\u200bwidth\ufeff`,
		"C1 \u009b31m":                  `C1 \u009b31m`,
		"tag \U000e0041":                `tag \U000e0041`,
		"bad \xff utf8":                 `bad \xff utf8`,
		"line\u2028sep":                 `line\u2028sep`,
		"nbsp\u00a0":                    `nbsp\u00a0`,
		"DEL\x7f":                       `DEL\x7f`,
		"\ufffd is itself":              "\ufffd is itself",
	} {
		if got := safe(text); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
	if got := safeLines("a\tb\n\x1b[1A"); got != "a\tb\n"+`\x1b[1A` {
		t.Errorf("got %q", got)
	}
}

func FuzzSafe(f *testing.F) {
	f.Add("x\x1b[2J\u202e")
	f.Fuzz(func(t *testing.T, text string) {
		for _, r := range safe(text) {
			if !unicode.IsPrint(r) {
				t.Fatalf("%U is left of %q", r, text)
			}
		}
	})
}

func FuzzSafeJSON(f *testing.F) {
	f.Add([]byte(`{"a":"\u009b31m \u202e \ud83d\udc4d` + "\u009b\u202e\U000e0041" + `"}`))
	f.Fuzz(func(t *testing.T, raw []byte) {
		if !jsontext.Value(raw).IsValid() {
			return
		}
		safe := safeJSON(compact(raw))
		for _, r := range string(safe) {
			if !unicode.IsPrint(r) {
				t.Fatalf("%U is left of %q", r, raw)
			}
		}
		was, is := jsontext.Value(bytes.Clone(raw)), jsontext.Value(safe)
		if was.Canonicalize() == nil && (is.Canonicalize() != nil || !bytes.Equal(was, is)) {
			t.Fatalf("%q means something else than %q", safe, raw)
		}
	})
}
