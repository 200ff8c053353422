package pins

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/garita-dev/garita/approvals"
	"github.com/garita-dev/garita/sandbox"
	"github.com/garita-dev/garita/sandbox/sandboxtest"
)

// listed is one server's answers, as they were recorded.
type listed struct {
	server sandbox.ServerName
	items  []approvals.Item
}

func corpus(t testing.TB) []listed {
	t.Helper()
	folder := filepath.Join(sandboxtest.Testdata(t), "tools")
	files, err := filepath.Glob(filepath.Join(folder, "*.json"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no recorded answers in %s: %v", folder, err)
	}
	byServer := map[string]*listed{}
	var out []listed
	for _, file := range files {
		server, rest, _ := strings.Cut(strings.TrimSuffix(filepath.Base(file), ".json"), ".")
		method := rest[strings.LastIndexByte(rest, '.')+1:]
		if byServer[server] == nil {
			byServer[server] = &listed{server: sandbox.ServerName(server)}
		}
		byServer[server].items = append(byServer[server].items, recorded(t, file, method)...)
	}
	for _, l := range byServer {
		out = append(out, *l)
	}
	return out
}

func recorded(t testing.TB, file, method string) []approvals.Item {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var answer struct {
		Result struct {
			Tools        []jsontext.Value `json:"tools"`
			Instructions string           `json:"instructions"`
		} `json:"result"`
	}
	if err := json.Unmarshal(data, &answer); err != nil {
		t.Fatal(err)
	}
	var items []approvals.Item
	for _, raw := range answer.Result.Tools {
		name, _ := text(members(raw)["name"])
		items = append(items, approvals.Item{Kind: approvals.ItemTool, Name: name, Definition: raw})
	}
	if i := answer.Result.Instructions; i != "" {
		items = append(items, instructions(method, i))
	}
	return items
}

func instructions(method, s string) approvals.Item {
	b, _ := json.Marshal(map[string]string{"instructions": s})
	return approvals.Item{Kind: approvals.ItemInstructions, Name: method, Definition: b}
}

func namesOf(all []listed) *Names {
	n := &Names{}
	for _, l := range all {
		for _, it := range l.items {
			if it.Kind == approvals.ItemTool {
				n.Add(l.server, it.Name)
			}
		}
	}
	return n
}

// explained are the findings in servers that mean no harm, by server, item and field.
var explained = map[string]string{}

func TestRealServersAreNotHeldBack(t *testing.T) {
	all := corpus(t)
	names := namesOf(all)
	n := 0
	for _, l := range all {
		for _, it := range l.items {
			n++
			for _, f := range Scan(it, l.server, names) {
				at := string(l.server) + " " + it.Name + " " + f.Field
				if f.Kind == approvals.FoundLookalike && !f.Holds {
					continue // servers that do the same call it the same
				}
				if explained[at] == "" {
					t.Errorf("%s: %s (holds: %t): %s: %q", at, f.Kind, f.Holds, f.Why, f.Excerpt)
				}
			}
		}
	}
	t.Logf("%d items of %d servers", n, len(all))
}

func BenchmarkScanGitHub(b *testing.B) {
	all := corpus(b)
	names := namesOf(all)
	for _, l := range all {
		if l.server != "github-v2" {
			continue
		}
		for b.Loop() {
			for _, it := range l.items {
				if _, err := Pin(it); err != nil {
					b.Fatal(err)
				}
				Scan(it, l.server, names)
			}
		}
	}
}
