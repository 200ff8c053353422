package door

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"

	"github.com/garita-dev/garita/sandbox/sandboxtest"
)

// TestNamesDependOnNobodyElse: names depend on nothing but the server's and the tool's own: not on who came first, nor on who else is there.
func TestNamesDependOnNobodyElse(t *testing.T) {
	t.Run("report_S08", func(t *testing.T) {
		data, err := os.ReadFile(filepath.Join(sandboxtest.Testdata(t), "field-inputs", "S08.json"))
		if err != nil {
			t.Fatal(err)
		}
		var in struct {
			Servers map[string][]string `json:"servers"`
		}
		if err := json.Unmarshal(data, &in); err != nil {
			t.Fatal(err)
		}
		in.Servers["long"] = []string{strings.Repeat("x", 70), strings.Repeat("x", 70) + "y", strings.Repeat("x", 58), "ü", "ö", "", "../x"}
		whose := map[string]string{}
		usable := regexp.MustCompile(`^[A-Za-z0-9_-]{1,64}$`)
		for server, tools := range in.Servers {
			for _, tool := range slices.Concat(tools, tools) { // again: the same
				name := exposed(server, tool)
				if other, taken := whose[name]; taken && other != server+"\x00"+tool {
					t.Errorf("%s stands for %q and for %q", name, other, server+"\x00"+tool)
				}
				whose[name] = server + "\x00" + tool
				if !usable.MatchString(name) {
					t.Errorf("%q of %q is shown as %q", tool, server, name)
				}
			}
		}
	})
}
