package scan

import (
	"bytes"
	"strconv"
	"strings"
)

const (
	// maxWriting bounds how many bytes one character takes: a run of backslashes, "u" and four digits.
	maxWriting = maxRun + 5
	// maxRun bounds the backslashes in a run. JSON within JSON doubles them each time.
	maxRun = 8
)

// unescape reads the escaped character at the beginning of b. n is 0 where none begins; without whole,
// b may be too short to tell.
func unescape(b []byte) (c byte, n int, whole bool) {
	switch b[0] {
	case '%':
		return percent(b)
	case '\\':
		return backslash(b)
	case '&':
		return entity(b)
	}
	return 0, 0, true
}

// entities are the characters that HTML and XML have names for because they need them.
var entities = []struct {
	text string
	c    byte
}{{"&amp;", '&'}, {"&lt;", '<'}, {"&gt;", '>'}, {"&quot;", '"'}, {"&apos;", '\''}}

// maxEntity bounds a character's number in HTML, with what is around it: "&#0000103;".
const maxEntity = 10

// entity reads a character as HTML and XML write it.
func entity(b []byte) (c byte, n int, whole bool) {
	end := bytes.IndexByte(b[:min(len(b), maxEntity)], ';')
	if end < 0 {
		return 0, 0, len(b) >= maxEntity || len(b) > 1 && !entityBegins(b[1])
	}
	text := string(b[:end+1])
	for _, e := range entities {
		if e.text == text {
			return e.c, end + 1, true
		}
	}
	digits, numeric := strings.CutPrefix(text[1:end], "#")
	base := 10
	if hex, ok := strings.CutPrefix(strings.ToLower(digits), "x"); ok {
		digits, base = hex, 16
	}
	if code, err := strconv.ParseUint(digits, base, 8); err == nil && numeric {
		return byte(code), end + 1, true
	}
	return 0, 0, true
}

func entityBegins(c byte) bool { return strings.IndexByte("#algq", c) >= 0 }

func percent(b []byte) (c byte, n int, whole bool) {
	for i := 1; i <= 2; i++ {
		if i == len(b) {
			return 0, 0, false
		}
		if !isHex(b[i]) {
			return 0, 0, true
		}
	}
	return unhex(b[1:3]), 3, true
}

func backslash(b []byte) (c byte, n int, whole bool) {
	run := 1
	for run < len(b) && run < maxRun && b[run] == '\\' {
		run++
	}
	if run == len(b) {
		return 0, 0, false
	}
	switch rest := b[run:]; rest[0] {
	case 'u':
		return digits(rest, run, 4)
	case 'x':
		return digits(rest, run, 2)
	case 'n':
		return '\n', run + 1, true
	case 'r':
		return '\r', run + 1, true
	case 't':
		return '\t', run + 1, true
	case '"', '\'', '/':
		return rest[0], run + 1, true
	}
	if run > 1 {
		return '\\', run, true
	}
	return 0, 0, true
}

// digits reads the number after a letter; only those of one byte mean one.
func digits(b []byte, before, count int) (c byte, n int, whole bool) {
	for i := 1; i <= count; i++ {
		switch {
		case i == len(b):
			return 0, 0, false
		case !isHex(b[i]), count == 4 && i <= 2 && b[i] != '0':
			return 0, 0, true
		}
	}
	return unhex(b[count-1 : count+1]), before + count + 1, true
}

func isHex(c byte) bool {
	return '0' <= c && c <= '9' || 'a' <= c && c <= 'f' || 'A' <= c && c <= 'F'
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
