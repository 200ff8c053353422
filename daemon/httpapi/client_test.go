package httpapi_test

import (
	"encoding/json"
	"errors"
	"io"
	"net"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/garita-dev/garita/daemon/api"
)

// check fails the test unless got is want and err is nil.
func check[T any](t *testing.T, what string, want T) func(T, error) {
	t.Helper()
	return func(got T, err error) {
		t.Helper()
		if err != nil {
			t.Errorf("%s: %v", what, err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: %s", what, diff)
		}
	}
}

func TestTheClientReachesEveryRoute(t *testing.T) {
	d := serve(t)
	c, ctx := d.client, t.Context()
	check(t, "status", api.Status{Sentence: "fine", Page: d.page, Warnings: []string{}, Prompts: api.Prompts{Agents: []api.AgentPrompts{}}})(c.Status(ctx))
	check(t, "doctor", api.Doctor{Checks: []api.Check{}})(c.Doctor(ctx))
	check(t, "calls", api.CallPage{Calls: []api.Call{}, Next: "b/7/files"})(c.Calls(ctx, "b", 7, "files"))
	check(t, "calls", api.CallPage{Calls: []api.Call{}, Next: "/100/"})(c.Calls(ctx, "", 0, ""))
	check(t, "servers", []api.Server{})(c.Servers(ctx))
	check(t, "log", api.ServerLog{Lines: []string{"files 1s"}, Next: 7})(c.ServerLog(ctx, "files", 7, time.Second))
	check(t, "before a tool", api.HookDecision{Decision: "allow", Reason: `{"a":1.0}`})(c.BeforeTool(ctx, api.HookCall{Input: []byte(`{"a":1.0}`)}))
	if err := c.AfterTool(ctx, api.HookResult{HookUse: api.HookUse{Tool: "Bash"}}); err != nil {
		t.Error("after a tool:", err)
	}
	check(t, "set hooks", api.HookPlan{File: "/s", Done: true})(c.SetHooks(ctx, api.HookSettings{File: "/s"}))
	check(t, "network", network("a b"))(c.Network(ctx, "a b"))
	check(t, "change network", network("files", "x.example.com"))(c.ChangeNetwork(ctx, "files", api.NetworkChange{Host: "x.example.com", Allow: true}))
	check(t, "pins", api.Pins{Server: "a b", Items: []api.PinItem{}})(c.Pins(ctx, "a b"))
	check(t, "answer pins", api.Pins{Server: "files", Binding: "sha256:1", Items: []api.PinItem{}})(c.AnswerPins(ctx, "files", api.PinAnswer{Binding: "sha256:1"}))
	hour := time.Unix(3600, 0).UTC()
	until := api.Permit{Scope: "until", Until: &hour, Match: []api.Match{{Path: "/path", Prefix: "src/"}}}
	check(t, "preview", api.Offer{Permit: until, Words: "for r1", Matches: []api.Matched{}})(c.Preview(ctx, "r1", until))
	check(t, "groups", []api.ApprovalGroup{{ID: "q1", Members: []api.GroupMember{}}})(c.ApprovalGroups(ctx))
	if got, err := c.AnswerGroup(ctx, api.GroupAnswer{Permit: api.Permit{Scope: "session"}, Members: []api.Seen{{ID: "r1", Binding: "b"}}}); err != nil || len(got) != 1 || got[0].State != "session" {
		t.Errorf("answer group: got %+v, %v", got, err)
	}
	check(t, "expired", []api.Approval{})(c.Expired(ctx))
	check(t, "grants", []api.Grant{{ID: "g1", Words: "true", Match: []api.Match{}}})(c.Grants(ctx, true))
	check(t, "sessions", []api.Session{})(c.Sessions(ctx))
	none := api.Update{Server: "files", Packages: []api.PackageChange{}, Scripts: []string{}, Tools: []api.ToolUpdate{}, Notes: []string{}}
	check(t, "update", none)(c.Update(ctx, "files"))
	none.Binding = "sha256:1"
	check(t, "accept an update", none)(c.AcceptUpdate(ctx, "files", api.UpdateAnswer{Binding: "sha256:1"}))
	observed := func(seq int64, notes ...string) api.Observation {
		return api.Observation{Server: "files", State: "observing", Seq: seq, Seen: []api.Observed{}, Notes: append([]string{}, notes...)}
	}
	check(t, "observation", observed(7))(c.Observation(ctx, "files", 7, time.Millisecond))
	check(t, "observe", observed(30))(c.Observe(ctx, "files", api.ObserveRequest{Minutes: 30}))
	check(t, "end an observation", observed(1))(c.EndObservation(ctx, "files"))
	check(t, "choose mounts", observed(2, "/data/in"))(c.ChooseMounts(ctx, "files", api.MountChoice{Mounts: []string{"/data/in"}}))
	check(t, "accept an observation", observed(3, "sha256:1", "c0de"))(c.AcceptObservation(ctx, "files", api.LeastAnswer{Binding: "sha256:1", Code: "c0de", TTY: true}))
	if err := c.ForgetObservation(ctx, "files"); err != nil {
		t.Errorf("forget an observation: %v", err)
	}
	check(t, "trace", api.Trace{Session: api.Session{ID: "s1"}, Lines: []api.TraceMessage{}, Next: 3})(c.Trace(ctx, "s1", 3, 0))
	check(t, "tracing", api.Tracing{})(c.Tracing(ctx))
	check(t, "tracing on", api.Tracing{On: true})(c.SetTracing(ctx, api.Tracing{On: true}))
	check(t, "tokens", []api.Token{})(c.Tokens(ctx))
	check(t, "create token", api.CreatedToken{Token: api.Token{Name: "n", Servers: []string{"files"}, Tools: []string{}}, Secret: "garita_x"})(
		c.CreateToken(ctx, api.NewToken{Name: "n", Servers: []string{"files"}}))
	check(t, "workspaces", []api.Workspace{})(c.Workspaces(ctx))
	check(t, "restores", []api.Restored{})(c.Restore(ctx, api.RestoreRequest{}))
	check(t, "verify", api.Verification{})(c.VerifyAudit(ctx))
	check(t, "diff", api.WorkspaceDiff{Workspace: api.Workspace{Server: "files", Agent: "a b", Folders: []string{}}, Files: []api.FileDiff{}})(c.WorkspaceDiff(ctx, "files", "a b"))
	check(t, "apply", api.ApplyResult{Done: []api.Change{{Path: "a,b"}}, Left: []api.Change{}})(c.ApplyWorkspace(ctx, "files", api.ApplyRequest{Paths: []string{"a", "b"}}))
	check(t, "discard", api.ApplyResult{Done: []api.Change{}, Left: []api.Change{}})(c.DiscardWorkspace(ctx, "files", api.ApplyRequest{}))
	check(t, "import", api.ImportPlan{File: "x.json", Servers: []api.ImportServer{}, Notices: []string{}})(c.Import(ctx, api.ImportRequest{From: "x.json"}))
	check(t, "audit", []api.AuditEvent{{Seq: -20, Kind: "5", Call: "c1", Body: json.RawMessage("null")}})(c.Audit(ctx, -20, 5, "c1"))
	if got, err := c.Server(ctx, "a b%2f"); err != nil || got.Name != "a b%2f" {
		t.Errorf("server: got %+v, %v", got, err)
	}
	if got, err := c.Approvals(ctx, 30*time.Second); err != nil || len(got) != 1 || got[0].Title != "30s" {
		t.Errorf("approvals: got %+v, %v", got, err)
	}
	for what, err := range map[string]error{
		"remove": c.RemoveServer(ctx, "files"), "start": c.StartServer(ctx, "files"), "restart": c.RestartServer(ctx, "files"),
		"freeze": c.FreezeServer(ctx, "files"), "thaw": c.ThawServer(ctx, "files"),
		"revoke": c.RevokeToken(ctx, "t1"), "revoke grant": c.RevokeGrant(ctx, "g1"), "see": c.SeeExpired(ctx, "r1", "r2"), "shutdown": c.Shutdown(ctx),
	} {
		if err != nil {
			t.Errorf("%s: %v", what, err)
		}
	}
}

func TestErrorsArriveAsProblems(t *testing.T) {
	d := serve(t)
	_, missing := d.client.Call(t.Context(), "c1")
	_, unanswerable := d.client.Answer(t.Context(), strings.Repeat("x", 100), api.Answer{Binding: "b"})
	for name, c := range map[string]struct {
		err    error
		status int
		code   string
	}{
		"not found":        {missing, 404, "not_found"},
		"precondition":     {d.client.StopServer(t.Context(), "files"), 412, "precondition"},
		"refused by shape": {unanswerable, 422, "invalid"},
	} {
		var p *api.Problem
		if !errors.As(c.err, &p) || p.Status != c.status || p.Code != c.code || p.Title == "" || p.Detail == "" {
			t.Errorf("%s: got %#v", name, c.err)
		}
	}
}

func TestNobodyAtTheSocket(t *testing.T) {
	_, err := api.New(t.TempDir() + "/s").Status(t.Context())
	var u *api.Unreachable
	if !errors.As(err, &u) {
		t.Fatalf("got %v", err)
	}
}

func TestAnswersCarryThePeerAndWhatWasTyped(t *testing.T) {
	d := serve(t)
	typed := api.Answer{Approve: true, Binding: "b", Code: "4711", TTY: true}
	if _, err := d.client.Answer(t.Context(), "r1", typed); err != nil {
		t.Fatal(err)
	}
	b := d.visit(t)
	if status, body := b.do(t, "POST", "/api/v1/approvals/r1", `{"approve":true,"binding":"b","code":"4711","tty":true}`, nil); status != 200 {
		t.Fatal(status, body)
	}
	if diff := cmp.Diff([]api.Answer{typed, {Approve: true, Binding: "b"}}, d.answers); diff != "" {
		t.Error(diff)
	}
	if p := d.peers[0]; p.PID != os.Getpid() || p.UID != os.Getuid() || p.Page {
		t.Errorf("the program: got %+v", p)
	}
	if p := d.peers[1]; p.PID != 0 || !p.Page {
		t.Errorf("the page: got %+v", p)
	}
}

func TestAnswersThatCouldBeReadTwoWaysAreRefused(t *testing.T) {
	d := serve(t)
	b := d.visit(t)
	for _, body := range []string{
		`{"approve":false,"binding":"b","approve":true}`,
		`{"approve":false,"Approve":true,"binding":"b"}`,
		`{"approve":true}`,
		`{"approve":"yes","binding":"b"}`,
		`{"approve":true,"binding":"b"} {}`,
		`{`,
		``,
	} {
		if status, got := b.do(t, "POST", "/api/v1/approvals/r1", body, nil); status/100 != 4 {
			t.Errorf("%s: got %d %s", body, status, got)
		}
	}
	if len(d.answers) != 0 {
		t.Errorf("got %v", d.answers)
	}
}

func TestArgumentsArriveByteForByte(t *testing.T) {
	d := serve(t)
	args := `{"b":1.0,"a":"<&>é \u0041","n":12345678901234567890}`
	got, err := d.client.CallTool(t.Context(), api.ToolCall{Server: "s", Tool: "t", Arguments: json.RawMessage(args)})
	if err != nil {
		t.Fatal(err)
	}
	if string(d.called[0].Arguments) != args || string(got.Result) != args {
		t.Errorf("sent %s, arrived %s, back %s", args, d.called[0].Arguments, got.Result)
	}
}

func TestBodiesAreBounded(t *testing.T) {
	d := serve(t)
	args := json.RawMessage(`"` + strings.Repeat("x", 9<<20) + `"`)
	_, err := d.client.CallTool(t.Context(), api.ToolCall{Server: "s", Tool: "t", Arguments: args})
	var p *api.Problem
	if !errors.As(err, &p) || p.Status != 413 {
		t.Fatalf("got %v", err)
	}
}

func TestEventsAreFollowedAcrossConnections(t *testing.T) {
	d := serve(t)
	follow := func(since int64) (*api.EventStream, api.Event) {
		s, err := d.client.Events(t.Context(), since)
		if err != nil {
			t.Fatal(err)
		}
		e, err := s.Next(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return s, e
	}
	first, reset := follow(0)
	if reset.Kind != "reset" {
		t.Errorf("got %+v", reset)
	}
	d.log.Publish("progress", "p1", &api.Progress{Server: "files", Done: 3})
	e, err := first.Next(t.Context())
	if err != nil || e.Progress == nil || e.Progress.Done != 3 {
		t.Errorf("got %+v, %v", e, err)
	}
	if err := first.Close(); err != nil {
		t.Error(err)
	}
	d.log.Publish("call", "c1", nil)
	second, e := follow(e.Seq)
	defer second.Close()
	if e.Kind != "call" || e.ID != "c1" {
		t.Errorf("got %+v", e)
	}
}

func TestAttachCarriesBytesBothWaysAndHalfCloses(t *testing.T) {
	d := serve(t)
	conn, err := d.client.Attach(t.Context(), api.Attach{Server: "files", Workspace: []string{"/a b"}, PID: 7})
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if _, err := io.WriteString(conn, "hello\n"); err != nil {
		t.Fatal(err)
	}
	if err := conn.(interface{ CloseWrite() error }).CloseWrite(); err != nil {
		t.Fatal(err)
	}
	got, err := io.ReadAll(conn)
	if err != nil || string(got) != "files/a b:HELLO\n" {
		t.Errorf("got %q, %v", got, err)
	}
}

func TestBytesSentWithTheUpgradeAreNotLost(t *testing.T) {
	d := serve(t)
	conn, err := net.Dial("unix", d.client.Socket())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	early := "GET /api/v1/attach?server=s&workspace=w HTTP/1.1\r\nHost: garita\r\nConnection: Upgrade\r\nUpgrade: garita-stdio\r\n\r\nearly"
	if _, err := io.WriteString(conn, early); err != nil {
		t.Fatal(err)
	}
	if err := conn.(*net.UnixConn).CloseWrite(); err != nil {
		t.Fatal(err)
	}
	got, err := io.ReadAll(conn)
	if err != nil || !strings.HasSuffix(string(got), "\r\n\r\nsw:EARLY") {
		t.Errorf("got %q, %v", got, err)
	}
}

func TestAttachNamesWhatIsWrong(t *testing.T) {
	d := serve(t)
	for name, c := range map[string]struct {
		attach api.Attach
		status int
	}{
		"two servers":    {api.Attach{Server: "files", Command: []string{"ls"}}, 400},
		"no such server": {api.Attach{Server: "nope"}, 404},
	} {
		_, err := d.client.Attach(t.Context(), c.attach)
		var p *api.Problem
		if !errors.As(err, &p) || p.Status != c.status {
			t.Errorf("%s: got %v", name, err)
		}
	}
}

// network is one as it reads back: without nulls.
func network(server string, allow ...string) api.Network {
	return api.Network{
		Server: server, Allow: append([]string{}, allow...), LAN: []string{}, HostPorts: []int{}, Deny: []string{}, SSH: []api.NetworkSSH{},
		Granted: []api.NetworkGrant{}, Live: []api.LiveConnection{}, Tried: []api.NetworkTried{},
	}
}
