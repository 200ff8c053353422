package egress

import (
	"net/url"
	"testing"

	"github.com/containerd/errdefs"

	"github.com/garita-dev/garita/sandbox/egress/wire"
)

func TestRegistriesRefused(t *testing.T) {
	for name, address := range map[string]string{
		"nothing":               "",
		"no host":               "https:///x",
		"plain http":            "http://registry.example/",
		"http, private network": "http://10.0.0.1/",
		"a password":            "https://a:b@registry.example/",
		"a query":               "https://registry.example/?x=y",
		"a file":                "file:///etc",
		"a control character":   "https://registry.example/\x00",
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := newRegistries(wire.Registries{Default: address}); !errdefs.IsInvalidArgument(err) {
				t.Errorf("got %v", err)
			}
		})
	}
}

func testRegistries(t *testing.T) *registries {
	t.Helper()
	rs, err := newRegistries(wire.Registries{
		Default: "https://registry.example/",
		Scopes:  map[string]string{"@corp": "https://nexus.example:8443/repository/npm/"},
		Hosts:   []string{"cdn.example"},
		Auth: []wire.Credential{
			{Host: "nexus.example:8443", Path: "/", Header: wire.NewSecret("Bearer wide")},
			{Host: "nexus.example:8443", Path: "/repository/npm/", Header: wire.NewSecret("Bearer narrow")},
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	return rs
}

func TestWhereThingsAre(t *testing.T) {
	rs := testRegistries(t)
	for want, a := range map[string]asked{
		"https://registry.example/express":                                        {kind: wire.Packument, name: "express"},
		"https://registry.example/@a%2fb":                                         {kind: wire.Packument, name: "@a/b"},
		"https://registry.example/@a/b/-/b-1.tgz":                                 {kind: wire.Tarball, name: "@a/b", file: "b-1.tgz"},
		"https://nexus.example:8443/repository/npm/@corp%2fx":                     {kind: wire.Packument, name: "@corp/x"},
		"https://nexus.example:8443/repository/npm/@corp/x/-/x-1.tgz":             {kind: wire.Tarball, name: "@corp/x", file: "x-1.tgz"},
		"https://nexus.example:8443/repository/npm/-/package/@corp%2fx/dist-tags": {kind: wire.DistTags, name: "@corp/x"},
	} {
		if got := rs.address(a); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
}

func TestWhatMayBeReachedAndWithWhat(t *testing.T) {
	rs := testRegistries(t)
	for address, want := range map[string]struct {
		permitted bool
		header    string
	}{
		"https://registry.example/x":                  {true, ""},
		"https://REGISTRY.example:443/x":              {true, ""},
		"https://cdn.example/x":                       {true, ""},
		"https://nexus.example:8443/repository/npm/x": {true, "Bearer narrow"},
		"https://nexus.example:8443/other":            {true, "Bearer wide"},
		"https://nexus.example:8443/repository/npmx":  {true, "Bearer wide"},
		"https://nexus.example/repository/npm/x":      {false, ""},
		"http://registry.example/x":                   {false, ""},
		"https://registry.example:444/x":              {false, ""},
		"https://a@registry.example/x":                {false, ""},
		"https://169.254.169.254/latest":              {false, ""},
		"http://127.0.0.1/x":                          {false, ""},
		"https://registry.example.evil.example/x":     {false, ""},
	} {
		u, err := url.Parse(address)
		if err != nil {
			t.Fatal(err)
		}
		if got := rs.permits(u); got != want.permitted {
			t.Errorf("%s: permitted %v, want %v", address, got, want.permitted)
		}
		if got := rs.header(u).Send(); got != want.header {
			t.Errorf("%s: header %q, want %q", address, got, want.header)
		}
	}
}
