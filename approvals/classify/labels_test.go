package classify_test

import (
	"bufio"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/garita-dev/garita/approvals"
	"github.com/garita-dev/garita/approvals/classify"
	"github.com/garita-dev/garita/sandbox/sandboxtest"
)

// label is what one tool truly does.
type label struct {
	server, tool, truth string
	reason              string // why, where the file says it
	split               string // "tune" or "held" of our own corpus
	cases               string // of a tool that depends: "mode=list→read,…"
	def                 classify.Definition
}

// corpus is many servers' tools and what they truly do.
type corpus struct {
	name   string
	labels []label
}

// given are the tools of real servers that came with the project.
func given(t *testing.T) corpus {
	t.Helper()
	dir := filepath.Join(sandboxtest.Testdata(t), "tools")
	return read(t, "labels.tsv", dir, func(c []string) label {
		return label{server: c[0], tool: c[1], truth: c[5], reason: c[6]}
	})
}

// own are tools of other well-known servers, written down from what they do; half of the servers
// were looked at when the words were chosen (tune), the other half only counted (held).
func own(t *testing.T, split string) corpus {
	t.Helper()
	c := read(t, split, filepath.Join("testdata", "corpus"), func(c []string) label {
		return label{server: c[0], split: c[1], tool: c[2], truth: c[3], cases: c[5]}
	})
	c.labels = slices.DeleteFunc(c.labels, func(l label) bool { return l.split != split })
	return c
}

func read(t *testing.T, name, dir string, row func([]string) label) corpus {
	t.Helper()
	f, err := os.Open(filepath.Join(dir, "labels.tsv"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	c := corpus{name: name}
	listings := make(map[string]map[string]classify.Definition)
	lines := bufio.NewScanner(f)
	lines.Scan() // the heading
	for lines.Scan() {
		l := row(append(strings.Split(lines.Text(), "\t"), "", "", "", ""))
		if listings[l.server] == nil {
			listings[l.server] = listing(t, filepath.Join(dir, l.server+".tools.json"))
		}
		def, ok := listings[l.server][l.tool]
		if !ok {
			t.Fatalf("%s lists no %s", l.server, l.tool)
		}
		l.def = def
		c.labels = append(c.labels, l)
	}
	return c
}

// listing reads one server's tools/list answer.
func listing(t *testing.T, file string) map[string]classify.Definition {
	t.Helper()
	b, err := os.ReadFile(file)
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

// silent are demo servers whose tools' names say nothing; they stand in the table but in no share.
var silent = map[string]bool{"go-conformance": true, "everything": true}

// tally is how a corpus came out.
type tally struct {
	table     map[[2]string]int // truth and class → tools
	reads     int               // true reads that count
	passed    int               // of them, how many pass
	sensitive []string          // true reads that ask because they are sensitive
	asks      []string          // true reads that ask for another reason
	unsafe    []string          // what passes and is no read
}

func count(c corpus, prepare func(label) classify.Prepared) tally {
	t := tally{table: make(map[[2]string]int)}
	for _, l := range c.labels {
		p := prepare(l)
		name := l.server + " " + l.tool
		t.table[[2]string{l.truth, string(p.Class)}]++
		passes := p.Class == approvals.Read && p.Sensitive == ""
		switch {
		case passes && l.truth != "read":
			t.unsafe = append(t.unsafe, fmt.Sprintf("%s is %s: %s", name, l.truth, p.Why))
		case l.truth != "read" || silent[l.server]:
		case p.Sensitive != "" && p.Class == approvals.Read:
			t.sensitive = append(t.sensitive, name+": "+p.Sensitive)
		case passes:
			t.reads, t.passed = t.reads+1, t.passed+1
		default:
			t.reads++
			t.asks = append(t.asks, fmt.Sprintf("%s is taken for %s: %s", name, p.Class, p.Why))
		}
	}
	return t
}

func (t tally) share() float64 { return 100 * float64(t.passed) / float64(max(1, t.reads)) }

func generic(l label) classify.Prepared { return classify.Prepare(l.def) }

// known judges by the profile as well, where there is one for the server.
func known(t *testing.T) func(label) classify.Prepared {
	profiles := shipped(t)
	names := map[string]string{"dbhub-sqlite": "dbhub", "github-v2.1.0": "github", "aws": "aws-documentation", "maps": "google-maps"}
	return func(l label) classify.Prepared {
		name := l.server
		if n := names[name]; n != "" {
			name = n
		}
		return profiles.Named(name).Prepare(l.def)
	}
}

// runs are the corpora and the ways of judging them.
func runs(t *testing.T) []run {
	return []run{
		{"The tools that came with the project, by their own words", given(t), generic, 90},
		{"The same, with profiles", given(t), known(t), 98},
		{"Our own corpus, the half looked at when the words were chosen", own(t, "tune"), generic, 90},
		{"Our own corpus, the half held out", own(t, "held"), generic, 90},
		{"Our own corpus as a whole, with profiles", both(own(t, "tune"), own(t, "held")), known(t), 90},
	}
}

type run struct {
	name    string
	corpus  corpus
	prepare func(label) classify.Prepared
	share   float64 // percent of true reads that must pass
}

func both(a, b corpus) corpus {
	return corpus{name: "both", labels: append(slices.Clone(a.labels), b.labels...)}
}

func TestNothingButReadsPassesAsRead(t *testing.T) {
	for _, r := range runs(t) {
		t.Run(r.name, func(t *testing.T) {
			got := count(r.corpus, r.prepare)
			for _, u := range got.unsafe {
				t.Errorf("passes unasked: %s", u)
			}
			t.Logf("%s", got.markdown(r.name))
			if got.share() < r.share {
				t.Errorf("%.1f %% of true reads pass, want %.0f", got.share(), r.share)
			}
		})
	}
}

// TestFewReadsAreSensitive holds for the tools that came with the project; our own corpus has mail
// and chats on purpose.
func TestFewReadsAreSensitive(t *testing.T) {
	got := count(given(t), known(t))
	if share := 100 * float64(len(got.sensitive)) / float64(got.reads+len(got.sensitive)); share > 5 {
		t.Errorf("%.1f %% of the true reads are sensitive: %v", share, got.sensitive)
	}
}

// TestArgumentsDecide holds calls of tools that depend to what their labels say of them.
func TestArgumentsDecide(t *testing.T) {
	prepare := known(t)
	for _, l := range both(own(t, "tune"), own(t, "held")).labels {
		for _, c := range strings.Split(l.cases, ",") {
			given, want, ok := strings.Cut(c, "→")
			if !ok {
				continue
			}
			name, value, _ := strings.Cut(given, "=")
			arguments, err := json.Marshal(map[string]any{name: typed(value)})
			if err != nil {
				t.Fatal(err)
			}
			got := prepare(l).Call(arguments)
			if got.Class == approvals.Read && want != "read" {
				t.Errorf("%s %s %s passes as a read (%s), but is %s", l.server, l.tool, arguments, got.Why, want)
			}
		}
	}
}

func typed(value string) any {
	if value == "true" {
		return true
	}
	return value
}

var update = flag.Bool("update", false, "write docs/classification.md anew")

const tables = "../../docs/classification.md"

// begin is the line of the document after which the test writes.
const begin = "<!-- From here on this page is written by `go test ./approvals/classify -update`. -->\n"

func TestTheTablesInTheDocumentAreTrue(t *testing.T) {
	b, err := os.ReadFile(tables)
	if err != nil {
		t.Fatal(err)
	}
	head, old, ok := strings.Cut(string(b), begin)
	if !ok {
		t.Fatalf("%s has no line %q", tables, begin)
	}
	var now strings.Builder
	for _, r := range runs(t) {
		fmt.Fprintf(&now, "\n%s", count(r.corpus, r.prepare).markdown(r.name))
	}
	if *update {
		if err := os.WriteFile(tables, []byte(head+begin+now.String()), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if diff := cmp.Diff(now.String(), old); diff != "" {
		t.Errorf("the document says otherwise; look at the change and write it with -update:\n%s", diff)
	}
}

// markdown is the tally as it stands in the document.
func (t tally) markdown(name string) string {
	classes := []string{"read", "write", "destroy", "execute", "depends"}
	var b strings.Builder
	fmt.Fprintf(&b, "### %s\n\n| truly | read | write | destroy | execute | depends |\n| --- | --- | --- | --- | --- | --- |\n", name)
	for _, truth := range classes {
		fmt.Fprintf(&b, "| %s |", truth)
		for _, class := range classes {
			fmt.Fprintf(&b, " %d |", t.table[[2]string{truth, class}])
		}
		b.WriteString("\n")
	}
	fmt.Fprintf(&b, "\n%d pass that are no reads. Of %d true reads %d pass (%.1f %%); %d more ask because they are sensitive.\n",
		len(t.unsafe), t.reads, t.passed, t.share(), len(t.sensitive))
	list(&b, "True reads that ask, too carefully:", t.asks)
	list(&b, "Sensitive reads:", t.sensitive)
	return b.String()
}

func list(b *strings.Builder, title string, lines []string) {
	if len(lines) == 0 {
		return
	}
	fmt.Fprintf(b, "\n%s\n", title)
	for _, l := range lines {
		fmt.Fprintf(b, "- %s\n", l)
	}
}
