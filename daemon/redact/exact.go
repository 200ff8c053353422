package redact

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"slices"

	"github.com/garita-dev/garita/daemon/match"
)

const (
	// Least is the shortest secret that is looked for, in bytes: a shorter one is part of ordinary words.
	Least = 4
	// leastEncoded is the shortest piece of base64 or hex that is taken for a part of a secret.
	leastEncoded = 6
)

// needle is one form of a secret.
type needle struct {
	secret  int
	encoded bool // the run of base64 or hex that it stands in belongs to it
}

// exact finds granted secrets in canonical text.
type exact struct {
	needles []needle
	find    *match.Automaton
}

// words are the needles of an exact in the making.
type words struct {
	needles []needle
	texts   [][]byte
	known   map[string]bool
}

func (w *words) add(secret int, text []byte, encoded bool) {
	text = canonical(nil, text)
	if len(text) < Least || w.known[string(text)] {
		return
	}
	if w.known == nil {
		w.known = map[string]bool{}
	}
	w.known[string(text)] = true
	w.texts, w.needles = append(w.texts, text), append(w.needles, needle{secret, encoded})
}

// exact finds the words; nil when there are none.
func (w *words) exact() *exact {
	if len(w.texts) == 0 {
		return nil
	}
	return &exact{w.needles, match.New(w.texts, false)}
}

func newExact(secrets [][]byte) *exact {
	var all words
	for i, s := range secrets {
		if len(s) < Least {
			continue
		}
		all.add(i, s, false)
		for _, piece := range encodings(s) {
			if len(piece) >= leastEncoded {
				all.add(i, piece, true)
			}
		}
	}
	return all.exact()
}

// leastLine is the shortest line of a secret of several that is looked for by itself, in bytes.
const leastLine = 8

// newLines finds the lines of secrets that have several: a log is read line by line. The first and the last
// of a PEM file are the same in all.
func newLines(secrets [][]byte) *exact {
	var all words
	for i, s := range secrets {
		lines := bytes.FieldsFunc(s, func(r rune) bool { return r == '\n' || r == '\r' })
		for _, line := range lines {
			line = bytes.TrimSpace(line)
			if len(lines) > 1 && len(line) >= leastLine && !bytes.HasPrefix(line, []byte("-----")) {
				all.add(i, line, false)
			}
		}
	}
	return all.exact()
}

// encodings are what stands of a secret in base64, wherever in the coded bytes it begins, and in hex.
func encodings(s []byte) [][]byte {
	h := hex.EncodeToString(s)
	all := [][]byte{[]byte(h), bytes.ToUpper([]byte(h))}
	for before := range 3 {
		code := base64.RawStdEncoding.EncodeToString(append(make([]byte, before), s...))
		from, to := (before*8+5)/6, (before+len(s))*8/6 // the characters that are the secret's alone
		all = append(all, []byte(code[from:to]))
	}
	return all
}

// span is a stretch of text.
type span struct{ from, to int }

// hit is a stretch of the canonical text of one scalar.
type hit struct {
	span
	secret  int
	encoded bool
}

// stream is the canonical text of scalars that may hold parts of one secret, one after the other.
type stream struct {
	state int32
	read  int // bytes so far
	last  []piece
}

// piece is a scalar of a stream; begin is where in the stream it begins.
type piece struct{ ordinal, begin, end int }

// maxPieces is how many scalars a secret may be split over.
const maxPieces = 64

// feed reads one more scalar of a stream, and tells which parts of which scalars belong to a secret.
func (x *exact) feed(s *stream, ordinal int, text []byte, found func(ordinal int, h hit)) {
	s.last = append(s.last, piece{ordinal, s.read, s.read + len(text)})
	if n := len(s.last); n > maxPieces {
		s.last = append(s.last[:0], s.last[n-maxPieces:]...)
	}
	s.state = x.find.Run(s.state, text, func(word int32, end int) {
		to := s.read + end
		from := to - x.find.Size(word)
		for i := len(s.last) - 1; i >= 0 && s.last[i].end > from; i-- {
			p := s.last[i]
			part := span{max(from, p.begin) - p.begin, min(to, p.end) - p.begin}
			if part.from < part.to {
				found(p.ordinal, hit{part, x.needles[word].secret, x.needles[word].encoded})
			}
		}
	})
	s.read += len(text)
}

// begun is the end of a text where that may be the beginning of a secret; text has been fed to s. It is
// empty for less than the least secret.
func (x *exact) begun(s *stream) span {
	n := x.find.Begun(s.state)
	if n < Least {
		return span{s.read, s.read}
	}
	return span{max(0, s.read-n), s.read}
}

// in is the spans of text that hold a secret, in order, given the hits in its canonical form.
func (*exact) in(text []byte, hits []hit) []span {
	slices.SortFunc(hits, func(a, b hit) int { return a.from - b.from })
	spans := make([]span, len(hits))
	for i, h := range hits {
		spans[i] = h.span
	}
	var out []span
	for i, s := range (unescaper{drop: true}).unmapped(text, spans) {
		s.to = trimmed(text, s)
		if s.to <= end(out) {
			continue
		}
		if hits[i].encoded {
			s = widened(text, s, end(out))
		}
		out = append(out, s)
	}
	return out
}

// trimmed leaves white space that follows a secret out.
func trimmed(text []byte, s span) int {
	for s.to > s.from+1 && bytes.IndexByte([]byte(" \t\r\n"), text[s.to-1]) >= 0 {
		s.to--
	}
	return s.to
}

// widened is the run of coded text around a span: its edges hold bits of the secret.
func widened(text []byte, s span, after int) span {
	for s.from > after && coded(text[s.from-1]) {
		s.from--
	}
	for s.to < len(text) && coded(text[s.to]) {
		s.to++
	}
	return s
}

func coded(c byte) bool {
	return isLetter(c) || '0' <= c && c <= '9' || c == '+' || c == '/' || c == '-' || c == '_' || c == '='
}

func end(spans []span) int {
	if len(spans) == 0 {
		return 0
	}
	return spans[len(spans)-1].to
}

func isLetter(c byte) bool { return 'a' <= c|0x20 && c|0x20 <= 'z' }
