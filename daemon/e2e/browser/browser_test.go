package browser

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/goccy/go-yaml"

	"github.com/garita-dev/garita/sandbox/sandboxtest"
)

// patience bounds one step, for machines with much else to do; what passes does not wait.
const patience = 2 * time.Minute

// TestApproveInTheBrowser clicks Approve as a person does, and sees the waiting call return; sees
// that a browser without the link gets nothing, and a foreign page neither.
func TestApproveInTheBrowser(t *testing.T) {
	sandboxtest.Need(t, "rootless-containerd")
	need(t, "browser")
	g := newGarita(t)
	g.daemon()
	g.run("import", "--from", g.settings(), "--yes")

	call := g.start("call", "notes", "write_note", `{"text":"approved in a browser"}`)
	g.run("approvals", "list", "--wait", "90s", "--json")
	link := strings.TrimSpace(g.run("ui", "--print"))

	t.Run("a person approves", func(t *testing.T) {
		seen := g.drive("approve", link, nil)
		want := map[string]any{
			"waiting": true, "focus": "Deny", "armedAtOnce": false, "focusAfterTab": "Approve",
			"told": "you approved", "linkInAddress": false, "axe": []any{}, "console": []any{},
		}
		for name, w := range want {
			if got, w := fmt.Sprint(seen[name]), fmt.Sprint(w); got != w {
				t.Errorf("%s: got %s, want %s", name, got, w)
			}
		}
		if out := call.wait(); !strings.Contains(out, "written") {
			t.Errorf("the call returned %q, want what the tool wrote", out)
		}
		if _, err := os.Stat(filepath.Join(g.ws, "note.txt")); err == nil {
			t.Error("the write reached the host's folder, not the workspace")
		}
	})
	t.Run("every page is for everybody", func(t *testing.T) {
		seen := g.drive("pages", strings.TrimSpace(g.run("ui", "--print")), pages)
		if len(seen) != 2*len(pages) {
			t.Errorf("%d pages were seen, want %d in two themes", len(seen), len(pages))
		}
		for page, found := range seen {
			if fmt.Sprint(found) != "[]" {
				t.Errorf("%s: %v", page, found)
			}
		}
	})
	t.Run("another browser gets 401 everywhere", func(t *testing.T) {
		routes := apiRoutes(t)
		seen := g.drive("stranger", link, routes)
		for _, route := range routes {
			if got := fmt.Sprint(seen[route]); got != "401" {
				t.Errorf("%s: status %s, want 401", route, got)
			}
		}
		if seen["page"] != "This browser is not let in yet" {
			t.Errorf("the page says %v", seen["page"])
		}
	})
	t.Run("a used link opens nothing", func(t *testing.T) {
		seen := g.drive("again", link, nil)
		if seen["page"] != "This browser is not let in yet" {
			t.Errorf("the page says %v", seen["page"])
		}
	})
	t.Run("foreign hosts and origins are refused", func(t *testing.T) { foreign(t, link) })
}

// pages are the pages there are, and their parts.
var pages = []string{
	"/", "/calls", "/approvals", "/approvals?tab=permissions", "/servers?server=notes", "/servers?server=notes&tab=pins",
	"/workspaces", "/secrets", "/network", "/network?server=notes", "/policy", "/policy?tab=explain&server=notes&tool=write_note", "/policy?tab=replay", "/record", "/doctor",
}

func foreign(t *testing.T, link string) {
	u, err := url.Parse(link)
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct{ path, host, origin, site string }{
		"a foreign host for the page":      {"/", "evil.example", "", ""},
		"a foreign host for the API":       {"/api/v1/status", "evil.example:" + u.Port(), "", ""},
		"a foreign origin":                 {"/api/v1/status", u.Host, "http://evil.example", ""},
		"another port's origin":            {"/api/v1/status", u.Host, "http://127.0.0.1:1", ""},
		"a foreign origin for the events":  {"/api/v1/events", u.Host, "http://evil.example", ""},
		"a foreign origin for the claim":   {"/api/v1/browser-sessions/claim", u.Host, "http://evil.example", ""},
		"what another site makes it fetch": {"/api/v1/status", u.Host, "", "cross-site"},
		"what another port makes it fetch": {"/api/v1/status", u.Host, "", "same-site"},
	} {
		t.Run(name, func(t *testing.T) {
			r, err := http.NewRequestWithContext(t.Context(), "GET", "http://"+u.Host+c.path, nil)
			if err != nil {
				t.Fatal(err)
			}
			r.Host = c.host
			if c.origin != "" {
				r.Header.Set("Origin", c.origin)
			}
			if c.site != "" {
				r.Header.Set("Sec-Fetch-Site", c.site)
			}
			resp, err := http.DefaultClient.Do(r)
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = resp.Body.Close() }()
			if resp.StatusCode != http.StatusForbidden {
				t.Errorf("status %d, want 403", resp.StatusCode)
			}
		})
	}
}

// apiRoutes is every route of the API as "METHOD /path", from its own description.
func apiRoutes(t *testing.T) []string {
	text, err := os.ReadFile("../../httpapi/openapi.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var doc struct {
		Paths map[string]map[string]any `yaml:"paths"`
	}
	if err := yaml.Unmarshal(text, &doc); err != nil {
		t.Fatal(err)
	}
	var routes []string
	for path, methods := range doc.Paths {
		for method := range methods {
			path := strings.NewReplacer("{id}", "x", "{name}", "x", "{server}", "x").Replace(path)
			routes = append(routes, strings.ToUpper(method)+" "+path)
		}
	}
	if len(routes) < 15 {
		t.Fatalf("only %d routes: %q", len(routes), routes)
	}
	slices.Sort(routes)
	return routes
}

// need skips the test without a browser to drive, or fails it where GARITA_REQUIRE names it.
func need(t *testing.T, what string) {
	t.Helper()
	missing := ""
	if _, err := os.Stat("../../../frontend/node_modules/playwright-core"); err != nil {
		missing = "playwright-core is not installed in frontend/node_modules"
	}
	for _, program := range []string{"node", "chromium"} {
		if _, err := exec.LookPath(program); err != nil {
			missing = err.Error()
		}
	}
	if missing == "" {
		return
	}
	if slices.Contains(strings.Split(os.Getenv("GARITA_REQUIRE"), ","), what) {
		t.Fatalf("%s is required and missing: %s", what, missing)
	}
	t.Skipf("needs %s: %s", what, missing)
}

// garita is a Garita of this test's own.
type garita struct {
	t         *testing.T
	bin, home string
	ws        string
}

func newGarita(t *testing.T) *garita {
	bin, err := filepath.Abs(sandboxtest.Bin())
	if err != nil {
		t.Fatal(err)
	}
	return &garita{t: t, bin: bin, home: t.TempDir(), ws: t.TempDir()}
}

// settings is a client's settings file with one small server of the transcripts' in it.
func (g *garita) settings() string {
	server, err := os.ReadFile("../testdata/shared/notes.mjs")
	if err != nil {
		g.t.Fatal(err)
	}
	script := filepath.Join(g.ws, "notes.mjs")
	g.write(script, server)
	path := filepath.Join(g.home, "client.json")
	g.write(path, fmt.Appendf(nil, `{"mcpServers":{"notes":{"command":"node","args":[%q,%q]}}}`, script, g.ws))
	return path
}

func (g *garita) write(path string, text []byte) {
	if err := os.WriteFile(path, text, 0o600); err != nil {
		g.t.Fatal(err)
	}
}

func (g *garita) command(ctx context.Context, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, filepath.Join(g.bin, "garita"), args...)
	cmd.Env = append(os.Environ(), "GARITA_HOME="+g.home, "PATH="+g.bin+":"+os.Getenv("PATH"), "DBUS_SESSION_BUS_ADDRESS=unix:path="+g.home+"/none")
	return cmd
}

// daemon runs the daemon until the test ends.
func (g *garita) daemon() {
	cmd := g.command(context.Background(), "daemon")
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Start(); err != nil {
		g.t.Fatal(err)
	}
	g.t.Cleanup(func() {
		_ = cmd.Process.Signal(syscall.SIGTERM)
		_ = cmd.Wait() // a daemon that was asked to end may say so by its status
		if g.t.Failed() {
			g.t.Logf("the daemon said:\n%s", out.String())
		}
	})
}

// run runs one command of garita's and returns what it printed.
func (g *garita) run(args ...string) string {
	g.t.Helper()
	ctx, cancel := context.WithTimeout(g.t.Context(), patience)
	defer cancel()
	out, err := g.command(ctx, args...).Output()
	if err != nil {
		g.t.Fatalf("garita %s: %v\n%s%s", strings.Join(args, " "), err, out, stderrOf(err))
	}
	return string(out)
}

// waiting is a command that has not returned yet.
type waiting struct {
	g    *garita
	cmd  *exec.Cmd
	out  bytes.Buffer
	done chan error
}

func (g *garita) start(args ...string) *waiting {
	w := &waiting{g: g, cmd: g.command(g.t.Context(), args...), done: make(chan error, 1)}
	w.cmd.Stdout, w.cmd.Stderr = &w.out, &w.out
	if err := w.cmd.Start(); err != nil {
		g.t.Fatal(err)
	}
	go func() { w.done <- w.cmd.Wait() }()
	return w
}

// wait returns what the command printed once it has returned; it must succeed.
func (w *waiting) wait() string {
	w.g.t.Helper()
	select {
	case err := <-w.done:
		if err != nil {
			w.g.t.Errorf("%s: %v\n%s", w.cmd, err, w.out.String())
		}
		return w.out.String()
	case <-time.After(patience):
		w.g.t.Fatalf("%s did not return", w.cmd)
		return ""
	}
}

// drive has the browser play one act of drive.mjs, and returns what was seen in it.
func (g *garita) drive(act, link string, routes []string) map[string]any {
	g.t.Helper()
	asked, err := json.Marshal(map[string]any{"act": act, "link": link, "routes": routes})
	if err != nil {
		g.t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(g.t.Context(), patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, "node", "drive.mjs")
	cmd.Stdin = bytes.NewReader(asked)
	out, err := cmd.Output()
	if err != nil {
		g.t.Fatalf("%s: %v\n%s%s", act, err, out, stderrOf(err))
	}
	var seen map[string]any
	if err := json.NewDecoder(io.LimitReader(bytes.NewReader(out), 1<<20)).Decode(&seen); err != nil {
		g.t.Fatalf("%s: %v\n%s", act, err, out)
	}
	return seen
}

func stderrOf(err error) string {
	if exit, ok := err.(*exec.ExitError); ok { //nolint:errorlint // as Output returns it
		return string(exit.Stderr)
	}
	return ""
}
