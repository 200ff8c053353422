package daemon

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/containerd/errdefs"

	"github.com/garita-dev/garita/approvals"
	"github.com/garita-dev/garita/approvals/grants"
	"github.com/garita-dev/garita/daemon/api"
	"github.com/garita-dev/garita/daemon/clientconfig"
	"github.com/garita-dev/garita/daemon/hooks"
	"github.com/garita-dev/garita/daemon/httpapi"
	"github.com/garita-dev/garita/sandbox"
	"github.com/garita-dev/garita/store"
)

// hooksSet: hooks were put into a client's settings, or taken out.
const hooksSet store.Kind = "config.hooks"

// maxHookWait bounds how long a use of a client's own tool waits for a person.
const maxHookWait = time.Hour

// BeforeTool implements httpapi.Backend. The client that runs the hook counts as attached from here on:
// what descends from it may not answer.
func (d *Daemon) BeforeTool(ctx context.Context, peer httpapi.Peer, h api.HookCall) (api.HookDecision, error) {
	use, err := d.hookUse(ctx, peer, h.HookUse)
	if err != nil {
		return api.HookDecision{}, err
	}
	if d.hooked.asksItself(use.client.PID, h.Tool) {
		return api.HookDecision{Decision: "none", Reason: "Garita asks about it where it is sent."}, nil
	}
	call, err := d.hookCall(use, h)
	if err != nil {
		return api.HookDecision{}, err
	}
	decision, err := d.decideHook(ctx, call, time.Duration(h.WaitMS)*time.Millisecond)
	if err != nil {
		return api.HookDecision{}, err
	}
	if !decision.Allowed() {
		err := callLog{d}.Record(context.WithoutCancel(ctx), store.CallRecord{Call: call, Decision: decision, Outcome: store.CallRefused})
		return hookDecision(call, decision), err
	}
	if call.Doubt != "" && decision.ByPerson() { // they have seen what is doubtful
		d.doubtOf(use.principal).Settle()
	}
	if err := d.hooked.begin(use, call, decision); err != nil {
		return api.HookDecision{}, err
	}
	return hookDecision(call, decision), nil
}

// decideHook has the gate decide, and a person be waited for as long as the hook may take.
func (d *Daemon) decideHook(ctx context.Context, c approvals.Call, wait time.Duration) (approvals.Decision, error) {
	decision, settled, err := d.gate.Settle(ctx, c)
	if settled {
		return decision, err
	}
	ctx, cancel := context.WithTimeout(ctx, min(max(0, wait), maxHookWait))
	defer cancel()
	return d.gate.Authorize(ctx, c)
}

// AfterTool implements httpapi.Backend.
func (d *Daemon) AfterTool(ctx context.Context, peer httpapi.Peer, h api.HookResult) error {
	use, err := d.hookUse(ctx, peer, h.HookUse)
	if err != nil || d.hooked.asksItself(use.client.PID, h.Tool) {
		return err
	}
	run, ok := d.hooked.end(use)
	if !ok {
		return &api.Problem{
			Code: "not_found", Title: "Nobody asked about this use of " + use.Tool + " before it was made",
			Detail: "Its hook before the tool did not run, or ran before Garita was started again.",
		}
	}
	r := store.CallRecord{
		Call: run.call, Decision: run.decision, Outcome: store.CallDone, Duration: time.Since(run.at),
		Result: store.ResultDigest{Digest: digestOf(h.Digest), Size: h.Size},
	}
	if h.Failed {
		r.Outcome, r.Error = store.CallFailed, known.Log(bounded(h.Error))
	}
	return callLog{d}.Record(ctx, r)
}

// hookUse knows who uses which tool in which session, and lets go of those that have ended.
func (d *Daemon) hookUse(ctx context.Context, peer httpapi.Peer, h api.HookUse) (hookUse, error) {
	pid := clientAbove(peer, h.PID)
	if err := d.attached.hold(pid); err != nil {
		return hookUse{}, err
	}
	if h.Client == "" || h.Session == "" || h.Use == "" {
		return hookUse{}, fmt.Errorf("the hook names no client, session or use: %w", errdefs.ErrInvalidArgument)
	}
	client := httpapi.Process{PID: pid, Start: startOf(pid)}
	u := hookUse{
		HookUse: h, client: client, principal: approvals.Principal{UID: peer.UID, Client: h.Client},
		session: approvals.SessionID("s" + hashed("hook", h.Client, h.Session, fmt.Sprint(client))),
	}
	for _, s := range d.hooked.over(d.attached) {
		d.endHookSession(context.WithoutCancel(ctx), s)
	}
	fresh, err := d.hooked.meet(u)
	if err != nil || !fresh {
		return u, err
	}
	e := event(store.SessionOpened, u.principal, map[string]any{"spec": hooks.Spec(), "client": h.Session, "pid": pid, "door": "hook"})
	e.Session, e.Server = u.session, hooks.Server
	if _, err := d.db.AppendDurable(ctx, e); err != nil {
		d.hooked.forget(u.session)
		return u, fmt.Errorf("no session without a record: %w: %w", err, errdefs.ErrUnavailable)
	}
	d.events.Publish("session", string(u.session), nil)
	return u, nil
}

// endHookSession records the end of a session whose client has ended, and what it never told the end of.
func (d *Daemon) endHookSession(ctx context.Context, s *hookSession) {
	d.gate.EndSession(s.id)
	for _, run := range s.running {
		r := store.CallRecord{Call: run.call, Decision: run.decision, Outcome: store.CallUnknown, Error: "its client ended and never said how it went"}
		if err := (callLog{d}).Record(ctx, r); err != nil {
			d.log.Error("cannot record a call's end", "call", run.call.ID, "err", err)
		}
	}
	e := event(store.SessionClosed, s.principal, map[string]any{"spec": hooks.Spec()})
	e.Session, e.Server = s.id, hooks.Server
	if _, err := d.db.AppendDurable(ctx, e); err != nil {
		d.log.Error("cannot record a session's end", "session", s.id, "err", err)
	}
}

// hookCall is a use as the gate decides about it.
func (d *Daemon) hookCall(u hookUse, h api.HookCall) (approvals.Call, error) {
	told, err := hooks.Judge(hooks.Use{Tool: h.Tool, Input: h.Input}, d.secretAt(h.Dir))
	if err != nil {
		return approvals.Call{}, err
	}
	c := approvals.Call{
		ID: approvals.CallID("c" + random()), Session: u.session, Principal: u.principal, Label: h.Client,
		Server: hooks.Server, Spec: hooks.Spec(), Tool: h.Tool, Pin: told.Pin, Arguments: h.Input,
		Class: told.Class, ClassWhy: told.Why, Sensitive: told.Sensitive, Sentence: known.Log(told.Sentence),
		External: told.Outside, At: time.Now().UTC(), Doubt: d.doubtOf(u.principal).Why(),
	}
	if filepath.IsAbs(h.Dir) {
		c.Folders = []string{filepath.Clean(h.Dir)}
	}
	if told.Pin == "" { // nobody knows what stands behind the name: a longer yes is for this session
		c.Pin = sandbox.Digest("session:" + string(u.session))
	}
	if c.Class != approvals.Read {
		c.Mode = sandbox.Direct
	}
	if _, name, ok := hooks.MCP(h.Tool); ok {
		d.describeForeign(&c, name)
	}
	return c, nil
}

// describeForeign says of a tool of another server what its name says; more is not known of it.
func (d *Daemon) describeForeign(c *approvals.Call, name string) {
	tool := hookedTool(name)
	said := d.prepared(sandbox.Server{}, tool).Call(c.Arguments)
	if said.Class != approvals.Read { // a name is no ground to take it for a read
		c.Class = said.Class
	}
	server, _, _ := hooks.MCP(c.Tool)
	c.ClassWhy = fmt.Sprintf("It is a tool of %s, which does not go through Garita: only its name is known.", server)
	c.Sentence = known.Log(fmt.Sprintf("%s at %s", said.Sentence, server))
}

// secretAt says whether keys are kept at a path as the client in dir means it.
func (d *Daemon) secretAt(dir string) func(string) bool {
	paths := d.config.Paths()
	guard := paths.Guard()
	return func(path string) bool {
		switch {
		case strings.HasPrefix(path, "~/"):
			path = filepath.Join(paths.Home, path[2:])
		case !filepath.IsAbs(path) && filepath.IsAbs(dir):
			path = filepath.Join(dir, path)
		}
		path = filepath.Clean(path)
		if real, err := filepath.EvalSymlinks(path); err == nil && keys(guard.Credential, guard.Own, real) {
			return true
		}
		return keys(guard.Credential, guard.Own, path)
	}
}

// keys says whether path lies where keys are kept, or in one of Garita's own folders.
func keys(credential func(string) bool, own []string, path string) bool {
	_, _, ours := within(path, own)
	return ours || credential(path)
}

// hookDecision is a decision in the words of the contract. What passes as a read is left to the client's
// own rules: Garita lets nothing through that they would ask about.
func hookDecision(c approvals.Call, d approvals.Decision) api.HookDecision {
	out := api.HookDecision{Decision: "deny", Rule: d.Rule, Call: string(c.ID), Reason: d.Reason}
	switch {
	case d.Allowed() && d.Rule == approvals.RuleReads:
		out.Decision = "none"
	case d.Allowed():
		out.Decision = "allow"
	case d.Outcome == approvals.Denied:
		out.Reason = fmt.Sprintf("The person denied this use of %s. It did not run. Do not try it again unasked; ask the person what they would like instead.", c.Tool)
	case d.Outcome == approvals.Expired, d.Outcome == approvals.Withdrawn:
		out.Reason = fmt.Sprintf("Nobody answered in time whether %s may be used. It did not run. The person can be asked to look at Garita, and it can be tried again.", c.Tool)
	default:
		out.Reason = fmt.Sprintf("Garita refused this use of %s: %s (%s). It did not run.", c.Tool, strings.TrimSuffix(d.Reason, "."), d.Rule)
	}
	return out
}

// offersTo leaves out what is not to be offered: where only a tool's name is known, nothing outlives the session.
func offersTo(r approvals.Request, offers []grants.Offer) []grants.Offer {
	if !hooks.Ours(r.Call) || !strings.HasPrefix(string(r.Call.Pin), "session:") {
		return offers
	}
	return slices.DeleteFunc(offers, func(o grants.Offer) bool {
		return o.Permission.Scope != approvals.ScopeOnce && o.Permission.Scope != approvals.ScopeSession
	})
}

// foreseenEdit is the change a client's own tool would make of a file, where it can be told safely.
func foreseenEdit(c approvals.Call) *api.FileDiff {
	change, ok := hooks.Changes(hooks.Use{Tool: c.Tool, Input: c.Arguments})
	if !ok {
		return nil
	}
	dir, name := filepath.Split(change.Path)
	out := &api.FileDiff{Change: api.Change{Folder: filepath.Clean(dir), Path: name, Kind: "modified", Type: "file"}}
	old, note, err := readWithin(dir, name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		out.Kind = "added"
	case err != nil:
		out.Note = "The file as it is cannot be read."
		return out
	case note != "":
		out.Note = note
		return out
	}
	after, err := change.Apply(old)
	switch {
	case err != nil:
		out.Note = "It would fail as the file is now: " + err.Error() + "."
	case len(after) > maxForeseen:
		out.Note = "The file as it will be is too large to compare here."
	default:
		out.Size, out.Unified = int64(len(after)), unified(name, old, after)
	}
	return out
}

// SetHooks implements httpapi.Backend.
func (d *Daemon) SetHooks(ctx context.Context, peer httpapi.Peer, s api.HookSettings) (api.HookPlan, error) {
	lines := make([]clientconfig.Hook, 0, len(s.Hooks))
	for _, h := range s.Hooks {
		lines = append(lines, clientconfig.Hook(h))
	}
	plan, err := d.importer.SetHooks(s.File, lines, true)
	if err != nil || s.DryRun {
		return apiHookPlan(plan), err
	}
	if err := d.mayDecide(ctx, peer, "change the hooks in "+plan.File); err != nil {
		return api.HookPlan{}, err
	}
	if err := d.recordImport(ctx, peer, hooksSet, map[string]any{"file": plan.File, "hooks": s.Hooks}); err != nil {
		return api.HookPlan{}, err
	}
	plan, err = d.importer.SetHooks(s.File, lines, false)
	out := apiHookPlan(plan)
	out.Done = err == nil
	return out, err
}

func apiHookPlan(e clientconfig.HookEdit) api.HookPlan {
	out := api.HookPlan{File: e.File, Backup: e.Backup, Note: e.Note, Created: e.Created}
	if after := string(e.After); e.Removed || after != string(e.Before) {
		if e.Removed {
			after = ""
		}
		out.Diff = unified(filepath.Base(e.File), string(e.Before), after)
	}
	return out
}
