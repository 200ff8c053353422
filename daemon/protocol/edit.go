package protocol

import (
	"bytes"
	"slices"

	"github.com/go-json-experiment/json/jsontext"
)

// WithID is the message under another id, every other byte as it was. A message without an id
// stays as it is.
func (m Message) WithID(id ID) Message {
	if m.ID == "" {
		return m
	}
	m.ID = id
	m.splice(&m.id, &m.body, []byte(id))
	return m
}

// WithBody is the message with other params (or result, or error, whichever it has), every other
// byte as it was. A message without a body stays as it is.
func (m Message) WithBody(v jsontext.Value) Message {
	switch {
	case m.Params != nil:
		m.Params = v
	case m.Result != nil:
		m.Result = v
	case m.Error != nil:
		m.Error = v
	default:
		return m
	}
	m.splice(&m.body, &m.id, v)
	return m
}

// splice puts b in the place of what stands at one of m's spans, and moves the other along.
func (m *Message) splice(at, other *span, b []byte) {
	raw := make([]byte, 0, len(m.Raw)-(at.to-at.from)+len(b))
	raw = append(append(append(raw, m.Raw[:at.from]...), b...), m.Raw[at.to:]...)
	moved := len(raw) - len(m.Raw)
	if other.from > at.from {
		other.from, other.to = other.from+moved, other.to+moved
	}
	at.to = at.from + len(b)
	m.Raw = raw
}

// maxElements bounds what one line is taken apart into: an element takes hundreds of times the memory
// of its bytes.
const maxElements = 10_000

// Batch is the messages of an array, in order. The error is a *ParseError: the array is broken, or
// empty. An element that is no message is a *ParseError in its place; an array inside is one.
func (m Message) Batch() ([]Message, []error, error) {
	d := jsontext.NewDecoder(bytes.NewBuffer(m.Raw))
	var all []jsontext.Value
	if _, err := d.ReadToken(); err != nil {
		return nil, nil, asParseError(err)
	}
	for d.PeekKind() != ']' {
		v, err := d.ReadValue()
		if err != nil {
			return nil, nil, asParseError(err)
		}
		if len(all) == maxElements {
			return nil, nil, invalid("the batch has too many messages")
		}
		all = append(all, slices.Clone(v))
	}
	if len(all) == 0 {
		return nil, nil, invalid("the batch is empty")
	}
	if !jsontext.Value(m.Raw).IsValid() {
		return nil, nil, invalid("something follows the batch on its line")
	}
	messages, errs := make([]Message, len(all)), make([]error, len(all))
	for i, v := range all {
		messages[i], errs[i] = Parse(v)
		if messages[i].Kind == Batch {
			messages[i], errs[i] = Message{}, invalid("a batch inside a batch")
		}
	}
	return messages, errs, nil
}

func isArray(b []byte) bool {
	b = bytes.TrimLeft(b, " \t\r\n")
	return len(b) > 0 && b[0] == '['
}
