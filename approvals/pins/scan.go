package pins

import (
	"bytes"
	"fmt"
	"regexp/syntax"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/garita-dev/garita/approvals"
	"github.com/garita-dev/garita/sandbox"
)

const (
	// maxFindings bounds what is reported of one item: a person has long understood.
	maxFindings = 50
	// maxText is up to where one text is read, in bytes; a longer one is a finding of its own.
	maxText = 64 << 10
	// maxParts bounds a schema: validators, ours or a client's, take time by the product of its choices.
	maxParts = 5000
	// maxChoices and maxDepth bound a schema likewise. The largest met had 39 and 12.
	maxChoices = 400
	maxDepth   = 64
	// outOfSight is so much white space that what follows is not seen.
	outOfSight = 200
	// undecoded is how long a word of base64 may be that says something by itself.
	undecoded = 80
)

// Scan finds in an item what a person should see before a model does, in every field: names, titles,
// descriptions, schemas, annotations, _meta. names is what all servers' things are called, and server
// whose item it is. It takes time in proportion to the definition, whatever is in it.
func Scan(it approvals.Item, server sandbox.ServerName, names *Names) []approvals.PinFinding {
	s := &scan{item: it, server: server, names: names}
	s.name()
	d := jsontext.NewDecoder(bytes.NewReader(it.Definition))
	if err := s.walk(d); err != nil {
		s.found(approvals.FoundSchema, "", "", "it cannot be read: "+Visible(err.Error()), true)
	}
	return s.findings
}

// scan is one item being looked through.
type scan struct {
	item     approvals.Item
	server   sandbox.ServerName
	names    *Names
	findings []approvals.PinFinding

	parts, choices int
	costs          bool // said already
}

func (s *scan) found(kind approvals.FindingKind, field, excerpt, why string, holds bool) {
	if len(s.findings) < maxFindings {
		s.findings = append(s.findings, approvals.PinFinding{Kind: kind, Field: field, Excerpt: excerpt, Why: why, Holds: holds})
	}
}

// walk looks at each text of the definition, the names of its members too.
func (s *scan) walk(d *jsontext.Decoder) error {
	for {
		t, err := d.ReadToken()
		if err != nil {
			if d.StackDepth() == 0 && d.InputOffset() > 0 && err.Error() == "EOF" {
				return nil
			}
			return err
		}
		if s.costly(d) {
			return nil // nobody needs the rest to say no
		}
		if t.Kind() != '"' {
			continue
		}
		value := t.String()
		if isName(d) {
			s.member(d, value)
		} else {
			s.value(string(d.StackPointer()), value)
		}
	}
}

// isName says whether the text just read is the name of a member.
func isName(d *jsontext.Decoder) bool {
	kind, n := d.StackIndex(d.StackDepth())
	return kind == '{' && n%2 == 1
}

// costly says whether the definition is more than anybody should check.
func (s *scan) costly(d *jsontext.Decoder) bool {
	s.parts++
	why := ""
	switch {
	case s.costs:
		return true
	case d.StackDepth() > maxDepth:
		why = fmt.Sprintf("it is over %d levels deep", maxDepth)
	case s.parts > maxParts*4:
		why = fmt.Sprintf("it has over %d parts", maxParts*4)
	case s.choices > maxChoices:
		why = fmt.Sprintf("it leaves over %d choices, which take for ever to check", maxChoices)
	default:
		return false
	}
	s.costs = true
	s.found(approvals.FoundSchema, string(d.StackPointer()), "", why, true)
	return true
}

// member looks at the name of a member, which a model sees in a schema.
func (s *scan) member(d *jsontext.Decoder, name string) {
	switch name {
	case "anyOf", "oneOf", "allOf", "$ref", "$dynamicRef", "if", "not":
		s.choices++
	}
	if !plainName(name) {
		s.text(string(d.StackPointer()), name)
	}
}

// plainName says that a name is too short to say anything.
func plainName(name string) bool {
	return len(name) < 24 && plain(name) && !strings.ContainsAny(name, " <~")
}

// value looks at one text.
func (s *scan) value(field, v string) {
	last := field[strings.LastIndexByte(field, '/')+1:]
	switch {
	case last == "$ref" || last == "$dynamicRef":
		s.ref(field, v)
	case last == "pattern":
		s.pattern(field, v)
	case strings.HasPrefix(field, "/icons/") && last == "src":
		s.icon(field, v)
	default:
		s.text(field, v)
	}
}

func (s *scan) ref(field, v string) {
	if !strings.HasPrefix(v, "#") && strings.Contains(v, ":") && !strings.HasPrefix(v, "https://json-schema.org/") {
		s.found(approvals.FoundSchema, field, excerpt(v, 0, len(v)), "the schema leads to an address; Garita does not fetch it", true)
	}
}

// pattern tells of a regular expression that takes exponential time where it is tried by backtracking.
func (s *scan) pattern(field, v string) {
	re, err := syntax.Parse(v, syntax.Perl)
	if err == nil && nested(re, false) {
		s.found(approvals.FoundSchema, field, excerpt(v, 0, len(v)), "a repetition inside a repetition can take for ever to check; Garita does not run it", false)
	}
	if at := hiddenAt(v); at >= 0 {
		s.found(approvals.FoundHidden, field, excerpt(v, at, at), "characters that are not seen", true)
	}
}

// nested says whether something is repeated without end inside what is, with nothing that parts one round
// from the next.
func nested(re *syntax.Regexp, inside bool) bool {
	repeats := re.Op == syntax.OpStar || re.Op == syntax.OpPlus || re.Op == syntax.OpRepeat && re.Max < 0
	if repeats && inside {
		return true
	}
	inside = inside || repeats
	if re.Op == syntax.OpConcat && (re.Sub[0].Op == syntax.OpLiteral || re.Sub[0].Op == syntax.OpCharClass) {
		inside = false
	}
	for _, sub := range re.Sub {
		if nested(sub, inside) {
			return true
		}
	}
	return false
}

func (s *scan) icon(field, v string) {
	scheme, _, _ := strings.Cut(v, ":")
	switch strings.ToLower(scheme) {
	case "data", "https":
	default:
		s.found(approvals.FoundReference, field, excerpt(v, 0, len(v)), "an icon that is no picture of its own and not on the web", true)
	}
}

// text looks at what is, or may be, prose.
func (s *scan) text(field, v string) {
	if len(v) > maxText {
		s.found(approvals.FoundName, field, excerpt(v, 0, margin), fmt.Sprintf("a text of %d bytes; the first %d were looked through", len(v), maxText), true)
		v = strings.ToValidUTF8(v[:maxText], "")
	}
	if at := hiddenAt(v); at >= 0 {
		s.found(approvals.FoundHidden, field, excerpt(v, at, at+4*margin), "characters that are not seen", true)
	}
	lower := v
	if !plain(v) {
		lower = unhidden(v)
	}
	lower = strings.ToLower(lower)
	s.phrases(field, v, lower)
	all := words(v)
	s.rules(field, v, all)
	s.shape(field, v, all)
	s.references(field, v, all)
}

// unhidden is v without what is hidden in it, and tags as what they stand for.
func unhidden(v string) string {
	runes := []rune(v)
	out := make([]rune, 0, len(runes))
	for i, r := range runes {
		switch {
		case isTag(r) && r >= 0xe0020 && r < 0xe007f:
			out = append(out, r-0xe0000)
		case unseen(runes, i):
		default:
			out = append(out, r)
		}
	}
	return string(out)
}

// phrases looks for text as it stands.
func (s *scan) phrases(field, v, lower string) {
	look := func(list []phrase) {
		for _, p := range list {
			at := strings.Index(lower, p.text)
			if at < 0 || p.kind == approvals.FoundReference && at > 0 && wordByte(lower[at-1]) && wordByte(p.text[0]) {
				continue
			}
			shown := v
			if len(lower) != len(v) {
				shown = lower
			}
			s.found(p.kind, field, excerpt(shown, at, at+len(p.text)), p.why, p.holds)
			return // one of a sort is enough
		}
	}
	if strings.ContainsAny(lower, "<[#忽無し視") {
		look(marks)
		look(comments)
	}
	if strings.ContainsAny(lower, "._/") {
		look(keepsakes)
	}
}

func wordByte(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= '0' && c <= '9'
}

// rules looks for what speaks to the model, each sort once.
func (s *scan) rules(field, v string, all []word) {
	var said map[string]bool
	for i, w := range all {
		for _, r := range begins[w.text] {
			end := r.match(all, i)
			if end == 0 || said[r.why] {
				continue
			}
			if said == nil {
				said = map[string]bool{}
			}
			said[r.why] = true
			s.found(r.kind, field, excerpt(v, w.from, all[end-1].to), r.why, r.holds)
		}
	}
}

// shape looks at how a text is written.
func (s *scan) shape(field, v string, all []word) {
	for _, w := range all {
		raw := v[w.from:w.to]
		switch {
		case !ascii(raw) && mixed(strings.ToLower(raw)):
			s.found(approvals.FoundLookalike, field, excerpt(v, w.from, w.to), fmt.Sprintf("a word with letters of two alphabets, which looks like %q", asLatin(raw)), true)
			return
		case len(raw) >= undecoded && w.text != anURL && base64ish(raw):
			s.found(approvals.FoundEncoded, field, excerpt(v, w.from, w.to), "text that has to be decoded to be read", true)
			return
		}
	}
	blank := 0
	for i := range len(v) {
		if c := v[i]; c == ' ' || c == '\n' || c == '\t' || c == '\r' {
			blank++
			continue
		}
		if blank >= outOfSight {
			s.found(approvals.FoundHidden, field, excerpt(v, i, i+margin), fmt.Sprintf("text that %d blanks push out of sight", blank), true)
			return
		}
		blank = 0
	}
}

// base64ish says whether a word is written as programs write.
func base64ish(w string) bool {
	upper, lower, digit := 0, 0, 0
	for i := range len(w) {
		switch c := w[i]; {
		case c >= 'A' && c <= 'Z':
			upper++
		case c >= 'a' && c <= 'z':
			lower++
		case c >= '0' && c <= '9':
			digit++
		default:
			return false // words() has cut at + and /, or it is no code
		}
	}
	return upper > 4 && lower > 4 && digit > 1 || digit+lower == len(w) && digit > len(w)/4
}

// references looks for tools of other servers.
func (s *scan) references(field, v string, all []word) {
	if s.names == nil || field == "/name" {
		return
	}
	said := map[string]bool{}
	for _, w := range all {
		owner, ok := s.names.foreign(s.server, w.text)
		if !ok || said[w.text] {
			continue
		}
		said[w.text] = true
		s.found(approvals.FoundReference, field, excerpt(v, w.from, w.to), fmt.Sprintf("it speaks of %s, a tool of the server %s", w.text, owner), true)
	}
}
