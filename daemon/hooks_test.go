package daemon

import (
	"context"
	"encoding/json"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/containerd/errdefs"

	"github.com/garita-dev/garita/approvals"
	"github.com/garita-dev/garita/approvals/gate"
	"github.com/garita-dev/garita/daemon/api"
	"github.com/garita-dev/garita/daemon/clientconfig"
	"github.com/garita-dev/garita/daemon/config"
	"github.com/garita-dev/garita/daemon/events"
	"github.com/garita-dev/garita/daemon/gateway"
	"github.com/garita-dev/garita/daemon/httpapi"
	"github.com/garita-dev/garita/sandbox"
	"github.com/garita-dev/garita/store"
	"github.com/garita-dev/garita/store/sqlite"
)

// hookHome is a daemon that hooks of one client tell of its own tools.
type hookHome struct {
	t    *testing.T
	dir  string
	peer httpapi.Peer
	uses int
	*Daemon
}

func newHookHome(t *testing.T) *hookHome {
	t.Helper()
	h := &hookHome{t: t, dir: t.TempDir(), peer: httpapi.Peer{PID: os.Getpid(), UID: os.Getuid()}}
	at := func(s string) string { return filepath.Join(h.dir, s) }
	paths := config.Paths{Config: at("config"), State: at("state"), Data: at("data"), Run: at("run"), Home: at("home"), Isolated: true}
	settings, err := config.Open(paths)
	if err != nil {
		t.Fatal(err)
	}
	db, err := sqlite.Open(t.Context(), paths.Database(), sqlite.Options{KeyFile: at("state/audit.key"), HeadFile: at("state/audit.head")})
	if err != nil {
		t.Fatal(err)
	}
	d := &Daemon{
		config: settings, db: db, events: events.New(100), attached: newAttached(), log: slog.New(slog.DiscardHandler), importer: clientconfig.NewImporter(paths),
		tools: map[sandbox.ServerName][]api.Tool{}, doubts: map[string]*gateway.Doubt{},
	}
	d.running, d.stop = context.WithCancel(context.WithoutCancel(t.Context()))
	d.policies = newPolicies(paths)
	d.pins = newPinned(d)
	d.gate = gate.New(gate.Options{Log: gateLog{d}, Standings: standings{d}, Policy: d.policies.policy})
	h.Daemon = d
	t.Cleanup(func() {
		h.stop()
		_ = h.gate.Close()
		h.attached.close()
		_ = h.db.Close()
	})
	return h
}

func (h *hookHome) use(tool string) api.HookUse {
	h.uses++
	return api.HookUse{Client: "claude-code", Session: "abc", Tool: tool, Use: string(rune('a' + h.uses))}
}

// before asks, and has the person answer where they are asked; "" is no answer.
func (h *hookHome) before(u api.HookUse, input, answer string) (api.HookDecision, api.Approval) {
	h.t.Helper()
	call := api.HookCall{HookUse: u, Dir: h.dir, Input: json.RawMessage(input), WaitMS: 60_000}
	if answer == "" {
		call.WaitMS = 300
	}
	var seen api.Approval
	done := make(chan struct{})
	ctx, cancel := context.WithCancel(h.t.Context())
	go func() {
		defer close(done)
		pending, err := h.gate.Await(ctx)
		if err != nil || answer == "" {
			return
		}
		seen = h.approval(ctx, pending[0])
		seen.Offers = apiOffers(offersTo(pending[0], h.gate.Offers(pending[0])))
		_, err = h.gate.Answer(ctx, pending[0].ID, approvals.Answer{Approve: answer == "yes", By: "test", Binding: pending[0].Binding})
		if err != nil {
			h.t.Error(err)
		}
	}()
	d, err := h.BeforeTool(h.t.Context(), h.peer, call)
	cancel()
	<-done
	if err != nil {
		h.t.Fatal(err)
	}
	return d, seen
}

func (h *hookHome) recorded(id string) store.CallRecord {
	h.t.Helper()
	r, err := h.db.Call(h.t.Context(), approvals.CallID(id))
	if err != nil {
		h.t.Fatal(err)
	}
	return r
}

func TestAClientsOwnReadsAreLeftToItsRules(t *testing.T) {
	h := newHookHome(t)
	u := h.use("Read")
	d, asked := h.before(u, `{"file_path":"/w/a.txt"}`, "")
	if d.Decision != "none" || asked.ID != "" {
		t.Fatalf("got %+v", d)
	}
	err := h.AfterTool(t.Context(), h.peer, api.HookResult{HookUse: u, Digest: "sha256:1", Size: 7})
	if r := h.recorded(d.Call); err != nil || r.Outcome != store.CallDone || r.Result.Size != 7 || r.Call.Server != "claude-code" || r.Call.Principal.Client != "claude-code" {
		t.Errorf("recorded %+v, %v", r, err)
	}
}

func TestAClientsCommandIsAskedAbout(t *testing.T) {
	h := newHookHome(t)
	u := h.use("Bash")
	d, asked := h.before(u, `{"command":"git push origin main"}`, "yes")
	if d.Decision != "allow" || asked.Kind != "command" || asked.Title != "claude-code wants to run git push origin main" || asked.Object != "git push origin main" {
		t.Fatalf("got %+v\n%+v", d, asked)
	}
	if !strings.Contains(asked.Stays, "nothing of it is kept back") || strings.Contains(asked.Reaches, "no host") {
		t.Errorf("it promises what is not so: %q %q", asked.Stays, asked.Reaches)
	}
	err := h.AfterTool(t.Context(), h.peer, api.HookResult{HookUse: u, Failed: true, Error: "exit 1"})
	if r := h.recorded(d.Call); err != nil || r.Outcome != store.CallFailed || r.Error != "exit 1" {
		t.Errorf("recorded %+v, %v", r, err)
	}
	if err := h.AfterTool(t.Context(), h.peer, api.HookResult{HookUse: u}); err == nil {
		t.Error("it ended twice")
	}
	d, _ = h.before(h.use("Bash"), `{"command":"git push origin main"}`, "no")
	if d.Decision != "deny" || !strings.Contains(d.Reason, "The person denied") {
		t.Errorf("got %+v", d)
	}
	if r := h.recorded(d.Call); r.Outcome != store.CallRefused {
		t.Errorf("recorded %+v", r)
	}
	d, _ = h.before(h.use("Bash"), `{"command":"ls"}`, "")
	if d.Decision != "deny" || !strings.Contains(d.Reason, "Nobody answered in time") {
		t.Errorf("without an answer: %+v", d)
	}
}

func TestAnEditIsShownBeforeItIsMade(t *testing.T) {
	h := newHookHome(t)
	file := filepath.Join(h.dir, "a.txt")
	if err := os.WriteFile(file, []byte("one\ntwo\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	input := func(old string) string {
		b, _ := json.Marshal(map[string]string{"file_path": file, "old_string": old, "new_string": "TWO"})
		return string(b)
	}
	d, asked := h.before(h.use("Edit"), input("two"), "yes")
	if d.Decision != "allow" || asked.Diff == nil || !strings.Contains(asked.Diff.Unified, "-two\n+TWO\n") {
		t.Fatalf("got %+v, %+v", d, asked.Diff)
	}
	_, asked = h.before(h.use("Edit"), input("three"), "no")
	if asked.Diff == nil || asked.Diff.Unified != "" || !strings.Contains(asked.Diff.Note, "would fail") {
		t.Errorf("got %+v", asked.Diff)
	}
	link := filepath.Join(h.dir, "l")
	if err := os.Symlink("/etc/passwd", link); err != nil {
		t.Fatal(err)
	}
	_, asked = h.before(h.use("Write"), `{"file_path":"`+link+`","content":"x"}`, "no")
	if asked.Diff == nil || strings.Contains(asked.Diff.Unified, "root") {
		t.Errorf("a link is followed: %+v", asked.Diff)
	}
}

func TestKeysAreAskedAbout(t *testing.T) {
	h := newHookHome(t)
	home := h.config.Paths().Home
	for name, path := range map[string]string{
		"keys": filepath.Join(home, ".ssh", "id_x"), "by the home": "~/.aws/x", "Garita's own": filepath.Join(h.dir, "state", "garita.db"), "a relative one": "home/.ssh/config",
	} {
		d, asked := h.before(h.use("Read"), `{"file_path":"`+path+`"}`, "no")
		if d.Decision != "deny" || asked.ID == "" {
			t.Errorf("%s: got %+v", name, d)
		}
	}
}

func TestAToolOfAnotherServerIsNoMoreThanItsName(t *testing.T) {
	h := newHookHome(t)
	d, asked := h.before(h.use("mcp__mail__delete_message"), `{"id":"7"}`, "yes")
	if d.Decision != "allow" || asked.Call.Class != "destroy" {
		t.Errorf("got %+v, %+v", d, asked.Call)
	}
	d, asked = h.before(h.use("mcp__mail__list_messages"), `{}`, "yes")
	if d.Decision != "allow" || asked.ID == "" {
		t.Errorf("a read by name passes: %+v", d)
	}
	for _, o := range asked.Offers {
		if o.Scope == "always" || o.Scope == "until" {
			t.Errorf("offered for longer than the session: %s", o.Words)
		}
	}
	defer h.hooked.attach(clientAbove(h.peer, 0), "mail")()
	u := h.use("mcp__mail__delete_message")
	if d, asked = h.before(u, `{"id":"7"}`, ""); d.Decision != "none" || d.Call != "" || asked.ID != "" {
		t.Errorf("asked twice: %+v", d)
	}
	if err := h.AfterTool(t.Context(), h.peer, api.HookResult{HookUse: u}); err != nil {
		t.Error(err)
	}
}

func TestWhoRunsTheHookCannotAnswer(t *testing.T) {
	h := newHookHome(t)
	h.before(h.use("Read"), `{"file_path":"/w/a"}`, "")
	if _, err := h.Answer(t.Context(), h.peer, "r1", api.Answer{}); err == nil || !strings.Contains(err.Error(), "cannot answer for the person") {
		t.Errorf("got %v", err)
	}
	if _, err := h.SetHooks(t.Context(), h.peer, api.HookSettings{File: filepath.Join(h.dir, "s.json"), Hooks: []api.HookLine{{Event: "PreToolUse", Command: "garita hook pre-tool-use"}}}); err == nil {
		t.Error("it changes its own hooks")
	}
}

func TestAUseThatCannotBeUnderstoodDoesNotPass(t *testing.T) {
	h := newHookHome(t)
	for name, call := range map[string]api.HookCall{
		"a name twice": {HookUse: h.use("Bash"), Input: json.RawMessage(`{"command":"ls","command":"rm"}`)},
		"no tool":      {HookUse: h.use(""), Input: json.RawMessage(`{}`)},
		"no session":   {HookUse: api.HookUse{Client: "c", Tool: "Bash", Use: "u"}, Input: json.RawMessage(`{}`)},
	} {
		if d, err := h.BeforeTool(t.Context(), h.peer, call); !errdefs.IsInvalidArgument(err) {
			t.Errorf("%s: got %+v, %v", name, d, err)
		}
	}
}

func TestANoMayComeFromTheTray(t *testing.T) {
	h := newHookHome(t)
	own, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Dir(own)
	shell, err := os.ReadFile("/bin/sh")
	if err != nil {
		t.Skip("no shell:", err)
	}
	program := filepath.Join(dir, "garita")
	if err := os.WriteFile(program, shell, 0o755); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.Remove(program) })
	if err := os.WriteFile(filepath.Join(h.dir, "tray"), []byte("read line\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), program, "tray")
	cmd.Dir = h.dir
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = in.Close(); _ = cmd.Wait() })
	// A process that has just been executed has no arguments yet for a moment.
	poll(t, "the tray is seen", func() bool { return isTray(cmd.Process.Pid) })
	if isTray(os.Getpid()) {
		t.Fatal("the test is taken for the tray")
	}
	tray := httpapi.Peer{PID: cmd.Process.Pid, UID: os.Getuid()}
	if by, err := h.mayAnswer(t.Context(), tray, "r1", api.Answer{}); err != nil || !strings.HasPrefix(by, "notification") {
		t.Errorf("a no: %q, %v", by, err)
	}
	if by, err := h.mayAnswer(t.Context(), tray, "r1", api.Answer{Approve: true}); strings.HasPrefix(by, "notification") {
		t.Errorf("a yes: %q, %v", by, err)
	}
	if err := h.attached.hold(cmd.Process.Pid); err != nil {
		t.Fatal(err)
	}
	if _, err := h.mayAnswer(t.Context(), tray, "r1", api.Answer{}); err == nil {
		t.Error("an agent that calls itself the tray may answer")
	}
}
