package client_test

import (
	"path/filepath"
	"testing"

	"github.com/garita-dev/garita/sandbox/engine/client"
	"github.com/garita-dev/garita/sandbox/rootless"
	"github.com/garita-dev/garita/sandbox/sandboxtest"
)

func TestDoctorNamesConsequenceAndMending(t *testing.T) {
	sandboxtest.Need(t, sandboxtest.RootlessContainerd)
	checks, err := client.Doctor(within(t), client.Config{
		Program: filepath.Join(sandboxtest.Bin(), "garita-engine"), Data: t.TempDir(),
	})
	if err != nil {
		t.Fatal(err)
	}
	names := map[string]bool{}
	for _, c := range checks {
		names[c.Name] = true
		if c.Found == "" {
			t.Errorf("%s does not say what was found", c.Name)
		}
		if c.State != rootless.OK && (c.Consequence == "" || c.Mend == "") {
			t.Errorf("%s is %s and says neither what follows nor what mends it: %+v", c.Name, c.State, c)
		}
		if c.State == rootless.Fail {
			t.Errorf("engines start here, and yet: %+v", c)
		}
	}
	for _, name := range []string{
		"user", "kernel", "subordinate ids", "user namespaces", "overlay", "control groups", "runc",
		"garita's programs", "toolchains", "disk",
	} {
		if !names[name] {
			t.Errorf("%s was not checked", name)
		}
	}
}
