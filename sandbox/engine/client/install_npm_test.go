package client_test

import (
	"encoding/json"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/garita-dev/garita/sandbox"
	"github.com/garita-dev/garita/sandbox/engine/client"
	"github.com/garita-dev/garita/sandbox/sandboxtest"
)

// TestRealServersFromTheRealRegistry installs what people use from where they get it.
func TestRealServersFromTheRealRegistry(t *testing.T) {
	sandboxtest.Need(t, sandboxtest.RootlessContainerd)
	home, err := os.UserHomeDir()
	if err != nil {
		t.Fatal(err)
	}
	c, _, err := client.HostRegistries(home, os.LookupEnv)
	if err != nil {
		t.Fatal(err)
	}
	needRegistry(t, c)
	e := startEngine(t)
	in := newInstall(t, e, c)
	for _, name := range []string{"@modelcontextprotocol/server-filesystem", "@modelcontextprotocol/server-everything"} {
		ref := sandbox.PackageRef{Ecosystem: sandbox.NPM, Name: name}
		began := time.Now()
		p, err := in.Install(t.Context(), ref, nil, nil)
		if err != nil {
			t.Fatal(err)
		}
		first := time.Since(began)
		began = time.Now()
		again, err := in.Install(t.Context(), ref, &p, nil)
		if err != nil || again.Tree != p.Tree {
			t.Fatalf("again: %+v, %v", again, err)
		}
		t.Logf("%s@%s with %s: %v, again %v", name, p.Version, p.Runtime, first.Round(time.Millisecond), time.Since(began).Round(time.Microsecond))
		answer := initialize(t, e, p)
		if !strings.Contains(answer, `"serverInfo"`) || !json.Valid([]byte(answer)) {
			t.Errorf("%s answers %q", name, answer)
		}
	}
	if s, err := e.Sweep(t.Context()); err != nil || !s.Zero() {
		t.Errorf("left behind: %+v, %v", s, err)
	}
}

// needRegistry skips where the registry cannot be reached, unless GARITA_REQUIRE names npm-registry.
func needRegistry(t *testing.T, c client.RegistryConfig) {
	t.Helper()
	u, err := url.Parse(c.Default)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := (&http.Client{Timeout: 15 * time.Second}).Head(u.JoinPath("npm").String())
	switch {
	case err == nil:
		_ = resp.Body.Close()
	case slices.Contains(strings.Split(os.Getenv("GARITA_REQUIRE"), ","), "npm-registry"):
		t.Fatalf("npm-registry is required: %v", err)
	default:
		t.Skipf("needs npm-registry: %v", err)
	}
}

// initialize starts the package's server and says the protocol's first word to it.
func initialize(t *testing.T, e *client.Engine, p sandbox.Package) string {
	t.Helper()
	folder := t.TempDir()
	l := sandboxtest.Shell("")
	l.Package, l.Argv = &p, append(p.Entry, "stdio")
	if strings.HasSuffix(p.Name, "filesystem") {
		l.Argv = append(p.Entry, folder)
		l.Folders = []sandbox.Folder{{Host: folder, Mode: sandbox.ReadOnly}}
	}
	began := time.Now()
	i, pipes := sandboxtest.Start(t, e, l)
	answer := pipes.Line(t, `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"test","version":"0"}}}`)
	t.Logf("%s answered initialize after %v", p.Name, time.Since(began).Round(time.Millisecond))
	if err := i.Stop(t.Context(), 0); err != nil {
		t.Error(err)
	}
	return answer
}
