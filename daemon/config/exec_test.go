package config

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/garita-dev/garita/sandbox"
)

func TestExecRulesAreRead(t *testing.T) {
	for name, c := range map[string]struct {
		yaml string
		want *sandbox.ExecRules
		err  string
	}{
		"none":                  {"", nil, ""},
		"three lists":           {"    exec: {allow: [\"*\"], ask: [\"git push*\"], deny: [\"ssh*\"]}\n", &sandbox.ExecRules{Allow: []string{"*"}, Ask: []string{"git push*"}, Deny: []string{"ssh*"}}, ""},
		"nothing behind it":     {"    exec:\n", &sandbox.ExecRules{}, ""},
		"null":                  {"    exec: null\n", &sandbox.ExecRules{}, ""},
		"an empty mapping":      {"    exec: {}\n", &sandbox.ExecRules{}, ""},
		"an empty list":         {"    exec: {allow: []}\n", &sandbox.ExecRules{}, ""},
		"a null list":           {"    exec: {allow: null, ask: ~}\n", &sandbox.ExecRules{}, ""},
		"a list instead":        {"    exec: [\"*\"]\n", nil, "mapping"},
		"text instead":          {"    exec: all\n", nil, "mapping"},
		"an unknown list":       {"    exec: {permit: [\"*\"]}\n", nil, "permit"},
		"an empty pattern":      {"    exec: {allow: [\"\"]}\n", nil, "empty"},
		"a hidden character":    {"    exec: {allow: [\"git\\u200b\"]}\n", nil, "cannot be seen"},
		"a path with dots":      {"    exec: {allow: [\"/usr/../bin/git\"]}\n", nil, "without dots"},
		"a path that is no one": {"    exec: {allow: [\"bin/git\"]}\n", nil, "from / on"},
	} {
		t.Run(name, func(t *testing.T) {
			text := "version: 1\nservers:\n  a:\n    run: x\n" + c.yaml
			got, err := ParseServers("servers.yaml", []byte(text), Guard{})
			if c.err != "" {
				if err == nil || !strings.Contains(err.Error(), c.err) {
					t.Errorf("got %v, want an error with %q", err, c.err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(got[0].Spec.Exec, c.want); d != "" {
				t.Errorf("got (-), want (+):\n%s", d)
			}
			again, err := ParseServers("servers.yaml", []byte("version: 1\nservers:\n"+indented(Block(got[0]))), Guard{})
			if err != nil {
				t.Fatalf("%v in\n%s", err, Block(got[0]))
			}
			if d := cmp.Diff(again[0].Spec.Exec, c.want); d != "" {
				t.Errorf("written and read again (-), want (+):\n%s", d)
			}
		})
	}
}

func TestExecThatIsTakenOverHolds(t *testing.T) {
	for name, text := range map[string]string{
		"by a merge key":        "  a:\n    <<: {exec: null}\n    run: x\n",
		"by two merge keys":     "  a:\n    <<: {<<: {exec: }}\n    run: x\n",
		"by an alias":           "  b: &b\n    run: x\n    exec:\n  a: *b\n",
		"by the key of another": "  b: &b {run: x, exec: ~}\n  a:\n    <<: *b\n    mode: direct\n",
		"under a long key":      "  a:\n    run: x\n    ? exec\n",
	} {
		t.Run(name, func(t *testing.T) {
			got, err := ParseServers("servers.yaml", []byte("version: 1\nservers:\n"+text), Guard{})
			for _, s := range got {
				if d := cmp.Diff(s.Spec.Exec, &sandbox.ExecRules{}); d != "" {
					t.Errorf("%s: got (-), want (+):\n%s", s.Name, d)
				}
			}
			t.Log(err) // an error holds, too
		})
	}
}

func indented(block string) string {
	return "  " + strings.ReplaceAll(strings.TrimSuffix(block, "\n"), "\n", "\n  ") + "\n"
}

func TestExecRulesAreInTheDigest(t *testing.T) {
	digest := func(r *sandbox.ExecRules) sandbox.Digest {
		d, err := Digest(sandbox.Server{Name: "a", Source: sandbox.Source{Command: []string{"x"}}, Spec: sandbox.Spec{Exec: r}})
		if err != nil {
			t.Fatal(err)
		}
		return d
	}
	none, nothing := digest(nil), digest(&sandbox.ExecRules{})
	one, other := digest(&sandbox.ExecRules{Allow: []string{"git *", "ls"}}), digest(&sandbox.ExecRules{Allow: []string{"ls", "git *"}})
	if none == nothing || nothing == one || one != other {
		t.Errorf("none %s, nothing %s, one %s, other %s", none, nothing, one, other)
	}
}

func TestExecRulesAreForSandboxes(t *testing.T) {
	_, err := ParseServers("servers.yaml", []byte("version: 1\nservers:\n  a:\n    url: https://example.com/mcp\n    exec:\n"), Guard{})
	if err == nil || !strings.Contains(err.Error(), "elsewhere") {
		t.Errorf("got %v", err)
	}
}
