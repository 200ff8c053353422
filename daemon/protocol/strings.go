package protocol

import (
	"bytes"
	"hash/maphash"
	"slices"

	"github.com/go-json-experiment/json/jsontext"
)

// Scalar is one string or number of a JSON value, and where it stands.
type Scalar struct {
	From, To int  // of its literal, with its quotes
	Name     bool // it is a member's name
	Number   bool
	// Path is the way to it: the names of members, as they are written, and "" for an element of an
	// array. It is good until the next scalar.
	Path []Step
	// Group is the same for scalars whose paths differ in array indices alone, as those of one text
	// in several items of content do; 0 where no array is on the path.
	Group uint64
}

// Step is one member or element on the way to a scalar.
type Step struct {
	Name []byte // without quotes, escapes as written; nil for an element
	At   int    // where the object or array begins that it is a member or element of

	group uint64
	array bool // an array is on the way to here
}

// grouped seeds the groups: what a server writes cannot make two paths collide.
var grouped = maphash.MakeSeed()

// EachScalar calls f for each string and number of v, in order. v is known to be valid JSON, as
// everything is that has come through Parse; of anything else some scalars may not be seen.
func EachScalar(v jsontext.Value, f func(Scalar)) {
	w := walk{v: v, f: f}
	for w.at < len(v) {
		w.step()
	}
}

type walk struct {
	v     []byte
	f     func(Scalar)
	at    int
	path  []Step
	named bool // a name was read, and its value is next
}

func (w *walk) step() {
	switch c := w.v[w.at]; {
	case c == '{' || c == '[':
		w.enter(c == '[')
	case (c == '}' || c == ']') && len(w.path) > 0:
		w.path, w.named = w.path[:len(w.path)-1], false
	case c == ',':
		w.named = false
	case c == ':':
		w.named = true
	case c == '"':
		w.text()
		return
	case c == '-' || '0' <= c && c <= '9':
		w.number()
		return
	}
	w.at++
}

func (w *walk) enter(array bool) {
	s := Step{At: w.at, array: array}
	if n := len(w.path); n > 0 {
		s.array = array || w.path[n-1].array
		s.group = w.path[n-1].group
	}
	if array {
		s.group = mix(s.group, nil)
	}
	w.path, w.named = append(w.path, s), false
}

func (w *walk) text() {
	to := endOfString(w.v, w.at)
	if n := len(w.path); n > 0 && !w.named && w.v[w.path[n-1].At] == '{' {
		w.name(&w.path[n-1], w.v[w.at+1:max(w.at+1, to-1)])
		w.report(to, Scalar{Name: true})
		return
	}
	w.report(to, Scalar{})
}

// name notes which member comes next.
func (w *walk) name(s *Step, name []byte) {
	s.Name = name
	s.group = 0
	if n := len(w.path); n > 1 {
		s.group = w.path[n-2].group
	}
	s.group = mix(s.group, name)
}

func (w *walk) number() {
	to := w.at
	for to < len(w.v) && bytes.IndexByte([]byte("+-.0123456789eE"), w.v[to]) >= 0 {
		to++
	}
	w.report(to, Scalar{Number: true})
}

func (w *walk) report(to int, s Scalar) {
	s.From, s.To, s.Path = w.at, to, w.path
	if n := len(w.path); n > 0 && w.path[n-1].array && !s.Name {
		s.Group = w.path[n-1].group | 1
	}
	w.at = to
	w.f(s)
}

func mix(group uint64, name []byte) uint64 {
	return maphash.Bytes(grouped, name) ^ (group*0x9e3779b97f4a7c15 + 1)
}

// endOfString is behind the string that begins at a quote.
func endOfString(v []byte, at int) int {
	for i := at + 1; i < len(v); {
		j := bytes.IndexByte(v[i:], '"')
		if j < 0 {
			return len(v)
		}
		end := i + j
		back := end
		for back > i && v[back-1] == '\\' {
			back--
		}
		if (end-back)%2 == 0 {
			return end + 1
		}
		i = end + 1
	}
	return len(v)
}

// Splice is a part of a value's bytes that others take the place of.
type Splice struct {
	From, To int
	New      []byte
}

// Spliced is v with each splice made, every other byte as it was; v itself when there is none. Of
// splices that overlap the one that begins first counts, and the longer of two that begin together.
func Spliced(v jsontext.Value, splices []Splice) jsontext.Value {
	if len(splices) == 0 {
		return v
	}
	slices.SortStableFunc(splices, func(a, b Splice) int {
		if a.From != b.From {
			return a.From - b.From
		}
		return b.To - a.To
	})
	out, at := make([]byte, 0, len(v)), 0
	for _, s := range splices {
		if s.From < at {
			continue
		}
		out = append(append(out, v[at:s.From]...), s.New...)
		at = s.To
	}
	return append(out, v[at:]...)
}

// Unquoted is the text of a string's literal; where it has no escapes it aliases the literal.
func Unquoted(literal []byte) []byte {
	if len(literal) < 2 {
		return nil
	}
	if bytes.IndexByte(literal, '\\') < 0 {
		return literal[1 : len(literal)-1]
	}
	b, err := jsontext.AppendUnquote(nil, literal)
	if err != nil {
		return literal[1 : len(literal)-1]
	}
	return b
}
