//go:build !thin

package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"

	"github.com/garita-dev/garita/daemon"
)

const aListing = `[{"name":"read_graph","inputSchema":{"type":"object"}},
	{"name":"open_nodes","inputSchema":{"type":"object","properties":{"names":{"type":"array"}}}},
	{"name":"get_env","description":"Returns the environment variables"},
	{"name":"remove_all","annotations":{"readOnlyHint":true}}]`

// classify runs the command over a file.
func classify(t *testing.T, listing string, flags ...string) (out, errs string, err error) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "tools.json")
	if err := os.WriteFile(file, []byte(listing), 0o600); err != nil {
		t.Fatal(err)
	}
	c, o, e := testCLI(t, "")
	cmd := c.policyClassifyCommand()
	cmd.SetArgs(append([]string{file}, flags...))
	cmd.SilenceErrors, cmd.SilenceUsage = true, true
	err = cmd.Execute()
	return o.String(), e.String(), err
}

func TestPolicyClassify(t *testing.T) {
	for name, listing := range map[string]string{
		"the list":    aListing,
		"the result":  `{"tools":` + aListing + `}`,
		"the message": `{"jsonrpc":"2.0","id":1,"result":{"tools":` + aListing + `,"nextCursor":"x"}}`,
	} {
		t.Run(name, func(t *testing.T) {
			out, _, err := classify(t, listing, "--json")
			if err != nil {
				t.Fatal(err)
			}
			var got daemon.ClassifiedTools
			if err := json.Unmarshal([]byte(out), &got); err != nil {
				t.Fatal(err)
			}
			var short []string
			for _, x := range got.Tools {
				s := x.Name + " " + x.Class + " " + x.Effect
				if x.Sensitive {
					s += " sensitive"
				}
				if x.Why == "" {
					t.Errorf("%s without a reason", x.Name)
				}
				short = append(short, s)
			}
			want := "read_graph read allow, open_nodes write ask, get_env read ask sensitive, remove_all destroy ask"
			if strings.Join(short, ", ") != want {
				t.Errorf("got %s, want %s", strings.Join(short, ", "), want)
			}
		})
	}
}

func TestPolicyClassifyByProfile(t *testing.T) {
	out, errs, err := classify(t, aListing, "--server", "@modelcontextprotocol/server-memory@1.0")
	if err != nil || errs != "" || !strings.Contains(out, "open_nodes  read     -          allow") {
		t.Errorf("%v %s\n%s", err, errs, out)
	}
	if _, errs, err = classify(t, aListing, "--server", "nobody\x1b[2J"); err != nil || !strings.Contains(errs, `nobody\x1b[2J`) {
		t.Errorf("%v %q", err, errs)
	}
}

func TestPolicyClassifyRefusesBadFiles(t *testing.T) {
	for listing, want := range map[string]string{
		``:                               "empty",
		`{`:                              "no JSON",
		`"tools"`:                        "neither",
		`{"tools":{}}`:                   `no list named "tools"`,
		`{"tools":[{"title":"x"}]}`:      "tool 1 has no name",
		`[{"name":1}]`:                   "cannot be read",
		`{"tools":[],"tools":[]}`:        "twice",
		`{"error":{"code":1}}`:           "an error",
		`{"result":{"result":{"x":[]}}}`: `no list named "tools"`,
	} {
		if _, _, err := classify(t, listing); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %s", listing, err, want)
		}
	}
	c, _, _ := testCLI(t, "")
	cmd := c.policyClassifyCommand()
	cmd.SetArgs([]string{filepath.Join(t.TempDir(), "none")})
	cmd.SilenceErrors, cmd.SilenceUsage = true, true
	if err := cmd.Execute(); err == nil {
		t.Error("a file that is not there is no error")
	}
}
