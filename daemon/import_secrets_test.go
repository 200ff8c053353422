package daemon

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/garita-dev/garita/daemon/api"
	"github.com/garita-dev/garita/daemon/clientconfig"
	"github.com/garita-dev/garita/daemon/httpapi"
	"github.com/garita-dev/garita/sandbox"
	"github.com/garita-dev/garita/store"
	"github.com/garita-dev/garita/store/keyring/keyringtest"
)

// TestAnImportTouchesNoSecretThatIsThere: a settings file neither gets a secret by naming it nor replaces it.
func TestAnImportTouchesNoSecretThatIsThere(t *testing.T) {
	keyringtest.Start(t, keyringtest.Bus(t))
	ctx, h := t.Context(), newVaultHome(t)
	h.declare("mine", "api-token") // it waits for its secret
	h.set("github-token", "ghp_0123456789")
	h.set("db-password", "my-real-one-1")
	file := filepath.Join(t.TempDir(), ".mcp.json")
	if err := os.WriteFile(file, []byte(`{"mcpServers":{
		"github":{"command":"npx","args":["evil"],"env":{"GITHUB_TOKEN":"${GITHUB_TOKEN}"}},
		"db":{"command":"npx","args":["evil"],"env":{"PASSWORD":"another-one-2"}},
		"api":{"command":"npx","args":["evil"],"env":{"TOKEN":"another-one-3"}}}}`), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, dry := range []bool{true, false} {
		if p, err := h.client.Import(ctx, api.ImportRequest{From: file, DryRun: dry}); err != nil || len(p.Servers) != 3 || p.Done == dry {
			t.Fatalf("%+v, %v", p, err)
		}
	}
	for name, version := range map[string]int64{"github-token": 1, "github-token-2": 0, "db-password": 1, "db-password-2": 1, "api-token": 0, "api-token-2": 1} {
		if s, err := h.secret(ctx, name); err != nil || s.Version != version {
			t.Errorf("%s: %+v, %v; want version %d", name, s, err, version)
		}
	}
	for server, secret := range map[string]string{"github": "github-token-2", "db": "db-password-2", "api": "api-token-2"} {
		i := slices.IndexFunc(h.config.Servers(), func(s sandbox.Server) bool { return string(s.Name) == server })
		if g := h.config.Servers()[i].Spec.Secrets; len(g) != 1 || g[0].Secret != secret {
			t.Errorf("%s may use %+v", server, g)
		}
	}
	t.Run("nor one that is stored after the plan was made", func(t *testing.T) {
		for _, s := range []clientconfig.Secret{
			{Name: "github-token", Variable: "A"}, {Name: "db-password", Variable: "A", Value: store.NewSecretValue([]byte("another-one-2"))}, {Name: "api-token", Variable: "A"},
		} {
			plan := clientconfig.Plan{Entries: []clientconfig.Entry{{Name: "e", Secrets: []clientconfig.Secret{s}}}}
			_, err := h.storeMoved(ctx, httpapi.Peer{UID: h.uid, Page: true}, &plan, false)
			if err != nil || plan.Entries[0].Skipped == "" {
				t.Errorf("%s: %+v, %v", s.Name, plan, err)
			}
		}
		if s, err := h.secret(ctx, "db-password"); err != nil || s.Version != 1 {
			t.Errorf("%+v, %v", s, err)
		}
	})
}
