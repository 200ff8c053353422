package classify

import (
	"bytes"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// argument is one member of a call's arguments.
type argument struct {
	name string
	kind jsontext.Kind
	text string         // of a string
	raw  jsontext.Value // of anything
}

// parseArguments reads the members of a JSON object. Nothing at all is no arguments; readable is
// false for what is no object, has a name twice or is not valid.
func parseArguments(b []byte) (args []argument, readable bool) {
	if len(bytes.TrimSpace(b)) == 0 {
		return nil, true
	}
	d := jsontext.NewDecoder(bytes.NewReader(b))
	if t, err := d.ReadToken(); err != nil || t.Kind() != '{' {
		return nil, false
	}
	for d.PeekKind() == '"' {
		t, err := d.ReadToken()
		if err != nil {
			return args, false
		}
		a := argument{name: t.String()}
		v, err := d.ReadValue()
		if err != nil {
			return args, false
		}
		a.kind, a.raw = v.Kind(), v.Clone()
		if a.kind == '"' {
			text, err := jsontext.AppendUnquote(nil, v)
			if err != nil {
				return args, false
			}
			a.text = string(text)
		}
		args = append(args, a)
	}
	if t, err := d.ReadToken(); err != nil || t.Kind() != '}' {
		return args, false
	}
	return args, len(bytes.TrimSpace(b[d.InputOffset():])) == 0
}

// texts are the strings an argument is, or is a list of.
func (a argument) texts() []string {
	switch a.kind {
	case '"':
		return []string{a.text}
	case '[':
		var list []string
		if len(a.raw) < 1<<16 && json.Unmarshal(a.raw, &list) == nil {
			return list
		}
	}
	return nil
}
