package query

import (
	"github.com/vektah/gqlparser/v2/ast"
	"github.com/vektah/gqlparser/v2/parser"

	"github.com/garita-dev/garita/approvals"
)

// maxGraphQL bounds what is parsed, in tokens.
const maxGraphQL = 10_000

// GraphQL says what a GraphQL document does: all of its operations count, whichever is asked for.
// A mutation is Destroy, since what it does is its server's own.
func GraphQL(text string) Verdict {
	if len(text) > 10*maxSQL {
		return unreadable("It is GraphQL longer than is judged.")
	}
	doc, err := parser.ParseQueryWithTokenLimit(&ast.Source{Input: text}, maxGraphQL)
	if err != nil || len(doc.Operations) == 0 {
		return unreadable("It cannot be read as GraphQL.")
	}
	v := Verdict{Class: approvals.Read, Why: "Its GraphQL only queries."}
	for _, o := range doc.Operations {
		if o.Operation != ast.Query {
			v = Verdict{Class: approvals.Destroy, Why: "Its GraphQL is a " + string(o.Operation) + "."}
		}
	}
	return v
}
