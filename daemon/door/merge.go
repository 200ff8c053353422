package door

import (
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/garita-dev/garita/daemon/protocol"
)

// merge is what two JSON values say together: the members of both objects, the elements of both
// arrays, and true before anything else. It serves for capabilities and for what a subscription is
// about.
func merge(a, b jsontext.Value) jsontext.Value {
	switch {
	case a == nil:
		return b
	case b == nil:
		return a
	case a.Kind() == '{' && b.Kind() == '{':
		return mergeObjects(a, b)
	case a.Kind() == '[' && b.Kind() == '[':
		return mergeArrays(a, b)
	case b.Kind() == 't':
		return b
	}
	return a
}

func mergeObjects(a, b jsontext.Value) jsontext.Value {
	ours, err := protocol.Members(a)
	theirs, err2 := protocol.Members(b)
	if err != nil || err2 != nil {
		return a
	}
	for name, v := range theirs {
		ours[name] = merge(ours[name], v)
	}
	return object(ours)
}

// object is a JSON object with its members in the order of their names.
func object(members map[string]jsontext.Value) jsontext.Value {
	names := make([]string, 0, len(members))
	for name, v := range members {
		if v != nil {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	out := jsontext.Value{'{'}
	for i, name := range names {
		if i > 0 {
			out = append(out, ',')
		}
		out = append(append(append(out, protocol.Quote(name)...), ':'), members[name]...)
	}
	return append(out, '}')
}

func mergeArrays(a, b jsontext.Value) jsontext.Value {
	ours, _ := protocol.Elements(a)
	theirs, _ := protocol.Elements(b)
	for _, v := range theirs {
		if !slices.ContainsFunc(ours, func(o jsontext.Value) bool { return string(o) == string(v) }) {
			ours = append(ours, v)
		}
	}
	return array(ours)
}

func array(elements []jsontext.Value) jsontext.Value {
	parts := make([]string, len(elements))
	for i, e := range elements {
		parts[i] = string(e)
	}
	return jsontext.Value("[" + strings.Join(parts, ",") + "]")
}

// offered is of a server's capabilities what all servers together can offer; the rest would need one
// partner.
func offered(capabilities jsontext.Value) jsontext.Value {
	members, err := protocol.Members(capabilities)
	if err != nil {
		return jsontext.Value("{}")
	}
	for name := range members {
		if !slices.Contains([]string{"tools", "prompts", "resources", "logging", "completions"}, name) {
			delete(members, name)
		}
	}
	return object(members)
}
