package redact

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"slices"

	"github.com/garita-dev/garita/daemon/match"
)

const (
	// least is the shortest secret that is looked for, in bytes: a shorter one is part of ordinary words.
	least = 4
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

func newExact(secrets [][]byte) *exact {
	x := &exact{}
	var words [][]byte
	add := func(secret int, word []byte, encoded bool) {
		word = canonical(nil, word)
		known := slices.ContainsFunc(words, func(w []byte) bool { return bytes.Equal(w, word) })
		if !known && len(word) >= least {
			words, x.needles = append(words, word), append(x.needles, needle{secret, encoded})
		}
	}
	for i, s := range secrets {
		if len(s) < least {
			continue
		}
		add(i, s, false)
		for _, piece := range encodings(s) {
			if len(piece) >= leastEncoded {
				add(i, piece, true)
			}
		}
	}
	if len(words) == 0 {
		return nil
	}
	x.find = match.New(words, false)
	return x
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

// in is the spans of text that hold a secret, in order, given the hits in its canonical form.
func (x *exact) in(text []byte, hits []hit) []span {
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
