// Package safe makes foreign text harmless on a terminal and honest to a reader: control characters,
// escape sequences, bidirectional and invisible characters become visible marks such as \x1b or \u202e.
package safe

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Line is text as one line.
func Line(text string) string {
	if harmless(text) {
		return text
	}
	var b strings.Builder
	for len(text) > 0 {
		r, n := utf8.DecodeRuneInString(text)
		b.WriteString(mark(r, text[:n]))
		text = text[n:]
	}
	return b.String()
}

// Lines is text of several lines: line ends and tabs stay.
func Lines(text string) string {
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		parts := strings.Split(line, "\t")
		for j, part := range parts {
			parts[j] = Line(part)
		}
		lines[i] = strings.Join(parts, "\t")
	}
	return strings.Join(lines, "\n")
}

func harmless(text string) bool {
	for _, r := range text {
		if !unicode.IsPrint(r) || r == utf8.RuneError {
			return false
		}
	}
	return true
}

// mark writes one character, or stands for it. raw is its bytes.
func mark(r rune, raw string) string {
	switch {
	case r == utf8.RuneError && len(raw) == 1:
		return fmt.Sprintf(`\x%02x`, raw[0])
	case unicode.IsPrint(r):
		return raw
	case r == '\n':
		return `\n`
	case r == '\t':
		return `\t`
	case r == '\r':
		return `\r`
	case r < 0x80:
		return fmt.Sprintf(`\x%02x`, r)
	case r < 0x10000:
		return fmt.Sprintf(`\u%04x`, r)
	default:
		return fmt.Sprintf(`\U%08x`, r)
	}
}

// JSON escapes inside JSON text what a terminal could take for a command. The JSON means the same.
func JSON(text []byte) []byte {
	var b []byte
	for len(text) > 0 {
		r, n := utf8.DecodeRune(text)
		switch {
		case r == '\n' || unicode.IsPrint(r):
			b = append(b, text[:n]...)
		case r < 0x10000:
			b = fmt.Appendf(b, `\u%04x`, r)
		default:
			hi, lo := surrogates(r)
			b = fmt.Appendf(b, `\u%04x\u%04x`, hi, lo)
		}
		text = text[n:]
	}
	return b
}

func surrogates(r rune) (hi, lo rune) {
	r -= 0x10000
	return 0xd800 + r>>10, 0xdc00 + r&0x3ff
}
