package config

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"reflect"
	"unicode/utf8"

	"github.com/containerd/errdefs"
	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"
)

// Problem is what is wrong with a settings file, and where. It never quotes the file's values.
type Problem struct {
	File    string
	Line    int // 1-based; 0 when unknown
	Message string
}

func (p *Problem) Error() string {
	if p.Line == 0 {
		return fmt.Sprintf("%s: %s", p.File, p.Message)
	}
	return fmt.Sprintf("%s:%d: %s", p.File, p.Line, p.Message)
}

// Unwrap makes every Problem an InvalidArgument.
func (p *Problem) Unwrap() error { return errdefs.ErrInvalidArgument }

// decode reads one YAML document into v; unknown and doubled keys are errors. An empty file leaves v as it is.
func decode(file string, data []byte, v any) error {
	if !utf8.Valid(data) {
		return &Problem{File: file, Message: "not UTF-8 text"}
	}
	dec := yaml.NewDecoder(bytes.NewReader(data), yaml.Strict())
	if err := dec.Decode(v); err != nil && !errors.Is(err, io.EOF) {
		return problem(file, err)
	}
	var more any
	if err := dec.Decode(&more); !errors.Is(err, io.EOF) {
		return &Problem{File: file, Message: "more than one document"}
	}
	return nil
}

// problem takes line and message from the library's error and leaves the quoted source out.
func problem(file string, err error) error {
	p := &Problem{File: file, Message: "not valid YAML"}
	var y yaml.Error
	if errors.As(err, &y) {
		p.Message = y.GetMessage()
		if tok := y.GetToken(); tok != nil && tok.Position != nil {
			p.Line = tok.Position.Line
		}
	}
	var kind *yaml.TypeError
	if errors.As(err, &kind) {
		p.Message = fmt.Sprintf("%s stands where %s is expected", inWords(kind.SrcType), inWords(kind.DstType))
	}
	return p
}

// inWords says what a YAML author calls values of t.
func inWords(t reflect.Type) string {
	if t.Kind() == reflect.Pointer {
		return inWords(t.Elem())
	}
	if words, ok := kindWords[t.Kind()]; ok {
		return words
	}
	return "another value"
}

var kindWords = map[reflect.Kind]string{
	reflect.Map: "a mapping", reflect.Struct: "a mapping",
	reflect.Slice: "a list", reflect.Array: "a list",
	reflect.Bool: "true or false", reflect.String: "text",
	reflect.Int: "a number", reflect.Int64: "a number", reflect.Uint64: "a number", reflect.Float64: "a number",
}

// lines finds where keys stand in a file that has been decoded.
type lines struct{ root ast.Node }

func newLines(data []byte) lines {
	f, err := parser.ParseBytes(data, 0)
	if err != nil || len(f.Docs) == 0 {
		return lines{}
	}
	return lines{root: f.Docs[0].Body}
}

// of returns the line of the last key of path that is there; 0 when none is.
func (l lines) of(path ...string) int {
	line, node := 0, l.root
	for _, key := range path {
		v := child(node, key)
		if v == nil {
			break
		}
		if tok := v.Key.GetToken(); tok != nil && tok.Position != nil {
			line = tok.Position.Line
		}
		node = v.Value
	}
	return line
}

// child finds one member of a mapping.
func child(node ast.Node, key string) *ast.MappingValueNode {
	for _, v := range members(node) {
		if name, ok := v.Key.(ast.ScalarNode); ok && fmt.Sprint(name.GetValue()) == key {
			return v
		}
	}
	return nil
}

func members(node ast.Node) []*ast.MappingValueNode {
	switch n := node.(type) {
	case *ast.MappingNode:
		return n.Values
	case *ast.MappingValueNode:
		return []*ast.MappingValueNode{n}
	}
	return nil
}
