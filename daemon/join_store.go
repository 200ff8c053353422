package daemon

import (
	"bytes"
	"context"
	"encoding/json"
	"log/slog"
	"time"

	"github.com/garita-dev/garita/approvals"
	"github.com/garita-dev/garita/daemon/gateway"
	"github.com/garita-dev/garita/daemon/supervisor"
	"github.com/garita-dev/garita/sandbox"
	"github.com/garita-dev/garita/store"
)

// gateLog is the record as the gate writes it, and tells watchers.
type gateLog struct{ *Daemon }

func (g gateLog) RecordDecision(ctx context.Context, c approvals.Call, d approvals.Decision) error {
	defer g.events.Publish("call", string(c.ID), nil)
	if err := g.db.RecordDecision(ctx, c, d); err != nil {
		return err
	}
	g.noteUse(ctx, d)
	return nil
}

// noteUse counts what grants let through. The decision that says so is on record: a count that
// cannot be written keeps nothing from running.
func (g gateLog) noteUse(ctx context.Context, d approvals.Decision) {
	if d.Grants == "" {
		return
	}
	if err := g.db.NoteUse(ctx, d.Grants, time.Now()); err != nil {
		g.log.Warn("the use of a grant was not counted", "err", err)
	}
	g.events.Publish("grant", string(d.Grants), nil)
}

func (g gateLog) RecordAsked(ctx context.Context, r approvals.Request) error {
	defer g.events.Publish("call", string(r.Call.ID), nil)
	return g.db.RecordAsked(ctx, r)
}

func (g gateLog) RecordAnswered(ctx context.Context, r approvals.Request, d approvals.Decision) error {
	defer g.events.Publish("call", string(r.Call.ID), nil)
	if err := g.db.RecordAnswered(ctx, r, d); err != nil {
		return err
	}
	g.noteUse(ctx, d)
	return nil
}

func (g gateLog) RecordGranted(ctx context.Context, r approvals.Request, d approvals.Decision, grant approvals.Grant) error {
	defer g.events.Publish("call", string(r.Call.ID), nil)
	defer g.events.Publish("grant", string(grant.ID), nil)
	return g.db.RecordGranted(ctx, r, d, grant)
}

func (g gateLog) RecordRevoked(ctx context.Context, id approvals.GrantID, by string, at time.Time) error {
	defer g.events.Publish("grant", string(id), nil)
	return g.db.RecordRevoked(ctx, id, by, at)
}

func (g gateLog) Request(ctx context.Context, id approvals.RequestID) (approvals.Request, error) {
	return g.db.Request(ctx, id)
}

// callLog is the record as a session writes it.
type callLog struct{ *Daemon }

func (l callLog) Record(ctx context.Context, r store.CallRecord) error {
	defer l.events.Publish("call", string(r.Call.ID), nil)
	l.observed.recorded(r)
	if len(r.Changes) > 0 {
		l.events.Publish("workspace", string(r.Call.Workspace), nil)
	}
	return l.db.Record(ctx, r)
}

// demotions is the record of tools that may no longer pass as reads.
type demotions struct{ *Daemon }

func (x demotions) Demote(ctx context.Context, d store.Demotion) error {
	defer x.events.Publish("server", string(d.Server), nil)
	return x.db.Demote(ctx, d)
}

func (x demotions) Unattributed(ctx context.Context, c approvals.Call, changes []sandbox.Change) error {
	x.observed.strayed(c.Server, changes)
	e := event(store.WorkspaceUnattributed, c.Principal, map[string]any{"workspace": c.Workspace, "changes": changes})
	e.Session, e.Server = c.Session, c.Server
	_, err := x.db.Append(ctx, e)
	return err
}

// event is one to be appended; body must marshal.
func event(kind store.Kind, p approvals.Principal, body map[string]any) store.Event {
	b, err := json.Marshal(body)
	if err != nil {
		b = []byte(`{}`)
	}
	return store.Event{Kind: kind, Principal: p, Body: b}
}

// recordDurable writes what happened to a session.
func (d *Daemon) recordDurable(ctx context.Context, kind store.Kind, o gateway.Options, cause error) error {
	e := event(kind, o.Principal, map[string]any{"workspace": o.Workspace, "spec": o.Spec, "error": text(cause)})
	e.Session, e.Server = o.ID, o.Server.Name
	_, err := d.db.AppendDurable(ctx, e)
	d.events.Publish("session", string(o.ID), nil)
	return err
}

// record writes what happened to a session where nothing can be refused any more.
func (d *Daemon) record(ctx context.Context, kind store.Kind, o gateway.Options, cause error) {
	if err := d.recordDurable(ctx, kind, o, cause); err != nil {
		d.log.Error("cannot record a session's end", "session", o.ID, "err", err)
	}
}

// recordStart writes which walls a session's sandbox has, as they are in force.
func (d *Daemon) recordStart(ctx context.Context, o gateway.Options, info sandbox.InstanceInfo) error {
	e := event(store.InstanceStarted, o.Principal, map[string]any{
		"sandbox": info.ID, "limits": info.Limits, "notices": info.Notices, "package": d.config.Package(o.Server.Name),
	})
	e.Session, e.Server = o.ID, o.Server.Name
	_, err := d.db.Append(ctx, e)
	return err
}

// recordLife writes that the daemon has started or stopped.
func (d *Daemon) recordLife(ctx context.Context, kind store.Kind) error {
	e := event(kind, approvals.Principal{UID: d.uid}, map[string]any{"version": Version(), "pid": d.pid, "policy": d.policies.policy().Digest})
	_, err := d.db.AppendDurable(ctx, e)
	return err
}

// noteEnded records how a sandbox ended.
func (d *Daemon) noteEnded(s supervisor.Status, exit sandbox.Exit) {
	d.secrets.forget(s.ID)
	e := event(store.InstanceEnded, approvals.Principal{UID: d.uid}, map[string]any{
		"sandbox": s.ID, "code": exit.Code, "reason": exit.Reason, "limits": s.Info.Limits,
	})
	e.Session, e.Server = approvals.SessionID(s.Owner.Session), s.Server
	if _, err := d.db.Append(context.Background(), e); err != nil {
		d.log.Error("cannot record a sandbox's end", "server", s.Server, "err", err)
	}
}

// childLog passes the children's stderr on, a record a line.
type childLog struct{ log *slog.Logger }

func (c childLog) Write(p []byte) (int, error) {
	for line := range bytes.Lines(p) {
		c.log.Info("engine says", "err", string(bytes.TrimSpace(line)))
	}
	return len(p), nil
}
