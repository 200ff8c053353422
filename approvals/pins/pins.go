// Package pins says what a server shows of itself in a form that can be compared: Canonical and Digest
// of an item, Scan for what a person should see before a model does, Compare for what has changed since
// it was accepted, and Judge for what follows. Everything here is pure and safe for concurrent use, and
// nothing a schema refers to is ever fetched.
package pins

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"regexp"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/garita-dev/garita/approvals"
	"github.com/garita-dev/garita/sandbox"
)

// Canonical is an item's definition as it is pinned: the same bytes for the same JSON however it is
// spaced, ordered or its numbers are spelled. All a server wrote is part of it but what comes and goes
// without telling anybody anything: a resource's size and dates, and of the item's own _meta the numbers,
// booleans, times and hexadecimal ids. The error says that it is no JSON object.
func Canonical(it approvals.Item) ([]byte, error) {
	members, err := object(it.Definition)
	if err != nil || members == nil {
		return nil, fmt.Errorf("read the definition of %s %q: it is no object: %w", it.Kind, it.Name, err)
	}
	if it.Kind == approvals.ItemResource {
		delete(members, "size")
		without(members, "annotations", "lastModified")
	}
	if meta, ok := members["_meta"]; ok {
		delete(members, "_meta")
		if kept := lasting(meta, 0); kept != nil {
			members["_meta"] = kept
		}
	}
	b, err := json.Marshal(members)
	if err != nil {
		return nil, fmt.Errorf("write the definition of %s %q: %w", it.Kind, it.Name, err)
	}
	return normal(b)
}

// normal is JSON in one spelling. Whole numbers keep their digits: two that differ are never taken for
// one, however large.
func normal(b []byte) ([]byte, error) {
	v := jsontext.Value(b)
	err := v.Format(jsontext.CanonicalizeRawInts(false), jsontext.CanonicalizeRawFloats(true), jsontext.ReorderRawObjects(true),
		jsontext.PreserveRawStrings(false), jsontext.Multiline(false))
	return v, err
}

// Digest names a canonical definition.
func Digest(canonical []byte) sandbox.Digest {
	sum := sha256.Sum256(canonical)
	return sandbox.Digest("sha256:" + hex.EncodeToString(sum[:]))
}

// Pin is an item as it is now, not yet accepted by anybody.
func Pin(it approvals.Item) (approvals.Pin, error) {
	canonical, err := Canonical(it)
	if err != nil {
		return approvals.Pin{}, err
	}
	return approvals.Pin{Kind: it.Kind, Name: it.Name, Digest: Digest(canonical), Definition: canonical}, nil
}

// object is the members of a JSON object; nil where it is none.
func object(v jsontext.Value) (map[string]jsontext.Value, error) {
	var members map[string]jsontext.Value
	err := json.Unmarshal(v, &members)
	return members, err
}

// array is the elements of a JSON array; nil where it is none.
func array(v jsontext.Value) []jsontext.Value {
	var elements []jsontext.Value
	if json.Unmarshal(v, &elements) != nil {
		return nil
	}
	return elements
}

// text is a JSON string; false where it is none.
func text(v jsontext.Value) (string, bool) {
	var s string
	if v.Kind() != '"' || json.Unmarshal(v, &s) != nil {
		return "", false
	}
	return s, true
}

// without takes a member out of a member.
func without(members map[string]jsontext.Value, name, inner string) {
	within, err := object(members[name])
	if err != nil || within == nil {
		return
	}
	delete(within, inner)
	if b, err := json.Marshal(within, json.Deterministic(true)); err == nil {
		members[name] = b
	}
}

// passing is text that only counts or dates: a time, a hexadecimal id, a number.
var passing = regexp.MustCompile(`^[0-9a-fA-F]*[0-9][0-9a-fA-F-]*$|^\d{4}-\d\d-\d\d[T ][0-9:.]+(Z|[+-]\d\d:?\d\d)?$|^[\d.,:]*$`)

// lasting is what of a _meta says something; nil when nothing does.
func lasting(v jsontext.Value, depth int) jsontext.Value {
	if depth > maxDepth {
		return v
	}
	switch v.Kind() {
	case '"':
		if s, _ := text(v); !passing.MatchString(s) {
			return v
		}
	case '{':
		members, _ := object(v)
		kept := map[string]jsontext.Value{}
		for name, m := range members {
			if m = lasting(m, depth+1); m != nil {
				kept[name] = m
			}
		}
		return marshaled(kept, len(kept))
	case '[':
		var kept []jsontext.Value
		for _, e := range array(v) {
			if e = lasting(e, depth+1); e != nil {
				kept = append(kept, e)
			}
		}
		return marshaled(kept, len(kept))
	}
	return nil
}

func marshaled(v any, n int) jsontext.Value {
	if n == 0 {
		return nil
	}
	b, err := json.Marshal(v, json.Deterministic(true))
	if err != nil {
		return nil
	}
	return b
}
