package client_test

import (
	"encoding/base64"
	"os"
	"path/filepath"
	"testing"

	"github.com/garita-dev/garita/sandbox/engine/client"
)

func TestNetrcIsForItsMachineAlone(t *testing.T) {
	none := func(string) (string, bool) { return "", false }
	for name, tt := range map[string]struct{ text, address, want string }{
		"a machine":          {"machine git.example\nlogin me\npassword word\n", "https://git.example/a/b", "me:word"},
		"in one line":        {"machine x login a password b machine git.example login me password word", "https://git.example/a", "me:word"},
		"a token alone":      {"machine git.example password word", "https://git.example/a", ":word"},
		"with a port":        {"machine git.example login me password word", "https://git.example:8443/a", "me:word"},
		"another machine":    {"machine evil.example login me password word", "https://git.example/a", ""},
		"a longer name":      {"machine git.example login me password word", "https://git.example.evil/a", ""},
		"for anybody":        {"default login me password word", "https://git.example/a", ""},
		"a comment":          {"# machine git.example login x password y\nmachine git.example login me password word", "https://git.example/a", "me:word"},
		"a macro":            {"macdef init\nmachine git.example login x password y\n\nmachine git.example login me password word", "https://git.example/a", "me:word"},
		"no password":        {"machine git.example login me", "https://git.example/a", ""},
		"then for anybody":   {"machine git.example login me default password word", "https://git.example/a", ""},
		"a keyword as value": {"machine git.example login machine password default", "https://git.example/a", "machine:default"},
	} {
		home := t.TempDir()
		if err := os.WriteFile(filepath.Join(home, ".netrc"), []byte(tt.text), 0o600); err != nil {
			t.Fatal(err)
		}
		c, err := client.HostRepository(home, none, tt.address)
		got := ""
		if err == nil && len(c.Auth) == 1 {
			got = c.Auth[0].Header.Send()
		}
		want := ""
		if tt.want != "" {
			want = "Basic " + base64.StdEncoding.EncodeToString([]byte(tt.want))
		}
		if got != want || err != nil {
			t.Errorf("%s: %q, want %q (%v)", name, got, want, err)
		}
		if tt.want != "" {
			index, _, err := client.HostIndex(home, func(name string) (string, bool) { return tt.address, name == "UV_DEFAULT_INDEX" })
			if err != nil || len(index.Auth) != 1 || index.Auth[0].Header.Send() != want {
				t.Errorf("%s, for an index: %+v, %v", name, index.Auth, err)
			}
		}
	}
	if c, err := client.HostRepository("/nonexistent", none, "https://git.example/a"); err != nil || len(c.Auth) != 0 {
		t.Errorf("without a file: %+v, %v", c.Auth, err)
	}
}
