package hooks

import (
	"strings"
	"testing"

	"github.com/containerd/errdefs"

	"github.com/garita-dev/garita/approvals"
)

func inSSH(path string) bool { return strings.HasPrefix(path, "/home/ana/.ssh") }

func TestJudge(t *testing.T) {
	for name, tc := range map[string]struct {
		tool, input string
		class       approvals.Class
		sentence    string
		sensitive   bool
		outside     bool
	}{
		"a command":              {"Bash", `{"command":"git push\nrm -rf /"}`, approvals.Execute, "run git push …", false, false},
		"a whole file":           {"Write", `{"file_path":"/w/a","content":"x"}`, approvals.Write, "write /w/a", false, false},
		"an edit":                {"Edit", `{"file_path":"/w/a"}`, approvals.Write, "change /w/a", false, false},
		"several edits":          {"MultiEdit", `{"file_path":"/w/a"}`, approvals.Write, "change /w/a", false, false},
		"a notebook":             {"NotebookEdit", `{"notebook_path":"/w/a.ipynb"}`, approvals.Write, "change /w/a.ipynb", false, false},
		"a read":                 {"Read", `{"file_path":"/w/a"}`, approvals.Read, "read /w/a", false, false},
		"a read of keys":         {"Read", `{"file_path":"/home/ana/.ssh/config"}`, approvals.Read, "read /home/ana/.ssh/config", true, false},
		"a search among keys":    {"Grep", `{"pattern":"BEGIN","path":"/home/ana/.ssh"}`, approvals.Read, "search for BEGIN", true, false},
		"a read of variables":    {"Read", `{"file_path":"/w/.env.local"}`, approvals.Read, "read /w/.env.local", true, false},
		"their example":          {"Read", `{"file_path":"/w/.env.example"}`, approvals.Read, "read /w/.env.example", false, false},
		"a look for variables":   {"Glob", `{"pattern":"**/.env"}`, approvals.Read, "look for files **/.env", true, false},
		"a fetch":                {"WebFetch", `{"url":"https://x.example/?q=1"}`, approvals.Read, "fetch https://x.example/?q=1", false, true},
		"a search of the web":    {"WebSearch", `{"query":"go"}`, approvals.Read, "search the web for go", false, false},
		"a helper":               {"Task", `{"description":"look"}`, approvals.Read, "start a helper look", false, false},
		"a skill":                {"Skill", `{"skill":"deploy"}`, approvals.Execute, "load the skill deploy", false, false},
		"a tool nobody knows":    {"Launch", `{}`, approvals.Write, "use Launch", false, true},
		"one in another case":    {"read", `{"file_path":"/w/a"}`, approvals.Write, "use read", false, true},
		"one of another server":  {"mcp__x__read", `{}`, approvals.Write, "use mcp__x__read", false, true},
		"a path that is no text": {"Write", `{"file_path":7}`, approvals.Write, "write", false, false},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := Judge(Use{tc.tool, []byte(tc.input)}, inSSH)
			if err != nil {
				t.Fatal(err)
			}
			if got.Class != tc.class || got.Sentence != tc.sentence || (got.Sensitive != "") != tc.sensitive || got.Outside != tc.outside {
				t.Errorf("got %+v", got)
			}
			if (got.Pin == "") != (tc.outside && got.Why == "Garita does not know this tool.") {
				t.Errorf("pin %q", got.Pin)
			}
			if !strings.HasSuffix(got.Why, ".") {
				t.Errorf("%q is no sentence", got.Why)
			}
		})
	}
}

func TestWhatCanBeReadTwoWaysIsRefused(t *testing.T) {
	for name, u := range map[string]Use{
		"no tool":         {"", []byte(`{}`)},
		"no arguments":    {"Bash", nil},
		"a name twice":    {"Bash", []byte(`{"command":"ls","command":"rm -rf /"}`)},
		"no object":       {"Bash", []byte(`["rm"]`)},
		"two values":      {"Bash", []byte(`{} {}`)},
		"a name too long": {strings.Repeat("x", maxName+1), []byte(`{}`)},
	} {
		if _, err := Judge(u, inSSH); !errdefs.IsInvalidArgument(err) {
			t.Errorf("%s: got %v", name, err)
		}
	}
}

func TestNamesOfServersTools(t *testing.T) {
	for name, want := range map[string][2]string{
		"mcp__files__read_file": {"files", "read_file"}, "mcp__a_b__c__d": {"a_b", "c__d"},
		"mcp__": {}, "mcp__x": {}, "mcp____x": {}, "Bash": {},
	} {
		server, tool, ok := MCP(name)
		if ok != (want[0] != "") || ok && (server != want[0] || tool != want[1]) {
			t.Errorf("%s: got %s, %s, %v", name, server, tool, ok)
		}
	}
	if !Through("mcp__my_files__read", "my files") || Through("mcp__my_files__read", "my") || Through("mcp____read", "") {
		t.Error("a tool is taken for one of another server")
	}
}

func TestApply(t *testing.T) {
	for name, tc := range map[string]struct{ tool, input, before, after string }{
		"whole":       {"Write", `{"file_path":"/a","content":"new\n"}`, "old\n", "new\n"},
		"one place":   {"Edit", `{"file_path":"/a","old_string":"b","new_string":"B"}`, "abc", "aBc"},
		"all places":  {"Edit", `{"file_path":"/a","old_string":"b","new_string":"","replace_all":true}`, "abcb", "ac"},
		"a new file":  {"Edit", `{"file_path":"/a","old_string":"","new_string":"x"}`, "", "x"},
		"in turn":     {"MultiEdit", `{"file_path":"/a","edits":[{"old_string":"a","new_string":"b"},{"old_string":"bb","new_string":"c"}]}`, "ab", "c"},
		"not there":   {"Edit", `{"file_path":"/a","old_string":"x","new_string":"B"}`, "abc", ""},
		"two places":  {"Edit", `{"file_path":"/a","old_string":"b","new_string":"B"}`, "abcb", ""},
		"a beginning": {"Edit", `{"file_path":"/a","old_string":"","new_string":"B"}`, "abcb", ""},
	} {
		c, ok := Changes(Use{tc.tool, []byte(tc.input)})
		if !ok {
			t.Errorf("%s: nothing is foreseen", name)
			continue
		}
		if got, err := c.Apply(tc.before); got != tc.after || (err != nil) != (tc.after == "") {
			t.Errorf("%s: got %q, %v", name, got, err)
		}
	}
	for _, u := range []Use{{"Write", []byte(`{"file_path":"a","content":""}`)}, {"Bash", []byte(`{"file_path":"/a","content":""}`)}, {"Edit", []byte(`{"file_path":"/a"}`)}} {
		if _, ok := Changes(u); ok {
			t.Errorf("%s %s: foreseen", u.Tool, u.Input)
		}
	}
}

func FuzzJudge(f *testing.F) {
	f.Add("Bash", []byte(`{"command":"ls"}`))
	f.Add("mcp__a__b", []byte(`{"a":[1,{"b":"\ud83d\ude00"}]}`))
	f.Add("Edit", []byte(`{"file_path":"/a","old_string":"a","new_string":"b"}`))
	f.Fuzz(func(t *testing.T, tool string, input []byte) {
		told, err := Judge(Use{tool, input}, inSSH)
		if err == nil && (told.Class == "" || told.Class == approvals.Depends || told.Sentence == "" || told.Why == "") {
			t.Errorf("%+v does not explain itself", told)
		}
		if c, ok := Changes(Use{tool, input}); ok {
			_, _ = c.Apply("abc")
		}
	})
}
