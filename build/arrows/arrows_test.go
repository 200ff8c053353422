// Package arrows_test holds the import rules of this repository:
//
//	main → app → daemon → store → approvals → sandbox        (frontend, assets: leaves)
//
// A folder may import the folders after it, never one before it; docs/architecture.md tells the
// finer rules. The imports are parsed here rather than asked of `go list`, so that the test's
// cached result falls with the files it has read.
package arrows_test

import (
	"bytes"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

const (
	root   = "../.."
	module = "github.com/garita-dev/garita"
)

// stair is the order of the folders, highest first. The names below a folder are its machinery.
var stair = []string{"main", "app", "daemon", "store", "approvals", "sandbox"}

// heavy is what only the engine or the window may link.
var heavy = []string{"github.com/containerd/containerd/", "gvisor.dev/gvisor/", "github.com/wailsapp/", "github.com/gotk3/"}

// pkg is one folder's Go files. Imports of its tests are kept apart.
type pkg struct {
	dir       string // below the module, "main" for the module's root
	imports   []string
	inTests   []string
	commented bool
}

func TestArrows(t *testing.T) {
	for _, p := range packages(t) {
		for _, to := range p.imports {
			if why := refused(p.dir, to); why != "" {
				t.Errorf("%s imports %s: %s", p.dir, to, why)
			}
		}
		for _, to := range p.inTests {
			in, ours := inside(to)
			if !ours || in == p.dir || strings.HasSuffix(to, "test") || p.dir == "daemon/e2e" {
				continue // fakes and suites are for everybody's tests; transcripts may look anywhere
			}
			if why := refused(p.dir, to); why != "" {
				t.Errorf("a test in %s imports %s: %s", p.dir, to, why)
			}
		}
	}
}

func TestEveryPackageSaysWhatItIs(t *testing.T) {
	for _, p := range packages(t) {
		if !p.commented {
			t.Errorf("%s has no package comment", p.dir)
		}
	}
}

func TestTheDaemonAndTheCommandLineLinkNothingHeavy(t *testing.T) {
	all := packages(t)
	seen := map[string]bool{}
	var visit func(dir string, by []string)
	visit = func(dir string, by []string) {
		i := slices.IndexFunc(all, func(p pkg) bool { return p.dir == dir })
		if i < 0 || seen[dir] {
			return
		}
		seen[dir] = true
		by = append(slices.Clone(by), dir)
		for _, to := range all[i].imports {
			for _, h := range heavy {
				if strings.HasPrefix(to, h) {
					t.Errorf("garita would link %s: %s", to, strings.Join(by, " → "))
				}
			}
			if in, ok := inside(to); ok {
				visit(in, by)
			}
		}
	}
	visit("app/cmd/garita", nil)
	if !seen["daemon"] || !seen["daemon/api"] {
		t.Errorf("the walk from app/cmd/garita saw %d packages and not the daemon: it proves nothing", len(seen))
	}
}

// What is built into the thin garita links nothing of the daemon's (docs/adr/0008-a-thin-command.md).
func TestTheThinCommandLinksNoDaemon(t *testing.T) {
	files, err := filepath.Glob(filepath.Join(root, "app/cmd/garita/*.go"))
	if err != nil || len(files) < 20 {
		t.Fatalf("%d files, %v", len(files), err)
	}
	whole := 0
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		switch links := bytes.Contains(text, []byte(`"`+module+`/daemon"`)); {
		case bytes.HasPrefix(text, []byte("//go:build !thin\n")):
			whole++
		case links:
			t.Errorf("%s imports the daemon and is part of the thin command", file)
		}
	}
	if whole == 0 {
		t.Error("no file is for the whole program alone: this proves nothing")
	}
}

func TestWailsIsTheVersionThatWasTried(t *testing.T) {
	// Tidying go.mod before any code imports Wails silently pins v2.9.2.
	text, err := os.ReadFile(filepath.Join(root, "go.mod"))
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(text), "github.com/wailsapp/wails/v2 v2.16.0") {
		t.Error("go.mod does not require github.com/wailsapp/wails/v2 v2.16.0")
	}
}

func TestRefused(t *testing.T) {
	for _, test := range []struct {
		dir, to string
		allowed bool
	}{
		{"sandbox", "context", true},
		{"sandbox", "github.com/containerd/errdefs", true},
		{"sandbox", "golang.org/x/sys/unix", false},
		{"approvals", module + "/sandbox", true},
		{"approvals", module + "/approvals/gate", false},
		{"sandbox", module + "/approvals", false},
		{"approvals/gate", module + "/sandbox", true},
		{"approvals/gate", module + "/approvals/classify", true},
		{"approvals/gate", module + "/store", false},
		{"store/sqlite", module + "/sandbox/engine", false},
		{"daemon/gateway", module + "/store", true},
		{"daemon/gateway", module + "/store/sqlite", false},
		{"daemon/httpapi", module + "/frontend", true},
		{"daemon/httpapi", module + "/daemon", false},
		{"daemon/api", module + "/sandbox", false},
		{"daemon", module + "/sandbox/engine/client", true},
		{"daemon", module + "/app/launch", false},
		{"app", module + "/daemon/api", true},
		{"app", module + "/daemon", false},
		{"app/cmd/garita", module + "/daemon", true},
		{"app/cmd/garita", module + "/daemon/httpapi", false},
		{"main", module + "/app", true},
		{"main", module + "/sandbox", false},
		{"frontend", module + "/daemon/api", false},
		{"build/demo", module + "/build/wire", true},
		{"build/demo", module + "/sandbox", false},
	} {
		if why := refused(test.dir, test.to); (why == "") != test.allowed {
			t.Errorf("%s importing %s: %q", test.dir, test.to, why)
		}
	}
}

// refused says why the package in dir may not import to; "" when it may.
func refused(dir, to string) string {
	target, ours := inside(to)
	own := top(dir)
	switch {
	case slices.Contains([]string{"store", "approvals", "sandbox"}, dir):
		if !ours && strings.Contains(to, ".") && to != "github.com/containerd/errdefs" {
			return "a vocabulary uses the standard library and errdefs only"
		}
		if ours && (target != top(target) || rank(target) <= rank(dir)) {
			return "a vocabulary imports vocabularies below it only"
		}
	case !ours, leaf(target) && !leaf(own):
	case leaf(own), dir == "daemon/api":
		return "it imports nothing of ours"
	case own == "build", own == "main", own == "app":
		return refusedAbove(dir, target)
	case rank(top(target)) < rank(own):
		return "the arrow points up"
	case dir == "daemon", own == top(target) && target != own, target == top(target):
		if target == "daemon" {
			return "only the binary joins the daemon"
		}
	default:
		return "machinery does not see another folder's machinery; only the daemon's root joins it"
	}
	return ""
}

// refusedAbove is for what stands above the daemon.
func refusedAbove(dir, target string) string {
	switch {
	case target == "daemon/api", top(target) == "app" && top(dir) == "app", dir == "main" && target == "app":
		return ""
	case target == "daemon" && dir == "app/cmd/garita":
		return ""
	case top(dir) == "build" && (target == dir || strings.HasPrefix(target, "build/") || target == "sandbox/sandboxtest/visitors"):
		return "" // tests and the benchmark use the same clients
	}
	return "what stands above the daemon sees daemon/api only"
}

func leaf(dir string) bool { return top(dir) == "frontend" || top(dir) == "assets" }

func top(dir string) string { return strings.SplitN(dir, "/", 2)[0] }

// rank is a folder's place on the stair, lower is higher up.
func rank(dir string) int {
	if i := slices.Index(stair, dir); i >= 0 {
		return i
	}
	return len(stair)
}

// inside turns the import path of a package of ours into its folder.
func inside(importPath string) (string, bool) {
	if importPath == module {
		return "main", true
	}
	return strings.CutPrefix(importPath, module+"/")
}

// packages parses every Go file of the module, whatever its build constraints say.
func packages(t *testing.T) []pkg {
	t.Helper()
	found := map[string]*pkg{}
	err := filepath.WalkDir(root, func(file string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			if file != root && passOver(file, d.Name()) {
				return filepath.SkipDir
			}
			return nil
		}
		if strings.HasSuffix(file, ".go") {
			return parse(found, file)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(found) < 10 {
		t.Fatalf("found %d packages: the walk is wrong", len(found))
	}
	var all []pkg
	for _, p := range found {
		all = append(all, *p)
	}
	slices.SortFunc(all, func(a, b pkg) int { return strings.Compare(a.dir, b.dir) })
	return all
}

// passOver tells folders without packages of this module.
func passOver(file, name string) bool {
	if strings.HasPrefix(name, ".") || name == "node_modules" || name == "testdata" {
		return true
	}
	_, err := os.Stat(filepath.Join(file, "go.mod"))
	return err == nil
}

func parse(found map[string]*pkg, file string) error {
	f, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.ImportsOnly|parser.ParseComments)
	if err != nil {
		return err
	}
	rel, err := filepath.Rel(root, filepath.Dir(file))
	if err != nil {
		return err
	}
	dir := filepath.ToSlash(rel)
	if dir == "." {
		dir = "main"
	}
	p := found[dir]
	if p == nil {
		p = &pkg{dir: dir}
		found[dir] = p
	}
	p.commented = p.commented || documented(f)
	for _, spec := range f.Imports {
		to, err := strconv.Unquote(spec.Path.Value)
		if err != nil {
			return err
		}
		if strings.HasSuffix(path.Base(file), "_test.go") {
			p.inTests = append(p.inTests, to)
		} else {
			p.imports = append(p.imports, to)
		}
	}
	return nil
}

func documented(f *ast.File) bool {
	if f.Name.Name == "main" {
		return f.Doc.Text() != ""
	}
	return strings.HasPrefix(f.Doc.Text(), "Package "+f.Name.Name)
}
