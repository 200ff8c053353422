package main

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"

	"github.com/garita-dev/garita/daemon/api"
)

var update = flag.Bool("update", false, "write golden files anew")

// render decodes JSON and shows it as the named command does.
type render func(c *cli, raw []byte) error

func show[T any](f func(*cli, T)) render {
	return func(c *cli, raw []byte) error {
		var v T
		if err := json.Unmarshal(raw, &v); err != nil {
			return err
		}
		f(c, v)
		return nil
	}
}

// noon is the time at which the golden files are looked at.
var noon = time.Date(2026, 11, 29, 14, 5, 0, 0, time.UTC)

var renders = map[string]render{
	"status":         show((*cli).showStatus),
	"doctor":         show((*cli).showDoctor),
	"servers":        show((*cli).showServers),
	"server":         show((*cli).showServer),
	"review":         show(func(c *cli, p api.Pins) { c.showPins(p, true) }),
	"workspaces":     show((*cli).showWorkspaces),
	"workspace-diff": show((*cli).showDiff),
	"call":           show((*cli).showCall),
	"audit":          show((*cli).showEvents),
	"verification":   show((*cli).showVerification),
	"policy":         show((*cli).showPolicy),
	"policy-check":   show((*cli).showPolicyCheck),
	"policy-test":    show((*cli).showPolicyTest),
	"policy-explain": show((*cli).showExplanation),
	"policy-replay":  show((*cli).showReplay),
	"policy-project": show(func(c *cli, p api.ProjectPolicy) { c.showProject(p, api.AcceptPolicy{}) }),
	"plan":           show(func(c *cli, p api.ImportPlan) { c.showPlan(p, true) }),
	"imported":       show((*cli).showImported),
	"restored":       show((*cli).showRestored),
	"applied":        show(func(c *cli, r api.ApplyResult) { c.showApplied("apply", r) }),
	"approvals":      show(func(c *cli, l []api.Approval) { c.showApprovals(l, noon) }),
	"expired":        show((*cli).showExpired),
	"grants":         show((*cli).showGrants),
	"hook-plan":      show((*cli).showHookPlan),
	"approval":       show(func(c *cli, a api.Approval) { c.showApproval(a, noon) }),
}

// TestRender shows each testdata/*.txtar: the first file, named after its command, is JSON of the
// API or the name of one of daemon/api's fixtures; the second is what the command prints. A
// command whose name ends in "+color" is shown as on a terminal.
func TestRender(t *testing.T) {
	time.Local = time.UTC
	files, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatalf("%v, %v", files, err)
	}
	for _, path := range files {
		t.Run(strings.TrimSuffix(filepath.Base(path), ".txtar"), func(t *testing.T) { renderOne(t, path) })
	}
}

func renderOne(t *testing.T, path string) {
	archive, err := txtar.ParseFile(path)
	if err != nil {
		t.Fatal(err)
	}
	name, color := strings.CutSuffix(archive.Files[0].Name, "+color")
	raw := archive.Files[0].Data
	if fixture := strings.TrimSpace(string(raw)); strings.HasSuffix(fixture, ".json") {
		if raw, err = os.ReadFile(filepath.Join("../../../daemon/api/testdata", fixture)); err != nil {
			t.Fatal(err)
		}
	}
	var out bytes.Buffer
	if err := renders[name](&cli{out: &out, err: &out, style: style{on: color}}, raw); err != nil {
		t.Fatal(err)
	}
	got := strings.ReplaceAll(out.String(), "\x1b", "ESC")
	want := ""
	if len(archive.Files) > 1 {
		want = string(archive.Files[1].Data)
	}
	if *update {
		archive.Files = []txtar.File{archive.Files[0], {Name: "want", Data: []byte(got)}}
		if err := os.WriteFile(path, txtar.Format(archive), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Fatal(diff)
	}
}
