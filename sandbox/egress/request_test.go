package egress

import (
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/garita-dev/garita/sandbox/egress/wire"
)

const self = wire.RegistryAddress

func TestRequestsOfNpm(t *testing.T) {
	for uri, want := range map[string]asked{
		"/express":                               {kind: wire.Packument, name: "express"},
		"/JSONStream":                            {kind: wire.Packument, name: "JSONStream"},
		"/@modelcontextprotocol%2fsdk":           {kind: wire.Packument, name: "@modelcontextprotocol/sdk"},
		"/@modelcontextprotocol%2Fsdk":           {kind: wire.Packument, name: "@modelcontextprotocol/sdk"},
		"/@modelcontextprotocol/sdk":             {kind: wire.Packument, name: "@modelcontextprotocol/sdk"},
		"/express/-/express-4.0.0.tgz":           {kind: wire.Tarball, name: "express", file: "express-4.0.0.tgz", version: "4.0.0"},
		"/@a/b/-/b-1.0.0-rc.1+x.tgz":             {kind: wire.Tarball, name: "@a/b", file: "b-1.0.0-rc.1+x.tgz", version: "1.0.0-rc.1+x"},
		"/@a%2fb/-/b-1.0.0.tgz":                  {kind: wire.Tarball, name: "@a/b", file: "b-1.0.0.tgz", version: "1.0.0"},
		"/-/package/express/dist-tags":           {kind: wire.DistTags, name: "express"},
		"/-/package/@a%2fb/dist-tags":            {kind: wire.DistTags, name: "@a/b"},
		"/-/package/@a/b/dist-tags":              {kind: wire.DistTags, name: "@a/b"},
		"/string_decoder":                        {kind: wire.Packument, name: "string_decoder"},
		"/lodash.merge/-/lodash.merge-4.6.2.tgz": {kind: wire.Tarball, name: "lodash.merge", file: "lodash.merge-4.6.2.tgz", version: "4.6.2"},
	} {
		got, no := parseRequest(http.MethodGet, self, uri)
		if no != nil {
			t.Errorf("%s: refused: %s", uri, no.why)
			continue
		}
		if diff := cmp.Diff(got, want, cmp.AllowUnexported(asked{})); diff != "" {
			t.Errorf("%s (-got +want):\n%s", uri, diff)
		}
	}
}

func TestRequestsRefused(t *testing.T) {
	for name, r := range map[string]struct {
		method, host, uri string
		status            int
	}{
		"publish":                        {http.MethodPut, self, "/express", http.StatusMethodNotAllowed},
		"log in":                         {http.MethodPut, self, "/-/user/org.couchdb.user:a", http.StatusMethodNotAllowed},
		"audit":                          {http.MethodPost, self, "/-/npm/v1/security/advisories/bulk", http.StatusMethodNotAllowed},
		"CONNECT":                        {http.MethodConnect, self, "evil.example:443", http.StatusMethodNotAllowed},
		"OPTIONS *":                      {http.MethodOptions, self, "*", http.StatusMethodNotAllowed},
		"another host":                   {http.MethodGet, "evil.example", "/express", http.StatusForbidden},
		"the same host, another port":    {http.MethodGet, "127.0.0.1:80", "/express", http.StatusForbidden},
		"localhost by name":              {http.MethodGet, "localhost:4873", "/express", http.StatusForbidden},
		"an absolute URI":                {http.MethodGet, self, "http://evil.example/express", http.StatusForbidden},
		"an absolute URI of ours":        {http.MethodGet, self, "http://127.0.0.1:4873/express", http.StatusForbidden},
		"two slashes":                    {http.MethodGet, self, "//evil.example/x", http.StatusForbidden},
		"climbing":                       {http.MethodGet, self, "/../etc/passwd", http.StatusForbidden},
		"climbing in a tarball":          {http.MethodGet, self, "/a/-/../a-1.tgz", http.StatusForbidden},
		"climbing, escaped":              {http.MethodGet, self, "/%2e%2e/x", http.StatusForbidden},
		"climbing behind a scope":        {http.MethodGet, self, "/@a%2f..%2fb", http.StatusForbidden},
		"a slash escaped twice":          {http.MethodGet, self, "/@a%252fb", http.StatusForbidden},
		"a backslash":                    {http.MethodGet, self, `/a\b`, http.StatusForbidden},
		"a query":                        {http.MethodGet, self, "/express?write=true", http.StatusForbidden},
		"a query of nothing":             {http.MethodGet, self, "/express?", http.StatusForbidden},
		"a fragment":                     {http.MethodGet, self, "/express#x", http.StatusForbidden},
		"the root":                       {http.MethodGet, self, "/", http.StatusForbidden},
		"search":                         {http.MethodGet, self, "/-/v1/search", http.StatusForbidden},
		"who am I":                       {http.MethodGet, self, "/-/whoami", http.StatusForbidden},
		"tokens":                         {http.MethodGet, self, "/-/npm/v1/tokens", http.StatusForbidden},
		"all documents":                  {http.MethodGet, self, "/_all_docs", http.StatusForbidden},
		"an attachment of another name":  {http.MethodGet, self, "/a/-/b-1.0.0.tgz", http.StatusForbidden},
		"not a tarball":                  {http.MethodGet, self, "/a/-/a-1.0.0.zip", http.StatusForbidden},
		"a tarball without a version":    {http.MethodGet, self, "/a/-/a-.tgz", http.StatusForbidden},
		"a longer path":                  {http.MethodGet, self, "/a/-/a-1.0.0.tgz/x", http.StatusForbidden},
		"a trailing slash":               {http.MethodGet, self, "/a/", http.StatusForbidden},
		"a scope alone":                  {http.MethodGet, self, "/@a", http.StatusForbidden},
		"a control character":            {http.MethodGet, self, "/a\x00", http.StatusForbidden},
		"other letters":                  {http.MethodGet, self, "/еxpress", http.StatusForbidden},
		"a very long name":               {http.MethodGet, self, "/" + strings.Repeat("a", 300), http.StatusForbidden},
		"a very long request":            {http.MethodGet, self, "/" + strings.Repeat("a/", 3000), http.StatusForbidden},
		"dist-tags to be set":            {http.MethodPut, self, "/-/package/a/dist-tags/latest", http.StatusMethodNotAllowed},
		"dist-tags of nothing":           {http.MethodGet, self, "/-/package/dist-tags", http.StatusForbidden},
		"dist-tags behind a longer path": {http.MethodGet, self, "/-/package/a/b/dist-tags", http.StatusForbidden},
		"a user in the path":             {http.MethodGet, self, "/u:p@evil.example/x", http.StatusForbidden},
	} {
		t.Run(name, func(t *testing.T) {
			got, no := parseRequest(r.method, r.host, r.uri)
			if no == nil {
				t.Fatalf("passed as %+v", got)
			}
			if no.status != r.status || no.why == "" {
				t.Errorf("status %d (%s), want %d", no.status, no.why, r.status)
			}
		})
	}
}

func FuzzParseRequest(f *testing.F) {
	for _, uri := range []string{"/express", "/@a%2fb", "/a/-/a-1.0.0.tgz", "/-/package/a/dist-tags", "/../x", "//x", "http://x/", "/@a/../b/-/b-1.tgz"} {
		f.Add(uri)
	}
	rs, err := newRegistries(wire.Registries{Default: "https://registry.example/npm/"})
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, uri string) {
		a, no := parseRequest(http.MethodGet, self, uri)
		if no != nil {
			return
		}
		address := rs.address(a)
		rest, ok := strings.CutPrefix(address, "https://registry.example/npm/")
		if !ok || strings.Contains(rest, "..") && strings.Contains(rest, "../") || strings.Contains(rest, "//") ||
			strings.ContainsAny(rest, "?#\\ \x00\r\n") || strings.Contains(strings.ReplaceAll(rest, "%2f", ""), "%") {
			t.Fatalf("%q leads to %q", uri, address)
		}
		if a.kind == wire.Tarball && tarballName(a.name, a.version) != a.file {
			t.Fatalf("%q: the tarball is of version %q", uri, a.version)
		}
	})
}
