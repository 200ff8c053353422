package classify

import (
	"fmt"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/garita-dev/garita/approvals"
)

// property is one argument a schema declares.
type property struct {
	name        string
	description string
	values      []string // of its enum
	flag        bool     // it is true or false
	depth       int      // 0 for an argument itself, more inside one
}

// maxDepth bounds how deep a schema is followed.
const maxDepth = 24

// node is what is read of a JSON Schema.
type node struct {
	Description string            `json:"description"`
	Type        jsontext.Value    `json:"type"`
	Enum        []jsontext.Value  `json:"enum"`
	Const       jsontext.Value    `json:"const"`
	Properties  orderedProperties `json:"properties"`
	Items       jsontext.Value    `json:"items"`
	AnyOf       []jsontext.Value  `json:"anyOf"`
	OneOf       []jsontext.Value  `json:"oneOf"`
	AllOf       []jsontext.Value  `json:"allOf"`
	PrefixItems []jsontext.Value  `json:"prefixItems"`
	Then        jsontext.Value    `json:"then"`
	Else        jsontext.Value    `json:"else"`
	Additional  jsontext.Value    `json:"additionalProperties"`
	Pattern     orderedProperties `json:"patternProperties"`
	// What $ref may point at is followed where it stands, pointed at or not.
	Defs        orderedProperties `json:"$defs"`
	Definitions orderedProperties `json:"definitions"`
}

// inner are the schemas inside n that declare arguments under no name of their own.
func (n node) inner() (all []jsontext.Value) {
	for _, list := range [][]jsontext.Value{n.AnyOf, n.OneOf, n.AllOf, n.PrefixItems} {
		all = append(all, list...)
	}
	for _, one := range []jsontext.Value{n.Items, n.Then, n.Else, n.Additional} {
		if one.Kind() == '{' {
			all = append(all, one)
		}
	}
	for _, named := range []orderedProperties{n.Pattern, n.Defs, n.Definitions} {
		for _, p := range named {
			all = append(all, p.schema)
		}
	}
	return all
}

// properties lists what schema declares, at any depth. A missing schema declares nothing; readable
// is false for one that is no JSON object or is deeper than any real one.
func properties(schema []byte) (all []property, readable bool) {
	if len(schema) == 0 {
		return nil, true
	}
	if jsontext.Value(schema).Kind() != '{' {
		return nil, false
	}
	return walk(nil, schema, 0)
}

func walk(all []property, schema jsontext.Value, depth int) ([]property, bool) {
	if depth > maxDepth {
		return all, false
	}
	if k := schema.Kind(); k == 't' || k == 'f' { // a schema may be true or false
		return all, true
	}
	var n node
	if err := json.Unmarshal(schema, &n); err != nil {
		return all, false
	}
	ok := true
	for _, p := range n.Properties {
		all = append(all, describe(p, depth))
		var deep bool
		all, deep = walk(all, p.schema, depth+1)
		ok = ok && deep
	}
	for _, s := range n.inner() {
		var deep bool
		all, deep = walk(all, s, depth+1)
		ok = ok && deep
	}
	return all, ok
}

// describe is a property by its own schema; one that cannot be read will be refused by walk.
func describe(p namedSchema, depth int) property {
	var n node
	_ = json.Unmarshal(p.schema, &n)
	out := property{name: p.name, description: n.Description, depth: depth, flag: string(n.Type) == `"boolean"`}
	for _, v := range append(n.Enum, n.Const) {
		var s string
		if v.Kind() == '"' && json.Unmarshal(v, &s) == nil {
			out.values = append(out.values, s)
		}
	}
	return out
}

// namedSchema is one member of "properties".
type namedSchema struct {
	name   string
	schema jsontext.Value
}

// orderedProperties are the members of "properties" as they stand, so that what is said of a tool
// does not change from one run to the next.
type orderedProperties []namedSchema

// UnmarshalJSONFrom reads an object.
func (o *orderedProperties) UnmarshalJSONFrom(d *jsontext.Decoder) error {
	if d.PeekKind() != '{' {
		return fmt.Errorf("properties are no object")
	}
	if _, err := d.ReadToken(); err != nil {
		return err
	}
	for d.PeekKind() == '"' {
		t, err := d.ReadToken()
		if err != nil {
			return err
		}
		name := t.String()
		v, err := d.ReadValue()
		if err != nil {
			return err
		}
		*o = append(*o, namedSchema{name, v.Clone()})
	}
	_, err := d.ReadToken()
	return err
}

// Names of arguments, in lower case without separators.
var (
	codeNames = set(`command cmd commands commandline script code sql statement statements shell bash javascript js
		python function expression program argv exec eval pipeline macro lambda source_code sourcecode initscript
		rawquery sqlquery soql cypher mutation`)
	// pageNames name what may be fetched to be read; whether its host may be reached is the wall's
	// question. urlNames lead elsewhere.
	pageNames = set(`url urls uri uris href website link links pageurl pageurls sourceurl targeturl websiteurl`)
	urlNames  = set(`endpoint webhook callback host hostname connectionstring proxy baseurl server remoteurl dsn
		webhookurl callbackurl redirecturl apiurl serverurl proxyurl url urls uri uris href website link`)
	contentNames = set(`content contents body payload data document documents html edits changes update updates
		recipient recipients subject newcontent newtext newstring replacement attachment attachments values message
		headers`)
	modeNames = set(`mode action operation op method verb task`)

	// keeping are words in an argument's description that say its value is where something will be put.
	keeping = set(`save saves saved saving write writes written overwrite overwrites delete deletes remove removes
		execute executes executed store stored append persist`)

	// doingNames are words in an argument's name that make something be done.
	doingNames = set(`force overwrite delete remove upsert create update write save purge reset drop replace install
		apply commit push publish execute exec run confirm confirmed fix autofix send notify mark`)

	// placeNames are words in the name of an argument that says where a result is put.
	placeNames = set(`output out dest destination outfile outdir outpath savepath download export`)

	// targets may be places too, where the name of the tool does not surely read.
	targets = set(`target targetdir targetpath targetfolder destinationpath folder tofolder dir directory`)

	// identifies end names of arguments that only name something: run_id, update_id.
	identifies = set(`id ids name names number sha ref type status state by`)
)

// against says what a declared argument makes of a read: nothing (""), or another class and why.
// Depends means it is a read as long as the argument stays away or is harmless.
func (p property) against(sql bool) (approvals.Class, string) {
	words, plain := split(p.name)
	joined := strings.Join(words, "")
	switch {
	case !plain:
		return approvals.Write, fmt.Sprintf("Its argument %q has a name not made of plain letters.", p.name)
	case codeNames[joined]:
		return approvals.Execute, fmt.Sprintf("Its argument %q holds something to run.", p.name)
	case (sql || speaksSQL(p.description)) && (joined == "query" || joined == "queries" || joined == "q"):
		return approvals.Execute, fmt.Sprintf("Its argument %q is a query that can do anything its language can.", p.name)
	case p.isPage():
	case urlNames[joined] || urlNames[words[len(words)-1]] && !slices.Contains(words, "or"):
		return approvals.Write, fmt.Sprintf("Its argument %q leads to a place of the caller's choice.", p.name)
	case contentNames[joined]:
		return approvals.Write, fmt.Sprintf("Its argument %q is something to put somewhere.", p.name)
	case p.isMode() && p.onlyReads():
	case p.isMode():
		return approvals.Depends, fmt.Sprintf("What it does depends on its argument %q.", p.name)
	case p.acts(words) || p.saysKeep():
		return approvals.Depends, fmt.Sprintf("It writes when its argument %q is given.", p.name)
	}
	return "", ""
}

// isPage says whether p is the address of something that is fetched to be read.
func (p property) isPage() bool { return pageNames[plainName(p.name)] }

// isMode says whether p is the argument that chooses what the tool does.
func (p property) isMode() bool {
	words, _ := split(p.name)
	return p.depth == 0 && modeNames[strings.Join(words, "")]
}

// onlyReads says whether every value an argument can have is a way of reading.
func (p property) onlyReads() bool {
	for _, v := range p.values {
		if !readingValue(v) {
			return false
		}
	}
	return len(p.values) > 0
}

// readingValue says whether a value such as "get_comments", "list" or "labels" is a way or an object
// of reading.
func readingValue(v string) bool {
	words, plain := split(v)
	if !plain || len(words) == 0 {
		return false
	}
	return readVerbs[words[0]] && onlyNouns(words[1:]) || noVerbs(words)
}

// acts says whether an argument's name says that it makes something be done or put somewhere.
func (p property) acts(words []string) bool {
	if identifies[words[len(words)-1]] {
		return false
	}
	for _, w := range words {
		if doingNames[w] || placeNames[w] && !p.flag {
			return true
		}
	}
	return false
}

// saysKeep says whether the argument's description tells of putting something somewhere.
func (p property) saysKeep() bool {
	words := strings.FieldsFunc(strings.ToLower(p.description), notWord)
	for i, w := range words {
		if keeping[w] && !negated(words[:i]) {
			return true
		}
	}
	return false
}

// writes says why the value that args give p makes the call no read, and what it is then; "" when it
// does not.
func (p property) writes(args []argument) (approvals.Class, string) {
	for _, a := range args {
		if a.name != p.name || p.depth > 0 {
			continue
		}
		if a.kind == 'n' || a.kind == 'f' { // null and false leave it away
			return "", ""
		}
		if p.isMode() && a.kind == '"' {
			if slices.Contains(p.values, a.text) && readingValue(a.text) {
				return "", ""
			}
			words, _ := split(a.text)
			class, _ := byWorstVerb(words)
			return class, fmt.Sprintf("It was told %q to %s.", p.name, limit(a.text, 40))
		}
		return approvals.Write, fmt.Sprintf("It was given %q, with which it writes.", p.name)
	}
	if p.isMode() {
		return approvals.Write, fmt.Sprintf("It was not told %q, and what it does without is not known.", p.name)
	}
	if p.depth > 0 {
		return approvals.Write, fmt.Sprintf("It may be given %q somewhere inside its arguments.", p.name)
	}
	return "", ""
}

// runsCode is the name of an argument that holds something to run; "" for none.
func runsCode(declared []property) string {
	for _, p := range declared {
		words, _ := split(p.name)
		if codeNames[strings.Join(words, "")] {
			return p.name
		}
	}
	return ""
}

// hints are what an author says of a tool. They are never grounds to allow.
type hints struct{ writes, destructive bool }

// readHints reads them one by one: one that is no true or false counts as absent.
func readHints(annotations []byte) hints {
	var members map[string]jsontext.Value
	if len(annotations) == 0 || json.Unmarshal(annotations, &members) != nil {
		return hints{}
	}
	return hints{
		writes:      members["readOnlyHint"].Kind() == 'f',
		destructive: members["destructiveHint"].Kind() == 't',
	}
}
