package gate

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/garita-dev/garita/approvals"
	"github.com/garita-dev/garita/approvals/classify"
	"github.com/garita-dev/garita/sandbox/sandboxtest"
)

// hinted is a tool of the replay with what its server says of it.
type hinted struct {
	Name        string         `json:"name"`
	Description string         `json:"description"`
	InputSchema jsontext.Value `json:"inputSchema"`
	Annotations jsontext.Value `json:"annotations"`
}

func hintedTools(t *testing.T) []hinted {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(sandboxtest.Testdata(t), "field-inputs", "A13.seq.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	for line := range bytes.Lines(data) {
		var s struct {
			Send struct {
				Result struct {
					Tools []hinted `json:"tools"`
				} `json:"result"`
			} `json:"send"`
		}
		if err := json.Unmarshal(line, &s); err != nil {
			t.Fatal(err)
		}
		if tools := s.Send.Result.Tools; len(tools) > 0 {
			return tools
		}
	}
	t.Fatal("the replay lists no tools")
	return nil
}

// What a server says of its own tools allows nothing: a hint changes no class to a milder one.
func TestReportA13(t *testing.T) {
	t.Run("report_A13", func(t *testing.T) {
		for _, tool := range hintedTools(t) {
			d := classify.Definition{Name: tool.Name, Description: tool.Description, InputSchema: tool.InputSchema}
			without := classify.Prepare(d).Class
			d.Annotations = tool.Annotations
			with := classify.Prepare(d).Class
			if with == approvals.Read && without != approvals.Read {
				t.Errorf("%s is taken for a read because its server says so", tool.Name)
			}
			if tool.Name != "remove_all" {
				continue
			}
			bubble(t, Options{}, func(t *testing.T, g *Gate, _ *log) {
				c := aCall(with)
				c.Tool, c.Arguments = tool.Name, []byte(`{}`)
				if a := authorize(t.Context(), g, c); !waits(a) || theOne(t, g).Call.Tool != "remove_all" {
					t.Errorf("%+v", a.d)
				}
			})
		}
	})
}
