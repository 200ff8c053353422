package daemon

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/containerd/errdefs"

	"github.com/garita-dev/garita/approvals"
	"github.com/garita-dev/garita/approvals/grants"
	"github.com/garita-dev/garita/daemon/api"
	"github.com/garita-dev/garita/daemon/hooks"
	"github.com/garita-dev/garita/daemon/protocol"
	"github.com/garita-dev/garita/sandbox"
	"github.com/garita-dev/garita/store"
)

// What the daemon knows, in the words of the contract.

func (d *Daemon) apiCall(r store.CallRecord) api.Call {
	c, decided := r.Call, r.Decision
	return api.Call{
		ID: string(c.ID), At: c.At, Agent: d.agentName(c.Principal), Principal: c.Principal.String(), Session: string(c.Session),
		Sandbox: string(c.Instance), Workspace: string(c.Workspace), Server: string(c.Server), Tool: c.Tool,
		Sentence: c.Sentence, Class: string(decided.Class), ClassWhy: c.ClassWhy,
		Effect: string(decided.Effect), Rule: decided.Rule, Reason: decided.Reason,
		Approval: string(decided.Request), Answer: string(decided.Outcome), By: decided.By,
		Outcome: string(r.Outcome), Error: r.Error, DurationMS: millis(r.Duration), WaitedMS: millis(decided.Waited),
		ResultSize: r.Result.Size, ResultDigest: string(r.Result.Digest),
		Changes: apiChanges(r.Changes), Commands: r.Commands, Findings: notNil(r.Findings),
	}
}

func millis(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

// agentName is a principal for people.
func (d *Daemon) agentName(p approvals.Principal) string {
	switch {
	case p.Token != "":
		return d.tokenName(store.TokenID(p.Token))
	case p.Client == "":
		return "command line"
	}
	return p.Client
}

// tokenName is what a person called a token, its id where nobody knows it any more.
func (d *Daemon) tokenName(id store.TokenID) string {
	t, err := d.db.Token(id)
	if err != nil || t.Name == "" {
		return "token:" + string(id)
	}
	return t.Name
}

func notNil[T any](s []T) []T {
	if s == nil {
		return []T{}
	}
	return s
}

func apiChanges(changes []sandbox.Change) []api.Change {
	out := make([]api.Change, 0, len(changes))
	for _, c := range changes {
		out = append(out, apiChange(c))
	}
	return out
}

func apiChange(c sandbox.Change) api.Change {
	return api.Change{
		Folder: c.Folder, Path: c.Path, Kind: string(c.Kind), Type: c.Type, Size: c.Size, Held: c.Held, Stale: c.Stale,
	}
}

func apiFileDiffs(diffs []sandbox.FileDiff) []api.FileDiff {
	out := make([]api.FileDiff, 0, len(diffs))
	for _, d := range diffs {
		out = append(out, api.FileDiff{Change: apiChange(d.Change), Unified: d.Unified, Note: d.Note})
	}
	return out
}

func apiLimits(limits []sandbox.LimitInForce) []api.Limit {
	out := make([]api.Limit, 0, len(limits))
	for _, l := range limits {
		out = append(out, api.Limit{Name: l.Name, Value: l.Value, By: l.By})
	}
	return out
}

// apiApproval is a question as a person sees it, whole.
func (d *Daemon) apiApproval(r approvals.Request, diff *api.FileDiff, before string) api.Approval {
	record := store.CallRecord{Call: r.Call, Decision: r.Why, Outcome: store.CallWaiting}
	record.Decision.Request, record.Decision.Outcome, record.Decision.By = r.ID, r.Outcome, r.By
	call := d.apiCall(record)
	call.Arguments, call.Input = arguments(r.Call), input(r.Call)
	a := api.Approval{
		ID: string(r.ID), Binding: string(r.Binding), State: string(r.Outcome), Asked: r.Asked, Expires: r.Expires, By: r.By,
		Call: call, Title: d.title(r.Call), Object: object(r.Call), Stays: stays(r.Call, d.network(r.Call).Lists()), Diff: diff, Before: before,
		Reaches: d.within(r.Call), Kind: string(r.Kind), Rule: r.Ruling.Rule, Offers: []api.Offer{}, Findings: findings(r.Call),
	}
	if !r.Answered.IsZero() {
		a.Answered = &r.Answered
	}
	return withSubject(a, r)
}

// findings are what of c a person should look at, the gravest first.
func findings(c approvals.Call) []api.Finding {
	out := []api.Finding{}
	for _, f := range []api.Finding{
		{Kind: "doubt", Text: c.Doubt},
		{Kind: "arguments", Text: approvals.RiskOf(c)},
		{Kind: "sensitive", Text: c.Sensitive},
	} {
		if f.Text != "" {
			f.Text = strings.ToUpper(f.Text[:1]) + strings.TrimSuffix(f.Text[1:], ".") + "."
			out = append(out, f)
		}
	}
	return out
}

// arguments are the bytes that will be sent, as they are.
func arguments(c approvals.Call) json.RawMessage {
	if len(c.Arguments) == 0 {
		return json.RawMessage("{}")
	}
	return json.RawMessage(c.Arguments)
}

// input is what goes along with the arguments in answer to the server's own question, as it is; nil for nothing.
func input(c approvals.Call) json.RawMessage {
	var members []string
	for _, m := range []struct {
		name  string
		value []byte
	}{{"inputResponses", c.Input}, {"requestState", c.State}} {
		if m.value != nil {
			members = append(members, fmt.Sprintf("%q:%s", m.name, m.value))
		}
	}
	if members == nil {
		return nil
	}
	return json.RawMessage("{" + strings.Join(members, ",") + "}")
}

// title is who wants what, in one sentence.
func (d *Daemon) title(c approvals.Call) string {
	who := d.agentName(c.Principal)
	if c.Principal.Client == "" && c.Principal.Token == "" {
		who = "The " + who
	}
	return fmt.Sprintf("%s wants to %s", who, lowerFirst(c.Sentence))
}

func lowerFirst(s string) string {
	if s == "" {
		return "call a tool"
	}
	return strings.ToLower(s[:1]) + s[1:]
}

// about is the arguments that name what a call is about, the most telling first.
var about = []string{"path", "file_path", "command", "query", "sql", "url", "uri", "source", "name"}

// object is what the call is about, for the monospaced line: its path, command or query, else the tool.
func object(c approvals.Call) string {
	members, err := protocol.Members(c.Arguments)
	if err != nil {
		return c.Tool
	}
	for _, name := range about {
		if text := protocol.Text(members[name]); text != "" {
			return bounded(text)
		}
	}
	return c.Tool
}

// bounded cuts text for one line; the arguments are there in full beside it.
func bounded(s string) string {
	const limit = 300
	if len(s) <= limit {
		return s
	}
	return strings.ToValidUTF8(s[:limit], "") + "…"
}

// stays says where the effect stays. networked is whether the server may reach hosts.
func stays(c approvals.Call, networked bool) string {
	switch {
	case hooks.Ours(c) && c.Class == approvals.Read:
		return "It runs in the agent itself, outside of Garita's walls."
	case hooks.Ours(c):
		return "It runs in the agent itself, with your rights and outside of Garita's walls: nothing of it is kept back."
	case c.External:
		return "It runs outside of Garita's walls: what it does there cannot be kept back or taken back."
	case c.Class == approvals.Read:
		return "It only reads; what it reads goes to the agent."
	case c.Mode == sandbox.Direct:
		return "It changes your files at once."
	case (c.Mode == sandbox.Snapshot || c.Mode == "") && c.Workspace != "" && networked:
		return "Files it changes stay in the agent's workspace until you apply them; what it sends to hosts cannot be taken back."
	case (c.Mode == sandbox.Snapshot || c.Mode == "") && c.Workspace != "":
		return "It stays in the agent's workspace until you apply it."
	case networked:
		return "It can write no files of yours; what it sends to hosts cannot be taken back."
	}
	return "It stays in the sandbox, which has no files of yours to write and reaches no host."
}

// within is reaches for a server that may reach hosts.
func (d *Daemon) within(c approvals.Call) string {
	if n := d.network(c); n.Lists() || len(d.secretsFor(c)) > 0 {
		return hostsInWords(n) + "; " + secretsInWords(d.secretsFor(c), time.Now())
	}
	return reaches(c)
}

// network is what of the world the call's server may reach from within its walls, unasked.
func (d *Daemon) network(c approvals.Call) sandbox.Allowlist {
	if c.External || c.Server == "" {
		return sandbox.Allowlist{}
	}
	s, _ := d.config.Server(c.Server)
	l := s.Spec.Reach(time.Now())
	for _, g := range d.gate.Grants() {
		if e, ok := grantedHost(g, grants.Host(g), c, time.Now()); ok && !slices.Contains(l.Endpoints, e) {
			l.Endpoints = append(l.Endpoints, e)
		}
	}
	return l
}

// secretsFor are those that the call's server may use.
func (d *Daemon) secretsFor(c approvals.Call) []sandbox.SecretGrant {
	if c.External || c.Server == "" || hooks.Ours(c) {
		return nil
	}
	s, _ := d.config.Server(c.Server)
	return s.Spec.Secrets
}

// reaches says what of the world a call can get at.
func reaches(c approvals.Call) string {
	if hooks.Ours(c) {
		return "whatever you reach: files, network, programs"
	}
	if c.External {
		return "whatever the server reaches where it runs; the arguments are sent there"
	}
	return "no host, no secret"
}

// named is err, in words for whoever wrote the name where nothing has it: next lists those there are.
func named(err error, what, id, next string) error {
	if !errdefs.IsNotFound(err) {
		return err
	}
	return &api.Problem{Code: "not_found", Title: fmt.Sprintf("There is no %s %q", what, id), Next: next}
}

func apiEvent(e store.Event) api.AuditEvent {
	return api.AuditEvent{
		Seq: e.Seq, At: e.At, Kind: string(e.Kind), Principal: e.Principal.String(), Session: string(e.Session),
		Server: string(e.Server), Call: string(e.Call), Body: json.RawMessage(e.Body), Hash: string(e.Hash),
	}
}

// serverName and digestOf take foreign text as it is: what it does not name is not found.
func serverName(s string) sandbox.ServerName { return sandbox.ServerName(s) }
func digestOf(s string) sandbox.Digest       { return sandbox.Digest(s) }
