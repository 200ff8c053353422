package clientconfig

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/containerd/errdefs"
	"github.com/google/go-cmp/cmp"

	"github.com/garita-dev/garita/daemon/config"
)

var twoHooks = []Hook{
	{Event: "PreToolUse", Command: "'/opt/garita/bin/garita' hook pre-tool-use || exit 2", Timeout: 630},
	{Event: "PostToolUse", Command: "'/opt/garita/bin/garita' hook post-tool-use", Timeout: 30},
}

const hooked = `{
  "hooks": {
    "PreToolUse": [
      {
        "matcher": "*",
        "hooks": [
          {
            "type": "command",
            "command": "'/opt/garita/bin/garita' hook pre-tool-use || exit 2",
            "timeout": 630,
            "onFailure": "block"
          }
        ]
      }
    ],
    "PostToolUse": [
      {
        "matcher": "*",
        "hooks": [
          {
            "type": "command",
            "command": "'/opt/garita/bin/garita' hook post-tool-use",
            "timeout": 30
          }
        ]
      }
    ]
  }
}
`

func TestHooksIntoNothing(t *testing.T) {
	got, err := WithHooks([]byte("{}\n"), twoHooks)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(hooked, string(got)); diff != "" {
		t.Fatal(diff)
	}
}

// settings are files as people have them.
var settings = map[string]string{
	"empty":            "{}",
	"in one line":      `{"model": "opus"}`,
	"spaced":           `{ "model": "opus" }` + "\n",
	"several lines":    "{\n  \"model\": \"opus\",\n  \"permissions\": {\n    \"allow\": []\n  }\n}\n",
	"tabs":             "{\n\t\"model\": \"opus\"\n}\n",
	"line ends":        "{\r\n  \"model\": \"opus\"\r\n}\r\n",
	"a byte order":     "\xef\xbb\xbf{\n  \"model\": \"opus\"\n}\n",
	"comments":         "// mine\n{\n  // the model\n  \"model\": \"opus\", // best\n}\n",
	"empty hooks":      "{\n  \"hooks\": {}\n}\n",
	"empty lists":      "{\n  \"hooks\": {\n    \"PreToolUse\": []\n  }\n}\n",
	"a remark in it":   "{\n  \"hooks\": {\n    // none yet\n  }\n}\n",
	"others' hooks":    "{\n  \"hooks\": {\n    \"PreToolUse\": [\n      {\"matcher\": \"Bash\", \"hooks\": [{\"type\": \"command\", \"command\": \"./check.sh\"}]}\n    ],\n    \"Stop\": []\n  },\n  \"model\": \"opus\"\n}\n",
	"others' one line": `{"hooks":{"PreToolUse":[{"hooks":[{"type":"command","command":"x"}]}]}}`,
}

func TestHooksGoInAndOut(t *testing.T) {
	for name, before := range settings {
		t.Run(name, func(t *testing.T) {
			after, err := WithHooks([]byte(before), twoHooks)
			if err != nil {
				t.Fatal(err)
			}
			if !hasHooks(after, twoHooks) {
				t.Fatalf("they are not there:\n%s", after)
			}
			kept := strings.TrimRight(before, " }]\r\n\t")
			if !bytes.HasPrefix(after, []byte(kept[:min(len(kept), 3)])) || strings.Contains(before, "\r\n") != strings.Contains(string(after), "\r\n") {
				t.Errorf("it is laid out otherwise:\n%s", after)
			}
			for line := range strings.Lines(before) {
				if text := strings.Trim(line, "{}[], \r\n\t\ufeff"); !strings.Contains(string(after), text) {
					t.Errorf("%q is gone from\n%s", text, after)
				}
			}
			out, n, err := WithoutHooks(after)
			if err != nil || n != 2 {
				t.Fatalf("%d taken out, %v", n, err)
			}
			if bytes.Contains(out, []byte("garita")) {
				t.Errorf("left:\n%s", out)
			}
			if _, err := parseWhole(out); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestHooksOfOthersStay(t *testing.T) {
	const before = `{"hooks":{"PreToolUse":[{"matcher":"*","hooks":[{"type":"command","command":"x"},{"type":"command","command":"/a/garita hook pre-tool-use"}]}],"Stop":[{"hooks":[{"type":"command","command":"y garita"}]}]}}`
	got, n, err := WithoutHooks([]byte(before))
	if err != nil || n != 1 {
		t.Fatal(n, err)
	}
	if want := `{"hooks":{"PreToolUse":[{"matcher":"*","hooks":[{"type":"command","command":"x"}]}],"Stop":[{"hooks":[{"type":"command","command":"y garita"}]}]}}`; string(got) != want {
		t.Errorf("got %s", got)
	}
}

func TestHooksWhereNoneCanBe(t *testing.T) {
	for name, text := range map[string]string{
		"no JSON": "{", "a list": "[]", "hooks that are a list": `{"hooks":[]}`, "an event that is no list": `{"hooks":{"PreToolUse":{}}}`,
		"hooks twice": `{"hooks":{},"hooks":{}}`, "an event twice": `{"hooks":{"PreToolUse":[],"PreToolUse":[]}}`,
	} {
		if _, err := WithHooks([]byte(text), twoHooks); !errdefs.IsInvalidArgument(err) {
			t.Errorf("%s: got %v", name, err)
		}
	}
}

func hookImporter(t *testing.T) (*Importer, string) {
	t.Helper()
	dir := t.TempDir()
	im := NewImporter(config.Paths{State: filepath.Join(dir, "state"), Home: dir, Isolated: true})
	im.env = func(string) string { return "" }
	return im, filepath.Join(dir, ".claude", "settings.json")
}

func put(t *testing.T, file, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(text), 0o640); err != nil {
		t.Fatal(err)
	}
}

func content(t *testing.T, file string) string {
	t.Helper()
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func TestSettingHooksIsUndoneByteForByte(t *testing.T) {
	for name, before := range settings {
		im, file := hookImporter(t)
		put(t, file, before)
		if _, err := im.SetHooks("", twoHooks, true); err != nil || content(t, file) != before {
			t.Fatalf("%s: a dry run: %v\n%s", name, err, content(t, file))
		}
		e, err := im.SetHooks("", twoHooks, false)
		if err != nil || e.Backup == "" || content(t, e.Backup) != before || content(t, file) != string(e.After) {
			t.Fatalf("%s: %+v, %v", name, e, err)
		}
		moved := []Hook{{Event: "PreToolUse", Command: "/usr/bin/garita hook pre-tool-use", Timeout: 60}}
		if _, err := im.SetHooks("", moved, false); err != nil || !hasHooks([]byte(content(t, file)), moved) {
			t.Fatalf("%s: moving them: %v\n%s", name, err, content(t, file))
		}
		if again, err := im.SetHooks("", moved, false); err != nil || again.Note == "" {
			t.Fatalf("%s: again: %+v, %v", name, again, err)
		}
		if _, err := im.SetHooks("", nil, false); err != nil || content(t, file) != before {
			t.Errorf("%s: taken out: %v\n%q\nwant\n%q", name, err, content(t, file), before)
		}
		if left, _ := filepath.Glob(filepath.Join(im.backups, "*.bak")); len(left) > 0 {
			t.Errorf("%s: left %v", name, left)
		}
	}
}

func TestAFileMadeForHooksGoesWithThem(t *testing.T) {
	im, file := hookImporter(t)
	if _, err := im.SetHooks("", twoHooks, false); !errdefs.IsNotFound(err) {
		t.Fatalf("without the client's folder: %v", err)
	}
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		t.Fatal(err)
	}
	if _, err := im.SetHooks("", twoHooks, false); err != nil || content(t, file) != hooked {
		t.Fatal(err)
	}
	done, err := im.Restore(t.Context(), "")
	if err != nil || len(done) != 1 || !done[0].Done {
		t.Fatalf("%+v, %v", done, err)
	}
	if _, err := os.Stat(file); !os.IsNotExist(err) {
		t.Errorf("it is still there: %v", err)
	}
}

func TestHooksLeaveAFileThatWasChangedSince(t *testing.T) {
	im, file := hookImporter(t)
	put(t, file, "{\n  \"model\": \"opus\"\n}\n")
	if _, err := im.SetHooks("", twoHooks, false); err != nil {
		t.Fatal(err)
	}
	put(t, file, strings.Replace(content(t, file), "opus", "sonnet", 1))
	e, err := im.SetHooks("", nil, false)
	if err != nil || e.Note == "" {
		t.Fatalf("%+v, %v", e, err)
	}
	if got := content(t, file); got != "{\n  \"model\": \"sonnet\"\n}\n" {
		t.Errorf("got %s", got)
	}
}

func FuzzHooks(f *testing.F) {
	for _, text := range settings {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		after, err := WithHooks(data, twoHooks)
		if err != nil {
			return
		}
		if _, n, err := WithoutHooks(after); err != nil || n < 2 {
			t.Fatalf("%d, %v:\n%q\n%q", n, err, data, after)
		}
	})
}
