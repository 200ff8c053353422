package query

import (
	"regexp"
	"strings"
	"unicode/utf8"

	"github.com/garita-dev/garita/approvals"
)

// maxSQL bounds what is parsed, in bytes. PostgreSQL's parser is C and recursive; at this length no
// nesting exhausts a thread's stack.
const maxSQL = 10_000

// SQL says what a text of SQL does, whichever of PostgreSQL, MySQL and SQLite it is for: the
// caller seldom knows. It is a read only if a parser reads it whole and finds nothing but queries of
// functions known to compute; where dialects disagree on what is text and what is code, both
// parsers have to agree.
func SQL(text string) Verdict {
	switch {
	case len(text) > maxSQL:
		return unreadable("It is SQL longer than is judged.")
	case !utf8.ValidString(text) || strings.ContainsFunc(text, control):
		return unreadable("It is SQL with bytes that do not belong in it.")
	case strings.Contains(text, "/*!") || strings.Contains(text, "/*M!") || strings.Contains(text, "/*T!"):
		return unreadable("It is SQL with a comment that some databases run.")
	}
	if v, ok := pragma(text); ok {
		return v
	}
	postgres, okPostgres := postgres(text)
	if okPostgres && postgres.Class == approvals.Read && !ambiguous(text) && !strings.Contains(text, "`") {
		return postgres
	}
	mysql, okMySQL := mysql(text)
	switch {
	case okPostgres && okMySQL:
		return worse(postgres, mysql)
	case okPostgres && postgres.Class != approvals.Read:
		return postgres
	case okMySQL && (mysql.Class != approvals.Read || !ambiguous(text)):
		return mysql
	case okPostgres || okMySQL:
		return unreadable("It is SQL that another database may read otherwise.")
	}
	return unreadable("It cannot be read as SQL.")
}

func unreadable(why string) Verdict { return Verdict{Class: approvals.Execute, Why: why} }

func control(r rune) bool { return r < 0x20 && r != '\n' && r != '\r' && r != '\t' || r == 0x7f }

// ambiguous says whether databases may disagree about where strings and comments in a text begin
// and end: backslashes, MySQL's #, PostgreSQL's $tags$, [names] with quotes in them, Oracle's q'!…!'.
// Backticks are
// not among them: where PostgreSQL takes one for an operator it reads the whole text, and is heard.
func ambiguous(text string) bool {
	if strings.ContainsAny(text, "\\#$") || strings.Contains(text, "--") || strings.Contains(text, "/*") {
		return true
	}
	return strings.Contains(text, "[") && strings.ContainsAny(text, `'"`) || oracleQuote.MatchString(text)
}

// oracleQuote begins a string of Oracle's that ends where the sign behind its quote comes again.
var oracleQuote = regexp.MustCompile(`(?i)\bn?q'`)

// pragmas of SQLite that only tell, with or without an argument in parentheses.
var pragmas = set(`table_info table_xinfo table_list index_list index_info index_xinfo foreign_key_list database_list
	function_list collation_list compile_options integrity_check quick_check foreign_key_check page_count freelist_count`)

// pragma reads SQLite's PRAGMA name or PRAGMA name(word), the only forms that none of the parsers has.
func pragma(text string) (Verdict, bool) {
	fields := strings.Fields(strings.TrimSuffix(strings.TrimSpace(text), ";"))
	if len(fields) == 0 || !strings.EqualFold(fields[0], "pragma") {
		return Verdict{}, false
	}
	name, argument, given := strings.Cut(strings.ToLower(strings.Join(fields[1:], " ")), "(")
	argument, closed := strings.CutSuffix(argument, ")")
	if !pragmas[strings.TrimSpace(name)] || given != closed || strings.ContainsFunc(strings.Trim(argument, `'"`), notName) {
		return unreadable("It is a PRAGMA that is not known to only tell."), true
	}
	return Verdict{Class: approvals.Read, Why: "It is a PRAGMA that only tells (" + strings.TrimSpace(name) + ")."}, true
}

func notName(r rune) bool {
	return !('a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9' || r == '_' || r == '-' || r == '.')
}

func set(words string) map[string]bool {
	m := make(map[string]bool)
	for _, w := range strings.Fields(words) {
		m[w] = true
	}
	return m
}

// aliases are words that a column may be called, but that Microsoft's SQL takes for a statement even
// without a semicolon before it.
var aliases = set(`shutdown reconfigure checkpoint commit rollback kill exec execute revert backup restore truncate`)

// secrets are tables whose rows are credentials.
var secrets = set(`pg_shadow pg_authid pg_user_mapping pg_user_mappings mysql.user auth.users vault.secrets
	vault.decrypted_secrets information_schema.user_attributes`)

// found is what a parser has found in one text.
type found struct{ Verdict }

func (f *found) is(class approvals.Class, why string) {
	f.Verdict = worse(f.Verdict, Verdict{Class: class, Why: why})
}

// calls notes a function.
func (f *found) calls(name string) {
	if !computes[strings.ToLower(name)] {
		f.is(approvals.Execute, "It calls "+clip(name)+", which is not known to only compute.")
	}
}

// reads notes a table.
func (f *found) reads(schema, table string) {
	name := strings.ToLower(table)
	if secrets[name] || schema != "" && secrets[strings.ToLower(schema)+"."+name] {
		f.Sensitive = "it reads " + clip(table) + ", where credentials are kept"
	}
}

// named notes what a column is called in what comes back.
func (f *found) named(alias string) {
	if aliases[strings.ToLower(alias)] {
		f.is(approvals.Execute, "It holds the word "+clip(alias)+", which some databases run.")
	}
}

// clip bounds a name that comes from the query.
func clip(name string) string {
	if len(name) > 60 {
		return strings.ToValidUTF8(name[:60], "") + "…"
	}
	return name
}
