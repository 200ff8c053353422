package browser

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/garita-dev/garita/sandbox/sandboxtest"
)

// lure is a host that carries data out and ends as a host one knows would not.
var lure = strings.Repeat("a", 60) + "." + strings.Repeat("b", 60) + ".api.github.com.evil.example"

// TestReachInTheBrowser allows a host that a server was refused, by one click and one question, and has
// the page show a name that was made to deceive whole where it counts.
func TestReachInTheBrowser(t *testing.T) {
	sandboxtest.Need(t, "rootless-containerd")
	need(t, "browser")
	g := newGarita(t)
	g.declare(t, "quiet", "blocked.example.com", lure)
	g.daemon()
	// What it answers is withheld, for it tried what it may not; the page is told of each try as it happens.
	call := g.start("call", "quiet", "get_status", "{}")
	seen := g.drive("reach", strings.TrimSpace(g.run("ui", "--print")), []string{"quiet", "blocked.example.com", lure})
	want := map[string]any{
		"focus": "Keep blocked", "armedAtOnce": false, "rule": "blocked.example.com:443",
		"said": "blocked.example.com:443 is allowed from now on.", "listed": true,
		"lureShortened": true, "lureWhole": true, "axe": []any{}, "console": []any{},
	}
	for name, w := range want {
		if got, w := fmt.Sprint(seen[name]), fmt.Sprint(w); got != w {
			t.Errorf("%s: got %s, want %s", name, got, w)
		}
	}
	<-call.done
	if out := g.run("network", "list", "quiet"); !strings.Contains(out, "may reach: allowed.example.com:443, blocked.example.com:443") {
		t.Errorf("the daemon says:\n%s", out)
	}
}

// secretValue looks like a token, and is none.
const secretValue = "ghp_0123456789abcdefghijklmnopqrstuvwxyz"

// TestSecretsInTheBrowser makes the file with the key, stores a secret, and revokes it from a server. The
// value is nowhere: not on the page, nor in what a browser keeps, nor in any file of the daemon's.
func TestSecretsInTheBrowser(t *testing.T) {
	sandboxtest.Need(t, "rootless-containerd")
	need(t, "browser")
	g := newGarita(t)
	g.declare(t, "quiet")
	g.daemon()
	g.run("status")
	seen := g.drive("secrets", strings.TrimSpace(g.run("ui", "--print")), []string{"quiet", secretValue})
	want := map[string]any{
		"kept": "Values are sealed with a key in a file that your passphrase encrypts.",
		"said": "deploy-token is stored. What ran with an older value is stale.",
		"cell": "put in on the way", "revoked": "deploy-token is revoked from quiet.", "left": "No server. Nobody can use it until you grant it.",
		"found": []any{}, "axe": []any{}, "console": []any{},
	}
	for name, w := range want {
		if got, w := fmt.Sprint(seen[name]), fmt.Sprint(w); got != w {
			t.Errorf("%s: got %s, want %s", name, got, w)
		}
	}
	if out := g.run("secret", "list"); !strings.Contains(out, "deploy-token") || strings.Contains(out, secretValue) {
		t.Errorf("the daemon says:\n%s", out)
	}
	for _, path := range filesWith(t, g.home, secretValue) {
		t.Errorf("%s holds the value", path)
	}
}

// declare has servers.yaml name one server that tries these hosts, and asks about none.
func (g *garita) declare(t *testing.T, name string, hosts ...string) {
	script, err := os.ReadFile("testdata/reach.mjs")
	if err != nil {
		t.Fatal(err)
	}
	g.write(filepath.Join(g.ws, "reach.mjs"), script)
	dir := filepath.Join(g.home, "config")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	g.write(filepath.Join(dir, "servers.yaml"), fmt.Appendf(nil, `version: 1
servers:
  %s:
    command: [node, %s/reach.mjs, %s]
    workspace: none
    mounts: [{host: %s}]
    network: {allow: ["allowed.example.com"], ask: false}
`, name, g.ws, strings.Join(append(hosts, "allowed.example.com"), ", "), g.ws))
}

// filesWith are the files below dir that hold the text.
func filesWith(t *testing.T, dir, text string) (found []string) {
	err := filepath.WalkDir(dir, func(path string, entry os.DirEntry, err error) error {
		if err != nil || !entry.Type().IsRegular() {
			return nil //nolint:nilerr // what is gone meanwhile holds nothing
		}
		if bytes, err := os.ReadFile(path); err == nil && strings.Contains(string(bytes), text) {
			found = append(found, path)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}
