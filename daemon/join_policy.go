package daemon

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/garita-dev/garita/approvals"
	"github.com/garita-dev/garita/approvals/policy"
	"github.com/garita-dev/garita/daemon/config"
	"github.com/garita-dev/garita/daemon/protocol"
	"github.com/garita-dev/garita/sandbox"
	"github.com/garita-dev/garita/store"
)

// The states of policy.yaml, as the API names them.
const (
	policyNone     = "none"     // there is no file: the default policy alone
	policyOK       = "ok"       // in force as it stands
	policyRefused  = "refused"  // wrong: what it said before stays in force
	policyFallback = "fallback" // wrong, and it never said anything else: reads ask too
)

// policies is policy.yaml and the accepted policies of projects, as they are in force.
type policies struct {
	paths   config.Paths
	inForce atomic.Pointer[approvals.Policy] // own and accepted together: what calls are judged by

	changing sync.Mutex // held while what is in force is changed

	mu       sync.Mutex // guards the fields below
	own      approvals.Policy
	state    string
	problem  error // of the file as it stands
	since    time.Time
	accepted []acceptedPolicy
	lost     error                                            // why the accepted ones cannot be read; everything asks then
	tools    map[sandbox.ServerName][]protocol.ToolDefinition // as last listed, for explanations
}

// acceptedPolicy is the policy of a project as a person accepted it. Its text is kept: what the
// project's files say later takes nothing of it away.
type acceptedPolicy struct {
	Dir    string         `json:"dir"`
	Digest sandbox.Digest `json:"digest"`
	Text   string         `json:"text"`
	Allows bool           `json:"allows,omitempty"` // its rules that allow were accepted too
	At     time.Time      `json:"at"`
	By     string         `json:"by"`
}

// newPolicies reads what there is. With nothing that can be read, reads ask too.
func newPolicies(paths config.Paths) *policies {
	p := &policies{paths: paths, tools: map[sandbox.ServerName][]protocol.ToolDefinition{}, since: time.Now().UTC()}
	p.own, p.state, p.problem = p.read()
	if p.problem != nil {
		p.own, p.state = approvals.Policy{ReadsAsk: true}, policyFallback
	}
	p.lost = p.readAccepted()
	p.publish()
	return p
}

// read parses policy.yaml as it stands.
func (p *policies) read() (own approvals.Policy, state string, err error) {
	data, there, err := p.paths.ReadPolicy()
	switch {
	case err != nil:
		return own, policyRefused, err
	case !there:
		return own, policyNone, nil
	}
	own, err = policy.Parse("policy.yaml", data)
	if err != nil {
		return approvals.Policy{Digest: policy.Digest(data)}, policyRefused, err
	}
	return own, policyOK, nil
}

func (p *policies) readAccepted() error {
	data, err := p.paths.ReadAccepted()
	if err != nil || len(data) == 0 {
		return err
	}
	if err := json.Unmarshal(data, &p.accepted); err != nil {
		return fmt.Errorf("read %s, which keeps the accepted policies of projects: %w", p.paths.AcceptedFile(), err)
	}
	return nil
}

// policy is what calls are judged by.
func (p *policies) policy() approvals.Policy { return *p.inForce.Load() }

// publish puts what is in force together. p.mu is held, or nobody else has p yet.
func (p *policies) publish() {
	all := p.own
	all.Projects = nil
	for _, a := range p.accepted {
		all.Projects = append(all.Projects, a.rules())
	}
	if p.lost != nil { // nobody knows what a person has made stricter
		all.Projects = append(all.Projects, []approvals.Rule{{
			Name: "accepted policies", Origin: p.paths.AcceptedFile(), Effect: approvals.Ask,
			Reason: "What you accepted for projects can no longer be read.",
		}})
	}
	p.inForce.Store(&all)
}

// rules are those of a, for calls of servers that are given its folder. A text that can no longer be
// read asks about all of them.
func (a acceptedPolicy) rules() []approvals.Rule {
	parsed, err := policy.Parse(projectFile(a.Dir), []byte(a.Text))
	if err != nil {
		return []approvals.Rule{{
			Origin: projectFile(a.Dir), Folder: a.Dir, Effect: approvals.Ask,
			Reason: "The policy accepted with this folder can no longer be read.",
		}}
	}
	var out []approvals.Rule
	for _, r := range parsed.Rules {
		if r.Effect != approvals.Allow || a.Allows {
			r.Folder = a.Dir
			out = append(out, r)
		}
	}
	return out
}

// policyState is what the API tells of the file, taken at one moment.
type policyState struct {
	own      approvals.Policy
	state    string
	problem  error
	since    time.Time
	accepted []acceptedPolicy
	lost     error
}

func (p *policies) now() policyState {
	p.mu.Lock()
	defer p.mu.Unlock()
	return policyState{p.own, p.state, p.problem, p.since, slices.Clone(p.accepted), p.lost}
}

// notice is what status warns of; "" while policy.yaml is in force as it stands.
func (p *policies) notice() string {
	s := p.now()
	switch {
	case s.lost != nil:
		return fmt.Sprintf("Everything asks, for what you accepted for projects can no longer be read: %v. Accept it again (garita policy accept DIR).", s.lost)
	case s.problem == nil:
		return ""
	case s.state == policyFallback:
		return fmt.Sprintf("policy.yaml is wrong, so everything asks, reads too, until it is put right (garita policy check): %v", s.problem)
	}
	return fmt.Sprintf("policy.yaml is wrong, and what it said before stays in force until it is put right (garita policy check): %v", s.problem)
}

// watchPolicy keeps what is in force as policy.yaml says, until ctx ends.
func (d *Daemon) watchPolicy(ctx context.Context) error {
	return d.config.Paths().WatchPolicy(ctx, func() { d.reloadPolicy(ctx) })
}

// reloadPolicy reads policy.yaml again. A file that is wrong changes nothing but what is said of it;
// a change that cannot be recorded is none.
func (d *Daemon) reloadPolicy(ctx context.Context) {
	p := d.policies
	p.changing.Lock()
	defer p.changing.Unlock()
	before := p.now()
	own, state, err := p.read()
	if err != nil {
		d.refusePolicy(ctx, before, own.Digest, err)
		return
	}
	if before.problem == nil && own.Digest == before.own.Digest && state == before.state {
		return
	}
	if err := d.recordPolicy(ctx, map[string]any{"before": before.own.Digest, "after": own.Digest, "rules": len(own.Rules)}); err != nil {
		d.setPolicy(before.own, before.state, fmt.Errorf("the change of policy.yaml cannot be recorded, so it is not in force: %w", err))
		return
	}
	d.log.Info("policy.yaml is in force")
	d.setPolicy(own, state, nil)
}

// refusePolicy says loudly that the file is wrong; what was in force stays.
func (d *Daemon) refusePolicy(ctx context.Context, before policyState, digest sandbox.Digest, err error) {
	if before.problem != nil && before.problem.Error() == err.Error() {
		return
	}
	state := policyRefused
	if before.state == policyFallback {
		state = policyFallback
	}
	d.log.Error("policy.yaml is wrong: what was in force before stays in force", "err", err)
	if cause := d.recordPolicy(ctx, map[string]any{"before": before.own.Digest, "refused": digest, "problem": err.Error()}); cause != nil {
		d.log.Error("cannot record that policy.yaml was refused", "err", cause)
	}
	d.setPolicy(before.own, state, err)
}

func (d *Daemon) recordPolicy(ctx context.Context, body map[string]any) error {
	_, err := d.db.AppendDurable(ctx, event(store.PolicyChanged, approvals.Principal{UID: d.uid}, body))
	return err
}

// setPolicy puts own into force, tells watchers and decides anew about what waits.
func (d *Daemon) setPolicy(own approvals.Policy, state string, problem error) {
	p := d.policies
	p.mu.Lock()
	if own.Digest != p.own.Digest || own.ReadsAsk != p.own.ReadsAsk {
		p.since = time.Now().UTC()
	}
	p.own, p.state, p.problem = own, state, problem
	p.publish()
	p.mu.Unlock()
	d.policyChanged()
}

func (d *Daemon) policyChanged() {
	d.events.Publish("policy", "", nil)
	d.events.Publish("status", "", nil)
	d.gate.Reconsider()
}

// noteTools keeps what a server lists, for explanations.
func (p *policies) noteTools(server sandbox.ServerName, tools []protocol.ToolDefinition) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.tools[server] = slices.Clone(tools)
}

// tool finds a tool as it was last listed; seen says whether its server has listed anything since
// the daemon started.
func (p *policies) tool(server sandbox.ServerName, name string) (d protocol.ToolDefinition, found, seen bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	list, seen := p.tools[server]
	i := slices.IndexFunc(list, func(t protocol.ToolDefinition) bool { return t.Name == name })
	if i < 0 {
		return d, false, seen
	}
	return list[i], true, seen
}
