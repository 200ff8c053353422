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
	env["https_proxy"] = "socks5h://u:p@x:1080"
	if got := (Outside{}).Effective(lookup); got.Proxy != env["https_proxy"] || (Outside{}).Unread(lookup) != "" {
		t.Errorf("a SOCKS proxy: %q", got.Proxy)
	}
	env["https_proxy"] = "gopher://u:s3cret@x"
	if got := (Outside{}).Effective(lookup); got.Proxy != "" {
		t.Errorf("a proxy of a kind that is not known: %q", got.Proxy)
	}
	for name, c := range map[string]struct {
		env  map[string]string
		said Outside
		want string
	}{
		"nothing":                       {nil, Outside{}, ""},
		"another kind":                  {map[string]string{"ALL_PROXY": "gopher://u:s3cret@x"}, Outside{}, "ALL_PROXY"},
		"a program in place of a proxy": {map[string]string{"HTTPS_PROXY": "http://u:s3cret@wpad.corp.example/proxy.pac"}, Outside{}, "PAC"},
		"a program of its own":          {map[string]string{"auto_proxy": "http://u:s3cret@corp.example/x"}, Outside{}, "PAC"},
		"beside a proxy":                {map[string]string{"auto_proxy": "http://corp.example/x", "HTTPS_PROXY": "http://p.example:3128"}, Outside{}, ""},
		"said in config.yaml":           {map[string]string{"auto_proxy": "http://corp.example/x"}, Outside{Proxy: "none"}, ""},
	} {
		got := c.said.Unread(func(name string) (string, bool) { v, ok := c.env[name]; return v, ok })
		if (got == "") != (c.want == "") || !strings.Contains(got, c.want) || strings.Contains(got, "s3cret") {
			t.Errorf("%s: %q", name, got)
		}
	}
	file := filepath.Join(t.TempDir(), "ca.pem")
	if err := os.WriteFile(file, []byte("no certificate"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, bad := range []string{"proxy: 'gopher://x'", "proxy: 'http://u:s3cret@wpad.corp.example/proxy.pac'", "proxy: 'pac+http://u:s3cret@x/'", "proxy: 'http://u:s3cret@'", "ca: relative.pem", "ca: /nowhere/ca.pem", "ca: " + file} {
		if _, err := ParseSettings("f", []byte("network: {"+bad+"}\n"), false); err == nil || strings.Contains(err.Error(), "s3cret") {
			t.Errorf("%s: %v", bad, err)
		}
	}
}
