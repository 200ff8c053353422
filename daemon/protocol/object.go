package protocol

import (
	"fmt"
	"slices"

	"github.com/go-json-experiment/json/jsontext"
)

// Member is one member of a JSON object; a nil Value is none.
type Member struct {
	Name  string
	Value jsontext.Value
}

// Edit is the object (nil means {}) with each of members set, or taken out where its value is nil;
// new ones come last, in their order. Every other member keeps its bytes, and an object that none
// of them changes keeps all of its own. The error is a *ParseError: it is no object.
func Edit(object jsontext.Value, members ...Member) (jsontext.Value, error) {
	left, changed := slices.Clone(members), false
	out, err := rewrite(orEmpty(object), func(name string, v jsontext.Value) jsontext.Value {
		i := slices.IndexFunc(left, func(m Member) bool { return m.Name == name })
		if i < 0 {
			return v
		}
		changed = true
		v = left[i].Value
		left = slices.Delete(left, i, i+1)
		return v
	}, nil)
	if err != nil {
		return nil, asParseError(err)
	}
	left = slices.DeleteFunc(left, func(m Member) bool { return m.Value == nil })
	if !changed && len(left) == 0 {
		return orEmpty(object), nil
	}
	return appendMembers(out, left), nil
}

func appendMembers(object jsontext.Value, members []Member) jsontext.Value {
	for _, m := range members {
		object = object[:len(object)-1]
		if len(object) > 1 {
			object = append(object, ',')
		}
		object = fmt.Appendf(object, "%s:%s}", Quote(m.Name), m.Value)
	}
	return object
}
