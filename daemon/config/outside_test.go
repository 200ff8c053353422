package config

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestHowTheWorldIsReached(t *testing.T) {
	env := map[string]string{"https_proxy": "http://u:p@env.example:3128", "NO_PROXY": "a.example"}
	lookup := func(name string) (string, bool) { v, ok := env[name]; return v, ok }
	for name, c := range map[string]struct{ said, want Outside }{
		"what the environment says": {Outside{}, Outside{Proxy: "http://u:p@env.example:3128", NoProxy: "a.example"}},
		"what config.yaml says":     {Outside{Proxy: "https://own.example", NoProxy: "b"}, Outside{Proxy: "https://own.example", NoProxy: "b"}},
		"none, whatever is said":    {Outside{Proxy: "none"}, Outside{NoProxy: "a.example"}},
	} {
		if got := c.said.Effective(lookup); got != c.want {
			t.Errorf("%s: %+v", name, got)
		}
	}
	env["https_proxy"] = "socks5://x"
	if got := (Outside{}).Effective(lookup); got.Proxy != "" {
		t.Errorf("a proxy of a kind that is not known: %q", got.Proxy)
	}
	file := filepath.Join(t.TempDir(), "ca.pem")
	if err := os.WriteFile(file, []byte("no certificate"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, bad := range []string{"proxy: 'socks5://x'", "proxy: 'http://u:s3cret@'", "ca: relative.pem", "ca: /nowhere/ca.pem", "ca: " + file} {
		if _, err := ParseSettings("f", []byte("network: {"+bad+"}\n"), false); err == nil || strings.Contains(err.Error(), "s3cret") {
			t.Errorf("%s: %v", bad, err)
		}
	}
}
