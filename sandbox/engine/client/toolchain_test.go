package client

import (
	"os"
	"path/filepath"
	"testing"
)

// node makes a version of node with npm below dir.
func node(t *testing.T, dir string) string {
	t.Helper()
	bin := filepath.Join(dir, "bin")
	if err := os.MkdirAll(bin, 0o755); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"node", "npm"} {
		if err := os.WriteFile(filepath.Join(bin, name), []byte("x"), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func TestFindToolchain(t *testing.T) {
	home, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	older := node(t, filepath.Join(home, ".nvm/versions/node/v18.20.1"))
	newer := node(t, filepath.Join(home, ".nvm/versions/node/v20.3.0"))
	shims := filepath.Join(home, ".asdf/shims")
	if err := os.MkdirAll(shims, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(shims, "node"), []byte("#!/bin/sh\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	links := t.TempDir()
	if err := os.Symlink(filepath.Join(older, "bin/node"), filepath.Join(links, "node")); err != nil {
		t.Fatal(err)
	}
	node(t, home) // in the home directory itself: would show all of it
	for name, tt := range map[string]struct{ path, want string }{
		"the first along PATH":                {older + "/bin:" + newer + "/bin", older},
		"behind a link":                       {links, older},
		"a desktop's PATH":                    {"/nonexistent", newer},
		"a shim":                              {shims, newer},
		"in the home directory, not a folder": {home + "/bin", newer},
		"relative":                            {".", newer},
	} {
		t.Run(name, func(t *testing.T) {
			if got, err := FindToolchain(home, tt.path); err != nil || got != tt.want {
				t.Errorf("got %q, %v; want %q", got, err, tt.want)
			}
		})
	}
}

func TestFindToolchainOfTheSystem(t *testing.T) {
	if _, err := os.Stat("/usr/bin/node"); err != nil {
		t.Skip("node is not in /usr/bin")
	}
	if got, err := FindToolchain("/nonexistent", "/usr/bin"); got != "" || err != nil {
		t.Errorf("got %q, %v", got, err)
	}
	if got, err := FindToolchain("/nonexistent", ""); got != "" || err != nil {
		t.Errorf("without a PATH: got %q, %v", got, err)
	}
}
