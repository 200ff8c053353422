package query

import (
	"strings"
	"testing"

	"github.com/garita-dev/garita/approvals"
)

func TestSQL(t *testing.T) {
	for _, tc := range []struct {
		name, sql string
		want      approvals.Class
	}{
		{"a query", `SELECT id, name FROM users WHERE age > 3 ORDER BY id LIMIT 5`, approvals.Read},
		{"a query with a semicolon", `SELECT 1;`, approvals.Read},
		{"two queries", `SELECT 1; SELECT 2`, approvals.Read},
		{"a query with functions", `SELECT count(*), upper(name), date_trunc('day', at) FROM t GROUP BY 2, 3`, approvals.Read},
		{"a common table", `WITH x AS (SELECT 1 AS a) SELECT a FROM x`, approvals.Read},
		{"a union", `SELECT a FROM t UNION ALL SELECT b FROM u`, approvals.Read},
		{"values", `VALUES (1), (2)`, approvals.Read},
		{"a comment", "SELECT 1 -- all of them\nFROM t", approvals.Read},
		{"MySQL's backticks", "SELECT `name` FROM `users` LIMIT 3, 5", approvals.Read},
		{"SQLite's catalog", `SELECT name FROM sqlite_master WHERE type = 'table'`, approvals.Read},
		{"what PostgreSQL shows", `SHOW server_version`, approvals.Read},
		{"what MySQL shows", `SHOW TABLES`, approvals.Read},
		{"a table described", `DESCRIBE users`, approvals.Read},
		{"a plan", `EXPLAIN SELECT * FROM t`, approvals.Read},
		{"a plan that runs a query", `EXPLAIN ANALYZE SELECT * FROM t`, approvals.Read},
		{"SQLite's columns", `PRAGMA table_info('users');`, approvals.Read},
		{"words in a string", `SELECT 'DROP TABLE users' AS note`, approvals.Read},

		{"Oracle's own quotes", `SELECT q'!'!', sys.purge_all(), q'!'!' FROM dual`, approvals.Execute},
		{"an insert", `INSERT INTO t VALUES (1)`, approvals.Write},
		{"an update", `UPDATE t SET a = 1`, approvals.Destroy},
		{"a delete", `DELETE FROM t WHERE id = 1`, approvals.Destroy},
		{"a drop", `DROP TABLE t`, approvals.Destroy},
		{"a drop after a query", `SELECT 1; DROP TABLE t`, approvals.Destroy},
		{"a delete in a common table", `WITH x AS (DELETE FROM t RETURNING *) SELECT * FROM x`, approvals.Destroy},
		{"an upsert", `INSERT INTO t VALUES (1) ON CONFLICT (id) DO UPDATE SET a = 2`, approvals.Destroy},
		{"MySQL's replace", `REPLACE INTO t VALUES (1)`, approvals.Destroy},
		{"a plan that deletes", `EXPLAIN ANALYZE DELETE FROM t`, approvals.Destroy},
		{"a new table from a query", `SELECT * INTO u FROM t`, approvals.Write},
		{"a file from a query", `SELECT * FROM t INTO OUTFILE '/tmp/x'`, approvals.Destroy},
		{"locked rows", `SELECT * FROM t FOR UPDATE`, approvals.Write},
		{"locked rows deep inside", `SELECT * FROM (SELECT * FROM t FOR UPDATE) x`, approvals.Write},
		{"a grant", `GRANT ALL ON t TO public`, approvals.Destroy},
		{"a role", `CREATE ROLE r SUPERUSER`, approvals.Destroy},
		{"a setting", `SET search_path = evil`, approvals.Write},
		{"a variable", `SELECT @a := 1`, approvals.Write},
		{"a transaction", `BEGIN`, approvals.Write},

		{"a sleep", `SELECT pg_sleep(1000)`, approvals.Execute},
		{"MySQL's sleep", `SELECT sleep(1000)`, approvals.Execute},
		{"a lock", `SELECT get_lock('a', 10)`, approvals.Execute},
		{"a file of the server", `SELECT pg_read_file('/etc/passwd')`, approvals.Execute},
		{"a file of MySQL's server", `SELECT load_file('/etc/passwd')`, approvals.Execute},
		{"an extension", `SELECT load_extension('evil.so')`, approvals.Execute},
		{"a setting by function", `SELECT set_config('a', 'b', false)`, approvals.Execute},
		{"a sequence", `SELECT nextval('s')`, approvals.Execute},
		{"another database", `SELECT * FROM dblink('host=evil', 'select 1') AS t(a int)`, approvals.Execute},
		{"SQL in a function", `SELECT query_to_xml('delete from t', true, true, '')`, approvals.Execute},
		{"somebody's function", `SELECT purge_everything()`, approvals.Execute},
		{"somebody's function of a known name", `SELECT evil.lower('x')`, approvals.Execute},
		{"somebody's operator", `SELECT 1 OPERATOR(evil.+) 2`, approvals.Execute},
		{"a function in a condition", `SELECT 1 FROM t WHERE pg_terminate_backend(1)`, approvals.Execute},
		{"a program", `COPY t TO PROGRAM 'sh -c id'`, approvals.Execute},
		{"a block", `DO $$ BEGIN DELETE FROM t; END $$`, approvals.Execute},
		{"a procedure", `CALL p()`, approvals.Execute},
		{"another file", `ATTACH DATABASE '/home/x.db' AS x`, approvals.Execute},
		{"SQLite's settings", `PRAGMA journal_mode = DELETE`, approvals.Execute},
		{"a statement behind a PRAGMA", `PRAGMA table_info(t); DROP TABLE t`, approvals.Execute},
		{"SQLite's settings in parentheses", `PRAGMA writable_schema(1)`, approvals.Execute},
		{"Microsoft's shell", `EXEC xp_cmdshell 'dir'`, approvals.Execute},
		{"Microsoft's statement without a semicolon", `SELECT 1 SHUTDOWN`, approvals.Execute},
		{"a comment that MySQL runs", `SELECT 1 /*! INTO OUTFILE '/tmp/x' */`, approvals.Execute},
		{"no SQL", `delete all the things`, approvals.Execute},
		{"nothing", ``, approvals.Execute},
		{"a zero byte", "SELECT 1\x00; DROP TABLE t", approvals.Execute},
		{"more than is judged", `SELECT '` + strings.Repeat("x", maxSQL) + `'`, approvals.Execute},

		{"a backslash that ends a string elsewhere", `SELECT '\''; DROP TABLE t; -- '`, approvals.Destroy},
		{"a tag that is no string elsewhere", `SELECT $$; DROP TABLE t; -- $$`, approvals.Destroy},
		{"a nested comment", `SELECT 1 /* /* */ ; DROP TABLE t; -- */ */`, approvals.Destroy},
		{"a backtick that is an operator elsewhere", "SELECT ` ' `; DROP TABLE t; -- '", approvals.Destroy},
		{"a name in brackets with a quote", `SELECT a[']; DROP TABLE t; --'] FROM t`, approvals.Execute},
		{"a comment to MySQL only", "SELECT 1 # '\n; DROP TABLE t; -- '", approvals.Destroy},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if got := SQL(tc.sql); got.Class != tc.want || got.Why == "" {
				t.Errorf("%s: got %s (%s), want %s", tc.sql, got.Class, got.Why, tc.want)
			}
		})
	}
}

func TestSQLThatReadsCredentials(t *testing.T) {
	for _, sql := range []string{`SELECT * FROM pg_shadow`, `SELECT u.* FROM mysql.user u`, `SELECT 1 FROM a JOIN pg_catalog.pg_authid b ON true`} {
		if got := SQL(sql); got.Sensitive == "" {
			t.Errorf("%s is not sensitive (%s)", sql, got.Class)
		}
	}
}

func TestSummary(t *testing.T) {
	for sql, want := range map[string]string{
		`DELETE FROM orders WHERE id = 3`: "delete some rows from orders",
		`DELETE FROM orders`:              "delete every row from orders",
		`UPDATE orders SET a = 1`:         "change every row of orders",
		`TRUNCATE orders`:                 "delete every row of orders",
		`INSERT INTO orders VALUES (1)`:   "insert rows into orders",
		`SELECT 1`:                        "",
	} {
		if got := SQL(sql).Summary; got != want {
			t.Errorf("%s: got %q, want %q", sql, got, want)
		}
	}
}

func TestPipeline(t *testing.T) {
	for _, tc := range []struct {
		name, pipeline string
		want           approvals.Class
	}{
		{"reads", `[{"$match":{"a":1}},{"$group":{"_id":"$a","n":{"$sum":1}}}]`, approvals.Read},
		{"nothing", `[]`, approvals.Read},
		{"a string of JSON", `"[{\"$match\":{}}]"`, approvals.Read},
		{"a field named like a stage", `[{"$project":{"out":1}}]`, approvals.Read},
		{"out", `[{"$match":{}},{"$out":"t"}]`, approvals.Destroy},
		{"out behind an escape", `[{"\u0024out":"t"}]`, approvals.Destroy},
		{"out in a string", `"[{\"$out\":\"t\"}]"`, approvals.Destroy},
		{"merge", `[{"$merge":{"into":"t"}}]`, approvals.Destroy},
		{"a merge of objects", `[{"$replaceRoot":{"newRoot":{"$mergeObjects":["$a"]}}}]`, approvals.Read},
		{"merge in a facet", `[{"$facet":{"a":[{"$merge":"t"}]}}]`, approvals.Destroy},
		{"JavaScript", `[{"$project":{"x":{"$function":{"body":"f","args":[],"lang":"js"}}}}]`, approvals.Execute},
		{"JavaScript in a lookup", `[{"$lookup":{"pipeline":[{"$match":{"$where":"1"}}]}}]`, approvals.Execute},
		{"a stage nobody knows", `[{"$changeStream":{}}]`, approvals.Write},
		{"no stage", `[{"match":{}}]`, approvals.Write},
		{"no list", `"x"`, approvals.Execute},
		{"cut off", `[{"$match":`, approvals.Execute},
		{"no JSON", `nonsense`, approvals.Execute},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if got := Pipeline([]byte(tc.pipeline)); got.Class != tc.want || got.Why == "" {
				t.Errorf("got %s (%s), want %s", got.Class, got.Why, tc.want)
			}
		})
	}
}

func TestFilter(t *testing.T) {
	for filter, want := range map[string]approvals.Class{
		`{"a":{"$gt":1}}`:                  approvals.Read,
		`{"$where":"sleep(1000)"}`:         approvals.Execute,
		`{"\u0024where":"1"}`:              approvals.Execute,
		`"{\"$where\":\"1\"}"`:             approvals.Execute,
		`{"$expr":{"$function":{}}}`:       approvals.Execute,
		`"costs $5"`:                       approvals.Read,
		`{"note":"$where is an operator"}`: approvals.Read,
	} {
		if got := Filter([]byte(filter)); got.Class != want {
			t.Errorf("%s: got %s, want %s", filter, got.Class, want)
		}
	}
}

func TestGraphQL(t *testing.T) {
	for text, want := range map[string]approvals.Class{
		`{ viewer { login } }`:                           approvals.Read,
		`query Q($n: Int) { a(first: $n) { b } }`:        approvals.Read,
		`mutation { deleteRepo(id: 1) { ok } }`:          approvals.Destroy,
		`query A { a } mutation B { b }`:                 approvals.Destroy,
		"query A { a } # x\n mutation { b }":             approvals.Destroy,
		`subscription { s }`:                             approvals.Destroy,
		`fragment F on T { a }`:                          approvals.Execute,
		`nonsense`:                                       approvals.Execute,
		`{ a(text: "mutation { x }") }`:                  approvals.Read,
		`{` + strings.Repeat("a{", 2*maxGraphQL) + `a}}`: approvals.Execute,
	} {
		if got := GraphQL(text); got.Class != want {
			t.Errorf("%.60s: got %s (%s), want %s", text, got.Class, got.Why, want)
		}
	}
}

// TestDeepNesting shows that no text of the length that is judged exhausts the parser's stack.
func TestDeepNesting(t *testing.T) {
	for _, s := range []string{
		"SELECT " + strings.Repeat("(", 4990) + "1" + strings.Repeat(")", 4990),
		"SELECT 1" + strings.Repeat("+1", 4990),
		"SELECT " + strings.Repeat("NOT ", 2490) + "true",
		"SELECT " + strings.Repeat("- ", 4990) + "1",
		"SELECT 1" + strings.Repeat(" UNION SELECT 1", 600),
		strings.Repeat("SELECT*FROM(", 760) + "SELECT 1" + strings.Repeat(")", 760),
		"SELECT " + strings.Repeat("CASE WHEN ", 900),
	} {
		if len(s) > maxSQL {
			t.Fatalf("%.20s is longer than is judged", s)
		}
		SQL(s)
	}
}

func FuzzSQL(f *testing.F) {
	f.Add("SELECT 1")
	f.Add("WITH x AS (DELETE FROM t RETURNING *) SELECT * FROM x")
	f.Add("select `a` from b where c = 'd\\'' -- x")
	f.Fuzz(func(t *testing.T, s string) {
		v := SQL(s)
		if _, known := rank[v.Class]; !known || v.Why == "" {
			t.Errorf("%q: %+v", s, v)
		}
	})
}

func FuzzPipeline(f *testing.F) {
	f.Add(`[{"$match":{}},{"$out":"t"}]`)
	f.Add(`"[{\"$merge\":1}]"`)
	f.Fuzz(func(t *testing.T, s string) {
		if v := Pipeline([]byte(s)); v.Class == "" || v.Why == "" {
			t.Errorf("%q: %+v", s, v)
		}
		Filter([]byte(s))
		GraphQL(s)
	})
}

func BenchmarkSQL(b *testing.B) {
	for b.Loop() {
		SQL("SELECT id, name FROM orders WHERE total > 100 ORDER BY id LIMIT 10")
	}
}
