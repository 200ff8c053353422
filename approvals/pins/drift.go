package pins

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/garita-dev/garita/approvals"
)

// Compare tells how far a definition of kind has moved from the one that was accepted, field by field.
// Both are canonical. What is not understood is a change.
func Compare(kind approvals.ItemKind, old, now []byte) approvals.Drift {
	d := &differ{kind: kind}
	if len(old) > maxCompared || len(now) > maxCompared {
		d.whole(old, now)
	} else {
		d.diff(nil, old, now)
	}
	slices.SortStableFunc(d.out.Fields, func(a, b approvals.FieldDiff) int { return strings.Compare(a.Field, b.Field) })
	return d.out
}

// differ is one comparison.
type differ struct {
	kind approvals.ItemKind
	out  approvals.Drift
}

const (
	// maxFields bounds what is told of one change.
	maxFields = 200
	// maxCompared is up to how many bytes definitions are compared field by field.
	maxCompared = 1 << 20
)

// diff compares two values at a path; nil is none.
func (d *differ) diff(path []string, old, now jsontext.Value) {
	if string(old) == string(now) {
		return
	}
	if len(path) > maxDepth {
		d.note(path, old, now)
		return
	}
	oldMembers, newMembers := members(old), members(now)
	switch {
	case oldMembers != nil && newMembers != nil:
		d.objects(path, oldMembers, newMembers)
	case old.Kind() == '[' && now.Kind() == '[':
		d.arrays(path, array(old), array(now))
	default:
		d.note(path, old, now)
	}
}

// whole tells of definitions that are too long to be compared.
func (d *differ) whole(old, now jsontext.Value) {
	if string(old) != string(now) {
		d.add(nil, fmt.Sprintf("%d bytes", len(old)), fmt.Sprintf("%d bytes", len(now)), approvals.Widened, "it is too long to be compared")
	}
}

func members(v jsontext.Value) map[string]jsontext.Value {
	if v == nil || v.Kind() != '{' {
		return nil
	}
	m, _ := object(v)
	return m
}

func (d *differ) objects(path []string, old, now map[string]jsontext.Value) {
	all := maps.Clone(old)
	maps.Copy(all, now)
	for _, name := range slices.Sorted(maps.Keys(all)) {
		d.diff(append(slices.Clone(path), name), old[name], now[name])
	}
}

// arrays compares by place where both have as much, and by content where the order says nothing.
func (d *differ) arrays(path []string, old, now []jsontext.Value) {
	switch {
	case isArguments(path):
		d.objects(path, byName(old), byName(now))
	case len(old) == len(now) && !unordered(path):
		for i := range old {
			d.diff(append(slices.Clone(path), strconv.Itoa(i)), old[i], now[i])
		}
	default:
		gone, came := minus(old, now), minus(now, old)
		for _, v := range gone {
			d.note(append(slices.Clone(path), "-"), v, nil)
		}
		for _, v := range came {
			d.note(append(slices.Clone(path), "-"), nil, v)
		}
		if len(gone)+len(came) == 0 {
			d.add(path, "", "", approvals.Cosmetic, "the order has changed")
		}
	}
}

// isArguments says whether a path leads to what a prompt is given.
func isArguments(path []string) bool { return len(path) == 1 && path[0] == "arguments" }

func byName(list []jsontext.Value) map[string]jsontext.Value {
	out := map[string]jsontext.Value{}
	for i, v := range list {
		name, ok := text(members(v)["name"])
		if !ok || out[name] != nil {
			name = "#" + strconv.Itoa(i)
		}
		out[name] = v
	}
	return out
}

func unordered(path []string) bool {
	switch path[len(path)-1] {
	case "enum", "required", "type", "examples", "anyOf", "oneOf", "allOf":
		return keyword(path)
	}
	return false
}

// minus is the values of a that are not in b.
func minus(a, b []jsontext.Value) []jsontext.Value {
	in := map[string]int{}
	for _, v := range b {
		in[string(v)]++
	}
	var out []jsontext.Value
	for _, v := range a {
		if in[string(v)]--; in[string(v)] < 0 {
			out = append(out, v)
		}
	}
	return out
}

// note judges one change of a value.
func (d *differ) note(path []string, old, now jsontext.Value) {
	kind, why := d.weigh(path, old, now)
	d.add(path, shown(old), shown(now), kind, why)
}

func (d *differ) add(path []string, old, now string, kind approvals.DriftKind, why string) {
	d.out.Kind = worse(d.out.Kind, kind)
	if len(d.out.Fields) < maxFields {
		d.out.Fields = append(d.out.Fields, approvals.FieldDiff{Field: pointer(path), Old: old, New: now, Kind: kind, Why: why})
	}
}

// worse is the louder of two.
func worse(a, b approvals.DriftKind) approvals.DriftKind {
	order := []approvals.DriftKind{approvals.NoDrift, approvals.Cosmetic, approvals.Changed, approvals.Widened}
	if slices.Index(order, a) > slices.Index(order, b) {
		return a
	}
	return b
}

// shown is a value for people: a text as it reads, others as JSON.
func shown(v jsontext.Value) string {
	if v == nil {
		return ""
	}
	if s, ok := text(v); ok {
		return Visible(s)
	}
	return Visible(string(v))
}

func pointer(path []string) string {
	var b strings.Builder
	for _, p := range path {
		b.WriteByte('/')
		b.WriteString(strings.NewReplacer("~", "~0", "/", "~1").Replace(p))
	}
	return b.String()
}

// keyword says whether a path ends in a word of JSON Schema, rather than in the name of a property.
func keyword(path []string) bool {
	if len(path) < 2 {
		return true
	}
	switch path[len(path)-2] {
	case "properties", "$defs", "definitions", "patternProperties":
		return len(path) > 2 && !keyword(path[:len(path)-1]) // a property called "properties"
	}
	return true
}

// weigh says how loud a change is, and why.
func (d *differ) weigh(path []string, old, now jsontext.Value) (approvals.DriftKind, string) {
	if len(path) == 0 {
		return approvals.Changed, ""
	}
	top, last := path[0], path[len(path)-1]
	switch {
	case top == "icons":
		return approvals.Cosmetic, "only a picture"
	case top == "annotations" && last != "title" && d.kind == approvals.ItemTool:
		return approvals.Widened, "a hint that the server gives of the tool; Garita does not go by it"
	case isProse(path) && keyword(path):
		return d.prose(old, now)
	case top == "inputSchema":
		return schema(path, old, now)
	case top == "arguments" && len(path) == 2 && old == nil:
		return approvals.Widened, "a new argument"
	}
	return approvals.Changed, ""
}

func isProse(path []string) bool {
	switch path[len(path)-1] {
	case "description", "title", "instructions", "$comment":
		return true
	}
	return false
}

func (d *differ) prose(old, now jsontext.Value) (approvals.DriftKind, string) {
	a, okA := text(old)
	b, okB := text(now)
	switch {
	case okA && okB && slip(a, b):
		return approvals.Cosmetic, "only how it is written"
	case d.kind == approvals.ItemInstructions && okB && (old == nil || len(b) > len(a)):
		return approvals.Widened, "new instructions"
	}
	return approvals.Changed, ""
}

// schema says what a change means for what a client may send.
func schema(path []string, old, now jsontext.Value) (approvals.DriftKind, string) {
	last := path[len(path)-1]
	element := last == "-" && len(path) > 1
	if element {
		last = path[len(path)-2]
	}
	if !element && !keyword(path) {
		if old == nil {
			return approvals.Widened, "a new argument"
		}
		return approvals.Changed, ""
	}
	switch last {
	case "properties":
		return dropped(now == nil || old == nil, "arguments")
	case "required":
		return dropped(now == nil, "an argument need not be given any more")
	case "enum", "anyOf", "oneOf", "type":
		return dropped(wider(old, now, element), "more is let through")
	case "additionalProperties", "unevaluatedProperties":
		return dropped(string(now) != "false", "arguments that are not named are let through")
	case "maximum", "exclusiveMaximum", "maxLength", "maxItems", "maxProperties":
		return dropped(now == nil || number(now) > number(old) && old != nil, "more is let through")
	case "minimum", "exclusiveMinimum", "minLength", "minItems", "minProperties", "multipleOf":
		return dropped(now == nil || number(now) < number(old) && old != nil, "more is let through")
	case "pattern", "format", "const", "allOf", "not", "propertyNames", "uniqueItems":
		return dropped(old != nil, "something else is let through")
	}
	return approvals.Changed, ""
}

func dropped(loud bool, why string) (approvals.DriftKind, string) {
	if loud {
		return approvals.Widened, why
	}
	return approvals.Changed, ""
}

// wider says whether a choice lets more through: an element came, the whole of it went, or one type
// became several.
func wider(old, now jsontext.Value, element bool) bool {
	if element {
		return old == nil
	}
	return now == nil || old != nil && now.Kind() == '['
}

func number(v jsontext.Value) float64 {
	f, err := strconv.ParseFloat(string(v), 64)
	if err != nil {
		return 0
	}
	return f
}
