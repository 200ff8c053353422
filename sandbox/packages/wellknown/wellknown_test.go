package wellknown

import (
	"testing"

	"github.com/garita-dev/garita/assets"
	"github.com/garita-dev/garita/sandbox"
)

func shipped() *List {
	l := &List{}
	l.Add(sandbox.NPM, assets.NPMPackages)
	l.Add(sandbox.PyPI, assets.PyPIPackages)
	return l
}

func TestNamesPeopleAreWarnedOf(t *testing.T) {
	l := shipped()
	for name, tt := range map[string]struct {
		ecosystem sandbox.Ecosystem
		name      string
		kind      Kind
		like      string
	}{
		"a well-known one":                    {sandbox.NPM, "@modelcontextprotocol/server-filesystem", "", ""},
		"a well-known one without a scope":    {sandbox.NPM, "mcp-server-commands", "", ""},
		"attack_H50: a letter short in scope": {sandbox.NPM, "@modelcontextprotcol/server-filesystem", Near, "@modelcontextprotocol/server-filesystem"},
		"two letters swapped in the scope":    {sandbox.NPM, "@modelcontextportocol/server-nothing", Near, "@modelcontextprotocol/inspector"},
		"a new server of that scope":          {sandbox.NPM, "@modelcontextprotocol/server-new", Unknown, ""},
		"no scope":                            {sandbox.NPM, "server-sequential-thinking", Near, "@modelcontextprotocol/server-sequential-thinking"},
		"the scope in the name":               {sandbox.NPM, "modelcontextprotocol-server-github", Near, "@modelcontextprotocol/server-github"},
		"another one's scope":                 {sandbox.NPM, "@evil/server-filesystem", Near, "@modelcontextprotocol/server-filesystem"},
		"a zero for an o":                     {sandbox.NPM, "m0ngodb-mcp-server", Near, "mongodb-mcp-server"},
		"a one for an l":                      {sandbox.NPM, "@p1aywright/mcp", Near, "@playwright/mcp"},
		"rn for m":                            {sandbox.NPM, "rnongodb-mcp-server", Near, "mongodb-mcp-server"},
		"words turned around":                 {sandbox.NPM, "mcp-kubernetes-server", Near, "kubernetes-mcp-server"},
		"no dash":                             {sandbox.NPM, "mongodbmcp-server", Near, "mongodb-mcp-server"},
		"a doubled letter":                    {sandbox.NPM, "firecrawll-mcp", Near, "firecrawl-mcp"},
		"attack_H50: unknown":                 {sandbox.PyPI, "jwt-mcp-server", Unknown, ""},
		"PyPI, a letter":                      {sandbox.PyPI, "mcp-server-fetcch", Near, "mcp-server-fetch"},
		"a short word's letters swapped":      {sandbox.PyPI, "mcp-server-gti", Near, "mcp-server-git"},
		"another short word is another":       {sandbox.PyPI, "mcp-server-tide", Unknown, ""},
		"something of one's own":              {sandbox.NPM, "my-company-tools", Unknown, ""},
		"something scoped of one's own":       {sandbox.NPM, "@acme/mcp", Unknown, ""},
	} {
		t.Run(name, func(t *testing.T) {
			d, ok := l.Doubt(sandbox.PackageRef{Ecosystem: tt.ecosystem, Name: tt.name})
			if d.Kind != tt.kind || ok != (tt.kind != "") || tt.kind == Near && d.Like != tt.like {
				t.Errorf("got %+v, want %q like %q", d, tt.kind, tt.like)
			}
		})
	}
}

func TestTheListDoesNotDoubtItself(t *testing.T) {
	l := shipped()
	for e, names := range l.names {
		for _, n := range names {
			if d, ok := l.Doubt(sandbox.PackageRef{Ecosystem: e, Name: n.whole}); ok {
				t.Errorf("%+v", d)
			}
			if ref, err := sandbox.ParsePackageSpec(n.whole); err != nil || ref.Name != n.whole {
				t.Errorf("%s is no package's name: %v", n.whole, err)
			}
		}
	}
	if len(l.names[sandbox.NPM]) < 50 {
		t.Error("the list is hardly there")
	}
}

func TestDistance(t *testing.T) {
	for _, tt := range []struct {
		a, b string
		want int
	}{{"", "", 0}, {"abc", "abc", 0}, {"abc", "acb", 1}, {"abc", "abcd", 1}, {"abc", "xbc", 1}, {"abcd", "badc", 2}, {"a", "abcde", 3}} {
		if got := distance(tt.a, tt.b, 2); got != tt.want {
			t.Errorf("%q and %q: %d, want %d", tt.a, tt.b, got, tt.want)
		}
	}
}

func FuzzDoubt(f *testing.F) {
	f.Add("@modelcontextprotcol/server-filesystem")
	f.Add("@/")
	l := shipped()
	f.Fuzz(func(t *testing.T, name string) {
		d, ok := l.Doubt(sandbox.PackageRef{Ecosystem: sandbox.NPM, Name: name})
		if ok == (d.Kind == "") {
			t.Errorf("%q: %+v", name, d)
		}
	})
}
