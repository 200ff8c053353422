package observe

import (
	"fmt"
	"math/rand/v2"
	"path"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/garita-dev/garita/sandbox"
)

// ran is a program of the host's that was executed in a call.
func ran(file string, words ...string) Event {
	x := sandbox.Execution{Path: file, Real: file, Argv: append([]string{path.Base(file)}, words...), Fixed: true}
	return Event{Kind: Command, What: file, Exec: x, At: at(2), In: "build"}
}

func not(e Event) Event { e.Denied = true; return e }

func own(e Event) Event { e.Exec.Fixed = false; return e }

func TestCommandsAreProposed(t *testing.T) {
	server := ran("/usr/bin/node", "/srv/index.js")
	for name, c := range map[string]struct {
		old    *sandbox.ExecRules
		events []Event
		facts  Facts
		want   *sandbox.ExecRules
		lines  string
	}{
		"nothing but itself": {
			events: []Event{server}, want: &sandbox.ExecRules{},
			lines: "commands add nothing: it executed nothing but itself\n",
		},
		"a script and its interpreter": {
			events: []Event{ran("/srv/cli.js"), ran("/usr/bin/node", "/srv/cli.js")}, want: &sandbox.ExecRules{},
		},
		"one command line": {
			events: []Event{server, ran("/usr/bin/git", "status", "--short")},
			want:   &sandbox.ExecRules{Allow: []string{"git status --short"}},
			lines:  "commands add git status --short: run once, in build\ncommands remove *: what was executed is named instead\n",
		},
		"what begins alike": {
			events: []Event{server, ran("/usr/bin/git", "log", "-n", "1", "a"), ran("/usr/bin/git", "log", "-n", "1", "b c"), ran("/usr/bin/git", "status")},
			want:   &sandbox.ExecRules{Allow: []string{"git log -n 1 *", "git status"}},
		},
		"a shell's lines are named one by one": {
			events: []Event{server, ran("/bin/sh", "-c", "ls *"), ran("/bin/sh", "-c", "id")},
			want:   &sandbox.ExecRules{Allow: []string{`sh -c "ls \*"`, "sh -c id"}},
		},
		"a denied one is not let in by another": {
			events: []Event{server, ran("/usr/bin/git", "push", "a"), ran("/usr/bin/git", "push", "b"), not(ran("/usr/bin/git", "push", "--force"))},
			want:   &sandbox.ExecRules{Allow: []string{"git push a", "git push b"}},
		},
		"its own program goes by its path": {
			events: []Event{server, own(ran("/home/user/tool", "x"))},
			want:   &sandbox.ExecRules{Allow: []string{"/home/user/tool x"}},
		},
		"what is hidden is not proposed": {
			events: []Event{server, ran("/usr/bin/git", "a\u202eb")},
			want:   &sandbox.ExecRules{},
		},
		"what there was stays where it was used": {
			old:    &sandbox.ExecRules{Allow: []string{"git status", "curl *"}, Ask: []string{"git push*"}, Deny: []string{"ssh*"}},
			events: []Event{server, ran("/usr/bin/git", "status"), ran("/usr/bin/git", "push", "x")},
			want:   &sandbox.ExecRules{Allow: []string{"git status"}, Ask: []string{"git push*"}, Deny: []string{"ssh*"}},
			lines:  "commands keep /usr/bin/git push x: it asks each time\ncommands keep git status: run once, in build\ncommands remove curl *: what was executed is named instead\n",
		},
		"nothing could be seen": {events: []Event{server}, facts: Facts{Blind: "no"}},
		"some was lost":         {events: []Event{server}, facts: Facts{Lost: 1}},
	} {
		t.Run(name, func(t *testing.T) {
			var log Log
			log.Note(call("build", false))
			for _, e := range c.events {
				log.Note(e)
			}
			got := Propose(sandbox.Server{Name: "x", Spec: sandbox.Spec{Exec: c.old}}, log.Things(), c.facts)
			if d := cmp.Diff(got.Server.Spec.Exec, c.want); d != "" {
				t.Errorf("got (-), want (+):\n%s", d)
			}
			text, _, _ := strings.Cut(lines(got), "note:")
			if d := cmp.Diff(strings.TrimPrefix(text, "tools keep build: called once\n"), c.lines); c.lines != "" && d != "" {
				t.Errorf("got (-), want (+):\n%s", d)
			}
		})
	}
}

// Whatever was executed, what is proposed allows it, and nothing that was denied.
func TestProposedRulesAllowWhatWasExecuted(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6)) //nolint:gosec // a test's
	files := []string{"/usr/bin/git", "/bin/sh", "/home/user/x", "/usr/bin/cut"}
	some := []string{"push", "status", "-n", "a b", "*", `\`, "x"}
	for range 500 {
		var log Log
		log.Note(call("build", false))
		log.Note(ran("/usr/bin/node", "/srv/index.js"))
		var all []Event
		for range r.IntN(12) {
			var words []string
			for range r.IntN(4) {
				words = append(words, some[r.IntN(len(some))])
			}
			e := ran(files[r.IntN(len(files))], words...)
			e.Exec.Fixed = !strings.HasPrefix(e.What, "/home")
			e.Denied = r.IntN(5) == 0
			all = append(all, e)
			log.Note(e)
		}
		got := Propose(sandbox.Server{Name: "x"}, log.Things(), Facts{})
		for _, e := range all {
			denied := slices.ContainsFunc(all, func(o Event) bool { return o.Denied && o.What == e.What && slices.Equal(o.Exec.Argv, e.Exec.Argv) })
			if allowed := got.Server.Spec.Exec.Decide(e.Exec).Effect == sandbox.ExecAllow; allowed == denied {
				t.Fatalf("%q is allowed: %t, denied before: %t, by %+v", e.Exec.Argv, allowed, denied, got.Server.Spec.Exec)
			}
		}
	}
}

func TestMountsThatAreNotUsed(t *testing.T) {
	spec := sandbox.Spec{Mounts: []sandbox.Mount{{Host: "/data/a", At: "/data/a"}, {Host: "/data/b", At: "/b"}}}
	var log Log
	log.Note(call("build", false))
	log.Note(Event{Kind: Mount, What: "/b", At: at(1), In: "build"})
	got := Propose(sandbox.Server{Name: "x", Spec: spec}, log.Things(), Facts{})
	if d := cmp.Diff(got.Server.Spec.Mounts, spec.Mounts[1:]); d != "" || !strings.Contains(lines(got), "mounts remove /data/a: nothing in it was looked for") {
		t.Errorf("%s\n%s", d, lines(got))
	}
	got = Propose(sandbox.Server{Name: "x", Spec: spec}, log.Things(), Facts{Blind: "no"})
	if d := cmp.Diff(got.Server.Spec.Mounts, spec.Mounts); d != "" {
		t.Errorf("unseen: %s", d)
	}
}

func TestVariablesThatTheLogWants(t *testing.T) {
	spec := sandbox.Spec{Env: map[string]string{"API_URL": "x"}, Secrets: []sandbox.SecretGrant{{Secret: "s", Env: "SET_TOKEN"}}}
	log := []string{
		"Error: GITHUB_TOKEN is required", "API_URL must be set", "SET_TOKEN missing", "GITHUB_TOKEN is not set", "READY_NOW listening",
		"MISSING_KEY\x1b[2J is missing", strings.Repeat("X_Y ", 200) + " required",
	}
	got := Propose(sandbox.Server{Name: "x", Spec: spec}, nil, Facts{Log: log})
	var told []string
	for _, l := range got.Lines {
		if l.Part == "variables" {
			told = append(told, l.What)
			if l.Verb != Tell || !plain(l.Why) {
				t.Errorf("got %+v", l)
			}
		}
	}
	if d := cmp.Diff(told, []string{"GITHUB_TOKEN", "MISSING_KEY"}); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff(got.Server.Spec.Env, spec.Env); d != "" {
		t.Error(d)
	}
	for n := range 100 {
		log = append(log, fmt.Sprintf("VAR_%d is required", n))
	}
	if n := len(Propose(sandbox.Server{}, nil, Facts{Log: log}).Lines); n > maxVariables {
		t.Errorf("%d lines", n)
	}
}
