package pins

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/mtibben/confusables"
	"golang.org/x/text/unicode/norm"
)

// word is one word of a text, as the rules read it, and where it stands.
type word struct {
	text     string
	from, to int
}

// What stands for what is not a word.
const (
	anURL   = "‹url›"
	aMail   = "‹mail›"
	aPhone  = "‹phone›"
	stop    = "‹.›" // the end of a sentence: rules do not read across
	noWords = ""
)

// words takes a text apart. Words are in lower case, without apostrophes and what is hidden in them,
// and letters that look like Latin ones are read as those; letters written apart are one word.
func words(s string) []word {
	var out []word
	for from := 0; from < len(s); {
		r, n := utf8.DecodeRuneInString(s[from:])
		if unicode.IsSpace(r) {
			from += n
			continue
		}
		to := from
		for to < len(s) {
			r, n := utf8.DecodeRuneInString(s[to:])
			if unicode.IsSpace(r) {
				break
			}
			to += n
		}
		out = appendWords(out, s, from, to)
		if strings.HasPrefix(s[to:], "\n\n") {
			out = append(out, word{stop, to, to})
		}
		from = to
	}
	return spelled(out)
}

// appendWords adds what stands in s[from:to], which has no space in it.
func appendWords(out []word, s string, from, to int) []word {
	chunk := s[from:to]
	if special := notAWord(chunk); special != noWords {
		return append(out, word{special, from, to})
	}
	begin, tagged := -1, false
	for i, r := range chunk {
		if begin >= 0 && isTag(r) != tagged { // what tags hide is no part of the word before
			out, begin = appendWord(out, s, from+begin, from+i), -1
		}
		tagged = isTag(r)
		in := r == '\'' || r == '’' || r == '_' || unicode.IsLetter(r) || unicode.IsDigit(r) || unicode.IsMark(r) || isTag(r) || !unicode.IsGraphic(r)
		if in && begin < 0 {
			begin = i
		}
		if !in && begin >= 0 {
			out, begin = appendWord(out, s, from+begin, from+i), -1
		}
		if ends := (r == '.' || r == '!' || r == '?') && from+i+1 == to; ends {
			out = append(out, word{stop, from + i, to})
		}
	}
	if begin >= 0 {
		out = appendWord(out, s, from+begin, to)
	}
	return out
}

func appendWord(out []word, s string, from, to int) []word {
	if t := folded(s[from:to]); t != "" {
		for part := range strings.FieldsSeq(t) { // tags may have hidden several
			out = append(out, word{part, from, to})
		}
	}
	return out
}

// notAWord is what an address is read as; "" for others.
func notAWord(chunk string) string {
	trimmed := strings.Trim(chunk, ".,;:()<>[]\"'`*")
	switch at := strings.IndexByte(trimmed, '@'); {
	case strings.Contains(trimmed, "://"):
		return anURL
	case at > 0 && strings.Contains(trimmed[at:], "."):
		return aMail
	}
	digits := 0
	for i := range len(trimmed) {
		if c := trimmed[i]; c >= '0' && c <= '9' {
			digits++
		}
	}
	if strings.HasPrefix(trimmed, "+") && digits >= 8 {
		return aPhone
	}
	return noWords
}

// folded is one word as the rules read it.
func folded(s string) string {
	if ascii(s) {
		return strings.ToLower(strings.ReplaceAll(s, "'", ""))
	}
	var b strings.Builder
	for _, r := range norm.NFKC.String(s) {
		switch {
		case isTag(r):
			b.WriteString(untagged([]rune{r}))
		case r == '\'' || r == '’' || !unicode.IsGraphic(r) || r == 0x200d || r == 0x200c:
		default:
			b.WriteRune(r)
		}
	}
	t := strings.ToLower(b.String())
	if mixed(t) {
		t = strings.ToLower(asLatin(t))
	}
	return t
}

func ascii(s string) bool {
	for i := range len(s) {
		if s[i] >= utf8.RuneSelf {
			return false
		}
	}
	return true
}

// mixed says whether a word has Latin letters and such of another script that are taken for them.
func mixed(s string) bool {
	latin, other := false, false
	for _, r := range s {
		latin = latin || unicode.Is(unicode.Latin, r)
		other = other || unicode.In(r, unicode.Cyrillic, unicode.Greek, unicode.Armenian, unicode.Cherokee)
	}
	return latin && other
}

// asLatin writes each letter of another script as the Latin one that it looks like.
func asLatin(s string) string {
	var b strings.Builder
	for _, r := range s {
		if r >= utf8.RuneSelf {
			b.WriteString(confusables.Skeleton(string(r)))
		} else {
			b.WriteRune(r)
		}
	}
	return b.String()
}

// minSpelled is from how many single letters on they are taken for one word written apart.
const minSpelled = 4

// spelled joins letters that were written apart.
func spelled(all []word) []word {
	out := all[:0]
	for i := 0; i < len(all); i++ {
		end := i
		for end < len(all) && utf8.RuneCountInString(all[end].text) == 1 {
			end++
		}
		if end-i < minSpelled {
			out = append(out, all[i])
			continue
		}
		var b strings.Builder
		for _, w := range all[i:end] {
			b.WriteString(w.text)
		}
		out = append(out, word{b.String(), all[i].from, all[end-1].to})
		i = end - 1
	}
	return out
}
