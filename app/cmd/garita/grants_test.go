package main

import (
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/garita-dev/garita/daemon/api"
)

func TestPermitFlags(t *testing.T) {
	now := time.Unix(1000, 0)
	later := now.Add(2 * time.Hour)
	for name, c := range map[string]struct {
		flags permitFlags
		want  api.Permit
		wrong bool
	}{
		"once":                    {permitFlags{scope: "once"}, api.Permit{}, false},
		"a session, in a folder":  {permitFlags{"session", []string{"/path=src/"}}, api.Permit{Scope: "session", Match: []api.Match{{Path: "/path", Prefix: "src/"}}}, false},
		"a while":                 {permitFlags{scope: "until=2h"}, api.Permit{Scope: "until", Until: &later}, false},
		"a value":                 {permitFlags{"always", []string{`/url="https://x/"`}}, api.Permit{Scope: "always", Match: []api.Match{{Path: "/url", Equals: `"https://x/"`}}}, false},
		"all of the arguments":    {permitFlags{"always", []string{`={"a":1}`}}, api.Permit{Scope: "always", Match: []api.Match{{Equals: `{"a":1}`}}}, false},
		"a command":               {permitFlags{"always", []string{"/command~git status"}}, api.Permit{Scope: "always", Match: []api.Match{{Path: "/command", Command: "git status"}}}, false},
		"once with a match":       {permitFlags{"once", []string{"/path=src/"}}, api.Permit{}, true},
		"a time that is none":     {permitFlags{scope: "until=tomorrow"}, api.Permit{}, true},
		"a match that is none":    {permitFlags{"always", []string{"src"}}, api.Permit{}, true},
		"a match without a slash": {permitFlags{"always", []string{"path=src/"}}, api.Permit{}, true},
	} {
		got, err := c.flags.permit(now)
		if c.wrong {
			if u := (usageError{}); !errors.As(err, &u) {
				t.Errorf("%s: %v", name, err)
			}
			continue
		}
		if diff := cmp.Diff(c.want, got); diff != "" || err != nil {
			t.Errorf("%s: %s%v", name, diff, err)
		}
	}
}
