// Package query says what a text in a query language does: SQL, a MongoDB pipeline, GraphQL. It is
// pure and one-sided: what its parsers cannot read, and every function they do not know, is no read.
package query

import "github.com/garita-dev/garita/approvals"

// Verdict is what a query does. Summary tells it in a few words, "delete every row of orders"; it
// is "" where the query itself says it best. Names in it are the query's own text.
type Verdict struct {
	Class     approvals.Class // never Depends
	Why       string          // one sentence
	Sensitive string          // why what it returns is not for everybody; "" when it is not
	Summary   string
}

// rank orders classes by how much they may do.
var rank = map[approvals.Class]int{approvals.Read: 0, approvals.Write: 1, approvals.Destroy: 2, approvals.Execute: 3}

// worse is the one of two verdicts that may do more; of two that may do as much, the first.
func worse(a, b Verdict) Verdict {
	if rank[b.Class] > rank[a.Class] || a.Class == "" {
		b.Sensitive = first(a.Sensitive, b.Sensitive)
		return b
	}
	a.Sensitive = first(a.Sensitive, b.Sensitive)
	return a
}

func first(a, b string) string {
	if a != "" {
		return a
	}
	return b
}
