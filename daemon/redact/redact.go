// Package redact takes secrets out of what a server returned before a model, a person's screen, a
// log or the record sees it.
//
// Two things are secrets: what the person granted the server, however it is written (escaped, in
// base64 or hex, over several lines or items of content), and what has the shape of a token by
// gitleaks' rules. A text in which nothing is found keeps its bytes. Images, audio and other blobs
// are never rewritten: one that holds a secret is withheld whole.
//
// All of it takes time linear in the text. What the rules have no time left for is taken for a
// token where it could be one, so that a flood of decoys hides nothing.
//
// Not found: a secret reversed, in another case, encrypted, compressed, in base64 of base64; a token
// of no grant in base64, or split over items. A server that means to pass on what it was given can;
// what holds it is that it reaches no network.
package redact

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/garita-dev/garita/daemon/protocol"
)

// Mask stands for what was taken out.
const Mask = "[redacted]"

// Secret is one that was granted. Name is for people.
type Secret struct {
	Name  string
	Value []byte
}

// Finding is something that was taken out, Count times. Granted: it is one of the granted secrets.
type Finding struct {
	What    string // the secret's name, or the rule's: "github-pat"
	Count   int
	Granted bool
	Blocked bool // the item that held it was withheld whole
}

// String is the finding in one clause.
func (f Finding) String() string {
	what := "what looks like a secret (" + f.What + ")"
	switch {
	case f.Granted:
		what = "the secret " + f.What
	case f.What == unsure:
		what = "what could not be looked at in time and might be a secret"
	}
	verb := "redacted"
	if f.Blocked {
		verb = "withheld an item that holds"
	}
	if f.Count > 1 {
		return fmt.Sprintf("%s %s, %d times", verb, what, f.Count)
	}
	return verb + " " + what
}

const unsure = "not looked at"

// Redactor knows the granted secrets. The zero Redactor and a nil one know none, and still know
// tokens by their shape. It may be used by several at once.
type Redactor struct {
	secrets []Secret
	exact   *exact
	lines   *exact // of secrets that have several, for logs
}

// New prepares the search for secrets. Those of fewer than Least bytes are not looked for.
func New(secrets ...Secret) *Redactor {
	values := make([][]byte, len(secrets))
	for i, s := range secrets {
		values[i] = s.Value
	}
	return &Redactor{secrets, newExact(values), newLines(values)}
}

// JSON is v without secrets, and what was found, the most frequent first. v is valid JSON; it comes
// back as it is when nothing is found, and else is copied once.
func (r *Redactor) JSON(v jsontext.Value) (jsontext.Value, []Finding) {
	return r.value(v, precise, false)
}

// Text is JSON for a plain text.
func (r *Redactor) Text(text string) (string, []Finding) {
	p := r.pass(precise, len(text))
	return string(p.text([]byte(text))), p.findings()
}

// pass is one text or value being redacted.
type pass struct {
	*Redactor
	rules   func() *rules
	wide    bool
	cut     bool   // the text went on
	begun   []span // where, at the end of a text that was cut, a secret may begin; of its canonical form
	budget  int
	hits    map[int][]hit // of granted secrets, by the ordinal of the scalar
	splices []protocol.Splice
	counts  map[Finding]int
	names   int
}

// leastBudget is what the rules may look at in any text, however short, in bytes; of a longer one as
// much as half of it more. Only a flood of keywords needs as much.
const leastBudget = 64 << 10

func (r *Redactor) pass(rules func() *rules, size int) *pass {
	if r == nil {
		r = &Redactor{}
	}
	return &pass{Redactor: r, rules: rules, budget: size/2 + leastBudget, counts: map[Finding]int{}}
}

func (r *Redactor) value(v jsontext.Value, rules func() *rules, wide bool) (jsontext.Value, []Finding) {
	p := r.pass(rules, len(v))
	p.wide = wide
	p.search(v)
	ordinal := 0
	protocol.EachScalar(v, func(s protocol.Scalar) {
		p.scalar(v, ordinal, s)
		ordinal++
	})
	return protocol.Spliced(v, p.splices), p.findings()
}

// maxStreams bounds the texts that are followed over several items at once.
const maxStreams = 10_000

// search finds the granted secrets in all scalars, also where one goes on in the next item.
func (p *pass) search(v jsontext.Value) {
	if p.exact == nil {
		return
	}
	streams, ordinal := map[uint64]*stream{}, 0
	var buf []byte
	protocol.EachScalar(v, func(s protocol.Scalar) {
		to := &stream{}
		if s.Group != 0 && (streams[s.Group] != nil || len(streams) < maxStreams) {
			if streams[s.Group] == nil {
				streams[s.Group] = to
			}
			to = streams[s.Group]
		}
		text := literal(v, s)
		buf = canonical(slices.Grow(buf[:0], len(text)), text)
		p.exact.feed(to, ordinal, buf, p.hit)
		ordinal++
	})
}

func (p *pass) hit(ordinal int, h hit) {
	if p.hits == nil {
		p.hits = map[int][]hit{}
	}
	p.hits[ordinal] = append(p.hits[ordinal], h)
}

// literal is the text of a scalar.
func literal(v jsontext.Value, s protocol.Scalar) []byte {
	if s.Number {
		return v[s.From:s.To]
	}
	return protocol.Unquoted(v[s.From:s.To])
}

func (p *pass) scalar(v jsontext.Value, ordinal int, s protocol.Scalar) {
	hits := p.hits[ordinal]
	if p.wide && !s.Name && named(s) {
		p.count("a value of that name", false)
		p.replace(s, Mask)
		return
	}
	if s.Number && hits == nil {
		return
	}
	text := literal(v, s)
	if item, ok := media(s, text); ok {
		p.blob(v, text, hits, item)
		return
	}
	changed := p.masked(text, hits)
	if changed == nil {
		return
	}
	if s.Name {
		p.names++
		changed = fmt.Appendf(changed, " %d", p.names) // two members of one name are no JSON
	}
	p.replace(s, string(changed))
}

func (p *pass) replace(s protocol.Scalar, text string) {
	p.splices = append(p.splices, protocol.Splice{From: s.From, To: s.To, New: protocol.Quote(text)})
}

// text is a plain text without secrets.
func (p *pass) text(text []byte) []byte {
	p.look(p.exact, text)
	if p.wide {
		p.look(p.lines, text)
	}
	if changed := p.masked(text, p.hits[0]); changed != nil {
		return changed
	}
	return text
}

// look finds secrets in a plain text. x may be nil.
func (p *pass) look(x *exact, text []byte) {
	if x == nil {
		return
	}
	s := &stream{}
	x.feed(s, 0, canonical(nil, text), p.hit)
	if b := x.begun(s); p.cut && b.to > b.from {
		p.begun = append(p.begun, b)
	}
}

// masked is text with its secrets masked, nil when it has none.
func (p *pass) masked(text []byte, hits []hit) []byte {
	var spans []span
	if hits != nil {
		p.countHits(hits, false)
		spans = p.exact.in(text, hits)
	}
	if p.begun != nil {
		spans = append(spans, (unescaper{drop: true}).unmapped(text, p.begun)...)
	}
	spans = append(spans, p.tokens(text)...)
	if p.wide {
		spans = append(spans, assignments(text)...)
	}
	if len(spans) == 0 {
		return nil
	}
	return mask(text, spans)
}

// tokens is where text has the shape of one. Data URIs are media and left alone.
func (p *pass) tokens(text []byte) []span {
	view := text
	if escaped(text) {
		view = plain(make([]byte, 0, len(text)), text)
	}
	s := p.rules().apply(view, &p.budget)
	keys := privateKeys(view)
	for id, n := range s.ids {
		p.counts[Finding{What: id}] += n
	}
	for range keys {
		p.count("private key", false)
	}
	found := append(s.found, keys...)
	if len(found) > 0 && escaped(text) {
		found = unescaper{}.unmapped(text, found)
	}
	return outside(text, found)
}

// outside is the spans that are not in data URIs.
func outside(text []byte, found []span) []span {
	if len(found) == 0 {
		return nil
	}
	uris := dataURIs(text)
	if len(uris) == 0 {
		return found
	}
	return slices.DeleteFunc(found, func(f span) bool {
		i, _ := slices.BinarySearchFunc(uris, f.from, func(u span, at int) int { return u.to - at - 1 })
		return i < len(uris) && uris[i].from <= f.from
	})
}

// mask replaces spans, which may overlap, and in any order.
func mask(text []byte, spans []span) []byte {
	slices.SortFunc(spans, func(a, b span) int { return a.from - b.from })
	out, at := make([]byte, 0, len(text)), 0
	for _, s := range spans {
		if s.to <= at {
			continue
		}
		if s.from >= at {
			out = append(append(out, text[at:s.from]...), Mask...)
		}
		at = s.to
	}
	return append(out, text[at:]...)
}

func (p *pass) count(what string, blocked bool) { p.counts[Finding{What: what, Blocked: blocked}]++ }

// countHits counts each secret once a scalar: it may be found there in several forms at once.
func (p *pass) countHits(hits []hit, blocked bool) {
	seen := map[int]bool{}
	for _, h := range hits {
		if !seen[h.secret] {
			seen[h.secret] = true
			p.counts[Finding{What: p.secrets[h.secret].Name, Granted: true, Blocked: blocked}]++
		}
	}
}

func (p *pass) findings() []Finding {
	var all []Finding
	for f, n := range maps.All(p.counts) {
		f.Count = n
		all = append(all, f)
	}
	slices.SortFunc(all, func(a, b Finding) int {
		if a.Count != b.Count {
			return b.Count - a.Count
		}
		return strings.Compare(a.What, b.What)
	})
	return all
}

// privateKeys are PEM keys, to their end line or, where that is cut off, to the end of the text.
func privateKeys(text []byte) []span {
	var found []span
	for at := 0; ; {
		i := bytes.Index(text[at:], []byte("-----BEGIN"))
		if i < 0 {
			return found
		}
		from := at + i
		head := text[from:min(len(text), from+120)]
		at = from + len("-----BEGIN")
		if !bytes.Contains(head, []byte("PRIVATE KEY")) {
			continue
		}
		to := len(text)
		if j := bytes.Index(text[at:], []byte("-----END")); j >= 0 {
			to = at + j + len("-----END")
			if k := bytes.Index(text[to:min(len(text), to+120)], []byte("-----")); k >= 0 {
				to += k + len("-----")
			}
		}
		found = append(found, span{from, to})
		at = to
	}
}

// dataURIs are the coded parts of data: URIs.
func dataURIs(text []byte) []span {
	var found []span
	for at := 0; ; {
		i := bytes.Index(text[at:], []byte(";base64,"))
		if i < 0 {
			return found
		}
		from := at + i + len(";base64,")
		to := from
		for to < len(text) && coded(text[to]) {
			to++
		}
		before := text[max(0, from-100):from]
		if d := bytes.LastIndex(before, []byte("data:")); d >= 0 && !bytes.ContainsAny(before[d:], " \n\"'<>()") && binary(text[from:to]) {
			found = append(found, span{from, to})
		}
		at = to
	}
}

// binary says whether base64 holds something other than text.
func binary(code []byte) bool {
	b, ok := decoded(code)
	return ok && (!utf8.Valid(b) || bytes.IndexByte(b, 0) >= 0)
}

// decoded is what base64 of any alphabet stands for.
func decoded(code []byte) ([]byte, bool) {
	code = bytes.TrimRight(code, "=")
	for _, e := range []*base64.Encoding{base64.RawStdEncoding, base64.RawURLEncoding} {
		b := make([]byte, e.DecodedLen(len(code)))
		if n, err := e.Decode(b, code); err == nil {
			return b[:n], true
		}
	}
	return nil, false
}
