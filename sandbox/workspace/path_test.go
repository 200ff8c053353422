package workspace

import (
	"strings"
	"testing"
	"unicode/utf8"
)

func TestEncodePath(t *testing.T) {
	for raw, want := range map[string]string{
		"a/b c.txt":      "a/b c.txt",
		"é/日本":           "é/日本",
		"a\nb":           `a\x0ab`,
		`a\b`:            `a\\b`,
		"\xff":           `\xff`,
		"\u202egnp":      `\xe2\x80\xaegnp`,
		"\u0085":         `\xc2\x85`,
		"\x1b[31mred":    `\x1b[31mred`,
		"\u2028":         `\xe2\x80\xa8`,
		"\ufffd":         "\ufffd",
		"a\xe2\x28\xa1b": `a\xe2(\xa1b`,
	} {
		if got := EncodePath(raw); got != want {
			t.Errorf("%q: got %q, want %q", raw, got, want)
		}
	}
	for _, p := range []string{`a\`, `a\x`, `a\x1`, `a\xAB`, `a\n`, `\xzz`} {
		if raw, err := DecodePath(p); err == nil {
			t.Errorf("%q was taken for %q", p, raw)
		}
	}
}

func FuzzEncodePath(f *testing.F) {
	f.Add("a/b")
	f.Add("\\x0a\n\xff\u202e")
	f.Fuzz(func(t *testing.T, raw string) {
		p := EncodePath(raw)
		if !utf8.ValidString(p) || strings.ContainsFunc(p, func(r rune) bool { return r < ' ' || r == 0x7f }) {
			t.Errorf("%q is shown as %q", raw, p)
		}
		if back, err := DecodePath(p); err != nil || back != raw {
			t.Errorf("%q became %q, and that %q, %v", raw, p, back, err)
		}
	})
}

// Whatever is decoded is encoded the same, or two spellings would name one file.
func FuzzDecodePath(f *testing.F) {
	f.Add(`a\x0ab`)
	f.Add(`\\`)
	f.Fuzz(func(t *testing.T, p string) {
		raw, err := DecodePath(p)
		if err != nil {
			return
		}
		if again, err := DecodePath(EncodePath(raw)); err != nil || again != raw {
			t.Errorf("%q decodes to %q, and that to %q, %v", p, raw, again, err)
		}
	})
}
