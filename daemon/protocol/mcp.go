package protocol

import (
	"fmt"
	"regexp"
	"strconv"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// The methods Garita looks at; all others pass through unread.
const (
	MethodInitialize  = "initialize"
	MethodToolsList   = "tools/list"
	MethodToolsCall   = "tools/call"
	MethodCancelled   = "notifications/cancelled"
	MethodProgress    = "notifications/progress"
	MethodInitialized = "notifications/initialized"
	MethodToolsChange = "notifications/tools/list_changed"
	MethodPing        = "ping"
	MethodDiscover    = "server/discover"
	MethodListen      = "subscriptions/listen"
)

// ToolCall is the params of tools/call.
type ToolCall struct {
	Name          string
	Arguments     jsontext.Value // the sender's bytes; nil when absent
	Input         jsontext.Value // inputResponses, the sender's bytes; nil when absent
	State         jsontext.Value // requestState, likewise
	ProgressToken jsontext.Value // nil when absent
	Traceparent   string         // the caller's span, as W3C Trace Context writes it; "" when there is none, or no such thing
}

// ParseToolCall reads the params of tools/call. The error is a *ParseError.
func ParseToolCall(params jsontext.Value) (ToolCall, error) {
	members, err := Members(params, "name", "arguments", "_meta", "task", "inputResponses", "requestState")
	if err != nil {
		return ToolCall{}, err
	}
	c := ToolCall{
		Name: Text(members["name"]), Arguments: members["arguments"], Input: members["inputResponses"], State: members["requestState"],
	}
	if c.Name == "" {
		return ToolCall{}, &ParseError{Code: CodeInvalidParams, Why: `tools/call has no "name"`}
	}
	if c.Arguments != nil && c.Arguments.Kind() != '{' {
		return ToolCall{}, &ParseError{Code: CodeInvalidParams, Why: `"arguments" is not an object`}
	}
	if meta, err := Members(members["_meta"], "progressToken", "traceparent"); err == nil {
		c.ProgressToken = meta["progressToken"]
		if t := Text(meta["traceparent"]); traceparent.MatchString(t) {
			c.Traceparent = t
		}
	}
	return c, nil
}

// traceparent is version, trace, span and flags. Nothing else is kept: it is foreign text.
var traceparent = regexp.MustCompile(`^[0-9a-f]{2}-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}$`)

// Cancelled is the id that a cancelled notification names, or "".
func Cancelled(params jsontext.Value) ID {
	members, err := Members(params, "requestId")
	if err != nil {
		return ""
	}
	return ID(members["requestId"])
}

// ToolDefinition is one tool as a server lists it. Raw is the whole of it.
type ToolDefinition struct {
	Name        string
	Title       string
	Description string
	InputSchema jsontext.Value
	Annotations jsontext.Value
	Raw         jsontext.Value
}

// ToolPage is one answer to tools/list.
type ToolPage struct {
	Tools      []ToolDefinition
	NextCursor jsontext.Value // nil on the last page
}

// ParseToolPage reads the result of tools/list.
func ParseToolPage(result jsontext.Value) (ToolPage, error) {
	members, err := Members(result, "tools", "nextCursor")
	if err != nil {
		return ToolPage{}, err
	}
	raw, err := elements(members["tools"], maxElements)
	if err != nil && members["tools"].Kind() != 'n' {
		return ToolPage{}, fmt.Errorf(`read "tools": %w`, err)
	}
	page := ToolPage{Tools: make([]ToolDefinition, 0, len(raw))}
	for _, r := range raw {
		t, err := parseTool(r.Clone()) // it outlives its page
		if err != nil {
			return ToolPage{}, err
		}
		page.Tools = append(page.Tools, t)
	}
	if c := members["nextCursor"]; c != nil && c.Kind() == '"' {
		page.NextCursor = c
	}
	return page, nil
}

func parseTool(raw jsontext.Value) (ToolDefinition, error) {
	m, err := Members(raw, "name", "title", "description", "inputSchema", "annotations")
	if err != nil {
		return ToolDefinition{}, fmt.Errorf("read a tool: %w", err)
	}
	t := ToolDefinition{
		Name: Text(m["name"]), Title: Text(m["title"]), Description: Text(m["description"]),
		InputSchema: m["inputSchema"], Annotations: m["annotations"], Raw: raw,
	}
	if t.Name == "" {
		return ToolDefinition{}, &ParseError{Code: CodeInvalidRequest, Why: "a tool has no name"}
	}
	return t, nil
}

// WithTools is the result of tools/list with its tools replaced, every other member as it was.
func WithTools(result jsontext.Value, tools []jsontext.Value) (jsontext.Value, error) {
	list, err := json.Marshal(tools)
	if err != nil {
		return nil, err
	}
	return Replace(result, "tools", list)
}

// Replace is the object with one member's value replaced, the others byte for byte as they were.
func Replace(object jsontext.Value, name string, value jsontext.Value) (jsontext.Value, error) {
	return rewrite(object, func(n string, v jsontext.Value) jsontext.Value {
		if n == name {
			return value
		}
		return v
	}, nil)
}

// With is the object with one member set, whether it had it or not.
func With(object jsontext.Value, name string, value jsontext.Value) (jsontext.Value, error) {
	last := jsontext.Value(fmt.Appendf(nil, "%s:%s", Quote(name), value))
	out, err := rewrite(object, func(n string, v jsontext.Value) jsontext.Value {
		if n != name {
			return v
		}
		last = nil
		return value
	}, &last)
	return out, err
}

// Without is the object without one member.
func Without(object jsontext.Value, name string) (jsontext.Value, error) {
	return rewrite(object, func(n string, v jsontext.Value) jsontext.Value {
		if n == name {
			return nil
		}
		return v
	}, nil)
}

// rewrite is the object with each value as f says, nil for none, and more at its end.
func rewrite(object jsontext.Value, f func(name string, v jsontext.Value) jsontext.Value, more *jsontext.Value) (jsontext.Value, error) {
	out := []byte{'{'}
	add := func(member []byte) {
		if len(out) > 1 {
			out = append(out, ',')
		}
		out = append(out, member...)
	}
	err := eachMember(object, func(n string, v jsontext.Value) error {
		if v = f(n, v); v != nil {
			add(fmt.Appendf(nil, "%s:%s", Quote(n), v))
		}
		return nil
	})
	if more != nil && *more != nil {
		add(*more)
	}
	return append(out, '}'), err
}

// NewResult is the answer to a request.
func NewResult(id ID, result jsontext.Value) []byte {
	return fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%s,"result":%s}`, id, result)
}

// NewErrorAnswer passes an error object on as the answer to a request.
func NewErrorAnswer(id ID, object jsontext.Value) []byte {
	return fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%s,"error":%s}`, orNull(id), object)
}

// NewError is an error answer of our own.
func NewError(id ID, code int, message string) []byte {
	return NewErrorAnswer(id, fmt.Appendf(nil, `{"code":%d,"message":%s}`, code, Quote(message)))
}

func orNull(id ID) ID {
	if id == "" {
		return "null"
	}
	return id
}

// NewRequest is a request of our own; params may be nil.
func NewRequest(id ID, method string, params jsontext.Value) []byte {
	if params == nil {
		return fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%s,"method":%s}`, id, Quote(method))
	}
	return fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%s,"method":%s,"params":%s}`, id, Quote(method), params)
}

// NewNotification is a notification of our own.
func NewNotification(method string, params jsontext.Value) []byte {
	return fmt.Appendf(nil, `{"jsonrpc":"2.0","method":%s,"params":%s}`, Quote(method), params)
}

// NewProgress tells a waiting client that its call is alive.
func NewProgress(token jsontext.Value, step int, message string) []byte {
	return NewNotification(MethodProgress, fmt.Appendf(nil, `{"progressToken":%s,"progress":%s,"message":%s}`,
		token, strconv.Itoa(step), Quote(message)))
}

// NewCancelled tells a server that nobody waits for a request any more.
func NewCancelled(id ID, reason string) []byte {
	return NewNotification(MethodCancelled, fmt.Appendf(nil, `{"requestId":%s,"reason":%s}`, id, Quote(reason)))
}

// OutcomeKey is where, in _meta, a tool result of our own says what became of the call. It is a
// label for programs that look; servers may write it, too, so it proves nothing.
const OutcomeKey = "garita.dev/outcome"

// NewRefusal is a tool result of our own: an error in words, and the outcome for programs.
func NewRefusal(message, outcome string) jsontext.Value {
	return fmt.Appendf(nil, `{"content":[{"type":"text","text":%s}],"isError":true,"_meta":{%q:%s}}`,
		Quote(message), OutcomeKey, Quote(outcome))
}

// Quote is s as a JSON string; what is not UTF-8 in it is replaced.
func Quote(s string) jsontext.Value {
	q, _ := jsontext.AppendQuote(nil, s) // the error only says that UTF-8 was mended
	return q
}
