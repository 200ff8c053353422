package sanitize

import (
	"bytes"
	"fmt"
	"unicode"
	"unicode/utf8"
)

// hidden is what takes characters out of a text that a person does not see and a terminal or a model
// does: control sequences, marks that turn text around, tags, joiners without anything to join.
type hidden struct {
	text   []byte
	out    []byte // nil while nothing has changed
	kept   int    // of text, how much is in out
	rtl    *bool  // the text has letters that are written from right to left; nil before it was asked
	show   bool   // put their names in the place of characters rather than nothing
	counts map[Kind]int

	lineEnd int  // up to where in text whole is about
	whole   bool // the isolates in the line are balanced
}

// unhidden is text without what is hidden in it, nil when there is nothing.
func unhidden(text []byte, show bool, counts map[Kind]int) []byte {
	h := hidden{text: text, show: show, counts: counts}
	for i := 0; i < len(text); {
		if c := text[i]; c >= ' ' && c < 0x7f || c == '\n' || c == '\t' {
			i++
			continue
		}
		i = h.at(i)
	}
	if h.out == nil {
		return nil
	}
	return append(h.out, text[h.kept:]...)
}

// at looks at one character, and says where the next begins.
func (h *hidden) at(i int) int {
	r, n := utf8.DecodeRune(h.text[i:])
	next := i + n
	switch {
	case r == '\r':
		if next < len(h.text) && h.text[next] == '\n' {
			return next
		}
		return h.drop(Control, i, next)
	case r == 0x1b, r == 0x9b, r == 0x9d, r == 0x90, r == 0x98, r == 0x9e, r == 0x9f:
		return h.drop(Control, i, sequence(h.text, i, r, next))
	case r < ' ', r == 0x7f, 0x80 <= r && r < 0xa0:
		return h.drop(Control, i, next)
	case r == 0x1f3f4:
		return h.flag(next)
	case 0xe0000 <= r && r <= 0xe007f:
		return h.drop(Tags, i, next)
	case r == utf8.RuneError && n == 1:
		return next
	}
	return h.format(r, i, next)
}

// format is the characters without a shape of their own.
func (h *hidden) format(r rune, i, next int) int {
	switch {
	case r == 0x200e || r == 0x200f || r == 0x61c: // marks; where all is left to right they only hide
		if !h.hasRTL() {
			return h.drop(Bidi, i, next)
		}
	case 0x2066 <= r && r <= 0x2069:
		if !h.hasRTL() || !h.isolated(i) {
			return h.drop(Bidi, i, next)
		}
	case 0x202a <= r && r <= 0x202e:
		return h.drop(Bidi, i, next)
	case r == 0xfeff:
		if i > 0 {
			return h.drop(ZeroWidth, i, next)
		}
	case r == 0x200c || r == 0x200d:
		if !joins(h.text, i, next) {
			return h.drop(ZeroWidth, i, next)
		}
	case isVariation(r):
		if !varies(h.text, i, r) {
			return h.drop(ZeroWidth, i, next)
		}
	case r == 0x200b, 0x2060 <= r && r <= 0x2064, 0x206a <= r && r <= 0x206f, r == 0x180e, r == 0x115f, r == 0x1160,
		r == 0x3164, r == 0xffa0, 0xfff9 <= r && r <= 0xfffb:
		return h.drop(ZeroWidth, i, next)
	}
	return next
}

func (h *hidden) hasRTL() bool {
	if h.rtl == nil {
		has := bytes.ContainsFunc(h.text, isRTL)
		h.rtl = &has
	}
	return *h.rtl
}

// isolated says whether the isolates of the line that i is in are balanced; lines are asked about in order.
func (h *hidden) isolated(i int) bool {
	if i < h.lineEnd {
		return h.whole
	}
	from := bytes.LastIndexByte(h.text[h.lineEnd:i], '\n') + 1 + h.lineEnd
	h.lineEnd = len(h.text)
	if j := bytes.IndexByte(h.text[i:], '\n'); j >= 0 {
		h.lineEnd = i + j
	}
	h.whole = balanced(h.text[from:h.lineEnd])
	return h.whole
}

func (h *hidden) drop(k Kind, from, to int) int {
	h.counts[k]++
	h.out = append(h.out, h.text[h.kept:from]...)
	if h.show {
		r, _ := utf8.DecodeRune(h.text[from:])
		h.out = fmt.Appendf(h.out, "<U+%04X>", r)
	}
	if h.out == nil {
		h.out = []byte{}
	}
	h.kept = to
	return to
}

// flag is the black flag, which tags may follow: the three that are letters of a flag there is.
func (h *hidden) flag(i int) int {
	from, name := i, ""
	for i < len(h.text) && len(name) < 8 {
		r, n := utf8.DecodeRune(h.text[i:])
		if r < 0xe0020 || r > 0xe007f {
			break
		}
		i += n
		if r == 0xe007f {
			if name == "gbeng" || name == "gbsct" || name == "gbwls" {
				return i
			}
			break
		}
		name += string(r - 0xe0000)
	}
	return from
}

// maxSequence bounds what is taken for one control sequence; a longer one loses its beginning alone.
const maxSequence = 4 << 10

// sequence is the end of the control sequence that begins at i: ESC [ … letter, and strings up to
// BEL or ESC \ (OSC, DCS, PM, APC, SOS), also in their 8-bit forms.
func sequence(text []byte, i int, r rune, next int) int {
	kind := byte(0)
	switch r {
	case 0x1b:
		if next == len(text) {
			return next
		}
		kind = text[next]
		next++
	case 0x9b:
		kind = '['
	default:
		kind = ']'
	}
	limit := min(len(text), i+maxSequence)
	switch kind {
	case '[':
		return endOfCSI(text, next, limit)
	case ']', 'P', 'X', '^', '_':
		return endOfOSC(text, next, limit)
	}
	if kind >= utf8.RuneSelf || kind < ' ' { // not its own: it is looked at next
		return next - 1
	}
	for next < limit && kind >= 0x20 && kind <= 0x2f {
		kind = text[next]
		next++
	}
	return next
}

func endOfCSI(text []byte, at, limit int) int {
	for at < limit && 0x20 <= text[at] && text[at] <= 0x3f {
		at++
	}
	if at < limit && 0x40 <= text[at] && text[at] <= 0x7e {
		at++
	}
	return at
}

func endOfOSC(text []byte, at, limit int) int {
	for j := at; j < limit; j++ {
		switch {
		case text[j] == 7, text[j] == 0xc2 && j+1 < limit && text[j+1] == 0x9c:
			return min(limit, j+1+int(text[j]>>7))
		case text[j] == 0x1b:
			if j+1 < limit && text[j+1] == '\\' {
				return j + 2
			}
			return j
		case text[j] == '\n':
			return j
		}
	}
	return at
}

func isRTL(r rune) bool {
	return r >= 0x590 && unicode.In(r, unicode.Hebrew, unicode.Arabic, unicode.Syriac, unicode.Thaana, unicode.Nko)
}

// balanced says whether each isolate in a line ends in it, and the line has letters for one.
func balanced(line []byte) bool {
	open, rtl := 0, false
	for _, r := range string(line) {
		switch {
		case r == 0x2069:
			if open--; open < 0 {
				return false
			}
		case 0x2066 <= r && r <= 0x2068:
			open++
		case isRTL(r):
			rtl = true
		}
	}
	return open == 0 && rtl
}

// joins says whether a joiner stands where one belongs: between emoji, or at a letter of a script
// that writes with joiners.
func joins(text []byte, i, next int) bool {
	before, _ := utf8.DecodeLastRune(text[:i])
	after, _ := utf8.DecodeRune(text[next:])
	if isEmoji(before) && isEmoji(after) {
		return true
	}
	return isJoined(before) && (isJoined(after) || i > 0 && !unicode.Is(unicode.Cf, after))
}

func isEmoji(r rune) bool {
	switch {
	case r == 0xfe0f, 0x1f000 <= r && r <= 0x1faff, 0x2190 <= r && r <= 0x2bff, r == 0x3030, r == 0x303d:
		return true
	}
	return false
}

func isJoined(r rune) bool {
	return r >= 0x600 && (isRTL(r) || unicode.In(r, unicode.Devanagari, unicode.Bengali, unicode.Gurmukhi, unicode.Gujarati,
		unicode.Oriya, unicode.Tamil, unicode.Telugu, unicode.Kannada, unicode.Malayalam, unicode.Sinhala, unicode.Khmer,
		unicode.Myanmar, unicode.Mongolian, unicode.Tibetan))
}

func isVariation(r rune) bool {
	return 0xfe00 <= r && r <= 0xfe0f || 0xe0100 <= r && r <= 0xe01ef
}

// varies says whether a variation selector stands behind a character that has variants; a row of
// them is a way to write bytes that nobody sees.
func varies(text []byte, i int, r rune) bool {
	before, _ := utf8.DecodeLastRune(text[:i])
	switch {
	case isVariation(before):
		return false
	case r >= 0xe0100:
		return unicode.Is(unicode.Han, before)
	case r >= 0xfe0e:
		return before >= 0xa9 || bytes.ContainsRune([]byte("0123456789#*"), before)
	}
	return unicode.In(before, unicode.Han, unicode.Mongolian, unicode.Sm, unicode.Myanmar)
}
