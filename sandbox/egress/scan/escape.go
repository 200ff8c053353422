package scan

import (
	"bytes"
	"strconv"
	"strings"
)

const (
	// maxWriting bounds how many bytes one character takes.
	maxWriting = maxLead + maxNested*len("amp;") + maxEntity
	// maxRun bounds the backslashes in a run. JSON within JSON doubles them each time.
	maxRun = 8
	// maxLead bounds a run of backslashes, "u" and four digits; each backslash may be "%5C".
	maxLead = 3*maxRun + 5
	// maxNested bounds how often a percent sign or an ampersand is escaped once more.
	maxNested = 3
)

// reading is a character, and how many bytes it is written in.
type reading struct {
	c byte
	n int
}

const maxReadings = 12

// readings appends the ways to read the escaped character at the beginning of b. short: b may be too
// short to tell.
func readings(b []byte, all []reading) (_ []reading, short bool) {
	switch b[0] {
	case '%':
		all, short = percent(b, all)
		if isEscapedBackslash(b) != no {
			var more bool
			all, more = backslash(b, all)
			short = short || more
		}
	case '\\':
		all, short = backslash(b, all)
	case '&':
		return entity(b, 1, all)
	}
	return nested(b, all, short)
}

// nested adds characters that HTML writes with an ampersand that is escaped itself.
func nested(b []byte, all []reading, short bool) ([]reading, bool) {
	for _, r := range all {
		if r.c == '&' {
			var more bool
			all, more = entity(b, r.n, all)
			return all, short || more
		}
	}
	return all, short
}

// entities are the characters that HTML and XML have names for, and that secrets have.
var entities = []struct {
	text string
	c    byte
}{
	{"amp;", '&'},
	{"lt;", '<'},
	{"gt;", '>'},
	{"quot;", '"'},
	{"apos;", '\''},
	{"sol;", '/'},
	{"plus;", '+'},
	{"equals;", '='},
	{"bsol;", '\\'},
	{"colon;", ':'},
	{"commat;", '@'},
	{"lowbar;", '_'},
	{"period;", '.'},
	{"num;", '#'},
	{"excl;", '!'},
	{"dollar;", '$'},
	{"percnt;", '%'},
}

// maxEntity bounds a character's number in HTML, with what is around it: "&#0000103;".
const maxEntity = 10

// entityBegins are what can follow an ampersand.
const entityBegins = "#algqspebcnd"

// entity reads a character as HTML and XML write it, whose ampersand takes head bytes; within HTML that
// is an ampersand's entity again.
func entity(b []byte, head int, all []reading) (_ []reading, short bool) {
	n := head
	for range maxNested {
		text := b[n:]
		end := bytes.IndexByte(text[:min(len(text), maxEntity-1)], ';')
		if end < 0 {
			return all, len(text) < maxEntity-1 && (len(text) == 0 || strings.IndexByte(entityBegins, text[0]) >= 0)
		}
		n += end + 1
		c, ok := entityOf(string(text[:end+1]))
		if !ok {
			return all, false
		}
		all = append(all, reading{c, n})
		if c != '&' {
			return all, false
		}
	}
	return all, false
}

// entityOf is the character of what follows an ampersand.
func entityOf(text string) (c byte, ok bool) {
	for _, e := range entities {
		if e.text == text {
			return e.c, true
		}
	}
	digits, numeric := strings.CutPrefix(strings.TrimSuffix(text, ";"), "#")
	base := 10
	if hex, ok := strings.CutPrefix(strings.ToLower(digits), "x"); ok {
		digits, base = hex, 16
	}
	code, err := strconv.ParseUint(digits, base, 8)
	return byte(code), err == nil && numeric
}

// percent reads two digits behind a percent sign, which may be escaped again and again: "%2F", "%252F".
func percent(b []byte, all []reading) (_ []reading, short bool) {
	for n := 1; n <= 1+2*maxNested; n += 2 {
		for i := n; i < n+2; i++ {
			if i >= len(b) {
				return all, true
			}
			if !isHex(b[i]) {
				return all, false
			}
		}
		c := unhex(b[n : n+2])
		if all = append(all, reading{c, n + 2}); c != '%' {
			break
		}
	}
	return all, false
}

type answer int

const (
	no answer = iota
	yes
	perhaps
)

// isEscapedBackslash says whether b begins with a backslash as a URL has it.
func isEscapedBackslash(b []byte) answer {
	switch {
	case len(b) >= 3 && b[0] == '%' && b[1] == '5' && upper(b[2]) == 'C':
		return yes
	case len(b) == 0, len(b) < 3 && b[0] == '%' && (len(b) < 2 || b[1] == '5'):
		return perhaps
	}
	return no
}

// backslashes is the run at the beginning of b: how many bytes the first of them take, the first two,
// and so on. short: the run may go on.
func backslashes(b []byte) (ends []int, short bool) {
	var list [maxRun]int
	ends = list[:0]
	for n := 0; len(ends) < maxRun; {
		switch {
		case n < len(b) && b[n] == '\\':
			n++
		case isEscapedBackslash(b[n:]) == yes:
			n += 3
		default:
			return ends, isEscapedBackslash(b[n:]) == perhaps
		}
		ends = append(ends, n)
	}
	return ends, false
}

// backslash reads what a run of backslashes escapes, and backslashes that are escaped themselves: both, as
// it is not known how often what is around it was.
func backslash(b []byte, all []reading) (_ []reading, short bool) {
	ends, short := backslashes(b)
	for _, run := range []int{2, 4, 8} {
		if run <= len(ends) {
			all = append(all, reading{'\\', ends[run-1]})
		}
	}
	if short || len(ends) == 0 {
		return all, short
	}
	run := ends[len(ends)-1]
	if run == len(b) {
		return all, true
	}
	switch rest := b[run:]; rest[0] {
	case 'u':
		return digits(rest, run, 4, all)
	case 'x':
		return digits(rest, run, 2, all)
	case 'n':
		return append(all, reading{'\n', run + 1}), false
	case 'r':
		return append(all, reading{'\r', run + 1}), false
	case 't':
		return append(all, reading{'\t', run + 1}), false
	case '"', '\'', '/':
		return append(all, reading{rest[0], run + 1}), false
	case '%':
		return quoted(rest, run, all)
	}
	return all, false
}

// quoted reads a quote or a slash that is percent-escaped, behind a run of backslashes.
func quoted(b []byte, before int, all []reading) (_ []reading, short bool) {
	if len(b) < 3 {
		return all, true
	}
	if isHex(b[1]) && isHex(b[2]) {
		if c := unhex(b[1:3]); strings.IndexByte("\"'/", c) >= 0 {
			all = append(all, reading{c, before + 3})
		}
	}
	return all, false
}

// digits reads the number after a letter; only those of one byte mean one.
func digits(b []byte, before, count int, all []reading) (_ []reading, short bool) {
	for i := 1; i <= count; i++ {
		switch {
		case i == len(b):
			return all, true
		case !isHex(b[i]), count == 4 && i <= 2 && b[i] != '0':
			return all, false
		}
	}
	return append(all, reading{unhex(b[count-1 : count+1]), before + count + 1}), false
}

func isHex(c byte) bool {
	return '0' <= c && c <= '9' || 'a' <= c && c <= 'f' || 'A' <= c && c <= 'F'
}

func allHex(b []byte) bool {
	return !bytes.ContainsFunc(b, func(r rune) bool { return r > 0x7f || !isHex(byte(r)) })
}

func unhex(two []byte) byte {
	n, _ := strconv.ParseUint(string(two), 16, 8)
	return byte(n)
}

func isUpperHex(c byte) bool { return 'A' <= c && c <= 'F' }

func upper(c byte) byte {
	if 'a' <= c && c <= 'f' {
		return c - 'a' + 'A'
	}
	return c
}
