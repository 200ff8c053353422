package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/containerd/errdefs"

	"github.com/garita-dev/garita/approvals"
	"github.com/garita-dev/garita/sandbox"
	"github.com/garita-dev/garita/store"
)

const insertCall = `INSERT INTO calls (pos, id, seq, server, class, answer, outcome) VALUES (?, ?, ?, ?, ?, ?, ?)
	ON CONFLICT (pos) DO NOTHING`

// Bounds of the arguments that events keep, in bytes.
const (
	argumentsDecided  = 4 << 10 // enough to tell what a call was that never ended
	argumentsFinished = 64 << 10
)

// RecordDecision writes down d before c may run, and from then on c is listed as running. Where the
// call may write or a person decided it waits for the disk. It is part of approvals/gate's log.
func (s *Store) RecordDecision(ctx context.Context, c approvals.Call, d approvals.Decision) error {
	e, err := s.decided(c, d)
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	events := [...]placed{e}
	if err := s.commit(ctx, mustLast(d), events[:], nil); err != nil {
		return fmt.Errorf("record decision on %s: %w", c.ID, err)
	}
	s.underWay(c, d)
	return nil
}

// mustLast says whether d has to survive the machine: it lets something happen that is no read.
func mustLast(d approvals.Decision) bool {
	return d.Allowed() && d.Class != approvals.Read
}

func (s *Store) decided(c approvals.Call, d approvals.Decision) (placed, error) {
	body, err := encode(wireDecided{s.toWire(c, argumentsDecided), toWireDecision(d)})
	return placed{Event: about(c, store.CallDecided, body)}, err
}

// about is an event about c, happening now.
func about(c approvals.Call, kind store.Kind, body []byte) store.Event {
	return store.Event{
		Kind: kind, Principal: c.Principal, Session: c.Session, Server: c.Server, Call: c.ID, Body: body,
	}
}

// underWay lists c among the calls that have not ended. s.mu is held.
func (s *Store) underWay(c approvals.Call, d approvals.Decision) {
	r := store.CallRecord{Call: c, Decision: d, Outcome: store.CallRunning}
	switch {
	case d.Outcome == approvals.Pending:
		r.Outcome = store.CallWaiting
	case !d.Allowed():
		r.Outcome = store.CallRefused
	}
	s.live[c.ID] = r
}

// Record writes down a call that has ended: one call.finished event and its line in the listings,
// together. A record whose outcome is waiting or running only changes what listings show until then.
// Kinds: AlreadyExists when the call was recorded before; Unavailable.
func (s *Store) Record(ctx context.Context, r store.CallRecord) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if r.Outcome == store.CallWaiting || r.Outcome == store.CallRunning {
		s.live[r.Call.ID] = r
		return nil
	}
	if err := s.unrecorded(ctx, r.Call.ID); err != nil {
		return fmt.Errorf("record call %s: %w", r.Call.ID, err)
	}
	if err := s.finish(ctx, r); err != nil {
		return fmt.Errorf("record call %s: %w", r.Call.ID, err)
	}
	delete(s.live, r.Call.ID)
	return nil
}

// finish writes r. s.mu is held.
func (s *Store) finish(ctx context.Context, r store.CallRecord) error {
	body, err := encode(s.toWireFinished(r))
	if err != nil {
		return err
	}
	events := [...]placed{{Event: about(r.Call, store.CallFinished, body)}}
	return s.commit(ctx, false, events[:], func(ctx context.Context) error {
		return s.w.addCall(ctx, r, events[0].Seq)
	})
}

const selectFinished = "SELECT body FROM events WHERE call = ? AND call <> '' AND kind = 'call.finished'"

// unrecorded refuses a call that has its record. s.mu is held.
func (s *Store) unrecorded(ctx context.Context, id approvals.CallID) error {
	if _, live := s.live[id]; live {
		return nil
	}
	_, err := scanCall(s.w.conn.QueryRowContext(ctx, selectFinished, string(id)))
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return nil
	case err != nil:
		return unavailable("find call", err)
	}
	return errdefs.ErrAlreadyExists
}

func (s *Store) toWireFinished(r store.CallRecord) wireFinished {
	findings := make([]string, 0, len(r.Findings))
	for _, f := range most(r.Findings, maxChanges) {
		findings = append(findings, s.text(f))
	}
	return wireFinished{
		Call: s.toWire(r.Call, argumentsFinished), Decision: toWireDecision(r.Decision),
		Outcome: r.Outcome, Error: s.text(r.Error), Duration: r.Duration.Microseconds(),
		ResultDigest: r.Result.Digest, ResultSize: r.Result.Size,
		Changes: most(r.Changes, maxChanges), Shared: most(r.Shared, maxChanges), Findings: findings,
	}
}

func (w wireFinished) record() store.CallRecord {
	return store.CallRecord{
		Call: w.Call.call(), Decision: w.Decision.decision(), Outcome: w.Outcome, Error: w.Error,
		Duration: time.Duration(w.Duration) * time.Microsecond,
		Result:   store.ResultDigest{Digest: w.ResultDigest, Size: w.ResultSize},
		Changes:  w.Changes, Shared: w.Shared, Findings: w.Findings,
	}
}

// crowd is how many calls may start at one moment, each being moved to a free microsecond.
const crowd = 1000

// addCall puts r into the listings, at its start or the next free microsecond.
func (w *writer) addCall(ctx context.Context, r store.CallRecord, seq int64) error {
	start := r.Call.At.UnixMicro()
	for pos := start; pos < start+crowd; pos++ {
		res, err := w.insertCall.ExecContext(ctx, pos, string(r.Call.ID), seq, string(r.Call.Server),
			string(r.Decision.Class), string(r.Decision.Outcome), string(r.Outcome))
		if err != nil {
			return err
		}
		if n, err := res.RowsAffected(); err != nil || n == 1 {
			return err
		}
	}
	return fmt.Errorf("more than %d calls started in one millisecond", crowd)
}

// Calls lists calls, newest start first, those under way among them, without their arguments. It
// begins after the call before, or at the newest when before is "", and takes one server's only
// when server is not "". limit is at least 1. NotFound when before is no call.
func (s *Store) Calls(ctx context.Context, before approvals.CallID, limit int, server sandbox.ServerName) ([]store.CallRecord, error) {
	pos, err := s.position(ctx, before)
	if err != nil {
		return nil, fmt.Errorf("list calls: %w", err)
	}
	calls, err := s.finishedCalls(ctx, pos, limit, server)
	if err != nil {
		return nil, fmt.Errorf("list calls: %w", err)
	}
	calls = append(calls, s.liveCalls(pos, server)...)
	slices.SortStableFunc(calls, func(a, b store.CallRecord) int { return b.Call.At.Compare(a.Call.At) })
	for i := range calls {
		calls[i].Call.Arguments = nil
	}
	return most(calls, limit), nil
}

// forever is after every call.
const forever = int64(1) << 62

// position is where a listing that begins after call id goes on.
func (s *Store) position(ctx context.Context, id approvals.CallID) (int64, error) {
	if id == "" {
		return forever, nil
	}
	s.mu.Lock()
	r, live := s.live[id]
	s.mu.Unlock()
	if live {
		return r.Call.At.UnixMicro(), nil
	}
	r, err := s.finishedCall(ctx, id)
	if err != nil {
		return 0, err
	}
	start := r.Call.At.UnixMicro()
	var pos int64
	err = s.readers.QueryRowContext(ctx, "SELECT pos FROM calls WHERE pos BETWEEN ? AND ? AND id = ?",
		start, start+crowd, string(id)).Scan(&pos)
	return pos, unavailable("find call", err)
}

func (s *Store) liveCalls(before int64, server sandbox.ServerName) []store.CallRecord {
	s.mu.Lock()
	defer s.mu.Unlock()
	var calls []store.CallRecord
	for _, r := range s.live {
		if r.Call.At.UnixMicro() < before && (server == "" || r.Call.Server == server) {
			calls = append(calls, r)
		}
	}
	return calls
}

func (s *Store) finishedCalls(ctx context.Context, before int64, limit int, server sandbox.ServerName) ([]store.CallRecord, error) {
	query := "SELECT e.body FROM calls c JOIN events e ON e.seq = c.seq WHERE c.pos < ?1 ORDER BY c.pos DESC LIMIT ?2"
	args := []any{before, max(limit, 1)}
	if server != "" {
		query = "SELECT e.body FROM calls c JOIN events e ON e.seq = c.seq WHERE c.server = ?3 AND c.pos < ?1 ORDER BY c.pos DESC LIMIT ?2"
		args = append(args, string(server))
	}
	rows, err := s.readers.QueryContext(ctx, query, args...)
	if err != nil {
		return nil, unavailable("read calls", err)
	}
	defer rows.Close()

	var calls []store.CallRecord
	for rows.Next() {
		r, err := scanCall(rows)
		if err != nil {
			return nil, err
		}
		calls = append(calls, r)
	}
	return calls, unavailable("read calls", rows.Err())
}

func scanCall(row scanner) (store.CallRecord, error) {
	var body []byte
	if err := row.Scan(&body); err != nil {
		return store.CallRecord{}, err
	}
	var w wireFinished
	err := decode(body, &w)
	return w.record(), err
}

// Call finds one call, with its arguments redacted and bounded; NotFound.
func (s *Store) Call(ctx context.Context, id approvals.CallID) (store.CallRecord, error) {
	s.mu.Lock()
	r, live := s.live[id]
	s.mu.Unlock()
	if live {
		r.Call.Arguments = s.arguments(r.Call.Arguments, argumentsFinished)
		return r, nil
	}
	return s.finishedCall(ctx, id)
}

func (s *Store) finishedCall(ctx context.Context, id approvals.CallID) (store.CallRecord, error) {
	r, err := scanCall(s.readers.QueryRowContext(ctx, selectFinished, string(id)))
	if errors.Is(err, sql.ErrNoRows) {
		return r, fmt.Errorf("find call %s: %w", id, errdefs.ErrNotFound)
	}
	return r, unavailable("find call "+string(id), err)
}

// CallsToday counts the calls that ended and started since local midnight.
func (s *Store) CallsToday(ctx context.Context) (int, error) {
	now := time.Now()
	midnight := time.Date(now.Year(), now.Month(), now.Day(), 0, 0, 0, 0, now.Location())
	var n int
	err := s.readers.QueryRowContext(ctx, "SELECT count(*) FROM calls WHERE pos >= ?", midnight.UnixMicro()).Scan(&n)
	return n, unavailable("count calls", err)
}

// lately is how far Before looks back.
const lately = 7 * 24 * time.Hour

// Before counts what server's calls of the last week that were no reads came to.
func (s *Store) Before(ctx context.Context, server sandbox.ServerName) (store.Past, error) {
	var p store.Past
	err := s.readers.QueryRowContext(ctx,
		"SELECT count(*), coalesce(sum(answer = 'approved'), 0) FROM calls WHERE server = ? AND pos >= ? AND class <> 'read'",
		string(server), time.Now().Add(-lately).UnixMicro()).Scan(&p.Writes, &p.Approved)
	return p, unavailable("count calls", err)
}
