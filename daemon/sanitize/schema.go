package sanitize

import (
	"errors"
	"fmt"
	"math"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/santhosh-tekuri/jsonschema/v6"
	"golang.org/x/text/language"
	"golang.org/x/text/message"
)

const (
	// maxSchema and maxInstance bound what is checked, in bytes.
	maxSchema   = 256 << 10
	maxInstance = 1 << 20
	// maxDepth bounds how deep an instance may be.
	maxDepth = 64
	// maxWork bounds one check: how many schemas are applied to how many values at most. The library
	// takes some tenths of a microsecond for one.
	maxWork = 200_000
)

// Shape is a tool's output schema, ready to check results. It may be used by several at once.
type Shape struct {
	schema *jsonschema.Schema
}

var errFetch = errors.New("schemas are not fetched")

// noLoader fetches nothing: a schema is a server's own words, and its references are addresses.
type noLoader struct{}

func (noLoader) Load(url string) (any, error) { return nil, fmt.Errorf("%q: %w", url, errFetch) }

// NewShape reads an output schema. It fetches nothing: a reference out of it is an error.
func NewShape(schema jsontext.Value) (*Shape, error) {
	if len(schema) > maxSchema {
		return nil, fmt.Errorf("the output schema is over %d KiB", maxSchema>>10)
	}
	doc, err := anyOf(schema)
	if err != nil {
		return nil, fmt.Errorf("read the output schema: %w", err)
	}
	c := jsonschema.NewCompiler()
	c.UseLoader(noLoader{})
	if err := c.AddResource("garita:///output", doc); err != nil {
		return nil, fmt.Errorf("read the output schema: %w", err)
	}
	s, err := c.Compile("garita:///output")
	if err != nil {
		return nil, fmt.Errorf("read the output schema: %w", err)
	}
	return &Shape{schema: s}, nil
}

// Check says how a value differs from its schema, "" when it does not. What would take too long is
// not checked, which is what it then says.
func (s *Shape) Check(v jsontext.Value) string {
	if len(v) > maxInstance {
		return fmt.Sprintf("not checked: it is over %d KiB", maxInstance>>10)
	}
	nodes, depth := size(v)
	if depth > maxDepth || nodes*s.work(depth) > maxWork {
		return "not checked: the schema would take too long"
	}
	instance, err := anyOf(v)
	if err != nil {
		return "not checked: " + bounded(err.Error())
	}
	err = s.schema.Validate(instance)
	var wrong *jsonschema.ValidationError
	switch {
	case err == nil:
		return ""
	case errors.As(err, &wrong):
		return bounded(first(wrong))
	}
	return bounded(err.Error())
}

// first is the innermost of the first differences, in words.
func first(e *jsonschema.ValidationError) string {
	for len(e.Causes) > 0 {
		e = e.Causes[0]
	}
	at := ""
	for _, part := range e.InstanceLocation {
		at += "/" + part
	}
	return fmt.Sprintf("at %q: %s", at, e.ErrorKind.LocalizedString(message.NewPrinter(language.English)))
}

// size counts the values in v, and how deep they are nested.
func size(v jsontext.Value) (nodes float64, depth int) {
	at, text := 0, false
	for i := 0; i < len(v); i++ {
		switch c := v[i]; {
		case text && c == '\\':
			i++
		case c == '"':
			text = !text
		case text:
		case c == '{' || c == '[':
			nodes++
			at++
			depth = max(depth, at)
		case c == '}' || c == ']':
			at--
		case c == ',':
			nodes++
		}
	}
	return nodes + 1, depth
}

// work bounds how many schemas are applied to one value of an instance so deep.
func (s *Shape) work(depth int) float64 {
	w := weigher{known: map[weighed]float64{}, under: map[weighed]bool{}}
	return w.of(s.schema, depth)
}

type weighed struct {
	schema *jsonschema.Schema
	depth  int
}

// weigher counts the schemas that are applied to one path of an instance: those in the same place
// add up, and so do those of one child.
type weigher struct {
	known map[weighed]float64
	under map[weighed]bool
}

func (w *weigher) of(s *jsonschema.Schema, depth int) float64 {
	if s == nil {
		return 0
	}
	at := weighed{s, depth}
	if n, ok := w.known[at]; ok {
		return n
	}
	if w.under[at] || len(w.known) > maxWork { // it applies itself to the same value, without end
		return math.Inf(1)
	}
	w.under[at] = true
	n := 1.0
	for _, same := range inPlace(s) {
		n += w.of(same, depth)
	}
	if depth > 0 {
		n += w.children(s, depth-1)
	}
	if s.UniqueItems {
		n *= 10
	}
	if s.Enum != nil {
		n += float64(len(s.Enum.Values)) / 10
	}
	delete(w.under, at)
	w.known[at] = n
	return n
}

func inPlace(s *jsonschema.Schema) []*jsonschema.Schema {
	all := []*jsonschema.Schema{s.Ref, s.RecursiveRef, s.Not, s.If, s.Then, s.Else}
	all = append(append(append(all, s.AllOf...), s.AnyOf...), s.OneOf...)
	if s.DynamicRef != nil {
		all = append(all, s.DynamicRef.Ref)
	}
	for _, d := range s.DependentSchemas {
		all = append(all, d)
	}
	for _, d := range s.Dependencies {
		if sub, ok := d.(*jsonschema.Schema); ok {
			all = append(all, sub)
		}
	}
	return all
}

// children weighs what is applied to one child: of properties the heaviest, all of the others.
func (w *weigher) children(s *jsonschema.Schema, depth int) float64 {
	heaviest := 0.0
	for _, p := range s.Properties {
		heaviest = max(heaviest, w.of(p, depth))
	}
	for _, p := range s.PrefixItems {
		heaviest = max(heaviest, w.of(p, depth))
	}
	n := heaviest
	for _, p := range s.PatternProperties {
		n += w.of(p, depth)
	}
	for _, c := range []*jsonschema.Schema{s.PropertyNames, s.UnevaluatedProperties, s.Contains, s.Items2020, s.UnevaluatedItems} {
		n += w.of(c, depth)
	}
	for _, c := range []any{s.AdditionalProperties, s.Items, s.AdditionalItems} {
		switch sub := c.(type) {
		case *jsonschema.Schema:
			n += w.of(sub, depth)
		case []*jsonschema.Schema:
			for _, one := range sub {
				n += w.of(one, depth)
			}
		}
	}
	return n
}
