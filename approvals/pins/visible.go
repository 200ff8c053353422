package pins

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Visible is s with everything that is not seen, or moves what is, written out: ⟨U+200B⟩, and a run of
// tag characters as the text that it hides. Line breaks and tabs stay.
func Visible(s string) string {
	if plain(s) {
		return s
	}
	var b strings.Builder
	runes := []rune(s)
	for i := 0; i < len(runes); i++ {
		switch r := runes[i]; {
		case isTag(r) && !flag(runes, i):
			end := i
			for end < len(runes) && isTag(runes[end]) {
				end++
			}
			fmt.Fprintf(&b, "⟨tags: %s⟩", untagged(runes[i:end]))
			i = end - 1
		case unseen(runes, i):
			fmt.Fprintf(&b, "⟨U+%04X⟩", r)
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}

// plain says that s is printable ASCII, tabs and line breaks: nothing in it is hidden.
func plain(s string) bool {
	for i := range len(s) {
		if c := s[i]; c >= utf8.RuneSelf || c < ' ' && c != '\n' && c != '\t' || c == 0x7f {
			return false
		}
	}
	return true
}

func isTag(r rune) bool { return r >= 0xe0000 && r <= 0xe007f }

// untagged is the ASCII text that tag characters stand for.
func untagged(tags []rune) string {
	var b strings.Builder
	for _, r := range tags {
		if c := r - 0xe0000; c >= ' ' && c < 0x7f {
			b.WriteRune(c)
		}
	}
	return b.String()
}

// maxFlag is how many tag characters follow a black flag in the flags there are.
const maxFlag = 7

// flag says whether the tag character at i belongs to a flag: 🏴, a few tags and their end.
func flag(runes []rune, i int) bool {
	from, to := i, i
	for from > 0 && isTag(runes[from-1]) {
		from--
	}
	for to < len(runes) && isTag(runes[to]) {
		to++
	}
	return from > 0 && runes[from-1] == 0x1f3f4 && to-from <= maxFlag && runes[to-1] == 0xe007f
}

// unseen says whether the character at i is one that a person does not see, or that moves the others.
func unseen(runes []rune, i int) bool {
	r := runes[i]
	switch {
	case r == '\n', r == '\t', r == '\r' && i+1 < len(runes) && runes[i+1] == '\n':
		return false
	case r < ' ', r >= 0x7f && r <= 0x9f, r == unicode.ReplacementChar:
		return true
	case r == 0x200d: // joins emoji, and letters of scripts that have forms
		return !joins(runes, i)
	case r == 0x200c:
		return !shaped(around(runes, i))
	case r >= 0xfe00 && r <= 0xfe0f: // picks the form of what stands before
		return i == 0 || !picks(runes[i-1])
	case isTag(r):
		return !flag(runes, i)
	case r == 0x00ad, r == 0x034f, r == 0x061c, r == 0x115f, r == 0x1160, r == 0x17b4, r == 0x17b5, r == 0x180e, r == 0x3164, r == 0xffa0, r == 0xfeff:
		return true
	case r >= 0x200b && r <= 0x200f, r >= 0x2028 && r <= 0x202e, r >= 0x2060 && r <= 0x206f:
		return true
	case r >= 0xfff0 && r <= 0xfffb, r >= 0xe0100 && r <= 0xe01ef, r >= 0x1d173 && r <= 0x1d17a:
		return true
	case unicode.Is(unicode.Co, r): // private use: looks like whatever a font says
		return true
	}
	return false
}

func around(runes []rune, i int) (before, after rune) {
	if i > 0 {
		before = runes[i-1]
	}
	if i+1 < len(runes) {
		after = runes[i+1]
	}
	return before, after
}

// joins says whether a zero width joiner at i joins what is joined: emoji, or letters that take forms.
func joins(runes []rune, i int) bool {
	before, after := around(runes, i)
	if before >= 0xfe00 && before <= 0xfe0f && i > 1 || before >= 0x1f3fb && before <= 0x1f3ff {
		before = 0x1f600 // a form or skin of an emoji
	}
	return pictured(before) && pictured(after) || shaped(before, after)
}

func pictured(r rune) bool {
	return unicode.Is(unicode.So, r) || r >= 0x1f000 && r <= 0x1faff
}

func picks(r rune) bool {
	return pictured(r) || unicode.Is(unicode.S, r) || r == '#' || r == '*' || r >= '0' && r <= '9' || r == 0x203c || r == 0x2049
}

// shaped says whether both letters are of scripts that are written with joiners.
func shaped(before, after rune) bool {
	in := func(r rune) bool {
		return unicode.In(r, unicode.Arabic, unicode.Syriac, unicode.Devanagari, unicode.Bengali, unicode.Gurmukhi, unicode.Gujarati,
			unicode.Oriya, unicode.Tamil, unicode.Telugu, unicode.Kannada, unicode.Malayalam, unicode.Sinhala, unicode.Khmer, unicode.Mongolian)
	}
	return in(before) && in(after)
}

// hiddenAt is where, in bytes, the first character is that is not seen; -1 when all are.
func hiddenAt(s string) int {
	if plain(s) {
		return -1
	}
	runes, at := []rune(s), 0
	for i, r := range runes {
		if unseen(runes, i) {
			return at
		}
		at += len(string(r))
	}
	return -1
}

// around s[from:to] an excerpt shows so many bytes.
const margin = 60

// excerpt is s[from:to] and a little around it, made visible.
func excerpt(s string, from, to int) string {
	to = min(max(to, from), from+6*margin)
	a, b := max(0, from-margin), min(len(s), to+margin)
	for a > 0 && !utf8.RuneStart(s[a]) {
		a--
	}
	for b < len(s) && !utf8.RuneStart(s[b]) {
		b++
	}
	out := Visible(s[a:b])
	if a > 0 {
		out = "…" + out
	}
	if b < len(s) {
		out += "…"
	}
	return strings.Join(strings.Fields(out), " ")
}
