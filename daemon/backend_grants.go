package daemon

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/garita-dev/garita/approvals"
	"github.com/garita-dev/garita/approvals/gate"
	"github.com/garita-dev/garita/approvals/grants"
	"github.com/garita-dev/garita/daemon/api"
	"github.com/garita-dev/garita/daemon/httpapi"
	"github.com/garita-dev/garita/daemon/observe"
	"github.com/garita-dev/garita/store/sqlite"
)

// inForce are the grants of db that still permit something. What was given for a session ended with
// it: no session outlives the daemon.
func inForce(ctx context.Context, db *sqlite.Store, now time.Time) ([]approvals.Grant, error) {
	all, err := db.Grants(ctx)
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(all, func(g approvals.Grant) bool { return g.Scope == approvals.ScopeSession || ended(g, now) }), nil
}

func ended(g approvals.Grant, now time.Time) bool {
	return !g.Revoked.IsZero() || !g.Until.IsZero() && !now.Before(g.Until)
}

// Preview implements httpapi.Backend.
func (d *Daemon) Preview(ctx context.Context, id string, p api.Permit) (api.Offer, error) {
	r, err := d.gate.Request(ctx, approvals.RequestID(id))
	if err != nil {
		return api.Offer{}, named(err, "question with the ID", id, "garita approvals list")
	}
	o, err := d.gate.Preview(r, permission(p))
	return apiOffer(o), err
}

// ApprovalGroups implements httpapi.Backend.
func (d *Daemon) ApprovalGroups(context.Context) ([]api.ApprovalGroup, error) {
	out := []api.ApprovalGroup{}
	for _, g := range d.gate.Groups() {
		out = append(out, d.apiGroup(g))
	}
	return out, nil
}

// AnswerGroup implements httpapi.Backend. Who may not answer one question may not answer several.
func (d *Daemon) AnswerGroup(ctx context.Context, peer httpapi.Peer, a api.GroupAnswer) ([]api.Approval, error) {
	if len(a.Members) == 0 {
		return nil, &api.Problem{Code: "invalid", Title: "No question is named", Detail: "An answer to several names each of them, as it was seen."}
	}
	typed := a.TTY && a.Code != "" && a.Code == api.GroupCode(a.Members)
	by, err := d.mayReply(ctx, peer, fmt.Sprintf("answer %d questions", len(a.Members)), typed)
	if err != nil {
		return nil, err
	}
	members := make([]gate.Named, 0, len(a.Members))
	for _, m := range a.Members {
		members = append(members, gate.Named{ID: approvals.RequestID(m.ID), Binding: digestOf(m.Binding)})
	}
	done, err := d.gate.AnswerAll(ctx, members, approvals.Answer{Approve: a.Approve, By: by, Permit: permit(a.Permit)})
	if err != nil {
		return nil, err
	}
	return d.apiApprovals(ctx, done), nil
}

// Expired implements httpapi.Backend.
func (d *Daemon) Expired(ctx context.Context) ([]api.Approval, error) {
	unseen, err := d.db.Unseen(ctx)
	if err != nil {
		return nil, err
	}
	return d.apiApprovals(ctx, unseen), nil
}

// SeeExpired implements httpapi.Backend: what has expired is for the person to have seen.
func (d *Daemon) SeeExpired(ctx context.Context, peer httpapi.Peer, ids []string) error {
	if err := d.refuseDescendants(ctx, peer, "note that expired questions were seen"); err != nil {
		return err
	}
	seen := make([]approvals.RequestID, 0, len(ids))
	for _, id := range ids {
		seen = append(seen, approvals.RequestID(id))
	}
	defer d.events.Publish("approval", "", nil)
	return d.db.See(ctx, seen)
}

// Grants implements httpapi.Backend.
func (d *Daemon) Grants(ctx context.Context, all bool) ([]api.Grant, error) {
	kept, err := d.db.Grants(ctx)
	if err != nil {
		return nil, err
	}
	valid := map[approvals.GrantID]bool{}
	for _, g := range d.gate.Grants() {
		valid[g.ID] = !ended(g, time.Now())
	}
	out := []api.Grant{}
	for _, g := range kept {
		if all || valid[g.ID] {
			out = append(out, d.apiGrant(g, valid[g.ID]))
		}
	}
	return out, nil
}

// RevokeGrant implements httpapi.Backend.
func (d *Daemon) RevokeGrant(ctx context.Context, peer httpapi.Peer, id string) error {
	if err := d.refuseDescendants(ctx, peer, "revoke grant "+id); err != nil {
		return err
	}
	by := "page"
	if !peer.Page {
		by = fmt.Sprintf("cli pid %d", peer.PID)
	}
	err := named(d.gate.Revoke(ctx, approvals.GrantID(id), by), "grant in force with the ID", id, "garita grants list")
	return errors.Join(err, d.ways.refresh(ctx))
}

func (d *Daemon) apiApprovals(ctx context.Context, requests []approvals.Request) []api.Approval {
	out := make([]api.Approval, 0, len(requests))
	for _, r := range requests {
		out = append(out, d.approval(ctx, r))
	}
	return out
}

// permit is what an answer permits beyond the one call; nil for nothing.
func permit(p api.Permit) *approvals.Permission {
	if p.Scope == "" || p.Scope == string(approvals.ScopeOnce) {
		return nil
	}
	out := permission(p)
	return &out
}

func permission(p api.Permit) approvals.Permission {
	out := approvals.Permission{Scope: approvals.Scope(p.Scope)}
	if out.Scope == "" {
		out.Scope = approvals.ScopeOnce
	}
	if p.Until != nil {
		out.Until = *p.Until
	}
	for _, m := range p.Match {
		out.Arguments = append(out.Arguments, approvals.Argument(m))
	}
	return out
}

func apiMatch(arguments []approvals.Argument) []api.Match {
	out := make([]api.Match, 0, len(arguments))
	for _, a := range arguments {
		out = append(out, api.Match(a))
	}
	return out
}

func apiOffers(offers []grants.Offer) []api.Offer {
	out := make([]api.Offer, 0, len(offers))
	for _, o := range offers {
		out = append(out, apiOffer(o))
	}
	return out
}

func apiOffer(o grants.Offer) api.Offer {
	out := api.Offer{
		Permit: api.Permit{Scope: string(o.Permission.Scope), Until: orNil(o.Permission.Until), Match: apiMatch(o.Permission.Arguments)},
		Words:  o.Words, Matches: []api.Matched{},
	}
	for _, c := range o.Matches {
		out.Matches = append(out.Matches, api.Matched{Call: string(c.ID), Sentence: c.Sentence, Object: object(c)})
	}
	return out
}

func (d *Daemon) apiGrant(g approvals.Grant, valid bool) api.Grant {
	out := api.Grant{
		ID: string(g.ID), State: "ended", Words: grants.Words(g), Scope: string(g.Scope), Agent: d.agentName(g.Principal),
		Server: string(g.Server), Tool: g.Tool, Class: string(g.Class), Session: string(g.Session), Until: orNil(g.Until),
		Match: apiMatch(g.Arguments), Approval: string(g.Request), By: g.By, Created: g.Created,
		Revoked: orNil(g.Revoked), Used: orNil(g.Used), Uses: g.Uses,
	}
	switch {
	case valid:
		out.State = "valid"
	case !g.Revoked.IsZero():
		out.State = "revoked"
	}
	return out
}

func (d *Daemon) apiGroup(g grants.Group) api.ApprovalGroup {
	first := g.Members[0].Call
	out := api.ApprovalGroup{
		ID: g.ID, Agent: d.agentName(first.Principal), Server: string(first.Server), Class: string(g.Class), Members: []api.GroupMember{},
	}
	what := "calls that may write"
	if g.Class == approvals.Read {
		what = "reads"
	}
	if g.Place != "" {
		what += " in " + g.Place
	}
	out.Title = fmt.Sprintf("%d %s of %s by %s", len(g.Members), what, out.Server, out.Agent)
	for _, r := range g.Members {
		out.Members = append(out.Members, api.GroupMember{
			Seen: api.Seen{ID: string(r.ID), Binding: string(r.Binding)}, Tool: r.Call.Tool, Sentence: r.Call.Sentence, Object: object(r.Call),
		})
	}
	return out
}

// groupOf is the group that a question can be answered with, "" when it stands alone.
func (d *Daemon) groupOf(id approvals.RequestID) string {
	for _, g := range d.gate.Groups() {
		if slices.ContainsFunc(g.Members, func(r approvals.Request) bool { return r.ID == id }) {
			return g.ID
		}
	}
	return ""
}

// withSubject is a, with what a question that is not about a call is about.
func withSubject(a api.Approval, r approvals.Request) api.Approval {
	s := r.Subject
	switch {
	case s.Tool != nil:
		a.Tool = &api.ToolChange{
			Tool: s.Tool.Tool, Before: string(s.Tool.Before), After: string(s.Tool.After), Diff: s.Tool.Diff, Findings: notNil(s.Tool.Findings),
		}
		a.Object, a.Title = s.Tool.Tool, fmt.Sprintf("%s wants to %s", r.Call.Server, lowerFirst(r.Call.Sentence))
	case s.Apply != nil:
		a.Apply = &api.Application{Workspace: string(s.Apply.Workspace), Seen: string(s.Apply.Seen), Paths: notNil(s.Apply.Paths)}
	case s.Network != nil:
		a.Network = networkOf(s.Network)
		a.Object = strings.Join(s.Network.Hosts, ", ")
		if !s.Network.After {
			a.Title = fmt.Sprintf("%s wants to %s", r.Call.Server, lowerFirst(r.Call.Sentence))
		}
	case s.Install != nil:
		a.Install = &api.Installation{
			Package: s.Install.Package, Integrity: s.Install.Integrity, Script: s.Install.Script, Doubts: notNil(s.Install.Doubts),
		}
		a.Object, a.Title = s.Install.Package, fmt.Sprintf("%s wants to %s", r.Call.Server, lowerFirst(r.Call.Sentence))
	case s.Secret != nil:
		a.Secret = secretOf(s.Secret)
		a.Object = s.Secret.Secret
		if s.Secret.Agent != nil {
			a.Title = fmt.Sprintf("%s wants to %s", r.Call.Server, lowerFirst(r.Call.Sentence))
		}
	case s.Exec != nil:
		a.Exec = &api.Execution{
			Line: observe.Visible(s.Exec.Line()), Path: observe.Visible(s.Exec.Path), Dir: observe.Visible(s.Exec.Dir), Script: observe.Visible(s.Exec.Script), Call: string(s.Exec.Call),
		}
		a.Object, a.Title = a.Exec.Line, fmt.Sprintf("%s wants to execute a program", r.Call.Server)
	default:
		return a
	}
	a.Stays, a.Reaches, a.Diff, a.Call.Arguments = "", "", nil, json.RawMessage("{}")
	if s.Install != nil { // whatever shows a question shows its arguments whole
		a.Call.Arguments = installArguments(*s.Install)
		for _, doubt := range s.Install.Doubts {
			a.Findings = append(a.Findings, api.Finding{Kind: "package", Text: doubt})
		}
	}
	return a
}

// installArguments are what would be installed or run, for reading.
func installArguments(i approvals.Installation) json.RawMessage {
	b, err := json.Marshal(struct {
		Package   string `json:"package"`
		Integrity string `json:"integrity,omitempty"`
		Script    string `json:"script,omitempty"`
	}{i.Package, i.Integrity, i.Script})
	if err != nil {
		return json.RawMessage("{}")
	}
	return b
}

// promptsKept is how old the count of prompts may be: it is asked for often and reads a week.
const promptsKept = time.Minute

// prompts counts what was asked of the person lately, now and then anew.
type prompts struct {
	mu    sync.Mutex // guards the fields below
	at    time.Time
	count api.Prompts
}

func (d *Daemon) promptsOf(ctx context.Context) (api.Prompts, error) {
	d.prompts.mu.Lock()
	defer d.prompts.mu.Unlock()
	if time.Since(d.prompts.at) < promptsKept {
		return d.prompts.count, nil
	}
	found, err := d.db.Prompts(ctx)
	if err != nil {
		return api.Prompts{}, err
	}
	count := api.Prompts{Agents: []api.AgentPrompts{}}
	for _, p := range found {
		count.Calls, count.Asked = count.Calls+p.Calls, count.Asked+p.Asked
		count.Agents = append(count.Agents, api.AgentPrompts{
			Agent: d.agentName(p.Principal), Calls: p.Calls, Asked: p.Asked, PerHundred: perHundred(p.Asked, p.Calls),
		})
	}
	count.PerHundred = perHundred(count.Asked, count.Calls)
	d.prompts.at, d.prompts.count = time.Now(), count
	return count, nil
}

// perHundred is asked of a hundred calls, to one decimal.
func perHundred(asked, calls int) float64 {
	if calls == 0 {
		return 0
	}
	return float64(asked*1000/calls) / 10
}

func secretOf(s *approvals.SecretUse) *api.SecretUse {
	out := &api.SecretUse{Secret: s.Secret, Hosts: notNil(s.Hosts)}
	if s.Agent != nil {
		out.Agent = &api.AgentUse{User: s.Agent.User, Comment: s.Agent.Comment, HostKey: s.Agent.HostKey}
	}
	return out
}

func networkOf(n *approvals.NetworkAccess) *api.NetworkAccess {
	out := &api.NetworkAccess{Hosts: notNil(n.Hosts), Call: string(n.Call), After: n.After, Addresses: notNil(n.Addresses)}
	if n.Upload != nil {
		out.Upload = &api.Upload{Bytes: n.Upload.Bytes, Kinds: notNil(n.Upload.Kinds)}
	}
	if n.HostKey != nil {
		out.HostKey = &api.HostKey{Type: n.HostKey.Type, Fingerprint: n.HostKey.Fingerprint}
	}
	return out
}
