// Package sanitize makes what a server returned harmless to who sees it: a model, a terminal, a
// client that draws Markdown and fetches pictures by itself.
//
// What has no place in text is taken out (control sequences, characters nobody sees), what would act
// is made inert (links that run, pictures whose address carries data away), what speaks to the model
// is labeled. Each change is a Finding. A value in which nothing is found keeps its bytes, and so
// does every part of one in which something is. All of it is pure, and linear in the value.
package sanitize

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/garita-dev/garita/daemon/protocol"
)

// Kind is what was found.
type Kind string

// The kinds of finding.
const (
	Control      Kind = "control"      // control characters and terminal sequences, taken out
	Bidi         Kind = "bidi"         // characters that turn text around, taken out
	Tags         Kind = "tags"         // invisible letters, taken out
	ZeroWidth    Kind = "zero-width"   // invisible joiners and spaces, taken out
	Image        Kind = "image"        // pictures whose address carries data away, taken out
	RemoteImage  Kind = "remote-image" // pictures from a host that was not granted, left
	Script       Kind = "script"       // links that run, made inert
	File         Kind = "file"         // links to files out of scope, made inert
	App          Kind = "app"          // user interfaces that ask for the network or a device, withheld
	Schema       Kind = "schema"       // structured content that is not as its schema says, left
	Instructions Kind = "instructions" // text that speaks to the model, labeled
	Size         Kind = "size"         // too much, kept apart
)

// about says each in words, and whether it was changed.
var about = map[Kind]string{
	Control: "took out control characters or terminal sequences", Bidi: "took out characters that turn text around",
	Tags: "took out invisible tag characters", ZeroWidth: "took out zero-width characters",
	Image: "withheld pictures whose address carries data to a host that was not granted", RemoteImage: "pictures come from a host that was not granted",
	Script: "blocked links that run a script", File: "blocked links to files out of scope", App: "withheld a user interface that asks for the network or a device",
	Schema: "the structured content is not as its schema says", Instructions: "the text reads like instructions to the agent", Size: "the result was too long",
}

// Finding is something in a value, Count times. Detail is the server's own words, bounded.
type Finding struct {
	Kind   Kind
	Count  int
	Detail string
}

// String is the finding in one clause.
func (f Finding) String() string {
	s := about[f.Kind]
	if f.Count > 1 {
		s += fmt.Sprintf(" (%d)", f.Count)
	}
	if f.Detail != "" {
		s += fmt.Sprintf(": %q", f.Detail)
	}
	return s
}

// Options is what a value's server is and may.
type Options struct {
	Server  string
	Folders []string               // absolute; links to files below them are in scope
	Granted func(host string) bool // hosts it may reach; nil is none
}

// pass is one value being sanitized.
type pass struct {
	Options
	v       jsontext.Value
	counts  map[Kind]int
	details map[Kind]string
	splices []protocol.Splice
	names   int
}

// Value is v as it may go on, and what was found in it. v is valid JSON.
func Value(v jsontext.Value, o Options) (jsontext.Value, []Finding) {
	p := &pass{Options: o, v: v, counts: map[Kind]int{}, details: map[Kind]string{}}
	protocol.EachScalar(v, p.scalar)
	return protocol.Spliced(v, p.splices), p.findings()
}

// Text is Value for a plain text, one for a person's screen or a log: no links are looked at.
func Text(text string) string {
	if clean := unhidden([]byte(text), false, map[Kind]int{}); clean != nil {
		return string(clean)
	}
	return text
}

func (p *pass) scalar(s protocol.Scalar) {
	if s.Number {
		return
	}
	literal := p.v[s.From:s.To]
	if !s.Name {
		p.item(s, literal)
	}
	if harmless(literal) {
		return
	}
	text := protocol.Unquoted(literal)
	changed := p.text(text, s.Name)
	if changed == nil {
		return
	}
	if s.Name {
		p.names++
		changed = fmt.Appendf(changed, " %d", p.names) // two members of one name are no JSON
	}
	p.splices = append(p.splices, protocol.Splice{From: s.From, To: s.To, New: protocol.Quote(string(changed))})
}

// harmless says at a glance that a literal has nothing to look for: short, ASCII, without escapes
// and brackets. Long ones without any space are data: they hide nothing either.
func harmless(literal []byte) bool {
	spaces := false
	for _, c := range literal {
		switch {
		case c >= utf8.RuneSelf, c == '\\', c == '<', c == ']', c < ' ':
			return false
		case c == ' ':
			spaces = true
		}
	}
	return !spaces || len(literal) < 16
}

// text is a text as it may go on, nil when it may as it is.
func (p *pass) text(text []byte, name bool) []byte {
	changed := unhidden(text, name, p.counts)
	now := text
	if changed != nil {
		now = changed
	}
	if name {
		return changed
	}
	if l := unlinked(now, p.Options, p.counts); l != nil {
		changed, now = l, l
	}
	if p.details[Instructions] == "" {
		if words := instructs(now); words != "" {
			p.counts[Instructions]++
			p.details[Instructions] = words
		}
	}
	return changed
}

// item looks at the items of content that are more than text: links to resources and user interfaces.
func (p *pass) item(s protocol.Scalar, literal []byte) {
	n := len(s.Path)
	if n < 2 || n > deepest {
		return
	}
	last := s.Path[n-1]
	switch {
	case string(last.Name) == "type" && string(literal) == `"resource_link"`:
		p.resourceLink(last.At)
	case string(last.Name) == "uri" && bytes.HasPrefix(literal, []byte(`"ui:`)):
		p.app(last.At)
	}
}

// deepest is how far down items of content are.
const deepest = 7

// resourceLink withholds a link to a file out of scope, or to something that runs.
func (p *pass) resourceLink(at int) {
	item, members := itemAt(p.v, at)
	uri := protocol.Text(members["uri"])
	if k := p.judge(uri); k != "" {
		p.counts[k]++
		p.withhold(at, item, nil, fmt.Sprintf("[Garita withheld a link to %s: %s]", bounded(uri), about[k]))
	}
}

// app withholds a user interface that asks for more than it came with.
func (p *pass) app(at int) {
	item, members := itemAt(p.v, at)
	meta, _ := protocol.Members(members["_meta"])
	ui, _ := protocol.Members(meta["ui"])
	if why := wide(ui, members["text"]); why != "" {
		p.counts[App]++
		p.details[App] = why
		p.withhold(at, item, members["uri"], fmt.Sprintf("[Garita withheld this user interface: it asks for %s]", why))
	}
}

// wide says what a user interface asks for that it is not to have, "" when that is nothing.
func wide(ui map[string]jsontext.Value, page jsontext.Value) string {
	if permissions, err := protocol.Members(ui["permissions"]); err == nil && len(permissions) > 0 {
		for name, v := range permissions {
			if k := v.Kind(); k != 'f' && k != 'n' {
				return "the permission " + bounded(name)
			}
		}
	}
	if ui["permissions"].Kind() == '[' && len(ui["permissions"]) > 2 {
		return "permissions"
	}
	if wildcard(ui["csp"]) {
		return "connections to any host"
	}
	if page != nil && opens(protocol.Unquoted(page)) {
		return "connections to any host"
	}
	return ""
}

// opens says whether a page gives itself a policy that names every host.
func opens(page []byte) bool {
	const policy, head = "content-security-policy", 64 << 10
	text := bytes.ToLower(page[:min(len(page), head)])
	for n := 0; n < 10; n++ {
		_, after, ok := bytes.Cut(text, []byte(policy))
		if !ok {
			return false
		}
		rule, _, _ := bytes.Cut(after[:min(len(after), 2000)], []byte(">"))
		if wildcard(protocol.Quote(string(rule))) {
			return true
		}
		text = after
	}
	return true // so many are there to confuse
}

// wildcard says whether a policy names every host.
func wildcard(csp jsontext.Value) bool {
	found := false
	protocol.EachScalar(csp, func(s protocol.Scalar) {
		if s.Number || s.Name {
			return
		}
		for _, word := range strings.FieldsFunc(protocol.Text(csp[s.From:s.To]), func(r rune) bool { return r == ' ' || r == ';' || r == '"' || r == '\'' || r == ',' }) {
			switch strings.ToLower(word) {
			case "*", "http:", "https:", "ws:", "wss:", "http://*", "https://*", "ws://*", "wss://*", "data:":
				found = true
			}
		}
	})
	return found
}

// withhold puts words in the place of an item; uri, where there is one, stays its own.
func (p *pass) withhold(at int, item jsontext.Value, uri jsontext.Value, words string) {
	now := jsontext.Value(fmt.Sprintf(`{"type":"text","text":%s}`, protocol.Quote(words)))
	if uri != nil {
		now = jsontext.Value(fmt.Sprintf(`{"uri":%s,"mimeType":"text/plain","text":%s}`, uri, protocol.Quote(words)))
	}
	p.splices = append(p.splices, protocol.Splice{From: at, To: at + len(item), New: now})
}

func itemAt(v jsontext.Value, at int) (jsontext.Value, map[string]jsontext.Value) {
	d := jsontext.NewDecoder(bytes.NewBuffer(v[at:]))
	item, err := d.ReadValue()
	if err != nil {
		return v[at:], nil
	}
	item = item.Clone()
	members, _ := protocol.Members(item)
	return item, members
}

func (p *pass) findings() []Finding {
	var all []Finding
	for k, n := range p.counts {
		all = append(all, Finding{k, n, p.details[k]})
	}
	slices.SortFunc(all, func(a, b Finding) int { return strings.Compare(string(a.Kind), string(b.Kind)) })
	return all
}

// bounded is the first words of something, for a sentence.
func bounded(s string) string {
	if len(s) <= 200 {
		return Text(s)
	}
	return Text(strings.ToValidUTF8(s[:200], "")) + "…"
}
