package clientconfig

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/containerd/errdefs"
	"github.com/tailscale/hujson"
)

// maxFile bounds a settings file, in bytes. Some clients keep their whole state in theirs.
const maxFile = 32 << 20

// maxDepth bounds nesting: the parser is recursive, and no client nests deeper than ten.
const maxDepth = 500

// document is a client's settings file, parsed with every byte's place.
type document struct {
	text    []byte // UTF-8, without a byte order mark
	enc     encoding
	whole   *hujson.Value
	root    *hujson.Object // of whole
	key     string         // under which the servers are
	seen    mark           // the last place whose line was asked for
	servers *hujson.Object // by the client's names
}

// maxServers bounds the entries of a file; nobody has more, and each costs a look at this machine.
const maxServers = 500

// mark is an offset and its line, from where later lines are counted.
type mark struct{ offset, line int }

// line is the line of an offset, cheap for offsets that grow.
func (d *document) line(offset int) int {
	if d.seen.line == 0 || offset < d.seen.offset {
		d.seen = mark{0, 1}
	}
	d.seen.line += bytes.Count(d.text[d.seen.offset:offset], []byte("\n"))
	d.seen.offset = offset
	return d.seen.line
}

// containers are the keys under which clients keep stdio servers, most used first.
var containers = []string{"mcpServers", "servers", "context_servers"}

// parse reads settings that have servers, as parseWhole does.
func parse(data []byte) (*document, error) {
	d, err := parseWhole(data)
	if err != nil {
		return nil, err
	}
	return d, d.find()
}

// parseWhole reads JSON with comments and trailing commas. Errors are InvalidArgument, say where, and
// quote no values.
func parseWhole(data []byte) (*document, error) {
	if len(data) > maxFile {
		return nil, fmt.Errorf("%d bytes, more than %d: %w", len(data), maxFile, errdefs.ErrInvalidArgument)
	}
	text, enc, err := decodeText(data)
	if err != nil {
		return nil, err
	}
	if len(bytes.TrimSpace(text)) == 0 {
		return nil, fmt.Errorf("the file is empty: %w", errdefs.ErrInvalidArgument)
	}
	if at := tooDeep(text); at >= 0 {
		line, col := position(text, at)
		return nil, fmt.Errorf("line %d, column %d: nested deeper than %d: %w", line, col, maxDepth, errdefs.ErrInvalidArgument)
	}
	value, err := hujson.Parse(append(text[:len(text):len(text)], '\n')) // a line comment may be the last thing in a file
	if err != nil {
		return nil, syntaxError(err)
	}
	root, ok := value.Value.(*hujson.Object)
	if !ok {
		return nil, fmt.Errorf("not a JSON object: %w", errdefs.ErrInvalidArgument)
	}
	d := &document{text: text, enc: enc, whole: &value, root: root}
	return d, d.unique(root, "the file")
}

// errCut is a file that ends in the middle: perhaps its owner is still writing it.
var errCut = errors.New("the file ends in the middle")

var where = regexp.MustCompile(`line (\d+), column (\d+)`)

// syntaxError keeps the place of the parser's error, whose text may quote the file.
func syntaxError(err error) error {
	place := where.FindString(err.Error())
	if errors.Is(err, io.ErrUnexpectedEOF) {
		return fmt.Errorf("%s: %w: %w", place, errCut, errdefs.ErrInvalidArgument)
	}
	return fmt.Errorf("%s: not valid JSON: %w", place, errdefs.ErrInvalidArgument)
}

// tooDeep returns the offset of the first bracket nested deeper than maxDepth, or -1.
func tooDeep(text []byte) int {
	depth := 0
	for i := 0; i < len(text); i++ {
		switch text[i] {
		case '"':
			i = skipString(text, i)
		case '/':
			i = skipComment(text, i)
		case '{', '[':
			if depth++; depth > maxDepth {
				return i
			}
		case '}', ']':
			depth--
		}
	}
	return -1
}

// skipString returns the offset of the quote that ends the string at i, or of the last byte.
func skipString(text []byte, i int) int {
	for i++; i < len(text) && text[i] != '"'; i++ {
		if text[i] == '\\' {
			i++
		}
	}
	return i
}

// skipComment returns the offset of the last byte of the comment at i, or i if there is none.
func skipComment(text []byte, i int) int {
	rest := text[i:]
	var end, n int
	switch {
	case bytes.HasPrefix(rest, []byte("//")):
		end, n = bytes.IndexByte(rest, '\n'), 1
	case bytes.HasPrefix(rest, []byte("/*")):
		if end = bytes.Index(rest[2:], []byte("*/")); end >= 0 {
			end += 2
		}
		n = 2
	default:
		return i
	}
	if end < 0 {
		return len(text)
	}
	return i + end + n - 1
}

// find sets where the servers are.
func (d *document) find() error {
	for _, key := range containers {
		v := member(d.root, key)
		if v == nil {
			continue
		}
		obj, ok := v.Value.(*hujson.Object)
		if !ok {
			if v.Value.Kind() == 'n' {
				obj = &hujson.Object{}
			} else {
				return fmt.Errorf("%s: %q is not an object: %w", d.place(v.StartOffset), key, errdefs.ErrInvalidArgument)
			}
		}
		if len(obj.Members) > maxServers {
			return fmt.Errorf("%d servers, more than %d: %w", len(obj.Members), maxServers, errdefs.ErrInvalidArgument)
		}
		d.key, d.servers = key, obj
		return d.unique(obj, strconv.Quote(key))
	}
	return fmt.Errorf("%s: %w", d.missing(), errdefs.ErrInvalidArgument)
}

// missing says what there is instead of servers, where it is something known.
func (d *document) missing() string {
	known := []struct{ key, says string }{
		{"mcp", `servers under "mcp" (opencode, older VS Code settings) are not read yet`},
		{"mcp_config", `"mcp_config" is a mistake of some READMEs; clients ignore it`},
		{"mcp.servers", `"mcp.servers" is a mistake of some READMEs; clients ignore it`},
		{"experimental", "Continue's old form is not read yet"},
		{"extensions", "Goose's form is not read yet"},
		{"server", "a bundle's manifest is not read yet"},
		{"image", "ToolHive's form is not read yet"},
		{"enableAllProjectMcpServers", "this file says which servers are trusted, not what they are"},
	}
	for _, k := range known {
		if member(d.root, k.key) != nil {
			return `no "mcpServers" here: ` + k.says
		}
	}
	for _, m := range d.root.Members {
		if obj, ok := m.Value.Value.(*hujson.Object); ok && member(obj, "command") != nil {
			return fmt.Sprintf(`no "mcpServers" here; %s stands at the top, where clients do not look (%s)`, show(text(m.Name)), d.place(m.Name.StartOffset))
		}
	}
	return `no "mcpServers" here`
}

// unique refuses an object with two members of the same name: programs differ in which one counts.
func (d *document) unique(obj *hujson.Object, what string) error {
	seen := make(map[string]bool, len(obj.Members))
	for _, m := range obj.Members {
		name := text(m.Name)
		if seen[name] {
			return fmt.Errorf("%s: %s names %s twice: %w", d.place(m.Name.StartOffset), what, show(name), errdefs.ErrInvalidArgument)
		}
		seen[name] = true
	}
	return nil
}

func (d *document) place(offset int) string {
	line, col := position(d.text, offset)
	return fmt.Sprintf("line %d, column %d", line, col)
}

// entry finds one server's value by the client's name for it.
func (d *document) entry(name string) *hujson.Value { return member(d.servers, name) }

func member(obj *hujson.Object, name string) *hujson.Value {
	i := slices.IndexFunc(obj.Members, func(m hujson.ObjectMember) bool { return text(m.Name) == name })
	if i < 0 {
		return nil
	}
	return &obj.Members[i].Value
}

// text is a string's content; other values have none.
func text(v hujson.Value) string {
	s, _ := stringOf(v)
	return s
}

func stringOf(v hujson.Value) (string, bool) {
	lit, ok := v.Value.(hujson.Literal)
	if !ok || lit.Kind() != '"' {
		return "", false
	}
	return lit.String(), true
}

// show makes foreign text safe to put into a sentence: what does not print is written as escapes.
func show(s string) string {
	if len(s) > 200 {
		s = strings.ToValidUTF8(s[:200], "") + "…"
	}
	for _, r := range s {
		if !strconv.IsPrint(r) {
			return strconv.Quote(s)
		}
	}
	return s
}
