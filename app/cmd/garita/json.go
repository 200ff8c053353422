package main

import (
	"fmt"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// printJSON prints v indented. Lists are never null.
func (c *cli) printJSON(v any) error {
	text, err := json.Marshal(v, jsontext.WithIndent("  "), jsontext.PreserveRawStrings(true))
	if err != nil {
		return fmt.Errorf("write JSON: %w", err)
	}
	printTo(c.out, "%s\n", safeJSON(text))
	return nil
}

// indented is JSON text as a person reads it, safe on a terminal; what is no JSON is shown as it is.
func indented(raw []byte) string {
	v := jsontext.Value(append([]byte(nil), raw...))
	if err := v.Indent(jsontext.WithIndent("  ")); err != nil {
		return safeLines(string(raw))
	}
	return string(safeJSON(v))
}

// printJSONLine prints v on one line.
func (c *cli) printJSONLine(v any) error {
	text, err := json.Marshal(v, jsontext.PreserveRawStrings(true))
	if err != nil {
		return fmt.Errorf("write JSON: %w", err)
	}
	printTo(c.out, "%s\n", safeJSON(text))
	return nil
}

// compact is JSON text on one line; what is no JSON stays as it is.
func compact(raw []byte) []byte {
	v := jsontext.Value(append([]byte(nil), raw...))
	if v.Compact() != nil {
		return raw
	}
	return v
}
