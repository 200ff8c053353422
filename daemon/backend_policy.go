package daemon

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/containerd/errdefs"

	"github.com/garita-dev/garita/approvals"
	"github.com/garita-dev/garita/approvals/grants"
	"github.com/garita-dev/garita/approvals/policy"
	"github.com/garita-dev/garita/daemon/api"
	"github.com/garita-dev/garita/daemon/config"
	"github.com/garita-dev/garita/sandbox"
	"github.com/garita-dev/garita/store"
)

// Policy implements httpapi.Backend.
func (d *Daemon) Policy(ctx context.Context) (api.Policy, error) {
	s := d.policies.now()
	return api.Policy{
		File: d.config.Paths().PolicyFile(), State: s.state, Digest: string(s.own.Digest), Since: s.since,
		Problems: apiProblems("policy.yaml", errors.Join(s.problem, s.lost)), Warnings: apiWarnings(policy.Review(s.own)),
		Rules: apiRules(s.own.Rules), Default: defaultPolicy(), Projects: d.projects(ctx),
	}, nil
}

// defaultPolicy is what decides where no rule does, for people.
func defaultPolicy() []string {
	return []string{
		"A tool the server never listed, or that waits for review, is refused, whatever the rules say.",
		"Arguments that look like credentials, or are very large, ask.",
		"What is surely read-only passes, unless it reads secrets or other people's data, works on your files directly, runs outside of Garita's walls, or once changed something.",
		"Everything else asks.",
	}
}

// ExplainPolicy implements httpapi.Backend. Nothing is called, asked or recorded.
func (d *Daemon) ExplainPolicy(ctx context.Context, r api.ExplainRequest) (api.Explanation, error) {
	call, was, notes, err := d.toExplain(ctx, r)
	if err != nil {
		return api.Explanation{}, err
	}
	standing, err := standings{d}.Standing(ctx, call)
	if err != nil {
		return api.Explanation{}, err
	}
	var permitted grants.Set
	for _, g := range d.gate.Grants() {
		permitted.Add(g)
	}
	x := policy.Explain(d.policies.policy(), call, standing, &permitted, time.Now())
	out := api.Explanation{
		Server: string(call.Server), Tool: call.Tool, Agent: d.agentName(call.Principal), Class: string(x.Decision.Class),
		ClassWhy: call.ClassWhy, Sensitive: call.Sensitive, Effect: string(x.Decision.Effect), Decided: x.Decision.Rule,
		Reason: x.Decision.Reason, Near: []api.NearRule{}, Notes: notNil(notes), Was: was,
	}
	if x.Rule != nil {
		rule := apiRule(*x.Rule)
		out.Rule = &rule
	}
	for _, n := range x.Near {
		out.Near = append(out.Near, api.NearRule{Rule: apiRule(n.Rule), Why: n.Why})
	}
	return out, nil
}

// toExplain is the call that is asked about, and on what the answer rests.
func (d *Daemon) toExplain(ctx context.Context, r api.ExplainRequest) (c approvals.Call, was *api.Call, notes []string, err error) {
	if r.Call == "" {
		c, notes, err = d.imagined(r)
		return c, nil, notes, err
	}
	recorded, err := d.db.Call(ctx, approvals.CallID(r.Call))
	if err != nil {
		return c, nil, nil, named(err, "call with the ID", r.Call, "garita audit tail")
	}
	then := d.apiCall(recorded)
	if server, ok := d.config.Server(recorded.Call.Server); ok {
		recorded.Call.Folders = server.Spec.Folders
	}
	return recorded.Call, &then, []string{"The record keeps arguments redacted and bounded: a rule that looks into them may decide otherwise about what was sent."}, nil
}

// imagined is a call nobody has made, as far as it can be told beforehand.
func (d *Daemon) imagined(r api.ExplainRequest) (approvals.Call, []string, error) {
	server, err := d.configured(r.Server)
	if err != nil {
		return approvals.Call{}, nil, err
	}
	if r.Tool == "" {
		return approvals.Call{}, nil, &api.Problem{Code: "invalid", Title: "No tool is named", Next: "garita policy explain SERVER TOOL"}
	}
	spec, err := config.Digest(server)
	if err != nil {
		return approvals.Call{}, nil, err
	}
	c := approvals.Call{
		Principal: approvals.Principal{UID: d.uid, Client: r.Agent}, Server: server.Name, Spec: spec, Mode: server.Spec.Workspace,
		Folders: server.Spec.Folders, External: server.Source.External(), Tool: r.Tool, Arguments: r.Arguments, At: time.Now(),
	}
	if c.Mode == "" {
		c.Mode = sandbox.Snapshot
	}
	var notes []string
	tool, found, seen := d.policies.tool(server.Name, r.Tool)
	switch {
	case found:
		c.Pin = d.pins.of(server.Name, tool)
	case seen:
		notes = append(notes, fmt.Sprintf("%s lists no tool named %s.", server.Name, r.Tool))
	default:
		tool.Name, c.Pin = r.Tool, "sha256:unknown"
		notes = append(notes, fmt.Sprintf("%s has not listed its tools since Garita started: the tool is judged by its name alone, as if it were listed.", server.Name))
	}
	v := d.prepared(server, tool).Call(c.Arguments)
	c.Class, c.ClassWhy, c.Sensitive, c.Sentence = v.Class, v.Why, v.Sensitive, v.Sentence
	return c, notes, nil
}

// ReplayPolicy implements httpapi.Backend.
func (d *Daemon) ReplayPolicy(ctx context.Context, r api.ReplayRequest) (api.Replay, error) {
	p, err := d.toReplay(r)
	if err != nil {
		return api.Replay{}, err
	}
	out := policy.NewReplay(p)
	answers := map[approvals.CallID]approvals.Outcome{}
	err = d.db.CallsSince(ctx, r.Since, func(c store.CallRecord) {
		if server, ok := d.config.Server(c.Call.Server); ok {
			c.Call.Folders = server.Spec.Folders
		}
		if out.Add(policy.Recorded{Call: c.Call, Decision: c.Decision}) {
			answers[c.Call.ID] = c.Decision.Outcome
		}
	})
	if err != nil {
		return api.Replay{}, err
	}
	return d.apiReplay(r.Since, out.Result(), answers), nil
}

// toReplay is the policy to try, with what was accepted for projects.
func (d *Daemon) toReplay(r api.ReplayRequest) (approvals.Policy, error) {
	inForce := d.policies.policy()
	if r.Text == nil {
		return inForce, nil
	}
	name := r.File
	if name == "" {
		name = "policy.yaml"
	}
	p, err := policy.Parse(name, []byte(*r.Text))
	if err != nil {
		return p, &api.Problem{Code: "invalid", Title: "The policy to try is wrong", Detail: err.Error(), Next: "garita policy check " + name}
	}
	p.Projects = inForce.Projects
	return p, nil
}

func (d *Daemon) apiReplay(since time.Time, r policy.Replayed, answers map[approvals.CallID]approvals.Outcome) api.Replay {
	out := api.Replay{
		Since: since, Calls: r.Calls, Same: r.Same, Apart: r.Apart, Unsure: r.Unsure,
		Counts: []api.ReplayCount{}, Changes: []api.ReplayChange{},
	}
	for _, c := range r.Counts {
		out.Counts = append(out.Counts, api.ReplayCount{Was: string(c.Was), Now: string(c.Now), Calls: c.Calls})
	}
	for _, c := range r.Changes {
		out.Changes = append(out.Changes, api.ReplayChange{
			Call: string(c.Call.ID), At: c.Call.At, Agent: d.agentName(c.Call.Principal), Server: string(c.Call.Server), Tool: c.Call.Tool,
			Sentence: c.Call.Sentence, Was: string(c.Was), WasBy: c.By, Answer: string(answers[c.Call.ID]),
			Now: string(c.Now.Effect), NowBy: c.Now.Rule, Unsure: c.Unsure,
		})
	}
	return out
}

func apiRules(rules []approvals.Rule) []api.PolicyRule {
	out := make([]api.PolicyRule, 0, len(rules))
	for _, r := range rules {
		out = append(out, apiRule(r))
	}
	return out
}

func apiRule(r approvals.Rule) api.PolicyRule {
	out := api.PolicyRule{
		Name: r.Name, Origin: r.Origin, Effect: string(r.Effect), Words: policy.Words(r), Reason: r.Reason,
		Agents: notNil(r.Principals), Servers: notNil(r.Servers), Tools: notNil(r.Tools), Classes: wordsOf(r.Classes),
		Workspace: wordsOf(r.Modes), Sensitive: r.Sensitive, CoversRisk: r.CoversRisk,
	}
	if r.When != nil {
		out.When = r.When.String()
	}
	return out
}

func wordsOf[T ~string](list []T) []string {
	out := make([]string, 0, len(list))
	for _, t := range list {
		out = append(out, string(t))
	}
	return out
}

// apiProblems are the parts of an error about a policy file; one that is no policy.Problem is about the whole of it.
func apiProblems(file string, err error) []api.PolicyProblem {
	out := []api.PolicyProblem{}
	if err == nil {
		return out
	}
	for _, p := range policy.Problems(err) {
		out = append(out, api.PolicyProblem(p))
	}
	if len(out) == 0 {
		next := ""
		if errdefs.IsPermissionDenied(err) {
			next = "give it back to yourself"
		}
		out = append(out, api.PolicyProblem{File: file, What: err.Error(), Next: next})
	}
	return out
}

func apiWarnings(list []policy.Warning) []api.PolicyWarning {
	out := []api.PolicyWarning{}
	for _, w := range list {
		out = append(out, api.PolicyWarning(w))
	}
	return out
}

// policyCheck is doctor's word on policy.yaml.
func policyCheck(notice string) api.Check {
	if notice == "" {
		return api.Check{Name: "policy", State: "ok", Found: "your rules about calls are in force as they stand"}
	}
	return api.Check{
		Name: "policy", State: "fail", Found: notice, Consequence: "calls are not decided by the rules as you wrote them last",
		Mend: "garita policy check",
	}
}
