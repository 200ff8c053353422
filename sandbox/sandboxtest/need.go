// Package sandboxtest holds what every sandbox.Runtime must pass (Suite), a runtime without walls
// for other packages' tests (Fake), and the way tests ask for what only some hosts have (Need).
package sandboxtest

import (
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
)

// RootlessContainerd is what the engine needs: our binaries, newuidmap, subordinate ids, runc.
const RootlessContainerd = "rootless-containerd"

// Need skips the test, saying why, when the host lacks what it needs. A need that is listed in
// GARITA_REQUIRE (comma-separated) fails the test instead, so that CI cannot pass by skipping.
func Need(t testing.TB, need string) {
	t.Helper()
	var missing string
	switch need {
	case RootlessContainerd:
		missing = missingRootless()
	default:
		t.Fatalf("nobody knows the need %q", need)
	}
	if missing == "" {
		return
	}
	absent(t, need, missing)
}

func absent(t testing.TB, need, why string) {
	t.Helper()
	if slices.Contains(strings.Split(os.Getenv("GARITA_REQUIRE"), ","), need) {
		t.Fatalf("%s is required and missing: %s", need, why)
	}
	t.Skipf("needs %s: %s", need, why)
}

// Program is a program that only tests use, found beside the built binaries or in PATH; the test is
// skipped without it, or fails where GARITA_REQUIRE names it.
func Program(t testing.TB, name string) string {
	t.Helper()
	if path := filepath.Join(Bin(), name); isFile(path) {
		return path
	}
	path, err := exec.LookPath(name)
	if err != nil {
		absent(t, name, "no "+name+" in "+Bin()+" or PATH")
	}
	return path
}

func isFile(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular()
}

func missingRootless() string {
	if os.Getenv("GARITA_BIN") == "" && Bin() == "" {
		return "the binaries are not built (./task build; or set GARITA_BIN to their directory)"
	}
	for _, name := range []string{"garita-engine", "garita-init"} {
		if _, err := os.Stat(filepath.Join(Bin(), name)); err != nil {
			return "no " + name + " in " + Bin()
		}
	}
	for _, name := range []string{"containerd-shim-runc-v2", "runc"} {
		if _, err := os.Stat(filepath.Join(Bin(), name)); err == nil {
			continue
		}
		if _, err := exec.LookPath(name); err != nil {
			return "no " + name
		}
	}
	if os.Geteuid() == 0 {
		return ""
	}
	if _, err := exec.LookPath("newuidmap"); err != nil {
		return "no newuidmap (package uidmap)"
	}
	return ""
}

// Bin is the directory of the built binaries: GARITA_BIN, or bin/ at the top of the source tree;
// "" when there is none.
func Bin() string {
	if dir := os.Getenv("GARITA_BIN"); dir != "" {
		return dir
	}
	_, file, _, ok := runtime.Caller(0)
	if !ok {
		return ""
	}
	dir := filepath.Join(filepath.Dir(file), "..", "..", "bin")
	if _, err := os.Stat(filepath.Join(dir, "garita-engine")); err != nil {
		return ""
	}
	return dir
}

// Kit is the folder of the visitors' kit (see package visitors): $GARITA_KIT, or where `./task visitors`
// puts it; the test is skipped without it, or fails where GARITA_REQUIRE names "visitors".
func Kit(t testing.TB) string {
	t.Helper()
	dir := os.Getenv("GARITA_KIT")
	if dir == "" {
		dir = filepath.Join(Bin(), "..", "build", "cache", "visitors")
	}
	if !isFile(filepath.Join(dir, "bin", "visit")) {
		absent(t, "visitors", "no kit in "+dir+" (./task visitors)")
	}
	return realPath(t, dir)
}
