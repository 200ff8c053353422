package redact

import (
	"bytes"
	"slices"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// canonical appends text to dst in a form in which a secret looks the same however it was written:
// escapes of JSON, percent, HTML and \x are undone, also escaped twice, white space and backslashes
// are left out, and base64 has one alphabet. The secret is brought to the same form, so what else
// it does to text does not matter.
func canonical(dst, text []byte) []byte { return unescaper{drop: true}.append(dst, text) }

// plain undoes the same escapes and leaves the rest as it is: for rules, which know words and quotes.
func plain(dst, text []byte) []byte { return unescaper{}.append(dst, text) }

// escaped says whether plain would change anything.
func escaped(text []byte) bool {
	return bytes.IndexByte(text, '\\') >= 0 || bytes.IndexByte(text, '%') >= 0
}

type unescaper struct{ drop bool }

func (u unescaper) append(dst, text []byte) []byte {
	for i := 0; i < len(text); {
		dst, i = u.one(dst, text, i)
	}
	return dst
}

// places are where in text the bytes begin that come to stand at the places given, which are sorted,
// once it is unescaped.
func (u unescaper) places(text []byte, sorted []int) []int {
	out := make([]int, 0, len(sorted))
	var scratch []byte
	for i, n := 0, 0; i < len(text) && len(out) < len(sorted); {
		from := i
		scratch, i = u.one(scratch[:0], text, i)
		n += len(scratch)
		for len(out) < len(sorted) && sorted[len(out)] < n {
			out = append(out, from)
		}
	}
	for len(out) < len(sorted) {
		out = append(out, len(text))
	}
	return out
}

// unmapped is spans of unescaped text as spans of text.
func (u unescaper) unmapped(text []byte, spans []span) []span {
	var ends []int
	for _, s := range spans {
		ends = append(ends, s.from, s.to)
	}
	slices.Sort(ends)
	ends = slices.Compact(ends)
	at := u.places(text, ends)
	out := make([]span, len(spans))
	for i, s := range spans {
		from, _ := slices.BinarySearch(ends, s.from)
		to, _ := slices.BinarySearch(ends, s.to)
		out[i] = span{at[from], at[to]}
	}
	return out
}

// one appends what stands at i, and says where the next begins.
func (u unescaper) one(dst, text []byte, i int) ([]byte, int) {
	switch c := text[i]; {
	case c == '\\':
		return u.backslash(dst, text, i)
	case c == '%':
		if b, next, ok := percent(text, i); ok {
			return u.put(dst, b), next
		}
		return append(dst, c), i + 1
	case c == '&' && u.drop:
		if r, n := entity(text[i:]); n > 0 {
			return u.puts(dst, r), i + n
		}
		return append(dst, c), i + 1
	default:
		return u.put(dst, c), i + 1
	}
}

func (u unescaper) put(dst []byte, c byte) []byte {
	if !u.drop {
		return append(dst, c)
	}
	switch c {
	case ' ', '\t', '\n', '\r', '\v', '\f', '\\':
		return dst
	case '-':
		c = '+'
	case '_':
		c = '/'
	}
	return append(dst, c)
}

func (u unescaper) puts(dst []byte, r rune) []byte {
	if r < utf8.RuneSelf {
		return u.put(dst, byte(r))
	}
	return utf8.AppendRune(dst, r)
}

// backslash is a run of backslashes and what they escape.
func (u unescaper) backslash(dst, text []byte, i int) ([]byte, int) {
	j := i
	for j < len(text) && text[j] == '\\' {
		j++
	}
	if j == len(text) {
		return u.kept(dst, text[i:j]), j
	}
	switch text[j] {
	case 'u':
		if r, next, ok := unicodeEscape(text, j); ok {
			return u.puts(dst, r), next
		}
	case 'x':
		if b, ok := hexByte(text, j+1); ok {
			return u.put(dst, b), j + 3
		}
	case 'n', 'r', 't', 'f':
		return u.put(dst, '\n'), j + 1
	case '/', '"', '\'':
		return dst, j
	}
	return u.kept(dst, text[i:j]), j
}

func (u unescaper) kept(dst, run []byte) []byte {
	if u.drop {
		return dst
	}
	return append(dst, run...)
}

// unicodeEscape reads uXXXX at j, and a second one that completes a pair.
func unicodeEscape(text []byte, j int) (rune, int, bool) {
	r, ok := hexRune(text, j+1)
	if !ok {
		return 0, j, false
	}
	next := j + 5
	if !utf16.IsSurrogate(r) {
		return r, next, true
	}
	k := next
	for k < len(text) && text[k] == '\\' {
		k++
	}
	if k > next && k < len(text) && text[k] == 'u' {
		if low, ok := hexRune(text, k+1); ok {
			if pair := utf16.DecodeRune(r, low); pair != utf8.RuneError {
				return pair, k + 5, true
			}
		}
	}
	return utf8.RuneError, next, true
}

func hexRune(text []byte, i int) (rune, bool) {
	hi, ok1 := hexByte(text, i)
	lo, ok2 := hexByte(text, i+2)
	return rune(hi)<<8 | rune(lo), ok1 && ok2
}

func hexByte(text []byte, i int) (byte, bool) {
	if i+2 > len(text) {
		return 0, false
	}
	hi, ok1 := hexDigit(text[i])
	lo, ok2 := hexDigit(text[i+1])
	return hi<<4 | lo, ok1 && ok2
}

func hexDigit(c byte) (byte, bool) {
	switch {
	case '0' <= c && c <= '9':
		return c - '0', true
	case 'a' <= c|0x20 && c|0x20 <= 'f':
		return c | 0x20 - 'a' + 10, true
	}
	return 0, false
}

// percent reads %XX, and %25XX, which is the same escaped again.
func percent(text []byte, i int) (b byte, next int, ok bool) {
	j := i + 1
	for j+4 <= len(text) && text[j] == '2' && text[j+1] == '5' {
		if _, ok := hexByte(text, j+2); !ok {
			break
		}
		j += 2
	}
	b, ok = hexByte(text, j)
	return b, j + 2, ok
}

var entities = map[string]rune{"amp": '&', "lt": '<', "gt": '>', "quot": '"', "apos": '\''}

// entity reads &name; and &#N;.
func entity(text []byte) (rune, int) {
	end := bytes.IndexByte(text[:min(len(text), 10)], ';')
	if end < 2 {
		return 0, 0
	}
	name := string(text[1:end])
	if r, ok := entities[name]; ok {
		return r, end + 1
	}
	if name[0] != '#' {
		return 0, 0
	}
	return numeric(strings.ToLower(name[1:]), end+1)
}

func numeric(digits string, size int) (rune, int) {
	base := rune(10)
	if strings.HasPrefix(digits, "x") {
		base, digits = 16, digits[1:]
	}
	r := rune(0)
	for _, c := range []byte(digits) {
		d, ok := hexDigit(c)
		if !ok || rune(d) >= base || r > utf8.MaxRune {
			return 0, 0
		}
		r = r*base + rune(d)
	}
	if digits == "" || !utf8.ValidRune(r) {
		return 0, 0
	}
	return r, size
}
