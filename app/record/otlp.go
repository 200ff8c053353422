package record

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/garita-dev/garita/daemon/api"
)

// spansPerLine bounds how many spans are held before they are written.
const spansPerLine = 100

// spans is OTLP/JSON as its file exporter has it: an object of the trace service a line. What the
// names mean is the GenAI and MCP conventions' (open-telemetry/semantic-conventions-genai, mcp.md);
// what they have no name for begins with "garita.".
type spans struct {
	to        io.Writer
	arguments bool
	held      []span
}

// Spans exports each call that has ended as one OpenTelemetry span, a server's side of tools/call.
// Its parent is the span that the client named in the call's _meta.traceparent; calls without one
// share a trace with their session. The redacted arguments are added only where arguments is true.
func Spans(to io.Writer, arguments bool) Exporter { return &spans{to: to, arguments: arguments} }

type span struct {
	TraceID      string      `json:"traceId"`
	SpanID       string      `json:"spanId"`
	ParentSpanID string      `json:"parentSpanId,omitempty"`
	Flags        uint32      `json:"flags,omitempty"`
	Name         string      `json:"name"`
	Kind         int         `json:"kind"`
	Start        string      `json:"startTimeUnixNano"`
	End          string      `json:"endTimeUnixNano"`
	Attributes   []attribute `json:"attributes"`
	Status       status      `json:"status"`
}

type status struct {
	Code    int    `json:"code,omitempty"`
	Message string `json:"message,omitempty"`
}

type attribute struct {
	Key   string `json:"key"`
	Value value  `json:"value"`
}

// value is one of its members. Integers are strings in OTLP/JSON.
type value struct {
	String *string `json:"stringValue,omitempty"`
	Int    string  `json:"intValue,omitempty"`
	Array  *array  `json:"arrayValue,omitempty"`
}

type array struct {
	Values []value `json:"values"`
}

const (
	kindServer  = 2 // we answer the client's request
	statusError = 2
)

func (s *spans) Event(e api.AuditEvent) error {
	if e.Kind != "call.finished" {
		return nil
	}
	s.held = append(s.held, s.span(e, read(e.Body)))
	if len(s.held) < spansPerLine {
		return nil
	}
	return s.write()
}

func (s *spans) Close() error {
	if len(s.held) == 0 {
		return nil
	}
	return s.write()
}

// write writes the spans that are held as one line.
func (s *spans) write() error {
	resource := map[string]any{"attributes": attributes{}.text("service.name", "garita")}
	scope := map[string]any{"scope": map[string]string{"name": "garita.record"}, "spans": s.held}
	line, err := json.Marshal(map[string]any{"resourceSpans": []any{
		map[string]any{"resource": resource, "scopeSpans": []any{scope}},
	}}, json.Deterministic(true), jsontext.AllowInvalidUTF8(true))
	if err != nil {
		return fmt.Errorf("export spans: %w", err)
	}
	s.held = s.held[:0]
	_, err = s.to.Write(append(line, '\n'))
	return err
}

// span is a call that has ended.
func (s *spans) span(e api.AuditEvent, b body) span {
	out := span{
		SpanID: spanID(e.Call), Name: strings.TrimSpace("tools/call " + b.Call.Tool), Kind: kindServer,
		Start: strconv.FormatInt(b.Call.At.UnixNano(), 10), End: strconv.FormatInt(e.At.UnixNano(), 10),
		Attributes: s.attributes(e, b),
	}
	out.TraceID, out.ParentSpanID, out.Flags = parent(e.Session, b.Call.Traceparent)
	if b.Outcome != "done" {
		out.Status = status{Code: statusError, Message: or(b.Error, b.Outcome)}
	}
	return out
}

func (s *spans) attributes(e api.AuditEvent, b body) attributes {
	a := attributes{}.
		text("mcp.method.name", "tools/call").text("mcp.session.id", e.Session).
		text("gen_ai.operation.name", "execute_tool").text("gen_ai.tool.name", b.Call.Tool).
		text("error.type", errorType(b.Outcome)).
		text("garita.server", e.Server).text("garita.principal", e.Principal).text("garita.call.id", e.Call).
		text("garita.sandbox.id", b.Call.Sandbox).text("garita.workspace.id", b.Call.Workspace).
		text("garita.class", b.Decision.Class).text("garita.sensitive", b.Call.Sensitive).
		text("garita.decision.effect", b.Decision.Effect).text("garita.decision.rule", b.Decision.Rule).
		text("garita.approval.id", b.Decision.Request).text("garita.approval.outcome", b.Decision.Outcome).text("garita.approval.by", b.Decision.By).
		text("garita.outcome", b.Outcome).text("garita.result.digest", b.ResultDigest).
		number("garita.result.size", b.ResultSize).number("garita.duration_us", b.DurationUS)
	if b.Decision.Request != "" {
		a = a.number("garita.approval.waited_us", b.Decision.WaitedUS)
	}
	var changed []string
	for _, c := range b.Changes {
		changed = append(changed, c.Kind+" "+c.Path)
	}
	a = a.texts("garita.files.changed", changed).texts("garita.hosts", b.Hosts).
		texts("garita.artifacts", b.Artifacts).texts("garita.findings", b.Findings)
	if s.arguments && len(b.Call.Arguments) > 0 {
		a = a.text("gen_ai.tool.call.arguments", string(b.Call.Arguments))
	}
	return a
}

// errorType is what error.type says of a call that did not end well.
func errorType(outcome string) string {
	switch outcome {
	case "done":
		return ""
	case "failed":
		return "tool_error"
	}
	return "garita." + outcome
}

// attributes are a span's. What is empty is left out.
type attributes []attribute

func (a attributes) text(key, text string) attributes {
	if text == "" {
		return a
	}
	return append(a, attribute{key, value{String: &text}})
}

func (a attributes) number(key string, n int64) attributes {
	return append(a, attribute{key, value{Int: strconv.FormatInt(n, 10)}})
}

func (a attributes) texts(key string, texts []string) attributes {
	if len(texts) == 0 {
		return a
	}
	var list array
	for _, t := range texts {
		list.Values = append(list.Values, value{String: &t})
	}
	return append(a, attribute{key, value{Array: &list}})
}

// spanID is a call's id as a span's, 8 bytes in hex: the 16 digits after its "c", or what stands for
// an id of another form.
func spanID(id string) string {
	if digits := strings.TrimPrefix(id, "c"); isID(digits, 16) {
		return digits
	}
	sum := sha256.Sum256([]byte("garita span " + id))
	return hex.EncodeToString(sum[:8])
}

// parent is the trace and the span that a call belongs to: those its client named, or its session's trace.
func parent(session, traceparent string) (trace, span string, flags uint32) {
	parts := strings.Split(traceparent, "-")
	if len(parts) == 4 && isID(parts[1], 32) && isID(parts[2], 16) {
		if n, err := strconv.ParseUint(parts[3], 16, 8); err == nil {
			return parts[1], parts[2], uint32(n)
		}
	}
	sum := sha256.Sum256([]byte("garita trace " + session))
	return hex.EncodeToString(sum[:16]), "", 0
}

// isID says whether s is so many lower-case hex digits, not all of them zero.
func isID(s string, n int) bool {
	return len(s) == n && strings.Trim(s, "0123456789abcdef") == "" && strings.Trim(s, "0") != ""
}

func or(a, b string) string {
	if a != "" {
		return a
	}
	return b
}
