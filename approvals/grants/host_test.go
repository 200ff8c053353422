package grants

import (
	"testing"
	"time"

	"github.com/garita-dev/garita/approvals"
)

func TestHostGrants(t *testing.T) {
	now := time.Now()
	r := approvals.Request{
		ID: "r1", Kind: approvals.KindNetwork,
		Call:    approvals.Call{Principal: approvals.Principal{UID: 1, Client: "c"}, Session: "s1", Server: "web", Spec: "sha256:1"},
		Subject: approvals.Subject{Network: &approvals.NetworkAccess{Hosts: []string{"api.example.com:443"}}},
		Why:     approvals.Decision{Class: approvals.Write},
	}
	for _, o := range Offers(r, nil, now)[1:] {
		g, err := Make(r, o.Permission, "a test", now)
		if err != nil || Host(g) != "api.example.com:443" || g.Spec != "sha256:1" {
			t.Fatalf("%s: %+v, %v", o.Permission.Scope, g, err)
		}
		c := r.Call
		c.Tool, c.Class, c.Arguments = "", approvals.Write, []byte(`{"host":"api.example.com:443"}`)
		if cover([]approvals.Grant{g}, c, now).covered() {
			t.Errorf("%s covers a call", Words(g))
		}
	}
	if n := len(Offers(r, nil, now)); n != 4 {
		t.Errorf("%d offers", n)
	}
	for _, scope := range []approvals.Scope{approvals.ScopeOnce, approvals.ScopeCollect, "for ever", ""} {
		if g, err := Make(r, approvals.Permission{Scope: scope}, "", now); err == nil {
			t.Errorf("%q gives %+v", scope, g)
		}
	}
	r.Subject.Network.After = true
	if _, err := Make(r, approvals.Permission{Scope: approvals.ScopeAlways}, "", now); err == nil {
		t.Error("what has happened is granted for the future")
	}
	if Host(approvals.Grant{Tool: "fetch", Arguments: []approvals.Argument{{Path: "/host", Equals: `"x:1"`}}}) != "" {
		t.Error("a tool's argument is taken for a host")
	}
}
