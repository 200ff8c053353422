package daemon

import (
	"context"
	"encoding/json"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/garita-dev/garita/approvals"
	"github.com/garita-dev/garita/approvals/gate"
	"github.com/garita-dev/garita/approvals/policy"
	"github.com/garita-dev/garita/daemon/api"
	"github.com/garita-dev/garita/daemon/config"
	"github.com/garita-dev/garita/daemon/events"
	"github.com/garita-dev/garita/daemon/httpapi"
	"github.com/garita-dev/garita/daemon/protocol"
	"github.com/garita-dev/garita/sandbox"
	"github.com/garita-dev/garita/store"
	"github.com/garita-dev/garita/store/sqlite"
)

// policyHome is one home, in which a daemon's policies live and live again.
type policyHome struct {
	t       *testing.T
	dir     string
	project string
	*Daemon
}

// newPolicyHome has one server, files, that is given the folder project.
func newPolicyHome(t *testing.T) *policyHome {
	t.Helper()
	h := &policyHome{t: t, dir: t.TempDir(), project: t.TempDir()}
	h.open()
	t.Cleanup(h.close)
	err := h.config.Put(sandbox.Server{
		Name: "files", Source: sandbox.Source{Command: []string{"npx", "files"}}, Spec: sandbox.Spec{Folders: []string{h.project}},
	})
	if err != nil {
		t.Fatal(err)
	}
	return h
}

func (h *policyHome) open() {
	h.t.Helper()
	at := func(s string) string { return filepath.Join(h.dir, s) }
	paths := config.Paths{Config: at("config"), State: at("state"), Data: at("data"), Run: at("run"), Home: at("home"), Isolated: true}
	settings, err := config.Open(paths)
	if err != nil {
		h.t.Fatal(err)
	}
	db, err := sqlite.Open(h.t.Context(), paths.Database(), sqlite.Options{KeyFile: at("state/audit.key"), HeadFile: at("state/audit.head")})
	if err != nil {
		h.t.Fatal(err)
	}
	d := &Daemon{config: settings, db: db, events: events.New(100), attached: newAttached(), log: slog.New(slog.DiscardHandler), tools: map[sandbox.ServerName][]api.Tool{}}
	d.running, d.stop = context.WithCancel(context.WithoutCancel(h.t.Context()))
	d.policies = newPolicies(paths)
	d.pins = newPinned(d)
	d.gate = gate.New(gate.Options{Log: gateLog{d}, Standings: standings{d}, Policy: d.policies.policy})
	h.Daemon = d
}

func (h *policyHome) close() {
	h.stop()
	_ = h.gate.Close()
	_ = h.db.Close()
}

func (h *policyHome) write(path, text string) {
	h.t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		h.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		h.t.Fatal(err)
	}
}

// rules writes policy.yaml and has it read.
func (h *policyHome) rules(text string) {
	h.t.Helper()
	h.write(h.config.Paths().PolicyFile(), text)
	h.reloadPolicy(h.t.Context())
}

// effect is what becomes of a call of files.
func (h *policyHome) effect(tool string, class approvals.Class) approvals.Effect {
	c := approvals.Call{Server: "files", Tool: tool, Pin: "sha256:1", Class: class, Mode: sandbox.Snapshot, Folders: []string{h.project}}
	return approvals.Evaluate(c, approvals.Standing{}, h.policies.policy(), nil, time.Now()).Effect
}

func (h *policyHome) want(what string, got, want any) {
	h.t.Helper()
	if got != want {
		h.t.Errorf("%s: got %v, want %v", what, got, want)
	}
}

// recorded are the bodies of the events of a kind.
func (h *policyHome) recorded(kind string) []map[string]any {
	h.t.Helper()
	all, err := h.db.Events(h.t.Context(), 0, 1000, "")
	if err != nil {
		h.t.Fatal(err)
	}
	var out []map[string]any
	for _, e := range all {
		if string(e.Kind) == kind {
			var body map[string]any
			if err := json.Unmarshal(e.Body, &body); err != nil {
				h.t.Fatal(err)
			}
			out = append(out, body)
		}
	}
	return out
}

const (
	denyWrites = "version: 1\nrules:\n  - {tools: write_file, effect: deny}\n"
	allowAll   = "version: 1\nrules:\n  - {effect: allow}\n"
	wrong      = "version: 1\nrules:\n  - {tools: write_file, effect: permit}\n"
)

func TestAWrongPolicyKeepsTheOldOne(t *testing.T) {
	h := newPolicyHome(t)
	h.rules(denyWrites)
	h.want("denied by the rule", h.effect("write_file", approvals.Write), approvals.Deny)
	h.rules(wrong)
	h.want("still", h.effect("write_file", approvals.Write), approvals.Deny)
	h.want("reads", h.effect("read_file", approvals.Read), approvals.Allow)
	p, err := h.Policy(t.Context())
	if err != nil || p.State != policyRefused || len(p.Problems) != 1 || p.Problems[0].Line != 3 || len(p.Rules) != 1 {
		t.Errorf("told %+v, %v", p, err)
	}
	if n := h.policies.notice(); !strings.Contains(n, "what it said before stays in force") {
		t.Errorf("status warns %q", n)
	}
	h.rules(allowAll)
	h.want("after it was put right", h.effect("write_file", approvals.Write), approvals.Allow)
	h.want("notice", h.policies.notice(), "")

	changes := h.recorded("policy.changed")
	if len(changes) != 3 {
		t.Fatalf("recorded %v", changes)
	}
	h.want("before the first", changes[0]["before"], "")
	h.want("after the first", changes[0]["after"], string(policy.Digest([]byte(denyWrites))))
	h.want("refused", changes[1]["refused"], string(policy.Digest([]byte(wrong))))
	h.want("before the third", changes[2]["before"], string(policy.Digest([]byte(denyWrites))))
}

func TestAWrongPolicyAtTheStartAllowsNothing(t *testing.T) {
	h := newPolicyHome(t)
	h.write(h.config.Paths().PolicyFile(), wrong)
	h.close()
	h.open()
	h.reloadPolicy(t.Context())
	h.want("reads", h.effect("read_file", approvals.Read), approvals.Ask)
	h.want("writes", h.effect("write_file", approvals.Write), approvals.Ask)
	p, err := h.Policy(t.Context())
	if err != nil || p.State != policyFallback {
		t.Errorf("told %+v, %v", p, err)
	}
	h.rules(denyWrites)
	h.want("reads, once it is right", h.effect("read_file", approvals.Read), approvals.Allow)
	h.want("writes, once it is right", h.effect("write_file", approvals.Write), approvals.Deny)
}

func TestAPolicyThatCannotBeReadIsNotNone(t *testing.T) {
	h := newPolicyHome(t)
	if err := os.Symlink(filepath.Join(h.dir, "nowhere"), h.config.Paths().PolicyFile()); err != nil {
		t.Fatal(err)
	}
	h.close()
	h.open()
	h.want("reads", h.effect("read_file", approvals.Read), approvals.Ask)
}

func TestAPolicyThatIsTakenAway(t *testing.T) {
	h := newPolicyHome(t)
	h.rules(allowAll)
	if err := os.Remove(h.config.Paths().PolicyFile()); err != nil {
		t.Fatal(err)
	}
	h.reloadPolicy(t.Context())
	h.want("writes", h.effect("write_file", approvals.Write), approvals.Ask)
	p, err := h.Policy(t.Context())
	if err != nil || p.State != policyNone || p.Rules == nil {
		t.Errorf("told %+v, %v", p, err)
	}
}

func TestThePolicyIsReadAgainWhenItIsSaved(t *testing.T) {
	h := newPolicyHome(t)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- h.watchPolicy(ctx) }()
	h.write(h.config.Paths().PolicyFile(), denyWrites)
	for at := int64(0); h.effect("write_file", approvals.Write) != approvals.Deny; {
		seen, err := h.events.After(ctx, at)
		if err != nil {
			t.Fatal(err)
		}
		at = seen[len(seen)-1].Seq
	}
	cancel()
	if err := <-done; err != nil {
		t.Error(err)
	}
}

const project = `version: 1
rules:
  - {name: no writing, tools: write_file, effect: deny}
  - {name: go on, tools: move_file, effect: allow}
`

func (h *policyHome) accept(a api.AcceptPolicy) api.ProjectPolicy {
	h.t.Helper()
	if a.Digest == "" {
		a.Digest = h.found().Digest
	}
	a.Dir = h.project
	p, err := h.AcceptPolicy(h.t.Context(), httpapi.Peer{Page: true, UID: 1}, a)
	if err != nil {
		h.t.Fatal(err)
	}
	return p
}

func (h *policyHome) found() api.ProjectPolicy {
	h.t.Helper()
	p, err := h.ProjectPolicy(h.t.Context(), h.project)
	if err != nil {
		h.t.Fatal(err)
	}
	return p
}

// TestReportsOfPolicies: a policy found in a project's files has no effect until a person accepts it,
// and what was accepted does not change with the file.
func TestReportsOfPolicies(t *testing.T) {
	t.Run("report_F14", func(t *testing.T) {
		h := newPolicyHome(t)
		h.write(projectFile(h.project), project)
		h.want("before", h.effect("write_file", approvals.Write), approvals.Ask)
		h.want("state before", h.found().State, "new")
		h.want("rules that allow", len(h.found().Widens), 1)

		h.accept(api.AcceptPolicy{})
		h.want("accepted", h.effect("write_file", approvals.Write), approvals.Deny)
		h.want("what it allows was not accepted", h.effect("move_file", approvals.Write), approvals.Ask)

		h.write(projectFile(h.project), allowAll) // the server, or who wrote the project, changes it
		h.want("changed", h.found().State, "changed")
		h.want("what would be lost", len(h.found().Lost), 1)
		h.want("a change takes nothing away", h.effect("write_file", approvals.Write), approvals.Deny)
		h.close()
		h.open()
		h.want("after a restart", h.effect("write_file", approvals.Write), approvals.Deny)
		if err := os.RemoveAll(filepath.Join(h.project, ".garita")); err != nil {
			t.Fatal(err)
		}
		h.want("gone", h.found().State, "gone")
		h.want("after it is gone", h.effect("write_file", approvals.Write), approvals.Deny)

		h.accept(api.AcceptPolicy{Remove: true, Digest: h.found().Accepted})
		h.want("taken back", h.effect("write_file", approvals.Write), approvals.Ask)
		if n := len(h.recorded("policy.accepted")); n != 2 {
			t.Errorf("%d acceptances recorded", n)
		}
	})
}

func TestAProjectsPolicyOnlyNarrows(t *testing.T) {
	h := newPolicyHome(t)
	h.rules("version: 1\nrules:\n  - {tools: write_file, effect: allow}\n  - {tools: move_file, effect: deny}\n")
	h.write(projectFile(h.project), project)
	h.accept(api.AcceptPolicy{Allows: true})
	h.want("narrowed", h.effect("write_file", approvals.Write), approvals.Deny)
	h.want("not widened", h.effect("move_file", approvals.Write), approvals.Deny)
	other := approvals.Call{Server: "files", Tool: "write_file", Pin: "sha256:1", Class: approvals.Write, Folders: []string{"/elsewhere"}}
	h.want("not elsewhere", approvals.Evaluate(other, approvals.Standing{}, h.policies.policy(), nil, time.Now()).Effect, approvals.Allow)
}

func TestWhatWasShownIsWhatIsAccepted(t *testing.T) {
	h := newPolicyHome(t)
	h.write(projectFile(h.project), project)
	shown := h.found()
	h.write(projectFile(h.project), allowAll)
	for name, a := range map[string]api.AcceptPolicy{
		"another file":        {Dir: h.project, Digest: shown.Digest},
		"nothing named":       {Dir: h.project},
		"what is not there":   {Dir: h.project, Digest: shown.Digest, Remove: true},
		"a relative folder":   {Dir: "project", Digest: shown.Digest},
		"a folder without it": {Dir: h.dir, Digest: shown.Digest},
	} {
		if _, err := h.AcceptPolicy(t.Context(), httpapi.Peer{Page: true}, a); err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
}

func TestProjectPoliciesAreReadWithCare(t *testing.T) {
	h := newPolicyHome(t)
	h.write(filepath.Join(h.dir, "outside.yaml"), project)
	if err := os.Mkdir(filepath.Join(h.project, ".garita"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(filepath.Join(h.dir, "outside.yaml"), projectFile(h.project)); err != nil {
		t.Fatal(err)
	}
	h.want("a link that leads out", h.found().State, "invalid")
	if err := os.Remove(projectFile(h.project)); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(projectFile(h.project), 0o700); err != nil {
		t.Fatal(err)
	}
	h.want("a folder", h.found().State, "invalid")
}

func TestLostAcceptancesAskAboutEverything(t *testing.T) {
	h := newPolicyHome(t)
	h.rules(allowAll)
	h.write(h.config.Paths().AcceptedFile(), "not JSON")
	h.close()
	h.open()
	h.reloadPolicy(t.Context())
	h.want("what a rule allows", h.effect("write_file", approvals.Write), approvals.Ask)
	if n := h.policies.notice(); !strings.Contains(n, "accepted for projects") {
		t.Errorf("status warns %q", n)
	}
}

func TestExplainingACall(t *testing.T) {
	h := newPolicyHome(t)
	h.rules(denyWrites)
	x, err := h.ExplainPolicy(t.Context(), api.ExplainRequest{Server: "files", Tool: "write_file"})
	if err != nil || x.Effect != "deny" || x.Rule == nil || x.Rule.Origin != "policy.yaml:3" || len(x.Notes) != 1 {
		t.Errorf("not seen yet: %+v, %v", x, err)
	}
	h.policies.noteTools("files", []protocol.ToolDefinition{})
	x, err = h.ExplainPolicy(t.Context(), api.ExplainRequest{Server: "files", Tool: "read_file"})
	if err != nil || x.Effect != "deny" || x.Decided != approvals.RuleUnlisted {
		t.Errorf("never listed: %+v, %v", x, err)
	}
	for name, r := range map[string]api.ExplainRequest{
		"no server": {Server: "nope", Tool: "x"}, "no tool": {Server: "files"}, "no call": {Call: "c0"},
	} {
		if _, err := h.ExplainPolicy(t.Context(), r); err == nil {
			t.Errorf("%s: explained", name)
		}
	}
}

func TestReplayingRecordedCalls(t *testing.T) {
	h := newPolicyHome(t)
	c := approvals.Call{
		ID: "c1", Session: "s1", Server: "files", Tool: "read_file", Pin: "sha256:1", Class: approvals.Read, Mode: sandbox.Snapshot,
		Arguments: []byte(`{"path":"/a"}`), At: time.Now(),
	}
	d, err := h.gate.Authorize(t.Context(), c)
	if err != nil || !d.Allowed() {
		t.Fatal(d, err)
	}
	if err := (callLog{h.Daemon}).Record(t.Context(), store.CallRecord{Call: c, Decision: d, Outcome: store.CallDone}); err != nil {
		t.Fatal(err)
	}
	text := "version: 1\nrules:\n  - {when: args.path == \"/a\", effect: ask}\n"
	r, err := h.ReplayPolicy(t.Context(), api.ReplayRequest{Text: &text, Since: time.Now().Add(-time.Hour)})
	if err != nil || r.Calls != 1 || len(r.Changes) != 1 || r.Changes[0].Now != "ask" || r.Changes[0].Was != "allow" {
		t.Errorf("got %+v, %v", r, err)
	}
	if r, err := h.ReplayPolicy(t.Context(), api.ReplayRequest{Since: time.Now().Add(-time.Hour)}); err != nil || r.Same != 1 {
		t.Errorf("by what is in force: %+v, %v", r, err)
	}
	bad := wrong
	if _, err := h.ReplayPolicy(t.Context(), api.ReplayRequest{Text: &bad}); err == nil {
		t.Error("a wrong policy was replayed")
	}
}
