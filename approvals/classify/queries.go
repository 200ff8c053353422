package classify

import (
	"bytes"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/garita-dev/garita/approvals"
	"github.com/garita-dev/garita/approvals/classify/query"
)

// language is one in which an argument may be written, and by which the call is judged.
type language string

const (
	sqlText    language = "sql"
	pipeline   language = "pipeline"
	graphQL    language = "graphql"
	httpMethod language = "http"
)

// queried is the argument of a tool that runs queries. The zero queried is none.
type queried struct {
	argument string
	language language
}

// runners are words of tools that run a query and do nothing else of their own.
var runners = set(`execute run exec query queries sql select read raw statement explain describe plan database db d1
	postgres postgresql pg mysql mariadb sqlite duckdb bigquery snowflake clickhouse redshift athena trino presto
	aggregate aggregation pipeline graphql gql warehouse single perform mcp get data table readonly only oracle cockroach neon
	supabase turso libsql analyze perform list search`)

// findQuery says whether a tool does nothing but run the query it is given.
func findQuery(d Definition, words []string, declared []property) (queried, bool) {
	for _, w := range words {
		if !runners[w] {
			return queried{}, false
		}
	}
	var q queried
	text := strings.ToLower(d.Name + " " + d.Description)
	for _, p := range declared {
		name := plainName(p.name)
		switch {
		case p.depth > 0 && (q.argument != "" && q.language == pipeline):
		case p.depth > 0 && codeNames[name]:
			return queried{}, false
		case name == "sql" || name == "sqlquery" || name == "sqlstatement" || (name == "query" || name == "statement") && speaksSQL(d.Description+" "+p.description) && !strings.Contains(text, "graphql"):
			q = q.or(p.name, sqlText)
		case (name == "query" || name == "graphqlquery") && strings.Contains(text, "graphql"):
			q = q.or(p.name, graphQL)
		case name == "pipeline" && slices.ContainsFunc(words, func(w string) bool { return strings.HasPrefix(w, "aggregat") }):
			q = q.or(p.name, pipeline)
		case p.depth == 0:
			if class, _ := p.against(false); class != "" && class != approvals.Depends && name != "explain" {
				return queried{}, false
			}
		}
	}
	return q, q.argument != "" && q.language != ""
}

// or is q, or the first query found; two of them are none that can be told.
func (q queried) or(argument string, l language) queried {
	if q.argument != "" {
		return queried{argument, ""}
	}
	return queried{argument, l}
}

func (q queried) settle(args []argument) Verdict {
	for _, a := range args {
		if a.name == q.argument {
			return q.language.judge(a)
		}
	}
	return Verdict{Class: approvals.Write, Why: "It was given no query."}
}

// judge says what an argument's value does.
func (l language) judge(a argument) Verdict {
	var v query.Verdict
	switch {
	case l == pipeline:
		v = query.Pipeline(a.raw)
	case a.kind != '"':
		return Verdict{Class: approvals.Execute, Why: "Its query is no text."}
	case l == sqlText:
		v = query.SQL(a.text)
	case l == graphQL:
		v = query.GraphQL(a.text)
	case l == httpMethod:
		v = byMethod(a.text)
	default:
		return Verdict{Class: approvals.Execute, Why: "Its query cannot be judged."}
	}
	return Verdict{Class: v.Class, Why: v.Why, Sensitive: v.Sensitive, Sentence: v.Summary}
}

// byMethod says what an HTTP method does. What a server makes of a POST is its own.
func byMethod(method string) query.Verdict {
	switch strings.ToUpper(method) {
	case "GET", "HEAD", "OPTIONS":
		return query.Verdict{Class: approvals.Read, Why: "Its HTTP method only reads (" + strings.ToUpper(method) + ")."}
	case "POST", "PUT", "PATCH", "DELETE":
		return query.Verdict{Class: approvals.Destroy, Why: "Its HTTP method sends or deletes (" + strings.ToUpper(method) + ")."}
	}
	return query.Verdict{Class: approvals.Execute, Why: "Its HTTP method is not known."}
}

// filter looks for JavaScript and for stages that write in any argument of a read.
func filter(raw jsontext.Value) query.Verdict {
	if !bytes.ContainsAny(raw, `$\`) || raw.Kind() == '"' && !bytes.ContainsAny(raw, "{") {
		return query.Verdict{Class: approvals.Read}
	}
	return query.Filter(raw)
}

// plainName is a name in lower case without separators.
func plainName(name string) string {
	words, _ := split(name)
	return strings.ReplaceAll(strings.Join(words, ""), " ", "")
}
