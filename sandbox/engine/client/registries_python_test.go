package client

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/containerd/errdefs"
)

func TestWhichIndexIsUsed(t *testing.T) {
	globalUV, globalPip = "/nonexistent/uv.toml", "/nonexistent/pip.conf"
	for name, tt := range map[string]struct {
		env, uv, pip string
		want         string // "" is refused
		auth         string
	}{
		"nothing":                  {"", "", "", "https://pypi.org/simple", ""},
		"uv's variable":            {"UV_DEFAULT_INDEX=https://a.example/simple/", "index-url='https://b.example'", "", "https://a.example/simple", ""},
		"uv.toml":                  {"PIP_INDEX_URL=https://c.example", "index-url='https://b.example/simple'", "", "https://b.example/simple", ""},
		"uv.toml's table":          {"", "[[index]]\nurl='https://b.example/simple'\ndefault=true\n[[index]]\nname='torch'\nurl='https://t.example'\nexplicit=true", "", "https://b.example/simple", ""},
		"pip's variable":           {"PIP_INDEX_URL=https://c.example/x", "", "[global]\nindex-url = https://d.example", "https://c.example/x", ""},
		"pip.conf":                 {"", "", "# a word\n[install]\nindex_url: https://d.example/simple\n[list]\nindex-url=https://e.example", "https://d.example/simple", ""},
		"a password":               {"PIP_INDEX_URL=https://ana:s3cret@c.example/x", "", "", "https://c.example/x", "c.example Basic YW5hOnMzY3JldA=="},
		"a second one, pip":        {"", "", "[global]\nextra-index-url =\n   https://private.example/simple", "", ""},
		"a second one, uv":         {"", "[[index]]\nurl='https://private.example'", "", "", ""},
		"a second one, variable":   {"UV_EXTRA_INDEX_URL=https://private.example", "", "", "", ""},
		"a folder of files":        {"PIP_FIND_LINKS=/srv/wheels", "", "", "", ""},
		"pip's second, uv decides": {"UV_INDEX_URL=https://a.example", "", "[global]\nextra-index-url=https://www.piwheels.org/simple", "https://a.example", ""},
		"no URL":                   {"PIP_INDEX_URL=nonsense", "", "", "", ""},
		"uv.toml that is none":     {"", "index-url='https://ana:s3cret@", "", "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			home := t.TempDir()
			write(t, filepath.Join(home, ".config/uv/uv.toml"), tt.uv)
			write(t, filepath.Join(home, ".config/pip/pip.conf"), tt.pip)
			c, _, err := HostIndex(home, func(name string) (string, bool) {
				key, value, _ := strings.Cut(tt.env, "=")
				return value, key == name
			})
			if tt.want == "" {
				if !errdefs.IsFailedPrecondition(err) && !errdefs.IsInvalidArgument(err) || strings.Contains(err.Error(), "s3cret") {
					t.Errorf("got %s, %v", c.Default, err)
				}
				return
			}
			auth := ""
			for _, a := range c.Auth {
				auth += a.Host + " " + a.Header.Send()
			}
			if err != nil || c.Default != tt.want || auth != tt.auth {
				t.Errorf("got %s with %q, %v", c.Default, auth, err)
			}
		})
	}
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if text == "" {
		return
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func FuzzPythonSettings(f *testing.F) {
	f.Add("[global]\nindex-url = https://a.example\n", "index-url='x'")
	f.Fuzz(func(t *testing.T, pip, uv string) {
		s := &pythonSettings{lookup: func(string) (string, bool) { return "", false }}
		_ = s.pipText("pip.conf", pip)
		_ = s.uvText("uv.toml", []byte(uv))
		if address, _, err := splitIndex(s.index); err == nil && strings.Contains(address, "@") && strings.Contains(strings.SplitN(address, "/", 4)[2], "@") {
			t.Errorf("a password stays in %q", address)
		}
	})
}
