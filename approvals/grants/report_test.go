package grants_test

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/garita-dev/garita/approvals"
	"github.com/garita-dev/garita/approvals/grants"
	"github.com/garita-dev/garita/sandbox/sandboxtest"
)

func quoted(s string) string {
	b, _ := jsontext.AppendQuote(nil, s) // the error only says that UTF-8 was mended
	return string(b)
}

// replayed is one line of a replay of shell calls.
type replayed struct {
	Call struct {
		Arguments jsontext.Value `json:"arguments"`
	} `json:"call"`
	Want string `json:"want"`
}

func replay(t *testing.T, name string) (lines []replayed) {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(sandboxtest.Testdata(t), "field-inputs", name))
	if err != nil {
		t.Fatal(err)
	}
	for line := range bytes.Lines(data) {
		var r replayed
		if err := json.Unmarshal(line, &r); err != nil {
			t.Fatal(err)
		}
		if r.Want != "" {
			lines = append(lines, r)
		}
	}
	return lines
}

func aShell(arguments []byte) approvals.Call {
	c := aCall(string(arguments))
	c.Tool, c.Class = "run_shell", approvals.Execute
	return c
}

// remembering is what stays allowed after yes to each of these commands, by its words.
func remembering(t *testing.T, commands map[string]string) *grants.Set {
	t.Helper()
	set := &grants.Set{}
	for words, line := range commands {
		c := aShell([]byte(`{"command":` + quoted(line) + `}`))
		g, err := grants.Make(asked(c), approvals.Permission{
			Scope: approvals.ScopeAlways, Arguments: []approvals.Argument{{Path: "/command", Command: words}},
		}, "page", now)
		if err != nil {
			t.Fatal(err)
		}
		set.Add(g)
	}
	return set
}

func decide(set *grants.Set, arguments []byte) approvals.Decision {
	return approvals.Evaluate(aShell(arguments), approvals.Standing{}, approvals.Policy{}, set, now)
}

// A rule for cd lets nothing run but cd.
func TestReportA01(t *testing.T) {
	t.Run("report_A01", func(t *testing.T) {
		set := remembering(t, map[string]string{"cd /w/": "cd /w/q"})
		for _, r := range replay(t, "A01.jsonl") {
			d := decide(set, r.Call.Arguments)
			if !strings.Contains(r.Want, string(d.Effect)) {
				t.Errorf("%s: %s by %s, want %s", r.Call.Arguments, d.Effect, d.Rule, r.Want)
			}
		}
		if d := decide(set, []byte(`{"command":"cd /w/p"}`)); !d.Allowed() {
			t.Errorf("what the rule is about: %+v", d)
		}
	})
}

// Lines made of allowed commands run unasked; for others the part that is not covered is named.
func TestReportA02(t *testing.T) {
	t.Run("report_A02", func(t *testing.T) {
		set := remembering(t, map[string]string{"git status": "git status", "git diff": "git diff", "head": "head -3", "cd ./": "cd lib"})
		for _, r := range replay(t, "A02.jsonl") {
			d := decide(set, r.Call.Arguments)
			if !strings.HasPrefix(r.Want, string(d.Effect)) {
				t.Errorf("%s: %s by %s, want %s", r.Call.Arguments, d.Effect, d.Rule, r.Want)
			}
			if strings.Contains(r.Want, "git push") && !strings.Contains(d.Reason, "“git push”") {
				t.Errorf("%s: %q does not name the part that is not covered", r.Call.Arguments, d.Reason)
			}
			if d.Allowed() && len(d.Grants.List()) != 2 {
				t.Errorf("%s rests on %q", r.Call.Arguments, d.Grants)
			}
		}
	})
}

func TestShellLinesThatAreMoreThanTheyLook(t *testing.T) {
	set := remembering(t, map[string]string{"ls": "ls", "cd ./": "cd lib", "git log": "git log"})
	for _, line := range []string{
		"ls > x", "ls >> x", "ls < x", "ls <<< x", "ls 2>&1", "ls &", "ls & ls", "ls |& ls", "! ls", "$(ls)", "`ls`", "ls $HOME", "ls $(id)",
		"ls *", "ls ~", "ls ~/x", "ls {a,b}", "X=1 ls", "ls; X=1", "(ls)", "{ ls; }", "if ls; then ls; fi", "ls() { id; }", "ls 'a'", `ls "a"`, `l\s`,
		"ls\\\n-la", "ls -la", "cd ../x", "cd /etc", "cd -", "cd", "cd a b", "cd lib; cd ..", "cd http://x", "ls #x\nid", "eval ls", "git log -p",
		"git log --output=x", "git log -5x", "ls ?", "ls [a]", "", " ", "#", "\x00", "ls\u00a0", "ѕ", "time ls", "coproc ls", "ls &&", "ls ||", "[[ ls ]]", "((1))",
		"let x=1", "export A=1", "declare -x A", strings.Repeat("ls;", 2000),
	} {
		if d := decide(set, []byte(`{"command":`+quoted(line)+`}`)); d.Allowed() {
			t.Errorf("%q runs unasked", line)
		}
	}
	for _, line := range []string{"ls", " ls ", "ls;", "ls; ls", "ls\nls", "ls && cd lib || ls", "git log -5", "ls | ls"} {
		if d := decide(set, []byte(`{"command":`+quoted(line)+`}`)); !d.Allowed() {
			t.Errorf("%q asks: %s", line, d.Reason)
		}
	}
}
