package classify

import (
	"fmt"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// say tells a call by the profile's template; "" where it has none or an argument that it needs is
// missing. In a template {name} is an argument's value, {name#} how many things it lists, {name%}
// its size; what stands in [brackets] is left out where one of its arguments is missing.
func (t *Tool) say(args []argument) string {
	template := t.Say
	for _, r := range t.Rules {
		if r.Say != "" && r.matches(args) {
			template = r.Say
			break
		}
	}
	s, ok := fill(template, args)
	if !ok {
		return ""
	}
	return s
}

func (r ToolRule) matches(args []argument) bool {
	for _, c := range r.when {
		if !c.holds(args) {
			return false
		}
	}
	return true
}

// fill writes a template out; complete is false where an argument outside of brackets is missing.
func fill(template string, args []argument) (text string, complete bool) {
	var b strings.Builder
	for template != "" {
		i := strings.IndexAny(template, "{[")
		if i < 0 {
			return b.String() + template, true
		}
		b.WriteString(template[:i])
		closing := "}"
		if template[i] == '[' {
			closing = "]"
		}
		inner, rest, ok := strings.Cut(template[i+1:], closing)
		if !ok {
			return "", false
		}
		if closing == "]" {
			if part, whole := fill(inner, args); whole {
				b.WriteString(part)
			}
		} else {
			v := shown(inner, args)
			if v == "" {
				return "", false
			}
			b.WriteString(v)
		}
		template = rest
	}
	return b.String(), true
}

// shown is an argument's value in a sentence: {name}, {name#} or {name%}.
func shown(placeholder string, args []argument) string {
	name := strings.TrimRight(placeholder, "#%")
	a, given := value(args, name)
	if !given {
		return ""
	}
	switch placeholder[len(name):] {
	case "#":
		var list []jsontext.Value
		if json.Unmarshal(a.raw, &list) != nil {
			return ""
		}
		return fmt.Sprint(len(list))
	case "%":
		return Size(a.size())
	}
	return a.short()
}
