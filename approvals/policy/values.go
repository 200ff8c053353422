package policy

import (
	"bytes"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/garita-dev/garita/approvals"
)

// arguments are a call's arguments as CEL sees them; none are an empty object. Duplicate names,
// broken text and numbers that no reader keeps are errors.
func arguments(raw []byte) (map[string]any, error) {
	if len(raw) == 0 {
		return map[string]any{}, nil
	}
	if len(raw) > maxArguments {
		return nil, fmt.Errorf("they are %d KiB long, more than is looked into", len(raw)>>10)
	}
	d := jsontext.NewDecoder(bytes.NewReader(raw))
	v, err := value(d)
	if err != nil {
		return nil, errors.New("they are not JSON that every reader understands alike")
	}
	object, ok := v.(map[string]any)
	if !ok {
		return nil, errors.New("they are not a JSON object")
	}
	return object, nil
}

// value reads the next value. Whole numbers stay whole.
func value(d *jsontext.Decoder) (any, error) {
	t, err := d.ReadToken()
	if err != nil {
		return nil, err
	}
	switch t.Kind() {
	case 'n':
		return nil, nil
	case 't', 'f':
		return t.Bool(), nil
	case '"':
		return t.String(), nil
	case '0':
		return number(t.String())
	case '[':
		return list(d)
	case '{':
		return object(d)
	}
	return nil, errors.New("not a value")
}

func number(s string) (any, error) {
	if !strings.ContainsAny(s, ".eE") {
		if n, err := strconv.ParseInt(s, 10, 64); err == nil {
			return n, nil
		}
		if n, err := strconv.ParseUint(s, 10, 64); err == nil {
			return n, nil
		}
	}
	return strconv.ParseFloat(s, 64)
}

func list(d *jsontext.Decoder) (any, error) {
	out := []any{}
	for d.PeekKind() != ']' {
		v, err := value(d)
		if err != nil {
			return nil, err
		}
		out = append(out, v)
	}
	_, err := d.ReadToken()
	return out, err
}

func object(d *jsontext.Decoder) (any, error) {
	out := map[string]any{}
	folded := map[string]bool{}
	for d.PeekKind() != '}' {
		name, err := d.ReadToken()
		if err != nil {
			return nil, err
		}
		key := name.String()
		same := approvals.FoldedName(key)
		if folded[same] {
			return nil, errors.New("a name that some readers take for another")
		}
		folded[same] = true
		v, err := value(d)
		if err != nil {
			return nil, err
		}
		out[key] = v
	}
	_, err := d.ReadToken()
	return out, err
}
