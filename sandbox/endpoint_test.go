package sandbox

import "testing"

func TestParseEndpoint(t *testing.T) {
	for text, want := range map[string]string{
		"api.github.com":        "api.github.com:443",
		"API.GitHub.com:8443":   "api.github.com:8443",
		"api.github.com.":       "api.github.com:443",
		"*.example.com":         "*.example.com:443",
		"db.example.com:5432":   "db.example.com:5432",
		"192.168.1.20:8080":     "192.168.1.20:8080",
		"[2001:db8::1]:22":      "[2001:db8::1]:22",
		"[2001:DB8:0::1]":       "[2001:db8::1]:443",
		"xn--bcher-kva.example": "xn--bcher-kva.example:443",
		"_acme.example.com":     "_acme.example.com:443",
		"nas:443":               "nas:443",
	} {
		if got, err := ParseEndpoint(text); err != nil || got.String() != want {
			t.Errorf("%q: got %v, %v; want %s", text, got, err, want)
		}
	}
	for _, text := range []string{
		"", "*", "*.com", "*.", "*.*.example.com", "foo.*.example", "a*.example.com", "https://x.example/", "x.example/path",
		" x.example", "x.example ", "x.example:", "x.example:0", "x.example:65536", "x.example:-1", "x.example:+1", "x.example:080",
		"x.example:443:443", "x..example", ".x.example", "x.example..", "-x.example", "x-.example", "user@x.example",
		"127.1", "0x7f.1", "2130706433", "0x7f000001", "1.2.3.4.5", "256.1.1.1", "[127.0.0.1]:80", "[::1", "::1", "[::1]x",
		"[fe80::1%eth0]:80", "[::ffff:127.0.0.1]:80", "x.example\x00", "bücher.example", "x.exa mple", "x.example?y", "x.example#y",
	} {
		if got, err := ParseEndpoint(text); err == nil {
			t.Errorf("%q is read as %v", text, got)
		}
	}
}

func TestTheZeroAllowlistPermitsNothing(t *testing.T) {
	var l Allowlist
	if reach, _ := l.Permits("example.com", 443); reach != Nowhere || !l.Empty() || l.Names("example.com") {
		t.Errorf("the zero list lets pass: %q", reach)
	}
	if (Endpoint{}).Matches("", 0) || (Endpoint{Host: "x"}).Matches("x", 0) {
		t.Error("an endpoint without a port matches")
	}
}
