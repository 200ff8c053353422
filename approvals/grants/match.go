package grants

import (
	"bytes"
	"slices"
	"strings"
	"unicode"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/garita-dev/garita/approvals"
)

// holds says whether every argument but the commands is as g wants it, and no other leads out of the
// folders that it names.
func holds(g approvals.Grant, arguments []byte) bool {
	for _, a := range g.Arguments {
		if a.Command == "" && !matches(a, arguments) {
			return false
		}
	}
	return staysIn(g, arguments)
}

// staysIn says whether every path among the arguments lies in a folder of g's, where g names any: who
// allowed a folder did not allow a second path beside it.
func staysIn(g approvals.Grant, arguments []byte) bool {
	var folders []string
	named := map[string]bool{}
	for _, a := range g.Arguments {
		named[a.Path] = true
		if a.Prefix != "" {
			folders = append(folders, a.Prefix)
		}
	}
	if len(folders) == 0 {
		return true
	}
	for name, value := range membersOf(arguments) {
		if !known(places, name) || named["/"+escape(name)] || harmless(value) {
			continue
		}
		if !slices.ContainsFunc(folders, func(f string) bool { return begins(value, f) }) {
			return false
		}
	}
	return true
}

// harmless says whether a value cannot name a place.
func harmless(v jsontext.Value) bool {
	switch v.Kind() {
	case 'n', 't', 'f', '0':
		return true
	}
	return string(v) == `""` || string(v) == `[]`
}

// matches says whether the arguments are as a wants them. What is not one JSON value that every
// reader understands alike matches nothing.
func matches(a approvals.Argument, arguments []byte) bool {
	value := at(arguments, a.Path)
	switch {
	case value == nil:
		return false
	case a.Equals != "":
		want, got := canonical([]byte(a.Equals)), canonical(value)
		return want != nil && bytes.Equal(want, got)
	case a.Prefix != "":
		return begins(value, a.Prefix)
	}
	return false
}

// at is the value a JSON pointer names, nil when there is none, or when it could be read otherwise:
// a reader that looks at names without regard to case would find another one beside it. Pointers
// do not go into lists.
func at(arguments []byte, pointer string) jsontext.Value {
	value := jsontext.Value(arguments)
	if len(arguments) == 0 {
		value = jsontext.Value("{}")
	}
	if !value.IsValid() {
		return nil
	}
	for pointer != "" {
		var token string
		token, pointer, _ = strings.Cut(pointer[1:], "/")
		if pointer != "" {
			pointer = "/" + pointer
		}
		if value = member(value, unescape(token)); value == nil {
			return nil
		}
	}
	return value
}

// unescape undoes a JSON pointer's escapes.
func unescape(token string) string {
	return strings.ReplaceAll(strings.ReplaceAll(token, "~1", "/"), "~0", "~")
}

// member is the value of an object's member, nil when there is none or more than one by that name
// in any case. object is valid JSON without repeated names.
func member(object jsontext.Value, name string) jsontext.Value {
	d := jsontext.NewDecoder(bytes.NewReader(object))
	if t, err := d.ReadToken(); err != nil || t.Kind() != '{' {
		return nil
	}
	var found jsontext.Value
	for d.PeekKind() != '}' {
		t, err := d.ReadToken()
		if err != nil {
			return nil
		}
		key := t.String()
		value, err := d.ReadValue()
		if err != nil {
			return nil
		}
		switch {
		case key == name:
			found = value.Clone()
		case strings.EqualFold(key, name):
			return nil
		}
	}
	return found
}

// canonical is a JSON value without blanks, with its members in order and its strings written one
// way; numbers stay as they are written. nil when it is no JSON.
func canonical(value []byte) []byte {
	v := jsontext.Value(bytes.Clone(value))
	if !v.IsValid() || v.Format(jsontext.ReorderRawObjects(true)) != nil {
		return nil
	}
	return v
}

// begins says whether a string, or every string of a list that is not empty, begins with prefix and
// stays below it.
func begins(value jsontext.Value, prefix string) bool {
	switch value.Kind() {
	case '"':
		s, err := jsontext.AppendUnquote(nil, value)
		return err == nil && strings.HasPrefix(string(s), prefix) && plainPath(string(s))
	case '[':
		return allBegin(value, prefix)
	}
	return false
}

func allBegin(list jsontext.Value, prefix string) bool {
	d := jsontext.NewDecoder(bytes.NewReader(list))
	if _, err := d.ReadToken(); err != nil {
		return false
	}
	n := 0
	for ; d.PeekKind() != ']'; n++ {
		value, err := d.ReadValue()
		if err != nil || value.Kind() != '"' || !begins(value, prefix) {
			return false
		}
	}
	return n > 0
}

// foldedSigns are characters that some systems take for dots and slashes: ‥ is two dots, ／ a slash.
const foldedSigns = "․‥…。｡．﹒︙／∕⁄⧸＼﹨∖⧵"

// plainPath says whether a path is what it looks like: nothing in it climbs, and nothing is hidden.
func plainPath(s string) bool {
	return !strings.Contains(s, "..") && !strings.ContainsAny(s, foldedSigns) && !strings.ContainsFunc(s, func(r rune) bool {
		return r == '\\' || r == '%' || r == unicode.ReplacementChar || !unicode.IsPrint(r)
	})
}
