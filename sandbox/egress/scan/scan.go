// Package scan finds texts in what passes, in whatever way they are written, and puts others in their
// place. It is how a secret's value is kept from coming back into the sandbox it was sent for.
//
// Found is a text as it is, with any of its characters escaped (percent, JSON, HTML), in base64 (either
// alphabet, at each of the three offsets it can have among other bytes, over line ends) and in hex. Not
// found is what a host makes of it beyond that: compressed, encrypted, reversed, in pieces. What is
// put in its place is exactly as long, so nothing around it has to change.
package scan

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"net/url"
	"slices"
	"strings"
)

// Pair is a text to find and what is put in its place.
type Pair struct {
	Find, Put string
	Name      string // of the Pair, for whoever wants to know
}

// Scanner finds texts. It may be used by many at the same time; the zero Scanner finds none.
type Scanner struct {
	patterns []pattern
	begins   *[1 << 16]bool // whether two bytes can begin any of them, by the first times 256 and the second
	spare    int            // how many bytes of a text may pass before it is known to be none
}

// pattern is one text in one alphabet. put is as long as text.
type pattern struct {
	text, put string
	name      string
	fold      func(byte) byte       // what two bytes have in common that mean the same
	like      func(c, as byte) byte // c, in the manner of as
	wraps     bool                  // line ends may stand between any two characters
}

// New makes a Scanner. Texts of less than MinLength bytes would be found everywhere, and are not looked for.
func New(pairs []Pair) *Scanner {
	s := &Scanner{spare: maxSpare}
	for _, p := range pairs {
		if len(p.Find) < MinLength {
			continue
		}
		put := fit(p.Put, len(p.Find))
		s.add(pattern{text: p.Find, put: put, name: p.Name, fold: same, like: always})
		s.spare = min(s.spare, len(p.Find)/4)
		for offset := range 3 {
			s.add(pattern{text: inBase64(p.Find, offset), put: inBase64(put, offset), name: p.Name, fold: alphabet, like: always, wraps: true})
		}
		s.add(pattern{text: hex.EncodeToString([]byte(p.Find)), put: hex.EncodeToString([]byte(put)), name: p.Name, fold: lower, like: inCase})
	}
	return s
}

// MinLength is that of the shortest text that can be told from chance, in bytes.
const MinLength = 6

// maxSpare bounds Scanner.spare, in bytes.
const maxSpare = 8

func (s *Scanner) add(p pattern) {
	s.patterns = append(s.patterns, p)
	for c := range 256 {
		if p.folds(byte(c), p.text[0]) {
			s.begin(byte(c), p.followers())
		}
	}
	s.begin('%', "0123456789abcdefABCDEF")
	s.begin('\\', "\\uxnrt\"'/")
	s.begin('&', "#algq")
}

// folds says whether c, as it is, stands for want.
func (p *pattern) folds(c, want byte) bool { return p.fold(c) == want || c == '+' && want == ' ' }

// followers are the bytes that can follow the first character.
func (p *pattern) followers() string {
	all := "%\\&\r\n"
	for c := range 256 {
		if p.folds(byte(c), p.text[1]) {
			all += string([]byte{byte(c)})
		}
	}
	return all
}

func (s *Scanner) begin(first byte, seconds string) {
	if s.begins == nil {
		s.begins = new([1 << 16]bool)
	}
	for _, c := range []byte(seconds) {
		s.begins[uint16(first)<<8|uint16(c)] = true
	}
}

// Empty says that there is nothing to find.
func (s *Scanner) Empty() bool { return s == nil || len(s.patterns) == 0 }

// fit makes put n bytes long.
func fit(put string, n int) string {
	if len(put) >= n {
		return put[:n]
	}
	return put + strings.Repeat("*", n-len(put))
}

// inBase64 is those characters of text's base64 that depend on nothing else, where offset bytes
// stand before it in its first group of three.
func inBase64(text string, offset int) string {
	all := base64.RawStdEncoding.EncodeToString([]byte(strings.Repeat("\x00", offset) + text))
	from := (offset*8 + 5) / 6
	return all[from : (offset+len(text))*8/6]
}

func same(c byte) byte { return c }

func always(c, _ byte) byte { return c }

func inCase(c, as byte) byte {
	if isUpperHex(as) {
		return upper(c)
	}
	return c
}

func lower(c byte) byte {
	if 'A' <= c && c <= 'Z' {
		return c + 'a' - 'A'
	}
	return c
}

// alphabet makes one of the two alphabets of base64.
func alphabet(c byte) byte {
	switch c {
	case '-':
		return '+'
	case '_':
		return '/'
	}
	return c
}

// match is what is found at one place.
type match struct {
	pattern *pattern
	length  int // in the input
}

// find is the first match in b. Where none is: how many bytes of b are sure to be in none, whatever
// follows; with last, that is all.
func (s *Scanner) find(b []byte, last bool) (at int, found match) {
	if s.Empty() {
		return len(b), match{}
	}
	for i := s.skip(b, 0); i < len(b); i = s.skip(b, i+1) {
		m, more := s.at(b[i:], last)
		if more && !last {
			return i, match{}
		}
		if m.pattern != nil {
			return i, m
		}
	}
	return len(b), match{}
}

// skip is the next place from i on at which a text can begin.
func (s *Scanner) skip(b []byte, i int) int {
	begins := s.begins
	for ; i+1 < len(b); i++ {
		if begins[uint16(b[i])<<8|uint16(b[i+1])] {
			return i
		}
	}
	return i
}

// at is the longest match at the beginning of b. more: b may be only the beginning of a longer one.
func (s *Scanner) at(b []byte, last bool) (m match, more bool) {
	for i := range s.patterns {
		p := &s.patterns[i]
		n, whole, ended := p.match(b, last)
		if whole && n > m.length {
			m = match{p, n}
		}
		more = more || ended
	}
	return m, more
}

// match follows p from the beginning of b. ended: b is over, and p could still become whole.
func (p *pattern) match(b []byte, last bool) (n int, whole, ended bool) {
	for j := range len(p.text) {
		if p.wraps && j > 0 {
			n += lineEnd(b[n:])
		}
		if n == len(b) {
			return n, false, true
		}
		used, ok := p.reads(b[n:], p.text[j], last)
		if used == 0 {
			return n, false, !ok
		}
		n += used
	}
	return n, true, false
}

// lineEnd is how many bytes of b end a line, written out or escaped.
func lineEnd(b []byte) int {
	n := 0
	for n < len(b) && n < maxWriting && (b[n] == '\r' || b[n] == '\n') {
		n++
	}
	for len(b) >= n+2 && b[n] == '\\' && (b[n+1] == 'n' || b[n+1] == 'r') && n < maxWriting {
		n += 2
	}
	return n
}

// reads says how many bytes at the beginning of b stand for want. 0: none do, or, without ok, b may
// be too short to tell.
func (p *pattern) reads(b []byte, want byte, last bool) (used int, ok bool) {
	c, n, whole := unescape(b)
	switch {
	case !whole && !last:
		return 0, false
	case n > 0 && p.fold(c) == want:
		return n, true
	case p.folds(b[0], want):
		return 1, true
	}
	return 0, true
}

// rewrite puts p's text in place of m's in b, which are the bytes that matched, in their own writing.
func (m match) rewrite(b []byte) []byte {
	p, out, n := m.pattern, make([]byte, 0, m.length), 0
	for j := range len(p.text) {
		if p.wraps && j > 0 {
			k := lineEnd(b[n:])
			out = append(out, b[n:n+k]...)
			n += k
		}
		used, _ := p.reads(b[n:], p.text[j], true)
		out = p.writes(out, b[n:n+used], p.put[j])
		n += used
	}
	return out
}

// writes appends c as it is written in was, in as many bytes. Where that cannot be, as with an escape
// of a backslash and one letter, "*" stands for it.
func (p *pattern) writes(out, was []byte, c byte) []byte {
	letter := bytes.TrimLeft(was, `\\`)
	switch {
	case len(was) == 1:
		return append(out, p.like(c, was[0]))
	case was[0] == '&':
		return append(out, numbered(c, was)...)
	case was[0] == '%', len(letter) == 3, len(letter) == 5:
		head := len(was) - 2
		text := hex.EncodeToString([]byte{c})
		return append(append(out, was[:head]...), inCase(text[0], was[head]), inCase(text[1], was[head+1]))
	}
	return append(out, strings.Repeat("*", len(was))...)
}

// numbered is c as HTML writes it, in as many bytes as was.
func numbered(c byte, was []byte) string {
	format := "&#%0*d;"
	head := len("&#;")
	if was[1] == '#' && was[2]|0x20 == 'x' {
		format, head = "&#x%0*x;", len("&#x;")
	}
	if text := fmt.Sprintf(format, len(was)-head, c); len(text) == len(was) {
		return text
	}
	return strings.Repeat("*", len(was))
}

// String replaces in a whole text.
func (s *Scanner) String(text string) string {
	if s.Empty() {
		return text
	}
	var out []byte
	b := []byte(text)
	for {
		at, found := s.find(b, true)
		if found.pattern == nil {
			if out == nil {
				return text
			}
			return string(append(out, b...))
		}
		out = append(append(out, b[:at]...), found.rewrite(b[at:at+found.length])...)
		b = b[at+found.length:]
	}
}

// Names lists the Pairs that text holds, each once, in whatever writing.
func (s *Scanner) Names(text string) []string { return s.NamesIn([]byte(text)) }

// NamesIn is Names of bytes.
func (s *Scanner) NamesIn(b []byte) []string {
	var names []string
	for {
		at, found := s.find(b, true)
		if found.pattern == nil {
			return names
		}
		if !slices.Contains(names, found.pattern.name) {
			names = append(names, found.pattern.name)
		}
		b = b[at+found.length:]
	}
}

// Contains says whether text, a name in any case or percent-escaped, holds one of the Pairs.
func (s *Scanner) Contains(text string) bool {
	if s.Empty() {
		return false
	}
	if len(s.Names(text)) > 0 {
		return true
	}
	if plain, err := url.QueryUnescape(text); err == nil && plain != text {
		text = plain
	}
	for i := range s.patterns {
		if strings.Contains(strings.ToLower(text), strings.ToLower(s.patterns[i].text)) {
			return true
		}
	}
	return false
}
