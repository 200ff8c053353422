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

// TestAnEntryIsImportedWholeOrNotAtAll: where its second secret cannot be kept, the first is not either.
func TestAnEntryIsImportedWholeOrNotAtAll(t *testing.T) {
	keyringtest.Start(t, keyringtest.Bus(t))
	ctx, h := t.Context(), newVaultHome(t)
	secret := func(name, value string) clientconfig.Secret {
		return clientconfig.Secret{Name: name, Variable: "V", Value: store.NewSecretValue([]byte(value))}
	}
	plan := clientconfig.Plan{Entries: []clientconfig.Entry{
		{Name: "good", Secrets: []clientconfig.Secret{secret("one", "value-0001")}},
		{Name: "bad", Secrets: []clientconfig.Secret{secret("two", "value-0002"), secret("three", "x")}},
	}}
	stored, err := h.storeMoved(ctx, httpapi.Peer{UID: h.uid, Page: true}, &plan, false)
	if err != nil || !slices.Equal(stored, []string{"one"}) || plan.Entries[0].Skipped != "" || plan.Entries[1].Skipped == "" {
		t.Fatalf("%q, %v, %+v", stored, err, plan)
	}
	for name, version := range map[string]int64{"one": 1, "two": 0, "three": 0} {
		if s, err := h.secret(ctx, name); err != nil || s.Version != version {
			t.Errorf("%s: %+v, %v", name, s, err)
		}
	}
	h.unstore(ctx, httpapi.Peer{UID: h.uid, Page: true}, stored)
	if s, err := h.secret(ctx, "one"); err != nil || !s.Missing {
		t.Errorf("%+v, %v", s, err)
	}
}

// TestAnAddressIsImportedWithItsToken replays what VS Code's and others' settings have.
func TestAnAddressIsImportedWithItsToken(t *testing.T) {
	keyringtest.Start(t, keyringtest.Bus(t))
	ctx, h := t.Context(), newVaultHome(t)
	file := filepath.Join(t.TempDir(), ".mcp.json")
	if err := os.WriteFile(file, []byte(`{"mcpServers":{"hub":{"type":"http","url":"https://api.example.com/mcp","headers":{"Authorization":"Bearer ghp_0123456789abcdefghij","X-Team":"7"}}}}`), 0o600); err != nil {
		t.Fatal(err)
	}
	if p, err := h.client.Import(ctx, api.ImportRequest{From: file}); err != nil || len(p.Servers) != 1 || p.Servers[0].Skipped != "" {
		t.Fatalf("%+v, %v", p, err)
	}
	s, ok := h.config.Server("hub")
	if !ok || len(s.Spec.Secrets) != 1 || s.Spec.Secrets[0].Mode != sandbox.SecretSent || s.Source.Headers["X-Team"] != "7" {
		t.Errorf("%+v", s)
	}
	if kept, err := h.secret(ctx, "hub-token"); err != nil || kept.Version != 1 {
		t.Errorf("%+v, %v", kept, err)
	}
}
