package e2e

import (
	"debug/buildinfo"
	"path/filepath"
	"strings"
	"testing"

	"github.com/garita-dev/garita/sandbox/sandboxtest"
)

// TestTheDaemonLinksNoMachinery: what parses hostile JSON and holds the keys is not linked with
// containerd, a network stack or a window.
func TestTheDaemonLinksNoMachinery(t *testing.T) {
	sandboxtest.Need(t, "rootless-containerd")
	info, err := buildinfo.ReadFile(filepath.Join(sandboxtest.Bin(), "garita"))
	if err != nil {
		t.Fatal(err)
	}
	if len(info.Deps) < 5 {
		t.Fatalf("only %d modules: is this the binary?", len(info.Deps))
	}
	for _, dep := range info.Deps {
		for _, never := range []string{"github.com/containerd/containerd", "github.com/wailsapp/", "gvisor.dev/", "github.com/gotk3/"} {
			if strings.HasPrefix(dep.Path, never) {
				t.Errorf("garita links %s", dep.Path)
			}
		}
	}
}
