package classify_test

import (
	"bufio"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/garita-dev/garita/approvals"
	"github.com/garita-dev/garita/approvals/classify"
	"github.com/garita-dev/garita/sandbox/sandboxtest"
)

// label is what one tool truly does.
type label struct{ server, tool, truth, reason string }

func labels(t *testing.T, dir string) (all []label) {
	t.Helper()
	f, err := os.Open(filepath.Join(dir, "tools", "labels.tsv"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	lines := bufio.NewScanner(f)
	lines.Scan() // the heading
	for lines.Scan() {
		c := strings.Split(lines.Text(), "\t")
		all = append(all, label{c[0], c[1], c[5], c[6]})
	}
	return all
}

// listing reads one server's tools/list answer.
func listing(t *testing.T, dir, server string) map[string]classify.Definition {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(dir, "tools", server+".tools.json"))
	if err != nil {
		t.Fatal(err)
	}
	type tool struct {
		Name        string         `json:"name"`
		Title       string         `json:"title"`
		Description string         `json:"description"`
		InputSchema jsontext.Value `json:"inputSchema"`
		Annotations jsontext.Value `json:"annotations"`
	}
	var answer struct {
		Tools  []tool `json:"tools"`
		Result struct {
			Tools []tool `json:"tools"`
		} `json:"result"`
	}
	if err := json.Unmarshal(b, &answer); err != nil {
		t.Fatal(err)
	}
	defs := make(map[string]classify.Definition)
	for _, d := range append(answer.Tools, answer.Result.Tools...) {
		defs[d.Name] = classify.Definition{
			Name: d.Name, Title: d.Title, Description: d.Description, InputSchema: d.InputSchema, Annotations: d.Annotations,
		}
	}
	return defs
}

// share is how many true reads must pass without a question, of servers whose names say something.
const share = 0.90

func TestNothingButReadsPassesAsRead(t *testing.T) {
	dir := sandboxtest.Testdata(t)
	definitions := make(map[string]map[string]classify.Definition)
	reads, passed := 0, 0
	table := make(map[[2]string]int)
	for _, l := range labels(t, dir) {
		if definitions[l.server] == nil {
			definitions[l.server] = listing(t, dir, l.server)
		}
		d, ok := definitions[l.server][l.tool]
		if !ok {
			t.Fatalf("%s lists no %s", l.server, l.tool)
		}
		class, why := classify.Tool(d)
		table[[2]string{l.truth, string(class)}]++
		if class == approvals.Read && l.truth != "read" {
			t.Errorf("%s %s passes as a read (%s), but is %s: %s", l.server, l.tool, why, l.truth, l.reason)
		}
		if l.truth != "read" || l.server == "go-conformance" {
			continue
		}
		reads++
		if class == approvals.Read {
			passed++
		} else {
			t.Logf("asks: %s %s is taken for %s: %s", l.server, l.tool, class, why)
		}
	}
	for _, truth := range []string{"read", "write", "destroy", "execute", "depends"} {
		var row []string
		for _, class := range []string{"read", "write", "destroy", "execute", "depends"} {
			row = append(row, class+" "+strconv.Itoa(table[[2]string{truth, class}]))
		}
		t.Logf("truly %-8s taken for: %s", truth, strings.Join(row, ", "))
	}
	t.Logf("%d of %d true reads pass (%.1f %%)", passed, reads, 100*float64(passed)/float64(reads))
	if float64(passed) < share*float64(reads) {
		t.Errorf("only %d of %d true reads pass", passed, reads)
	}
}
