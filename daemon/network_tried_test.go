package daemon

import (
	"testing"
	"time"

	"github.com/garita-dev/garita/approvals"
	"github.com/garita-dev/garita/approvals/gate"
	"github.com/garita-dev/garita/sandbox"
)

func TestWhatWasAllowedSinceIsNoRefusalAnyMore(t *testing.T) {
	grant := func(id string, scope approvals.Scope, path string) approvals.Grant {
		return approvals.Grant{
			ID: approvals.GrantID(id), Server: "a", Scope: scope,
			Arguments: []approvals.Argument{{Path: path, Equals: `"api.example.com:443"`}},
		}
	}
	for name, c := range map[string]struct {
		grants []approvals.Grant
		want   bool
	}{
		"nothing":          {nil, false},
		"for always":       {[]approvals.Grant{grant("g1", approvals.ScopeAlways, "/host")}, true},
		"for one session":  {[]approvals.Grant{grant("g1", approvals.ScopeSession, "/host")}, false},
		"to another thing": {[]approvals.Grant{grant("g1", approvals.ScopeAlways, "/path")}, false},
	} {
		t.Run(name, func(t *testing.T) {
			d := &Daemon{}
			d.gate = gate.New(gate.Options{Log: gateLog{d}, Standings: standings{d}, Grants: c.grants})
			refused := tried{Denial: sandbox.Denial{Host: "api.example.com", Port: 443}, First: time.Now()}
			if got := d.answered("a")(refused); got != c.want {
				t.Errorf("%v, want %v", got, c.want)
			}
			if d.answered("b")(refused) {
				t.Error("another server's refusal is let go of")
			}
		})
	}
}
