package oauth

import (
	"net/http"
	"net/url"
	"strings"
	"testing"
)

func FuzzCheckURL(f *testing.F) {
	for _, seed := range []string{"https://as.example/a?b=c", "http://a$(calc).x/", "javascript:x", "--flag", "https://[::1]/", "https://a/;x", "https://a/%00"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, raw string) {
		page, err := CheckURL(raw, true)
		if err != nil {
			return
		}
		u, err := url.Parse(page)
		if err != nil || u.Scheme != "http" && u.Scheme != "https" || strings.ContainsAny(page, " \t\r\n$`\"'\\;|<>(){}") {
			t.Errorf("CheckURL(%q) = %q", raw, page)
		}
		if again, err := CheckURL(page, true); err != nil || again != page {
			t.Errorf("CheckURL(%q) = %q, %v: not itself", page, again, err)
		}
	})
}

func FuzzChallenge(f *testing.F) {
	for _, seed := range []string{`Bearer scope="a b", resource_metadata="https://x"`, "Bearer", `Basic realm="x", Bearer error=insufficient_scope`, `Bearer a="\`, `"`} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, header string) {
		for _, s := range readChallenge(http.Header{"Www-Authenticate": {header}}).scopes {
			if strings.ContainsAny(s, " \"\\\r\n") {
				t.Errorf("scope %q", s)
			}
		}
	})
}
