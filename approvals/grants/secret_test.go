package grants

import (
	"strings"
	"testing"
	"time"

	"github.com/garita-dev/garita/approvals"
)

func TestSecretGrants(t *testing.T) {
	now := time.Now()
	r := approvals.Request{
		ID: "r1", Kind: approvals.KindSecret,
		Call:    approvals.Call{Principal: approvals.Principal{UID: 1, Client: "c"}, Session: "s1", Server: "web", Spec: "sha256:1"},
		Subject: approvals.Subject{Secret: &approvals.SecretUse{Secret: "token", Hosts: []string{"api.example.com:443"}}},
		Why:     approvals.Decision{Class: approvals.Write},
	}
	offers := Offers(r, nil, now)
	if len(offers) != 4 {
		t.Errorf("%d offers", len(offers))
	}
	for _, o := range offers[1:] {
		g, err := Make(r, o.Permission, "a test", now)
		if name, host := Secret(g); err != nil || name != "token" || host != "api.example.com:443" || g.Spec != "sha256:1" {
			t.Fatalf("%s: %+v, %v", o.Permission.Scope, g, err)
		}
		if Host(g) != "" {
			t.Errorf("%s lets the host be reached", o.Words)
		}
		if !strings.Contains(o.Words, "use the secret token toward api.example.com:443") {
			t.Errorf("words: %s", o.Words)
		}
		c := r.Call
		c.Class, c.Arguments = approvals.Write, []byte(`{"secret":"token","host":"api.example.com:443"}`)
		if cover([]approvals.Grant{g}, c, now).covered() {
			t.Errorf("%s covers a call", o.Words)
		}
	}
	r.Subject.Secret.Hosts = append(r.Subject.Secret.Hosts, "other.example.com:443")
	if g, err := Make(r, approvals.Permission{Scope: approvals.ScopeAlways}, "", now); err == nil {
		t.Errorf("two hosts give %+v", g)
	}
	if name, _ := Secret(approvals.Grant{Tool: "x", Arguments: []approvals.Argument{{Path: "/secret", Equals: `"a"`}, {Path: "/host", Equals: `"b"`}}}); name != "" {
		t.Error("a tool's arguments are taken for a secret's")
	}
}
