package protocol

import (
	"bytes"
	"encoding/base64"
	"errors"
	"fmt"
	"math"
	"net/http"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// The headers of Streamable HTTP. All but the session and the version are of the modern era.
const (
	HeaderSession     = "Mcp-Session-Id"
	HeaderVersion     = "MCP-Protocol-Version"
	HeaderMethod      = "Mcp-Method"
	HeaderName        = "Mcp-Name"
	HeaderParamPrefix = "Mcp-Param-"
	HeaderLastEvent   = "Last-Event-ID"
)

// ParamHeader is an argument of a tool that goes into a header too, as its input schema says by
// x-mcp-header.
type ParamHeader struct {
	Path []string // the names that lead to it in the arguments
	Name string   // the header, without HeaderParamPrefix
}

// SetHeaders writes what the modern era wants to stand in headers beside m, a request or a
// notification of that version. Headers of the kind that m does not call for are taken out.
func SetHeaders(h http.Header, version Revision, m Message, params []ParamHeader) {
	for name := range h {
		if strings.HasPrefix(http.CanonicalHeaderKey(name), HeaderParamPrefix) {
			h.Del(name)
		}
	}
	h.Set(HeaderVersion, string(version))
	h.Set(HeaderMethod, m.Method)
	h.Del(HeaderName)
	if name, ok := nameIn(m); ok {
		h.Set(HeaderName, EncodeHeader(name))
	}
	arguments := argumentsOf(m)
	for _, p := range params {
		if v, ok := p.value(arguments); ok {
			h.Set(HeaderParamPrefix+p.Name, EncodeHeader(v))
		}
	}
}

// CheckHeaders tells whether the headers that stand beside m say what m says; params is of the tool
// that m calls. The error says which does not, in words for the sender.
func CheckHeaders(h http.Header, m Message, params []ParamHeader) error {
	if err := same(h, HeaderMethod, m.Method, false); err != nil {
		return err
	}
	if name, ok := nameIn(m); ok {
		if err := same(h, HeaderName, name, true); err != nil {
			return err
		}
	}
	if len(params) == 0 {
		return nil
	}
	arguments := argumentsOf(m)
	for _, p := range params {
		if err := p.check(h, arguments); err != nil {
			return err
		}
	}
	return nil
}

// same tells whether h has exactly one header of that name, and it says want.
func same(h http.Header, name, want string, encoded bool) error {
	values := h.Values(name)
	if len(values) == 0 {
		return fmt.Errorf("the %s header is missing", name)
	}
	got, ok := values[0], true
	if encoded {
		got, ok = DecodeHeader(got)
	}
	if len(values) > 1 || !ok || got != want {
		return fmt.Errorf("the %s header does not say what the body says", name)
	}
	return nil
}

func (p ParamHeader) check(h http.Header, arguments jsontext.Value) error {
	header := HeaderParamPrefix + p.Name
	raw := p.find(arguments)
	if raw == nil || raw.Kind() == 'n' {
		if len(h.Values(header)) > 0 {
			return fmt.Errorf("the %s header is there, its argument is not", header)
		}
		return nil
	}
	want, ok := primitive(raw)
	if !ok {
		return fmt.Errorf("the argument of the %s header is no string, integer or boolean", header)
	}
	err := same(h, header, want, true)
	if err != nil && raw.Kind() == '0' && len(h.Values(header)) == 1 {
		if got, ok := integer(h.Get(header)); ok && got == want { // 42.0 says 42
			return nil
		}
	}
	return err
}

// value is what the header of p says; false when it has none.
func (p ParamHeader) value(arguments jsontext.Value) (string, bool) {
	raw := p.find(arguments)
	if raw == nil {
		return "", false
	}
	return primitive(raw)
}

// find is the argument that p speaks of, nil when it is not there.
func (p ParamHeader) find(arguments jsontext.Value) jsontext.Value {
	at := arguments
	for _, name := range p.Path {
		if at == nil || at.Kind() != '{' {
			return nil
		}
		members, err := Members(at)
		if err != nil {
			return nil
		}
		at = members[name]
	}
	return at
}

// primitive is how a header spells a JSON value.
func primitive(v jsontext.Value) (string, bool) {
	switch v.Kind() {
	case '"':
		s, err := text(v)
		return s, err == nil
	case 't', 'f':
		return string(v), true
	case '0':
		return integer(string(v))
	}
	return "", false
}

// integer is a number's usual spelling, if it is an integer that every reader can hold.
func integer(s string) (string, bool) {
	const safe = 1<<53 - 1
	f, err := strconv.ParseFloat(s, 64)
	if err != nil || f != float64(int64(f)) || f < -safe || f > safe {
		return "", false
	}
	return strconv.FormatInt(int64(f), 10), true
}

// nameIn is what Mcp-Name says beside m; false when m has none.
func nameIn(m Message) (string, bool) {
	member := map[string]string{
		MethodToolsCall: "name", "prompts/get": "name", "resources/read": "uri",
		"tasks/get": "taskId", "tasks/update": "taskId", "tasks/cancel": "taskId",
	}[m.Method]
	if member == "" || m.Params == nil {
		return "", false
	}
	members, err := Members(m.Params, member)
	if err != nil || members[member] == nil || members[member].Kind() != '"' {
		return "", false
	}
	return Text(members[member]), true
}

func argumentsOf(m Message) jsontext.Value {
	if m.Method != MethodToolsCall {
		return nil
	}
	c, err := ParseToolCall(m.Params)
	if err != nil {
		return nil
	}
	return c.Arguments
}

const wrapped, wrappedEnd = "=?base64?", "?="

// EncodeHeader is s as a header's value: itself where that is safe, else its Base64 in a wrapper.
func EncodeHeader(s string) string {
	safe := s == strings.TrimSpace(s) && !(strings.HasPrefix(s, wrapped) && strings.HasSuffix(s, wrappedEnd))
	for i := range len(s) {
		safe = safe && s[i] >= 0x20 && s[i] <= 0x7e
	}
	if safe {
		return s
	}
	return wrapped + base64.StdEncoding.EncodeToString([]byte(s)) + wrappedEnd
}

// DecodeHeader is what a header's value says; false when its wrapper holds no Base64.
func DecodeHeader(value string) (string, bool) {
	inside, ok := strings.CutPrefix(value, wrapped)
	if !ok {
		return value, true
	}
	inside, ok = strings.CutSuffix(inside, wrappedEnd)
	if !ok {
		return value, true
	}
	b, err := base64.StdEncoding.Strict().DecodeString(inside)
	return string(b), err == nil
}

// ParamHeaders is the arguments that a tool's input schema wants in headers. The error says why its
// x-mcp-header are broken; such a tool cannot be called over HTTP in the modern era.
func ParamHeaders(schema jsontext.Value) ([]ParamHeader, error) {
	w := headerWalk{seen: map[string]bool{}}
	err := w.schema(schema, nil, true, 0)
	return w.found, err
}

type headerWalk struct {
	found []ParamHeader
	seen  map[string]bool // header names in lower case
}

const annotation = "x-mcp-header"

// maxSchemaDepth bounds how deep a schema is read; a deeper one with headers is not to be had.
const maxSchemaDepth = 64

// schema reads one schema. Reachable says that properties alone lead to it.
func (w *headerWalk) schema(v jsontext.Value, path []string, reachable bool, depth int) error {
	if v == nil || v.Kind() != '{' {
		return nil
	}
	if depth > maxSchemaDepth {
		return errors.New("the input schema is nested too deep")
	}
	members, err := Members(v)
	if err != nil {
		return err
	}
	if err := w.annotated(members, path, reachable && len(path) > 0); err != nil {
		return err
	}
	if err := w.each(members["properties"], path, reachable, depth); err != nil {
		return err
	}
	for keyword, sub := range members {
		if err := w.elsewhere(keyword, sub, path, depth); err != nil {
			return err
		}
	}
	return nil
}

// each reads the schemas of an object by name.
func (w *headerWalk) each(schemas jsontext.Value, path []string, reachable bool, depth int) error {
	if schemas == nil || schemas.Kind() != '{' {
		return nil
	}
	return eachMember(schemas, func(name string, v jsontext.Value) error {
		return w.schema(v, append(path[:len(path):len(path)], name), reachable, depth+1)
	})
}

// elsewhere reads the schemas below other keywords than properties: no header may be wanted there.
func (w *headerWalk) elsewhere(keyword string, v jsontext.Value, path []string, depth int) error {
	switch keyword {
	case "items", "prefixItems", "contains", "additionalProperties", "additionalItems", "propertyNames",
		"unevaluatedItems", "unevaluatedProperties", "allOf", "anyOf", "oneOf", "not", "if", "then", "else":
		if v.Kind() != '[' {
			return w.schema(v, path, false, depth+1)
		}
		elements, err := Elements(v)
		if err != nil {
			return err
		}
		for _, e := range elements {
			if err := w.schema(e, path, false, depth+1); err != nil {
				return err
			}
		}
	case "patternProperties", "dependentSchemas", "$defs", "definitions":
		return w.each(v, path, false, depth)
	}
	return nil
}

func (w *headerWalk) annotated(members map[string]jsontext.Value, path []string, reachable bool) error {
	v := members[annotation]
	if v == nil {
		return nil
	}
	name := Text(v)
	at := strings.Join(path, ".")
	switch kind := Text(members["type"]); {
	case !reachable:
		return fmt.Errorf("%s at %q: properties alone do not lead there", annotation, at)
	case kind != "string" && kind != "integer" && kind != "boolean":
		return fmt.Errorf("%s at %q: its type is no string, integer or boolean", annotation, at)
	case !isToken(name):
		return fmt.Errorf("%s at %q: %q is no header's name", annotation, at, name)
	case w.seen[strings.ToLower(name)]:
		return fmt.Errorf("%s at %q: %q is there twice", annotation, at, name)
	}
	w.seen[strings.ToLower(name)] = true
	w.found = append(w.found, ParamHeader{Path: path, Name: name})
	return nil
}

// isToken tells whether s can be the name of a header (RFC 9110, token).
func isToken(s string) bool {
	for i := range len(s) {
		c := s[i]
		letter := c|0x20 >= 'a' && c|0x20 <= 'z'
		if !letter && (c < '0' || c > '9') && strings.IndexByte("!#$%&'*+-.^_`|~", c) < 0 {
			return false
		}
	}
	return s != ""
}

// Elements is the values of a JSON array, which alias it. The error is a *ParseError.
func Elements(array jsontext.Value) ([]jsontext.Value, error) { return elements(array, math.MaxInt) }

// elements is Elements of an array that has no more than most.
func elements(array jsontext.Value, most int) ([]jsontext.Value, error) {
	d := jsontext.NewDecoder(bytes.NewBuffer(array))
	if d.PeekKind() != '[' {
		return nil, invalid("it is not a JSON array")
	}
	_, err := d.ReadToken()
	var all []jsontext.Value
	for err == nil && d.PeekKind() != ']' {
		if len(all) == most {
			return nil, invalid("it has too many elements")
		}
		var v jsontext.Value
		if v, err = d.ReadValue(); err == nil {
			end := int(d.InputOffset())
			all = append(all, array[end-len(v):end:end])
		}
	}
	if err == nil {
		_, err = d.ReadToken()
	}
	if err != nil {
		return nil, asParseError(err)
	}
	return all, nil
}
