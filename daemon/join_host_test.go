package daemon

import (
	"os"
	"path/filepath"
	"testing"
)

// A shim looks for the program of a version where a sandbox has none: what comes behind it along PATH is run.
func TestShimsOfVersionManagersArePassedOver(t *testing.T) {
	shims, bin := filepath.Join(t.TempDir(), "shims"), t.TempDir()
	if err := os.Mkdir(shims, 0o755); err != nil {
		t.Fatal(err)
	}
	for _, file := range []string{filepath.Join(shims, "python3"), filepath.Join(bin, "python3"), filepath.Join(shims, "only-a-shim")} {
		if err := os.WriteFile(file, []byte("#!/bin/sh\n"), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("PATH", shims+":"+bin)
	for program, want := range map[string]string{
		"python3":                       filepath.Join(bin, "python3"),
		"only-a-shim":                   filepath.Join(shims, "only-a-shim"),
		filepath.Join(shims, "python3"): filepath.Join(shims, "python3"),
	} {
		if got, err := (host{}).LookPath(program); err != nil || got != want {
			t.Errorf("%s: %q, %v, want %q", program, got, err, want)
		}
	}
	if got, err := (host{}).LookPath("none-of-that-name"); err == nil {
		t.Errorf("found %q", got)
	}
}
