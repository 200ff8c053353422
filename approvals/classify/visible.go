package classify

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Visible shows what hides in a text: control, bidirectional, zero-width and other format
// characters, odd spaces and bytes that are no text come out as ⟨U+202E⟩, line ends as ↵, so that
// the text on the screen is all there is.
func Visible(s string) string {
	if clean(s) {
		return s
	}
	var b strings.Builder
	for i := 0; i < len(s); {
		r, n := utf8.DecodeRuneInString(s[i:])
		switch {
		case r == utf8.RuneError && n == 1:
			fmt.Fprintf(&b, "⟨%02X⟩", s[i])
		case r == '\r' && strings.HasPrefix(s[i+1:], "\n"): // the line end follows
		case r == '\n':
			b.WriteString("↵")
		case hidden(r):
			fmt.Fprintf(&b, "⟨U+%04X⟩", r)
		default:
			b.WriteString(s[i : i+n])
		}
		i += n
	}
	return b.String()
}

// clean says quickly whether a text is plain ASCII without control characters.
func clean(s string) bool {
	for i := range len(s) {
		if s[i] < 0x20 || s[i] >= 0x7f {
			return false
		}
	}
	return true
}

// hidden says whether r shows nothing, or something else than it is.
func hidden(r rune) bool {
	switch {
	case r == ' ':
		return false
	case unicode.IsControl(r), unicode.In(r, unicode.Cf, unicode.Co, unicode.Zs, unicode.Zl, unicode.Zp):
		return true
	case r == 0x115F, r == 0x1160, r == 0x3164, r == 0xFFA0, r == 0x2800, r == 0x034F: // fillers and blanks that count as letters or marks
		return true
	}
	return unicode.Is(unicode.Variation_Selector, r)
}

// limit cuts s in its middle to at most n characters: what a path or a command ends in matters as
// much as what it begins with.
func limit(s string, n int) string {
	if utf8.RuneCountInString(s) <= n {
		return s
	}
	r := []rune(s)
	head := (n - 1) * 2 / 3
	return string(r[:head]) + "…" + string(r[len(r)-(n-1-head):])
}
