package daemon

import (
	"context"

	"github.com/garita-dev/garita/approvals"
	"github.com/garita-dev/garita/daemon/api"
	"github.com/garita-dev/garita/store"
)

// Audit implements httpapi.Backend.
func (d *Daemon) Audit(ctx context.Context, q api.AuditQuery) ([]api.AuditEvent, error) {
	if q.After < 0 { // counted from the end
		q.After = max(0, d.db.LastSeq()+q.After)
	}
	events, err := d.db.Find(ctx, store.Query{
		After: q.After, Limit: q.Limit, Call: approvals.CallID(q.Call), Session: approvals.SessionID(q.Session), Since: q.Since,
	})
	if err != nil {
		return nil, err
	}
	out := make([]api.AuditEvent, 0, len(events))
	for _, e := range events {
		out = append(out, apiEvent(e))
	}
	return out, nil
}

// VerifyAudit implements httpapi.Backend.
func (d *Daemon) VerifyAudit(ctx context.Context) (api.Verification, error) {
	v, err := d.db.Verify(ctx)
	out := api.Verification{OK: v.OK, Records: v.Records, Bad: v.Bad, Problem: v.Problem, Notice: v.Notice}
	if v.Dropped.Upto > 0 {
		out.Dropped = &api.DroppedRecord{Upto: v.Dropped.Upto, At: v.Dropped.At, Why: v.Dropped.Why}
	}
	return out, err
}
