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
	starts   [256]bool      // whether a character, as it is, begins any of them
	hold     int            // how many bytes a part of a text can take that may pass
	longest  int            // how many bytes a text can take
}

// pattern is one text in one alphabet. put is as long as text.
type pattern struct {
	text, put string
	name      string
	fold      func(byte) byte       // what two bytes have in common that mean the same
	like      func(c, as byte) byte // c, in the manner of as
	wraps     bool                  // line ends may stand between any two characters
	most      int                   // how many of its first characters may pass alone
}

// New makes a Scanner. Texts of less than MinLength bytes would be found everywhere, and are not looked for.
func New(pairs []Pair) *Scanner {
	s := &Scanner{}
	for _, p := range pairs {
		if len(p.Find) < MinLength {
			continue
		}
		put, public := fit(p.Put, len(p.Find)), public(p.Find, p.Put)
		s.add(pattern{text: p.Find, put: put, name: p.Name, fold: same, like: always}, public)
		for offset := range 3 {
			known := max(0, (offset+public)*8/6-whole(offset))
			s.add(pattern{text: inBase64(p.Find, offset), put: inBase64(put, offset), name: p.Name, fold: alphabet, like: always, wraps: true}, known)
		}
		s.add(pattern{text: hex.EncodeToString([]byte(p.Find)), put: hex.EncodeToString([]byte(put)), name: p.Name, fold: lower, like: inCase}, 2*public)
	}
	return s
}

// public is how many of text's first bytes say nothing of it: those that put has, too, and all but the
// signature of a signed token.
func public(text, put string) int {
	n := 0
	for n < min(len(text), len(put)) && text[n] == put[n] {
		n++
	}
	if strings.HasPrefix(text, "eyJ") && strings.Count(text, ".") == 2 {
		n = max(n, strings.LastIndexByte(text, '.')+1)
	}
	return n
}

// few is how many characters of a text, beyond what is public of it, may pass without the rest. Nobody
// guesses more at once, and fewer tell too little of a text to guess at it.
func few(rest string) int {
	most := 8
	if strings.Trim(rest, "0123456789abcdefABCDEF") == "" {
		most = 12
	}
	return min(most, len(rest)/2)
}

// MinLength is that of the shortest text that can be told from chance, in bytes.
const MinLength = 6

// add adds p, whose first characters say nothing: as many as known.
func (s *Scanner) add(p pattern, known int) {
	p.most = known + few(p.text[known:])
	width := maxWriting
	if p.wraps {
		width += maxLineEnd
	}
	s.hold = max(s.hold, (p.most+1)*width)
	s.longest = max(s.longest, (len(p.text)+1)*width)
	s.patterns = append(s.patterns, p)
	for c := range 256 {
		if p.folds(byte(c), p.text[0]) {
			s.starts[c] = true
			s.begin(byte(c), p.followers())
		}
	}
	s.begin('%', "0123456789abcdefABCDEF")
	s.begin('\\', "\\uxnrt\"'/%")
	s.begin('&', entityBegins)
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
	return all[whole(offset) : (offset+len(text))*8/6]
}

// whole is how many characters of base64 depend on the first offset bytes.
func whole(offset int) int { return (offset*8 + 5) / 6 }

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
	at, found, _ = s.look(b, last, false)
	return at, found
}

// look is find that stops at a large part, too, where parts is wanted: at more of a text's beginning than
// may pass, whether the rest may still come or not.
func (s *Scanner) look(b []byte, last, parts bool) (at int, found match, part part) {
	if s.Empty() {
		return len(b), match{}, part
	}
	for i := s.skip(b, 0); i < len(b); i = s.skip(b, i+1) {
		m, p := s.at(b[i:], last)
		switch {
		case p.more && !last:
			return i, match{}, p
		case m.pattern != nil:
			return i, m, part
		case p.of != nil && parts:
			return i, match{}, p
		}
	}
	return len(b), match{}, part
}

// part is the beginning of a text without the rest.
type part struct {
	of   *pattern // nil where it is so small that it may pass
	more bool     // the rest may come
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

// at is the longest match at the beginning of b, and the part of another.
func (s *Scanner) at(b []byte, last bool) (m match, beginning part) {
	if !s.canStart(b) {
		return m, beginning
	}
	for i := range s.patterns {
		p := &s.patterns[i]
		n, had, ended := p.match(b, last)
		switch {
		case had == len(p.text) && n > m.length:
			m = match{p, n}
		case had < len(p.text) && had > p.most:
			beginning.of = p
		}
		beginning.more = beginning.more || ended
	}
	return m, beginning
}

// canStart says whether the first character of b, as it is or escaped, may begin any text.
func (s *Scanner) canStart(b []byte) bool {
	if c := b[0]; s.starts[c] || c != '%' && c != '\\' && c != '&' {
		return s.starts[c]
	}
	var found [maxReadings]reading
	all, short := readings(b, found[:0])
	return short || slices.ContainsFunc(all, func(r reading) bool { return s.starts[r.c] })
}

// match follows p from the beginning of b: n bytes stand for its first had characters. ended: b is over,
// and p could still become whole.
func (p *pattern) match(b []byte, last bool) (n, had int, ended bool) {
	if c := b[0]; c != '%' && c != '\\' && c != '&' && !p.folds(c, p.text[0]) {
		return 0, 0, false
	}
	at := places{n: 1}
	for j := range len(p.text) {
		next, short := p.step(b, at, j)
		if short && !last {
			return at.last(), j, true
		}
		if next.n == 0 {
			return at.last(), j, false
		}
		at = next
	}
	return at.last(), len(p.text), false
}

// places are where in a text the next character may stand, for some writings can be read in two ways.
type places struct {
	list [maxPlaces]int // ascending
	n    int
}

const maxPlaces = 8

func (p *places) add(at int) {
	if p.n == 0 {
		p.list[0], p.n = at, 1
		return
	}
	i, there := slices.BinarySearch(p.list[:p.n], at)
	if !there && p.n < maxPlaces {
		copy(p.list[i+1:], p.list[i:p.n])
		p.list[i] = at
		p.n++
	}
}

func (p *places) last() int { return p.list[p.n-1] }

// step is where the character behind the j-th may stand. short: b may be too short to tell.
func (p *pattern) step(b []byte, at places, j int) (next places, short bool) {
	for _, i := range at.list[:at.n] {
		i += p.between(b[i:], j)
		if i == len(b) {
			short = true
			continue
		}
		if c := b[i]; c == '%' || c == '\\' || c == '&' {
			short = p.escaped(b, i, j, &next) || short
		}
		if p.folds(b[i], p.text[j]) {
			next.add(i + 1)
		}
	}
	return next, short
}

// escaped adds to next where escapes of the j-th character at i end. short: b may be too short to tell.
func (p *pattern) escaped(b []byte, i, j int, next *places) (short bool) {
	var found [maxReadings]reading
	all, short := readings(b[i:], found[:0])
	for _, r := range all {
		if p.fold(r.c) == p.text[j] {
			next.add(i + r.n)
		}
	}
	return short
}

// between is what may stand before the j-th character.
func (p *pattern) between(b []byte, j int) int {
	if !p.wraps || j == 0 {
		return 0
	}
	return lineEnd(b)
}

// maxLineEnd bounds what lineEnd takes, in bytes.
const maxLineEnd = 12

// lineEnd is how many bytes of b end a line, written out or escaped.
func lineEnd(b []byte) int {
	n := 0
	for n < len(b) && n < maxLineEnd/2 && (b[n] == '\r' || b[n] == '\n') {
		n++
	}
	for len(b) >= n+2 && b[n] == '\\' && (b[n+1] == 'n' || b[n+1] == 'r') && n+2 <= maxLineEnd {
		n += 2
	}
	return n
}

// rewrite puts p's text in place of m's in b, which are the bytes that matched, in their own writing.
func (m match) rewrite(b []byte) []byte {
	p, out := m.pattern, make([]byte, 0, m.length)
	ends, from := p.ends(b), 0
	for j, to := range ends {
		k := p.between(b[from:], j)
		out = append(out, b[from:from+k]...)
		out = p.writes(out, b[from+k:to], p.put[j])
		from = to
	}
	return out
}

// ends is where each of p's characters ends in b, which is all of them.
func (p *pattern) ends(b []byte) []int {
	steps := make([]places, len(p.text)+1)
	steps[0] = places{n: 1}
	for j := range len(p.text) {
		steps[j+1], _ = p.step(b, steps[j], j)
	}
	ends, to := make([]int, len(p.text)), len(b)
	for j := len(p.text) - 1; j >= 0; j-- {
		ends[j] = to
		to = p.before(b, steps[j], j, to)
	}
	return ends
}

// before is the one of at from which the j-th character ends at to.
func (p *pattern) before(b []byte, at places, j, to int) int {
	for _, i := range at.list[:at.n] {
		next, _ := p.step(b, places{list: [maxPlaces]int{i}, n: 1}, j)
		if slices.Contains(next.list[:next.n], to) {
			return i
		}
	}
	return 0
}

// writes appends c as it is written in was, in as many bytes. Where that cannot be, as with an escape
// of a backslash and one letter, "*" stands for it.
func (p *pattern) writes(out, was []byte, c byte) []byte {
	letter := bytes.TrimLeft(was, `\`)
	switch {
	case len(was) == 1:
		return append(out, p.like(c, was[0]))
	case was[0] == '&':
		return append(out, numbered(c, was)...)
	case was[0] == '%' && allHex(was[1:]), len(letter) == 3 && letter[0] == 'x', len(letter) == 5 && letter[0] == 'u':
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
	if text := fmt.Sprintf(format, len(was)-head, c); len(text) == len(was) && len(was) <= maxEntity {
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

// Is says whether text is one of the Pairs, in whatever writing, and nothing else.
func (s *Scanner) Is(text string) bool {
	at, found := s.find([]byte(text), true)
	return found.pattern != nil && at == 0 && found.length == len(text)
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
