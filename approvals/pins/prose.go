package pins

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/agnivade/levenshtein"
)

const (
	// maxSlips is how many words of a text may be written differently.
	maxSlips = 3
	// minSlip is how many letters a word has that can be mistyped: shorter ones turn into others.
	minSlip = 5
	// longSlip is from how many letters on two of them may differ.
	longSlip = 9
)

// slip says whether two texts say the same: they differ in spacing, case, the punctuation around words,
// and in at most a few letters of words that do not decide anything.
func slip(a, b string) bool {
	if !utf8.ValidString(a) || !utf8.ValidString(b) || hiddenAt(b) >= 0 {
		return false
	}
	old, now := bare(a), bare(b)
	if len(old) != len(now) {
		return false
	}
	slips := 0
	for i := range old {
		if old[i] == now[i] {
			continue
		}
		if slips++; slips > maxSlips || !mistyped(old[i], now[i]) {
			return false
		}
	}
	return true
}

// bare is a text's words without case and the punctuation around them. What stands inside of a word, or
// before one as in ~/x, --force and -1, is part of it.
func bare(s string) []string {
	var out []string
	for w := range strings.FieldsSeq(s) {
		w = strings.TrimRight(w, ".,;:!?\"'`)*…”’")
		w = strings.TrimLeft(w, "\"'`(*“‘")
		if w == "" || strings.Trim(w, "-–—•") == "" {
			continue
		}
		if letters(w) { // what is code keeps its case
			w = strings.ToLower(w)
		}
		out = append(out, w)
	}
	return out
}

func letters(w string) bool {
	for _, r := range w {
		if !unicode.IsLetter(r) {
			return false
		}
	}
	return true
}

// mistyped says whether one word is the other with a letter or two wrong.
func mistyped(a, b string) bool {
	n := min(utf8.RuneCountInString(a), utf8.RuneCountInString(b))
	if n < minSlip || !letters(a) || !letters(b) || mixed(b) || weighty[a] || weighty[b] || a[0] != b[0] {
		return false
	}
	limit := 1
	if n >= longSlip {
		limit = 2
	}
	return levenshtein.ComputeDistance(a, b) <= limit || swapped(a, b)
}

// swapped says whether two neighboring letters have changed places.
func swapped(a, b string) bool {
	if len(a) != len(b) {
		return false
	}
	i := 0
	for i < len(a) && a[i] == b[i] {
		i++
	}
	return i+1 < len(a) && a[i] == b[i+1] && a[i+1] == b[i] && a[i+2:] == b[i+2:]
}

// oneApart says whether at most one letter differs.
func oneApart(a, b string) bool { return levenshtein.ComputeDistance(a, b) <= 1 }

// weighty words decide what a sentence says, and are a letter away from others.
var weighty = of(`never always except unless without allow allowed allows disallow enable disable enabled disabled remove removed remote
	delete deleted private public write writes written create created start stop restart restore export expert import insert invert
	local global force forced secret secure insecure trust trusted untrusted before after while where there other under above below
	default require required optional include exclude included excluded append upload download encrypt decrypt grant grants deny denied
	every first least input output admin owner users files ignore ignored bypass approve approved confirm confirmed`)[0]
