// Package protocol is MCP as bytes: framing on stdio, and the JSON-RPC envelope of each message.
//
// A message is parsed once, strictly, and what was parsed is what is sent on: params, result and
// error stay the sender's own bytes, ids stay the sender's own tokens (1, "1" and
// 9007199254740993 differ). A message two parsers could read differently (duplicate or
// differently cased keys, bad UTF-8, lone surrogates, a second document) is refused.
package protocol

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"

	"github.com/go-json-experiment/json/jsontext"
)

// Kind is what a JSON-RPC message is.
type Kind int

// The kinds of message.
const (
	Request      Kind = iota + 1 // has a method and an id
	Notification                 // has a method and no id
	Response                     // has an id, and a result or an error
	Batch                        // an array of messages, legal in 2025-03-26 alone: see Message.Batch
)

// Message is one JSON-RPC message. Raw is the whole of it, as it came and as it goes on.
type Message struct {
	Kind   Kind
	ID     ID
	Method string
	Params jsontext.Value // nil when absent
	Result jsontext.Value
	Error  jsontext.Value
	Raw    []byte // without the line's end

	id, body span // where in Raw the id and the params, result or error stand
}

// span is a part of a message's bytes.
type span struct{ from, to int }

func (s span) of(b []byte) []byte { return b[s.from:s.to:s.to] }

// ID is a request id as its sender wrote it: a JSON string or number token, compared as bytes. "" is no id.
type ID string

// Error codes of JSON-RPC that Garita itself answers with.
const (
	CodeParse          = -32700
	CodeInvalidRequest = -32600
	CodeNoMethod       = -32601
	CodeInvalidParams  = -32602
	CodeInternal       = -32603
)

// ParseError says why bytes are not one message. Code is the JSON-RPC code to answer with.
type ParseError struct {
	Code int
	Why  string
	// ID is the message's, when it could be told beyond doubt; else "". Request: it has a method.
	ID      ID
	Request bool
}

func (e *ParseError) Error() string { return e.Why }

// Parse reads one message. The result's bytes alias b. The error is a *ParseError. Of an array only
// the kind is told.
func Parse(b []byte) (Message, error) {
	m := Message{Raw: b}
	if isArray(b) {
		m.Kind = Batch
		return m, nil
	}
	seen := map[string]bool{}
	err := eachSpan(b, func(name string, at span) error {
		seen[name] = true
		return m.set(name, at)
	})
	if err != nil {
		p := asParseError(err)
		p.ID, p.Request = addressee(b)
		return Message{}, p
	}
	return m, m.classify(seen)
}

// addressee finds the id of a message that is refused, so that whoever waits for it can be told:
// its only "id" at the top, if the rest is JSON at all.
func addressee(b []byte) (id ID, request bool) {
	d := jsontext.NewDecoder(bytes.NewBuffer(b), jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
	if d.PeekKind() != '{' {
		return "", false
	}
	ids := 0
	_, err := d.ReadToken()
	for err == nil && d.PeekKind() != '}' {
		err = member(d, func(name string, at span) error {
			switch strings.ToLower(name) {
			case "id":
				ids++
				var m Message
				_ = m.setID(at.of(b)) // an id of another kind is none
				id = m.ID
			case "method":
				request = true
			}
			return nil
		})
	}
	if err != nil || ids != 1 {
		return "", request
	}
	return id, request
}

// envelope is the members whose other spellings a lax parser would take for them.
var envelope = []string{"jsonrpc", "id", "method", "params", "result", "error"}

func (m *Message) set(name string, at span) error {
	value := jsontext.Value(at.of(m.Raw))
	switch name {
	case "jsonrpc":
		if string(value) != `"2.0"` {
			return invalid(`"jsonrpc" is not "2.0"`)
		}
	case "id":
		m.id = at
		return m.setID(value)
	case "method":
		method, err := text(value)
		if err != nil || method == "" {
			return invalid(`"method" is not a non-empty string`)
		}
		m.Method = method
		return refuseMethodLike(method)
	case "params":
		m.Params, m.body = value, at
	case "result":
		m.Result, m.body = value, at
	case "error":
		m.Error, m.body = value, at
	default:
		return refuseLookalike(name, envelope)
	}
	return nil
}

func (m *Message) setID(value jsontext.Value) error {
	switch value.Kind() {
	case '"', '0':
		m.ID = ID(value)
		return nil
	case 'n': // only answers to messages that could not be read carry a null id
		return nil
	}
	return invalid(`"id" is neither a string nor a number`)
}

func (m *Message) classify(seen map[string]bool) error {
	answer := seen["result"] || seen["error"]
	switch {
	case !seen["jsonrpc"]:
		return m.fault(`there is no "jsonrpc": "2.0"`)
	case seen["method"] && answer:
		return m.fault("it is a request and an answer at once")
	case seen["result"] && seen["error"]:
		return m.fault(`it has a "result" and an "error"`)
	case seen["method"] && m.ID != "":
		m.Kind = Request
	case seen["method"] && seen["id"]:
		return m.fault("a request's id is null")
	case seen["method"]:
		m.Kind = Notification
	case answer:
		m.Kind = Response
	default:
		return m.fault("it is neither a request nor an answer")
	}
	return nil
}

func (m *Message) fault(why string) error {
	return &ParseError{Code: CodeInvalidRequest, Why: "not a JSON-RPC message: " + why, ID: m.ID}
}

// Members reads the members of a JSON object that has no duplicate names, and none that differ
// from one of want only in case. The values alias b.
func Members(b []byte, want ...string) (map[string]jsontext.Value, error) {
	members := map[string]jsontext.Value{}
	err := eachMember(b, func(name string, value jsontext.Value) error {
		members[name] = value
		return refuseLookalike(name, want)
	})
	if err != nil {
		return nil, asParseError(err)
	}
	return members, nil
}

// eachMember calls f for each member of the one object in b; the values alias b.
func eachMember(b []byte, f func(name string, value jsontext.Value) error) error {
	return eachSpan(b, func(name string, at span) error { return f(name, at.of(b)) })
}

// eachSpan tells where in b the members of its one object have their values. The decoder refuses
// duplicate names, at any depth, and text that is not UTF-8.
func eachSpan(b []byte, f func(name string, at span) error) error {
	d := decoders.Get().(*jsontext.Decoder)
	defer release(d)
	d.Reset(bytes.NewBuffer(b))
	if d.PeekKind() != '{' {
		_, err := d.ReadToken()
		return errors.Join(invalid("it is not a JSON object"), err)
	}
	if _, err := d.ReadToken(); err != nil {
		return err
	}
	for d.PeekKind() != '}' {
		if err := member(d, f); err != nil {
			return err
		}
	}
	if _, err := d.ReadToken(); err != nil {
		return err
	}
	if _, err := d.ReadToken(); !errors.Is(err, io.EOF) {
		return invalid("something follows the message on its line")
	}
	return nil
}

// decoders are used again: each message is read by several, and one weighs a kilobyte.
var decoders = sync.Pool{New: func() any { return jsontext.NewDecoder(new(bytes.Buffer)) }}

// release gives a decoder back without what it has read.
func release(d *jsontext.Decoder) {
	d.Reset(new(bytes.Buffer))
	decoders.Put(d)
}

func member(d *jsontext.Decoder, f func(string, span) error) error {
	name, err := d.ReadToken()
	if err != nil {
		return err
	}
	key := name.String() // before the next read: a token lives only until then
	value, err := d.ReadValue()
	if err != nil {
		return err
	}
	end := int(d.InputOffset())
	return f(key, span{end - len(value), end})
}

// refuseLookalike refuses a name that another parser could take for one of names.
func refuseLookalike(name string, names []string) error {
	for _, n := range names {
		if name != n && strings.EqualFold(name, n) {
			return invalid(fmt.Sprintf("%q could be taken for %q", name, n))
		}
	}
	return nil
}

func text(v jsontext.Value) (string, error) {
	if v.Kind() != '"' {
		return "", errors.New("not a string")
	}
	b, err := jsontext.AppendUnquote(nil, v)
	return string(b), err
}

// Text is the string that v holds, or "" when it holds none.
func Text(v jsontext.Value) string {
	s, err := text(v)
	if err != nil {
		return ""
	}
	return s
}

func invalid(why string) error { return &ParseError{Code: CodeInvalidRequest, Why: why} }

// asParseError tells broken JSON (parse error) from JSON two readers could understand differently
// (invalid request).
func asParseError(err error) *ParseError {
	var p *ParseError
	switch {
	case errors.As(err, &p):
		return p
	case errors.Is(err, jsontext.ErrDuplicateName):
		return &ParseError{Code: CodeInvalidRequest, Why: "a name occurs twice in one object"}
	}
	return &ParseError{Code: CodeParse, Why: "not valid JSON: " + err.Error()}
}
