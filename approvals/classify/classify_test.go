package classify_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/garita-dev/garita/approvals"
	"github.com/garita-dev/garita/approvals/classify"
	"github.com/garita-dev/garita/sandbox/sandboxtest"
)

func schema(properties string) []byte {
	return []byte(`{"type":"object","properties":{` + properties + `}}`)
}

func TestTool(t *testing.T) {
	const str = `{"type":"string"}`
	for _, tc := range []struct {
		name string
		def  classify.Definition
		want approvals.Class
	}{
		{"a plain read", classify.Definition{Name: "read_file", InputSchema: schema(`"path":` + str)}, approvals.Read},
		{"camel case", classify.Definition{Name: "listPullRequests"}, approvals.Read},
		{"kebab case", classify.Definition{Name: "list-collections"}, approvals.Read},
		{"whose tool it is first", classify.Definition{Name: "API-get-user"}, approvals.Read},
		{"verb last", classify.Definition{Name: "pods_list"}, approvals.Read},
		{"a state", classify.Definition{Name: "db-stats", Description: "Returns statistics"}, approvals.Read},
		{"a state that is set", classify.Definition{Name: "db-stats", Description: "Recomputes statistics"}, approvals.Write},
		{"a write", classify.Definition{Name: "create_issue"}, approvals.Write},
		{"a deletion", classify.Definition{Name: "deleteFile"}, approvals.Destroy},
		{"a push", classify.Definition{Name: "git_push"}, approvals.Destroy},
		{"a shell", classify.Definition{Name: "run_command"}, approvals.Execute},
		{"a word nobody knows", classify.Definition{Name: "frobnicate"}, approvals.Write},
		{"no name", classify.Definition{}, approvals.Write},

		{"read ends it but is no verb", classify.Definition{Name: "mark_all_notifications_read"}, approvals.Write},
		{"a second verb", classify.Definition{Name: "find_and_replace"}, approvals.Destroy},
		{"a second verb after or", classify.Definition{Name: "get_or_create_user"}, approvals.Write},
		{"a read hidden in a list", classify.Definition{Name: "shopping_list_add"}, approvals.Write},
		{"new at the end", classify.Definition{Name: "todo_list_new"}, approvals.Write},
		{"a list that is shared", classify.Definition{Name: "list_share"}, approvals.Destroy},
		{"a list that loses one", classify.Definition{Name: "list_pop"}, approvals.Write},
		{"shares that are listed", classify.Definition{Name: "list_shares"}, approvals.Read},
		{"a dialog", classify.Definition{Name: "show_dialog"}, approvals.Write},
		{"a query without saying of what", classify.Definition{Name: "read_query", InputSchema: schema(`"query":` + str)}, approvals.Execute},
		{"a homoglyph", classify.Definition{Name: "rеad_file"}, approvals.Write}, // Cyrillic е
		{"a zero-width space", classify.Definition{Name: "get\u200b_report"}, approvals.Write},
		{"an endless name", classify.Definition{Name: "get_" + strings.Repeat("a", 300)}, approvals.Write},

		{"its description deletes", classify.Definition{Name: "get_report", Description: "Get the report. Deletes it afterwards."}, approvals.Write},
		{"its description says how", classify.Definition{Name: "verify_owner", Description: "Verify an owner by sending a code"}, approvals.Write},
		{"its description orders", classify.Definition{Name: "get_report", Description: "Get it and delete the old one"}, approvals.Write},
		{"its description denies", classify.Definition{Name: "get_report", Description: "Gets it. Never modifies anything."}, approvals.Read},
		{"its title deletes", classify.Definition{Name: "get_report", Title: "Delete report"}, approvals.Write},

		{"a command", classify.Definition{Name: "get_output", InputSchema: schema(`"command":` + str)}, approvals.Execute},
		{"a command deep inside", classify.Definition{Name: "get_output", InputSchema: schema(`"o":{"items":{"properties":{"cmd":` + str + `}}}`)}, approvals.Execute},
		{"a command behind a reference", classify.Definition{Name: "get_output", InputSchema: []byte(`{"properties":{"o":{"$ref":"#/$defs/O"}},"$defs":{"O":{"properties":{"cmd":{}}}}}`)}, approvals.Execute},
		{"a command among others", classify.Definition{Name: "get_output", InputSchema: []byte(`{"properties":{"o":{"additionalProperties":{"properties":{"cmd":{}}}}}}`)}, approvals.Execute},
		{"a query of SQL", classify.Definition{Name: "read_query", Description: "Read by a SELECT query", InputSchema: schema(`"query":` + str)}, approvals.Depends},
		{"a URL", classify.Definition{Name: "get_page", InputSchema: schema(`"url":` + str)}, approvals.Write},
		{"a URL to read", classify.Definition{Name: "get_page", Description: "Get the text of a page", InputSchema: schema(`"url":` + str)}, approvals.Read},
		{"a webhook", classify.Definition{Name: "get_page", Description: "Get the text of a page", InputSchema: schema(`"webhook_url":` + str)}, approvals.Write},
		{"a body", classify.Definition{Name: "get_page", InputSchema: schema(`"body":` + str)}, approvals.Write},
		{"a place to save", classify.Definition{Name: "get_page", InputSchema: schema(`"file":{"type":"string","description":"Where to save it"}`)}, approvals.Depends},
		{"an action", classify.Definition{Name: "get_page", InputSchema: schema(`"action":{"enum":["get","delete"]}`)}, approvals.Depends},
		{"an action of one kind", classify.Definition{Name: "get_page", InputSchema: schema(`"action":{"enum":["get","list_links"]}`)}, approvals.Read},
		{"a schema that is none", classify.Definition{Name: "get_page", InputSchema: []byte(`"x"`)}, approvals.Write},
		{"a schema with a name twice", classify.Definition{Name: "get_page", InputSchema: []byte(`{"properties":{},"properties":{"command":{}}}`)}, approvals.Write},

		{"its author says read-only", classify.Definition{Name: "frobnicate", Annotations: []byte(`{"readOnlyHint":true}`)}, approvals.Write},
		{"its author says not read-only", classify.Definition{Name: "get_page", Annotations: []byte(`{"readOnlyHint":false}`)}, approvals.Write},
		{"its author says destructive", classify.Definition{Name: "get_page", Annotations: []byte(`{"destructiveHint":true}`)}, approvals.Destroy},
		{"its author says nothing", classify.Definition{Name: "get_page", Annotations: []byte(`null`)}, approvals.Read},
		{"hints that are none", classify.Definition{Name: "get_page", Annotations: []byte(`{"readOnlyHint":"yes"}`)}, approvals.Read},
	} {
		t.Run(tc.name, func(t *testing.T) {
			p := classify.Prepare(tc.def)
			class, why := p.Class, p.Why
			if class != tc.want || why == "" {
				t.Errorf("got %s (%s), want %s", class, why, tc.want)
			}
		})
	}
}

func TestCallDecidesByArguments(t *testing.T) {
	request := classify.Definition{Name: "get_request", InputSchema: schema(
		`"id":{},"saveTo":{"type":"string"},"mode":{"enum":["get","delete"]}`)}
	plain := classify.Definition{Name: "get_report", InputSchema: schema(`"id":{}`)}
	for _, tc := range []struct {
		name string
		def  classify.Definition
		args string
		want approvals.Class
	}{
		{"no arguments", plain, ``, approvals.Read},
		{"an argument", plain, `{"id":1}`, approvals.Read},
		{"no object", plain, `[1]`, approvals.Write},
		{"a name twice", plain, `{"id":1,"id":2}`, approvals.Write},
		{"cut off", plain, `{"id":1`, approvals.Write},
		{"two texts", plain, `{"id":1}{}`, approvals.Write},
		{"an undeclared command", plain, `{"id":1,"command":"rm -rf ~"}`, approvals.Write},
		{"an undeclared name", plain, `{"id":1,"color":"red"}`, approvals.Read},
		{"a reading mode", request, `{"id":1,"mode":"get"}`, approvals.Read},
		{"a deleting mode", request, `{"id":1,"mode":"delete"}`, approvals.Destroy},
		{"an unknown mode", request, `{"id":1,"mode":"get_more"}`, approvals.Write},
		{"no mode", request, `{"id":1}`, approvals.Write},
		{"a place to save", request, `{"id":1,"mode":"get","saveTo":"a"}`, approvals.Write},
		{"no place to save", request, `{"id":1,"mode":"get","saveTo":null}`, approvals.Read},
	} {
		t.Run(tc.name, func(t *testing.T) {
			v := classify.Call(tc.def, []byte(tc.args))
			class, why := v.Class, v.Why
			if class != tc.want || why == "" {
				t.Errorf("got %s (%s), want %s", class, why, tc.want)
			}
		})
	}
}

func TestSentence(t *testing.T) {
	for _, tc := range []struct{ tool, args, want string }{
		{"read_text_file", `{"path":"/home/ana/a.txt"}`, "read /home/ana/a.txt"},
		{"read_multiple_files", `{"paths":["a.txt","b.txt","c.txt"]}`, "read a.txt and 2 more"},
		{"write_file", `{"path":"src/a.ts","content":"` + strings.Repeat("x", 2100) + `"}`, "change src/a.ts (2.1 kB)"},
		{"edit_file", `{"path":"a","edits":[{"oldText":"1","newText":"2"}]}`, "change a (31 B)"},
		{"create_directory", `{"path":"src"}`, "create directory src"},
		{"delete_file", `{"path":"src/a.ts"}`, "delete src/a.ts"},
		{"move_file", `{"source":"a","destination":"b"}`, "move a to b"},
		{"list_directory", `{"path":"."}`, "list ."},
		{"search_files", `{"path":"src","pattern":"*.go"}`, "search files in src for “*.go”"},
		{"run_command", `{"command":"git push origin main"}`, "run git push origin main"},
		{"git_push", `{"path":"/r","remote":"origin","branch":"main"}`, "run git push origin main"},
		{"execute_sql", `{"sql":"DROP TABLE users"}`, "run DROP TABLE users"},
		{"create_issue", `{"owner":"o","repo":"r","title":"It breaks"}`, "create issue: r"},
		{"merge_pull_request", `{"pullNumber":12}`, "merge pull request: 12"},
		{"read_graph", ``, "read graph"},
		{"run_command", "{\"command\":\"ls\\nrm -rf ~ \\u202egpj\"}", "run ls↵rm -rf ~ ⟨U+202E⟩gpj"},
		{"write_file", `not JSON`, "write file"},
		{"", `{}`, "call a tool without a name"},
	} {
		t.Run(tc.tool, func(t *testing.T) {
			if got := classify.Call(classify.Definition{Name: tc.tool}, []byte(tc.args)).Sentence; got != tc.want {
				t.Errorf("got %q, want %q", got, tc.want)
			}
		})
	}
}

func TestAnArgumentOnlySomeServersWouldTakeForAnotherIsNoRead(t *testing.T) {
	query := classify.Definition{Name: "query", Description: "Run a SQL query.", InputSchema: schema(`"query":{"type":"string"}`)}
	read := classify.Definition{Name: "read_file", InputSchema: schema(`"path":{"type":"string"},"Head":{},"head":{}`)}
	for args, want := range map[string]approvals.Class{
		`{"query":"select 1"}`:                            approvals.Read,
		`{"query":"select 1","Query":"drop table users"}`: approvals.Write,
	} {
		if got := classify.Call(query, []byte(args)).Class; got != want {
			t.Errorf("query %s: got %s, want %s", args, got, want)
		}
	}
	for args, want := range map[string]approvals.Class{
		`{"path":"a"}`:            approvals.Read,
		`{"path":"a","PATH":"b"}`: approvals.Write,
		`{"PATH":"b"}`:            approvals.Write,
		`{"pa\u0074h":"a"}`:       approvals.Read,
		`{"x":1,"X":2}`:           approvals.Write,
		`{"head":1,"Head":2}`:     approvals.Read, // both declared: they are two
	} {
		if got := classify.Call(read, []byte(args)).Class; got != want {
			t.Errorf("read_file %s: got %s, want %s", args, got, want)
		}
	}
}

func TestVisible(t *testing.T) {
	for in, want := range map[string]string{
		"plain":        "plain",
		"Größe 大":      "Größe 大",
		"a\u202eb":     "a⟨U+202E⟩b",
		"a\u200bb":     "a⟨U+200B⟩b",
		"a\x1b[31mb":   "a⟨U+001B⟩[31mb",
		"a\r\nb\nc\td": "a↵b↵c⟨U+0009⟩d",
		"a\u00a0b":     "a⟨U+00A0⟩b",
		"a\xffb":       "a⟨FF⟩b",
		"a\U000e0041b": "a⟨U+E0041⟩b",
		"a\ufe0fb":     "a⟨U+FE0F⟩b",
		"a\u3164b":     "a⟨U+3164⟩b",
	} {
		if got := classify.Visible(in); got != want {
			t.Errorf("%q: got %q, want %q", in, got, want)
		}
	}
}

func FuzzCall(f *testing.F) {
	f.Add("read_file", "Read a file", `{"properties":{"path":{"type":"string"}}}`, `{"readOnlyHint":true}`, `{"path":"a"}`)
	f.Add("get_x", "", `{"properties":{"a":{"items":{"oneOf":[true,{"properties":{"cmd":{"const":"x"}}}]}}}}`, `null`, `{"a":["\ud800"]}`)
	f.Add("\u202eexec", "x", `[`, `{`, "{\"a\":\"\x00\"}")
	f.Fuzz(func(t *testing.T, name, description, in, hints, args string) {
		d := classify.Definition{Name: name, Description: description, InputSchema: []byte(in), Annotations: []byte(hints)}
		v := classify.Call(d, []byte(args))
		class, why, sentence := v.Class, v.Why, v.Sentence
		switch class {
		case approvals.Read, approvals.Write, approvals.Destroy, approvals.Execute:
		default:
			t.Errorf("class %q", class)
		}
		if why == "" || sentence == "" || utf8.RuneCountInString(sentence) > 200 || !utf8.ValidString(sentence) {
			t.Errorf("why %q, sentence %q", why, sentence)
		}
		if strings.ContainsFunc(sentence, unicode.IsControl) || strings.ContainsRune(sentence, '\u202e') {
			t.Errorf("sentence %q hides something", sentence)
		}
	})
}

func BenchmarkCall(b *testing.B) {
	d := classify.Definition{
		Name: "read_text_file", Description: "Read the complete contents of a file from the file system as text.",
		InputSchema: schema(`"path":{"type":"string"},"tail":{"type":"number"},"head":{"type":"number"}`),
		Annotations: []byte(`{"readOnlyHint":true}`),
	}
	p := classify.Prepare(d)
	args := []byte(`{"path":"/home/ana/shop/src/a.txt"}`)
	for b.Loop() {
		p.Call(args)
	}
}

// TestHintsOnlyLabel replays A13: a server that says of itself that everything only reads.
func TestHintsOnlyLabel(t *testing.T) {
	t.Run("report_A13", func(t *testing.T) {
		replay, err := os.ReadFile(filepath.Join(sandboxtest.Testdata(t), "field-inputs", "A13.seq.jsonl"))
		if err != nil {
			t.Fatal(err)
		}
		tools := 0
		for line := range strings.Lines(string(replay)) {
			var event struct {
				Send struct {
					Result struct {
						Tools []struct {
							Name        string         `json:"name"`
							Description string         `json:"description"`
							InputSchema jsontext.Value `json:"inputSchema"`
							Annotations jsontext.Value `json:"annotations"`
						} `json:"tools"`
					} `json:"result"`
				} `json:"send"`
			}
			if err := json.Unmarshal([]byte(line), &event); err != nil {
				t.Fatal(err)
			}
			for _, x := range event.Send.Result.Tools {
				tools++
				d := classify.Definition{Name: x.Name, Description: x.Description, InputSchema: x.InputSchema}
				bare := classify.Prepare(d)
				d.Annotations = x.Annotations
				hinted := classify.Prepare(d)
				if bare.Class != hinted.Class || bare.Why != hinted.Why {
					t.Errorf("%s is %s, and %s with its hints", x.Name, bare.Class, hinted.Class)
				}
				if x.Name == "remove_all" && hinted.Class != approvals.Destroy {
					t.Errorf("%s is %s", x.Name, hinted.Class)
				}
			}
		}
		if tools != 3 {
			t.Errorf("%d tools", tools)
		}
	})
	for _, name := range []string{"frobnicate", "send_mail", "execute", "connect", "sync", "write_file", "thing"} {
		p := classify.Prepare(classify.Definition{Name: name, Annotations: []byte(`{"readOnlyHint":true,"destructiveHint":false}`)})
		if p.Class == approvals.Read {
			t.Errorf("%s passes by its hints", name)
		}
	}
}

func TestSensitive(t *testing.T) {
	for _, tc := range []struct {
		name string
		def  classify.Definition
		want bool
	}{
		{"environment variables", classify.Definition{Name: "get_env"}, true},
		{"environment variables in full", classify.Definition{Name: "list_environment_variables"}, true},
		{"environments", classify.Definition{Name: "list_environments"}, false},
		{"secrets", classify.Definition{Name: "list_secrets"}, true},
		{"an API key", classify.Definition{Name: "get_api_key"}, true},
		{"a key of a map", classify.Definition{Name: "get_key"}, false},
		{"a count of tokens", classify.Definition{Name: "count_tokens"}, false},
		{"mail", classify.Definition{Name: "read_email"}, true},
		{"labels of mail", classify.Definition{Name: "list_email_labels"}, false},
		{"messages of people", classify.Definition{Name: "list_messages", Description: "List messages of a chat"}, true},
		{"messages of a console", classify.Definition{Name: "list_console_messages", Description: "List messages of the console"}, false},
		{"a write", classify.Definition{Name: "set_secret"}, false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if got := classify.Prepare(tc.def); (got.Sensitive != "") != tc.want {
				t.Errorf("%s: %q", got.Class, got.Sensitive)
			}
		})
	}
}

func TestAFileOfCredentialsIsSensitive(t *testing.T) {
	d := classify.Definition{Name: "read_file", InputSchema: schema(`"path":{"type":"string"}`)}
	for path, want := range map[string]bool{
		"/home/me/.env": true, ".env": true, ".env.production": true, ".env.example": false, "/home/me/.ssh/config": true, "~/.aws/credentials": true,
		"/proc/self/environ": true, "C:\\\\Users\\\\me\\\\.ssh\\\\id_rsa": true, "/etc/shadow": true, "/srv/tls/server.key": true,
		"src/env.go": false, "docs/credentials.md": false, "README.md": false, "credentials": false, "a/./b/../.npmrc": true,
	} {
		if got := classify.Call(d, []byte(`{"path":"`+path+`"}`)); (got.Sensitive != "") != want || got.Class != approvals.Read {
			t.Errorf("%s: %s %q", path, got.Class, got.Sensitive)
		}
	}
}

func TestPagesOfTheWorldOnly(t *testing.T) {
	d := classify.Definition{Name: "get_page", Description: "Get a page", InputSchema: schema(`"url":{"type":"string"}`)}
	for url, want := range map[string]approvals.Class{
		"https://a.example/x": approvals.Read, "http://a.example": approvals.Read, "a.example/x": approvals.Read,
		"http://localhost:8080": approvals.Write, "http://127.0.0.1": approvals.Write, "http://[::1]/": approvals.Write, "http://10.0.0.1": approvals.Write,
		"http://0x7f.1/": approvals.Write, "http://2130706433/": approvals.Write, "http://169.254.169.254/": approvals.Write, "http://printer.local/": approvals.Write,
		"http://[::ffff:10.0.0.1]/": approvals.Write, "https://me:secret@a.example/": approvals.Write, "file:///etc/passwd": approvals.Write, "http://metadata.google.internal/": approvals.Write,
	} {
		if got := classify.Call(d, []byte(`{"url":"`+url+`"}`)); got.Class != want {
			t.Errorf("%s: %s (%s), want %s", url, got.Class, got.Why, want)
		}
	}
}

func TestWhatIsNotUnderstoodIsNoRead(t *testing.T) {
	for name, d := range map[string]classify.Definition{
		"German":                  {Name: "get_thing", Description: "Liefert das Ding und löscht es danach."},
		"Spanish":                 {Name: "get_thing", Description: "Devuelve el documento y luego borra la copia original."},
		"Chinese":                 {Name: "get_thing", Description: "读取并删除"},
		"Japanese after English":  {Name: "get_thing", Description: "Get the thing. すべて削除"},
		"destroyed at the end":    {Name: "get_nuked", Description: "Gets things."},
		"a participle at the end": {Name: "get_user_deleted", Description: "Gets a user."},
		"another word for delete": {Name: "list_vaporize", Description: "Lists things."},
	} {
		if got := classify.Call(d, nil); got.Class == approvals.Read {
			t.Errorf("%s: a read, because %s", name, got.Why)
		}
	}
	for name, d := range map[string]classify.Definition{
		"an adjective":    {Name: "list_deleted_messages", Description: "List messages that were deleted."},
		"names of things": {Name: "get_thing", Description: "Get a Größe or a naïve café from the list."},
	} {
		if got := classify.Call(d, nil); got.Class != approvals.Read {
			t.Errorf("%s: %s, because %s", name, got.Class, got.Why)
		}
	}
}
