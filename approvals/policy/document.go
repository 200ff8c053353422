package policy

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/lexer"
	"github.com/goccy/go-yaml/parser"
	"github.com/goccy/go-yaml/token"
)

// document is the one YAML document of a file, nil for an empty one. The errors are Problems.
func document(file string, data []byte) (ast.Node, error) {
	tokens := lexer.Tokenize(string(data))
	if at := tooDeep(tokens); at > 0 {
		return nil, &Problem{
			File: file, Line: at, What: fmt.Sprintf("more than %d lists or mappings in each other", maxDepth),
			Why: "a policy is a list of flat rules", Next: "take the brackets apart",
		}
	}
	f, err := parser.Parse(tokens, 0)
	if err != nil {
		return nil, malformed(file, err)
	}
	docs := slices.DeleteFunc(f.Docs, func(d *ast.DocumentNode) bool { return d.Body == nil })
	switch {
	case len(docs) == 0:
		return nil, nil
	case len(docs) > 1:
		return nil, &Problem{
			File: file, Line: line(docs[1].Body), What: "a second document begins here",
			Why: "only one is read, and rules would be lost", Next: `take the "---" out`,
		}
	}
	if _, only := docs[0].Body.(*ast.CommentGroupNode); only {
		return nil, nil
	}
	return docs[0].Body, nil
}

// tooDeep finds the line on which a file is nested deeper than any policy; 0 when none is. The parser
// takes time by the square of the depth, so it must not see such a file.
func tooDeep(tokens token.Tokens) int {
	flow, dashes, on := 0, 0, 0
	for _, t := range tokens {
		if t.Position.Line != on {
			dashes, on = 0, t.Position.Line
		}
		switch t.Type { //nolint:exhaustive // the rest does not nest
		case token.SequenceStartType, token.MappingStartType:
			flow++
		case token.SequenceEndType, token.MappingEndType:
			flow = max(0, flow-1)
		case token.SequenceEntryType, token.MappingKeyType, token.TagType, token.AnchorType:
			dashes++
		}
		if flow > maxDepth || dashes > maxDepth || t.Position.IndentNum > 8*maxDepth {
			return on
		}
	}
	return 0
}

// malformed takes line and message from the library's error.
func malformed(file string, err error) error {
	p := &Problem{File: file, What: "this is not valid YAML", Next: "correct the indentation and the quotes there"}
	var y yaml.Error
	if errors.As(err, &y) {
		p.Why = y.GetMessage()
		if tok := y.GetToken(); tok != nil && tok.Position != nil {
			p.Line = tok.Position.Line
		}
	}
	return p
}

// line is where a node stands, 0 when unknown.
func line(n ast.Node) int {
	if n == nil || n.GetToken() == nil || n.GetToken().Position == nil {
		return 0
	}
	return n.GetToken().Position.Line
}

// entry is one key of a mapping and its value.
type entry struct {
	key   string
	at    int // line of the key
	value ast.Node
}

// reader turns nodes into rules and gathers what is wrong on the way.
type reader struct {
	file     string
	problems []error
}

func (r *reader) bad(at int, what, why, next string) {
	r.problems = append(r.problems, &Problem{File: r.file, Line: at, What: what, Why: why, Next: next})
}

// mapping lists the entries of a mapping. Each key may be there once and has to be one of known.
func (r *reader) mapping(n ast.Node, what string, known []string) []entry {
	var values []*ast.MappingValueNode
	switch m := n.(type) {
	case *ast.MappingNode:
		values = m.Values
	case *ast.MappingValueNode:
		values = []*ast.MappingValueNode{m}
	default:
		r.bad(line(n), what+" is "+kindOf(n), "", "write it as keys and values: "+strings.Join(known, ", "))
		return nil
	}
	var out []entry
	for _, v := range values {
		e := entry{key: text(v.Key), at: line(v.Key), value: v.Value}
		switch {
		case !slices.Contains(known, e.key):
			r.bad(e.at, fmt.Sprintf("%s has no key %q", what, clip(e.key)), "a key that is not known would be a rule that does not do what it says", next(e.key, known))
		case slices.ContainsFunc(out, func(o entry) bool { return o.key == e.key }):
			r.bad(e.at, fmt.Sprintf("%q is there twice", e.key), "only one of them could be in force", "take one out")
		default:
			out = append(out, e)
		}
	}
	return out
}

func isMapping(n ast.Node) bool {
	switch n.(type) {
	case *ast.MappingNode, *ast.MappingValueNode:
		return true
	}
	return false
}

// next names the keys there are, the likeliest alone.
func next(key string, known []string) string {
	plain := strings.TrimSuffix(strings.ToLower(strings.ReplaceAll(key, "-", "_")), "s")
	for _, k := range known {
		if strings.TrimSuffix(k, "s") == plain {
			return fmt.Sprintf("did you mean %q?", k)
		}
	}
	return "the keys are " + strings.Join(known, ", ")
}

// text is a scalar's text; "" for anything else, which is no key.
func text(n ast.Node) string {
	switch s := n.(type) {
	case *ast.StringNode:
		return s.Value
	case *ast.LiteralNode:
		return s.Value.Value
	}
	return ""
}

// kindOf says what a node is, for people.
func kindOf(n ast.Node) string {
	switch n.(type) {
	case nil, *ast.NullNode:
		return "empty"
	case *ast.MappingNode, *ast.MappingValueNode:
		return "a mapping"
	case *ast.SequenceNode:
		return "a list"
	case *ast.StringNode, *ast.LiteralNode:
		return "a text"
	case *ast.BoolNode:
		return "true or false"
	case *ast.IntegerNode, *ast.FloatNode:
		return "a number"
	case *ast.AnchorNode, *ast.AliasNode, *ast.MergeKeyNode:
		return "an anchor or alias, which are not read here"
	case *ast.TagNode:
		return "tagged, which is not read here"
	}
	return "something else"
}

// clip keeps foreign text short in messages.
func clip(s string) string {
	if len(s) <= 80 {
		return s
	}
	return strings.ToValidUTF8(s[:80], "") + "…"
}
