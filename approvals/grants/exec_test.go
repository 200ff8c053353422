package grants

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/garita-dev/garita/approvals"
)

func wantsToExecute(x approvals.Execution) approvals.Request {
	q := approvals.Question{
		About:   approvals.Call{Server: "git", Spec: "sha256:1", Session: "s1", Sentence: "execute " + x.Line()},
		Subject: approvals.Subject{Exec: &x},
	}
	return approvals.Request{ID: "r1", Kind: q.Subject.Kind(), Binding: q.Binding(), Call: q.About, Subject: q.Subject, Why: approvals.Decision{Class: approvals.Execute}}
}

func TestAYesToAProgramReachesAsFarAsItsPattern(t *testing.T) {
	now := time.Now()
	push := approvals.Execution{Path: "/usr/bin/git", File: "/usr/bin/git", Argv: []string{"git", "push", "origin", "a*b"}, Fixed: true}
	r := wantsToExecute(push)
	if r.Kind != approvals.KindCommand {
		t.Errorf("its kind is %q", r.Kind)
	}
	var words []string
	for _, o := range Offers(r, nil, now) {
		words = append(words, strings.Split(o.Words, ", until")[0])
	}
	want := []string{
		WordsOnce,
		"git, as it is defined now, may execute git push origin a*b", "git, as it is defined now, may execute git push origin a*b", "git, as it is defined now, may execute git push origin a*b, always",
		"git, as it is defined now, may execute whatever is like git push *", "git, as it is defined now, may execute whatever is like git push *", "git, as it is defined now, may execute whatever is like git push *, always",
	}
	if d := cmp.Diff(words, want); d != "" {
		t.Errorf("got (-), want (+):\n%s", d)
	}
	g, err := Make(r, approvals.Permission{Scope: approvals.ScopeAlways}, "ana", now)
	if err != nil || Exec(g) != `git push origin a\*b` || Host(g) != "" {
		t.Errorf("got %+v, %v", g, err)
	}
	if c := cover([]approvals.Grant{g}, r.Call, now); c.covered() {
		t.Error("it covers a call")
	}
}

func TestWhatCannotBePermittedOfAProgram(t *testing.T) {
	now := time.Now()
	ls := approvals.Execution{Path: "/usr/bin/ls", File: "/usr/bin/ls", Argv: []string{"ls", "-l", "x"}, Fixed: true}
	long, other, memory := ls, ls, approvals.Execution{Argv: []string{"ls"}}
	long.Cut, other.Argv = true, []string{"cat", "x"}
	pattern := func(p string) []approvals.Argument { return []approvals.Argument{{Path: execPath, Equals: p}} }
	for name, c := range map[string]struct {
		x approvals.Execution
		p approvals.Permission
	}{
		"everything":            {ls, approvals.Permission{Scope: approvals.ScopeAlways, Arguments: pattern(`"*"`)}},
		"any program":           {ls, approvals.Permission{Scope: approvals.ScopeAlways, Arguments: pattern(`"l* *"`)}},
		"another program":       {ls, approvals.Permission{Scope: approvals.ScopeAlways, Arguments: pattern(`"cat *"`)}},
		"no pattern":            {ls, approvals.Permission{Scope: approvals.ScopeAlways, Arguments: pattern(`""`)}},
		"another argument":      {ls, approvals.Permission{Scope: approvals.ScopeAlways, Arguments: []approvals.Argument{{Path: "/x", Equals: `"ls *"`}}}},
		"a time that is over":   {ls, approvals.Permission{Scope: approvals.ScopeUntil, Until: now.Add(-time.Minute)}},
		"collecting":            {ls, approvals.Permission{Scope: approvals.ScopeCollect}},
		"one not known in full": {long, approvals.Permission{Scope: approvals.ScopeAlways}},
		"another name":          {other, approvals.Permission{Scope: approvals.ScopeAlways}},
		"a file in memory":      {memory, approvals.Permission{Scope: approvals.ScopeAlways}},
	} {
		t.Run(name, func(t *testing.T) {
			if g, err := Make(wantsToExecute(c.x), c.p, "ana", now); err == nil {
				t.Errorf("got %s", Words(g))
			}
		})
	}
}
