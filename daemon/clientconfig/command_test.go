package clientconfig

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/containerd/errdefs"
)

func TestCommand(t *testing.T) {
	b := newBench(t, "{}")
	e, err := b.Command("run-1", []string{"npx", "-y", "pkg@1", b.home + "/claude.json"}, "")
	if err != nil || e.Server.Name != "run-1" || len(e.Server.Spec.Mounts) != 1 {
		t.Errorf("got %+v, %v", e, err)
	}
	for name, argv := range map[string][]string{
		"nothing": nil, "an empty word": {""}, "the whole home": {"npx", "x", b.home}, "garita": {"garita", "connect", "x"},
		"docker": {"docker", "run", "x"}, "a secret": {"npx", "x", "--token=hunter2hunter2"}, "no text": {"npx", "\xff"},
	} {
		_, err := b.Command("run-1", argv, "")
		if !errdefs.IsInvalidArgument(err) || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%s: %v, want InvalidArgument", name, err)
		}
	}
}

func TestCommandInAFolder(t *testing.T) {
	b := newBench(t, "{}")
	dir := filepath.Join(b.home, "project")
	if err := os.MkdirAll(filepath.Join(dir, "docs"), 0o755); err != nil {
		t.Fatal(err)
	}
	e, err := b.Command("run-1", []string{"npx", "-y", "pkg", "./docs"}, dir)
	if err != nil || len(e.Server.Spec.Folders) != 1 || e.Server.Spec.Folders[0] != filepath.Join(dir, "docs") {
		t.Errorf("got %+v, %v; want the folder docs of %s", e.Server.Spec, err, dir)
	}
}
