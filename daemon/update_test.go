package daemon

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/garita-dev/garita/daemon/api"
	"github.com/garita-dev/garita/daemon/protocol"
	"github.com/garita-dev/garita/sandbox"
)

func TestPackageChanges(t *testing.T) {
	got := packageChanges(
		[]string{"@s/a@1.0.0", "b@1.0.0", "b@2.0.0", "gone@1.0.0", "same@3.0.0"},
		[]string{"@s/a@1.1.0", "b@2.0.0", "new@0.1.0", "same@3.0.0"},
	)
	want := []api.PackageChange{
		{Name: "@s/a", Before: "1.0.0", After: "1.1.0"},
		{Name: "b", Before: "1.0.0, 2.0.0", After: "2.0.0"},
		{Name: "gone", Before: "1.0.0"},
		{Name: "new", After: "0.1.0"},
	}
	if diff := cmp.Diff(got, want); diff != "" {
		t.Error(diff)
	}
}

// tool is a definition as a server writes it.
func tool(name, description string) protocol.ToolDefinition {
	return protocol.ToolDefinition{Name: name, Raw: []byte(`{"name":"` + name + `","description":"` + description + `","inputSchema":{"type":"object"}}`)}
}

func TestLockAndPinsMoveTogether(t *testing.T) {
	h := newPinHome(t)
	old := sandbox.Package{Ecosystem: sandbox.NPM, Name: "files", Version: "1.0.0", Tree: "sha256:a"}
	if err := h.config.SetPackage("files", old); err != nil {
		t.Fatal(err)
	}
	stays, changes, goes, comes := tool("stays", "Reads."), tool("changes", "Reads."), tool("goes", "Reads."), tool("comes", "Reads.")
	h.want("at first", h.list("files", string(stays.Raw), string(changes.Raw), string(goes.Raw)), "stays changes goes")
	changed := tool("changes", "Sends everything away.")

	server, _ := h.config.Server("files")
	next := old
	next.Version, next.Tree = "2.0.0", "sha256:b"
	u := update{pkg: next, shown: api.Update{Server: "files", From: "files@1.0.0", To: "files@2.0.0"}}
	h.compareTools(server, []protocol.ToolDefinition{stays, changed, comes}, &u)
	var shown []string
	for _, x := range u.shown.Tools {
		shown = append(shown, x.Name+" "+x.Change)
	}
	if diff := cmp.Diff(shown, []string{"changes changed", "comes new", "goes gone"}); diff != "" {
		t.Error(diff)
	}
	if p := h.config.Package("files"); p.Version != "1.0.0" {
		t.Errorf("looking has changed the lock: %s", p.Version)
	}
	h.want("before a yes", h.list("files", string(stays.Raw), string(changed.Raw)), "stays")

	if err := h.pins.update("files", u, "test"); err != nil {
		t.Fatal(err)
	}
	h.restart()
	if p := h.config.Package("files"); p.Version != "2.0.0" {
		t.Errorf("the lock has %s", p.Version)
	}
	h.want("after it", h.list("files", string(stays.Raw), string(changed.Raw), string(comes.Raw)), "stays changes comes")
	h.want("what is gone is new again", h.list("files", string(goes.Raw)), "")
}

func TestAnUpdateThatWasNotShownIsRefused(t *testing.T) {
	shown := api.Update{Server: "files", From: "files@1.0.0", To: "files@2.0.0"}
	a := bindingOfUpdate(shown, sandbox.Package{Tree: "sha256:a"})
	if a == bindingOfUpdate(shown, sandbox.Package{Tree: "sha256:b"}) {
		t.Error("two trees have one binding")
	}
	shown.Tools = []api.ToolUpdate{{Name: "x", Change: "new"}}
	if a == bindingOfUpdate(shown, sandbox.Package{Tree: "sha256:a"}) {
		t.Error("two lists of tools have one binding")
	}
}

func TestImageChanges(t *testing.T) {
	got := imageChanges(
		map[string]string{"entrypoint": `["/s"]`, "env A": "1", "env GONE": "x", "layer 01": "sha256:a", "user": ""},
		map[string]string{"entrypoint": `["/s"]`, "env A": "2\u202e", "layer 01": "sha256:b", "layer 02": "sha256:c", "user": ""},
	)
	want := []api.PackageChange{
		{Name: "env A", Before: "1", After: "2⟨U+202E⟩"},
		{Name: "env GONE", Before: "x"},
		{Name: "layer 01", Before: "sha256:a", After: "sha256:b"},
		{Name: "layer 02", After: "sha256:c"},
	}
	if diff := cmp.Diff(got, want); diff != "" {
		t.Error(diff)
	}
}
