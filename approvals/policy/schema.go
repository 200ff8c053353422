package policy

import (
	"fmt"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// SchemaID names the published schema.
const SchemaID = "https://garita.dev/schemas/policy-1.json"

// Schema is the JSON Schema of a policy file, for editors. It is made of what the parser knows; what
// only the parser can tell (CEL, hours) it leaves open.
func Schema() []byte {
	properties := map[string]any{}
	for _, f := range fields {
		s := f.schema()
		s["description"] = f.doc
		properties[f.name] = s
	}
	out, err := json.Marshal(map[string]any{
		"$schema": "https://json-schema.org/draft/2020-12/schema", "$id": SchemaID,
		"title": "Garita policy", "description": "Ordered rules about calls: the first that matches decides; the default policy decides about the rest.",
		"type": "object", "additionalProperties": false, "required": []string{"version"},
		"properties": map[string]any{
			"version": map[string]any{"const": Version},
			"rules": map[string]any{"type": "array", "maxItems": maxRules, "items": map[string]any{
				"type": "object", "additionalProperties": false, "required": []string{"effect"}, "properties": properties,
				"if":   map[string]any{"properties": map[string]any{"covers_risk": map[string]any{"const": true}}, "required": []string{"covers_risk"}},
				"then": map[string]any{"properties": map[string]any{"effect": map[string]any{"const": "allow"}}},
			}},
		},
	}, json.Deterministic(true), jsontext.WithIndent("  "))
	if err != nil {
		panic(fmt.Sprintf("the schema is no JSON: %v", err)) // it is a constant
	}
	return append(out, '\n')
}

// schema describes one key.
func (f field) schema() map[string]any {
	switch f.kind {
	case aText:
		return map[string]any{"type": "string", "minLength": 1, "maxLength": maxText}
	case aFlag:
		return map[string]any{"type": "boolean"}
	case aWord:
		return map[string]any{"enum": f.words}
	case condition:
		return map[string]any{"type": "string", "minLength": 1, "maxLength": maxExpression}
	case words:
		return oneOrMore(map[string]any{"enum": f.words})
	case ranges:
		return oneOrMore(map[string]any{"type": "string", "pattern": `^ *[0-2][0-9]:[0-5][0-9] *- *[0-2][0-9]:[0-5][0-9] *$`})
	case patterns:
		return oneOrMore(map[string]any{"type": "string", "maxLength": maxPattern, "pattern": `^[^!\s\[\]{}|^\\]([^\[\]{}|^\\]*[^\s\[\]{}|^\\])?$`})
	}
	return map[string]any{}
}

func oneOrMore(item map[string]any) map[string]any {
	return map[string]any{"anyOf": []any{item, map[string]any{"type": "array", "items": item, "minItems": 1, "maxItems": maxList}}}
}
