package main

import (
	"os"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json"
)

const preInput = `{"session_id":"s","transcript_path":"/t","cwd":"/w","permission_mode":"default","hook_event_name":"PreToolUse",
 "tool_name":"Bash","tool_input":{"command":"ls"},"tool_use_id":"toolu_1","something_new":{"a":1}}`

func TestParseHook(t *testing.T) {
	e, err := parseHook([]byte(preInput), "PreToolUse")
	if err != nil || e.Tool != "Bash" || string(e.Input) != `{"command":"ls"}` || e.Use != "toolu_1" || e.Dir != "/w" {
		t.Fatalf("got %+v, %v", e, err)
	}
	old, err := parseHook([]byte(`{"session_id":"s","tool_name":"Bash","tool_input":{"command":"ls"}}`), "PreToolUse")
	if err != nil || !strings.HasPrefix(old.use("c").Use, "sha256:") {
		t.Errorf("an older client: %+v, %v", old, err)
	}
	for name, text := range map[string]string{
		"nothing":             ``,
		"no JSON":             `{`,
		"a name twice":        `{"session_id":"s","tool_name":"Read","tool_name":"Bash"}`,
		"a name twice within": `{"session_id":"s","tool_name":"Bash","tool_input":{"command":"ls","command":"rm"}}`,
		"two values":          `{"session_id":"s","tool_name":"Bash"} {}`,
		"another event":       `{"session_id":"s","tool_name":"Bash","hook_event_name":"Stop"}`,
		"no tool":             `{"session_id":"s"}`,
		"no session":          `{"tool_name":"Bash"}`,
		"arguments in a list": `{"session_id":"s","tool_name":"Bash","tool_input":["rm"]}`,
		"null arguments":      `{"session_id":"s","tool_name":"Bash","tool_input":null}`,
		"broken text":         "{\"session_id\":\"s\",\"tool_name\":\"B\xff\"}",
	} {
		if e, err := parseHook([]byte(text), "PreToolUse"); err == nil {
			t.Errorf("%s passes: %+v", name, e)
		}
	}
}

func TestHowAToolEnded(t *testing.T) {
	for name, tc := range map[string]struct {
		text   string
		failed bool
		size   int64
	}{
		"well":             {`{"session_id":"s","tool_name":"Bash","hook_event_name":"PostToolUse","tool_response":{"stdout":"x"}}`, false, 14},
		"as text":          {`{"session_id":"s","tool_name":"Bash","hook_event_name":"PostToolUse","tool_response":"x"}`, false, 3},
		"badly":            {`{"session_id":"s","tool_name":"Bash","hook_event_name":"PostToolUseFailure","error":"exit 1"}`, true, 0},
		"badly, otherwise": {`{"session_id":"s","tool_name":"Bash","hook_event_name":"PostToolUse","tool_response":{"isError":true}}`, true, 16},
		"badly, an object": {`{"session_id":"s","tool_name":"Bash","hook_event_name":"PostToolUseFailure","error":{"a":1}}`, true, 0},
	} {
		e, err := parseHook([]byte(tc.text), "PostToolUse", "PostToolUseFailure")
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if r := e.result("c"); r.Failed != tc.failed || r.Size != tc.size || (r.Digest != "") != (tc.size > 0) {
			t.Errorf("%s: got %+v", name, r)
		}
	}
}

// TestAHookFailsClosed: whatever is wrong, the answer is no, in time, and says what to do.
func TestAHookFailsClosed(t *testing.T) {
	t.Setenv("GARITA_HOME", t.TempDir())
	for name, tc := range map[string]struct{ input, says string }{
		"no daemon":   {preInput, "garita daemon"},
		"no JSON":     {"{", "could not be asked"},
		"empty input": {"", "could not be asked"},
	} {
		c, out, _ := testCLI(t, tc.input)
		code := run(t.Context(), []string{"hook", "pre-tool-use", "--timeout", "20s"}, c)
		var a hookAnswer
		if err := json.Unmarshal(out.Bytes(), &a); err != nil || code != 0 {
			t.Fatalf("%s: code %d, %v: %s", name, code, err, out)
		}
		if a.Output.Event != "PreToolUse" || a.Output.Decision != "deny" || !strings.Contains(a.Output.Reason, tc.says) {
			t.Errorf("%s: got %+v", name, a)
		}
	}
	c, _, errs := testCLI(t, preInput)
	if code := run(t.Context(), []string{"hook", "pre-tool-use", "--nonsense"}, c); code != exitBlock {
		t.Errorf("a wrong flag lets the tool run: code %d, %s", code, errs)
	}
}

func TestAHookThatIsToldNothingEndsInTime(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = w.Close(); _ = r.Close() })
	c, out, _ := testCLI(t, "")
	c.in = r
	if code := run(t.Context(), []string{"hook", "pre-tool-use", "--timeout", "100ms"}, c); code != 0 || !strings.Contains(out.String(), `"deny"`) {
		t.Errorf("code %d: %s", code, out)
	}
}

func TestHookLines(t *testing.T) {
	lines := hookLines("/opt/it's/garita", "/h o", time.Minute)
	if got, want := lines[0].Command, `GARITA_HOME='/h o' '/opt/it'\''s/garita' hook pre-tool-use --timeout 1m0s || exit 2`; got != want {
		t.Errorf("got %s", got)
	}
	if lines[0].Timeout != 90 || len(lines) != 3 {
		t.Errorf("got %+v: the client must not end us before we have said no", lines)
	}
	if got := hookLines("/usr/bin/garita", "", hookWait)[0].Command; got != `'/usr/bin/garita' hook pre-tool-use || exit 2` {
		t.Errorf("got %s", got)
	}
}

func FuzzParseHook(f *testing.F) {
	f.Add([]byte(preInput))
	f.Add([]byte(`{"session_id":"s","tool_name":"Bash","hook_event_name":"PostToolUseFailure","error":{"a":1},"tool_response":"\ud83d\ude00"}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		e, err := parseHook(text, "PreToolUse", "PostToolUse", "PostToolUseFailure")
		if err != nil {
			return
		}
		if e.Tool == "" || e.Session == "" || e.Input.Kind() != '{' {
			t.Errorf("%q passes", text)
		}
		_ = e.result("c")
	})
}
