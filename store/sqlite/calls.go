package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"time"

	"github.com/containerd/errdefs"
	"github.com/go-json-experiment/json/jsontext"

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
	argumentsLow      = 256 // while the disk is low
)

// liveCall is a call that has not ended, and how its events begin.
type liveCall struct {
	store.CallRecord
	wire jsontext.Value // the call as its events tell of it; nil where arguments were left out
}

// RecordDecision writes down d before c may run, and from then on c is listed as running. Where the
// call may write or a person decided it waits for the disk. It is part of approvals/gate's log.
func (s *Store) RecordDecision(ctx context.Context, c approvals.Call, d approvals.Decision) error {
	e, wire, err := s.decided(c, d)
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	events := [...]placed{e}
	if err := s.commit(ctx, mustLast(d), events[:], nil); err != nil {
		return fmt.Errorf("record decision on %s: %w", c.ID, err)
	}
	s.underWay(c, d, wire)
	return nil
}

// mustLast says whether d has to survive the machine: it lets something happen that is no read.
func mustLast(d approvals.Decision) bool {
	return d.Allowed() && d.Class != approvals.Read
}

// decided is the event of d, and c as it tells of it, for the call's other events.
func (s *Store) decided(c approvals.Call, d approvals.Decision) (placed, jsontext.Value, error) {
	wire, err := encode(s.toWire(c, s.most(argumentsDecided)))
	if err != nil {
		return placed{}, nil, err
	}
	decision, err := encode(toWireDecision(d))
	if err != nil {
		return placed{}, nil, err
	}
	body := join(wire, decision, nil)
	if len(c.Arguments) > argumentsDecided || len(c.Input) > argumentsDecided {
		wire = nil // the end keeps more of them
	}
	return placed{Event: about(c, store.CallDecided, body)}, wire, nil
}

// most is how many bytes of arguments are kept: few while the disk is low.
func (s *Store) most(limit int) int {
	if s.low.Load() {
		return argumentsLow
	}
	return limit
}

// join is the body of call.decided, or of call.finished with what the end adds, from its parts.
func join(call, decision, end []byte) []byte {
	b := make([]byte, 0, len(call)+len(decision)+len(end)+len(`{"call":,"decision":,}`))
	b = append(append(b, `{"call":`...), call...)
	b = append(append(b, `,"decision":`...), decision...)
	if end != nil {
		b = append(append(b, ','), end[1:len(end)-1]...)
	}
	return append(b, '}')
}

// about is an event about c, happening now.
func about(c approvals.Call, kind store.Kind, body []byte) store.Event {
	return store.Event{
		Kind: kind, Principal: c.Principal, Session: c.Session, Server: c.Server, Call: c.ID, Body: body,
	}
}

// underWay lists c among the calls that have not ended. s.mu is held.
func (s *Store) underWay(c approvals.Call, d approvals.Decision, wire jsontext.Value) {
	r := store.CallRecord{Call: c, Decision: d, Outcome: store.CallRunning}
	switch {
	case d.Outcome == approvals.Pending:
		r.Outcome = store.CallWaiting
	case !d.Allowed():
		r.Outcome = store.CallRefused
	}
	s.live[c.ID] = liveCall{r, wire}
}

// Record writes down a call that has ended: one call.finished event, of which the listings follow.
// A record whose outcome is waiting or running only changes what listings show until then. Kinds:
// AlreadyExists when the call was recorded before; Unavailable.
func (s *Store) Record(ctx context.Context, r store.CallRecord) error {
	if r.Outcome == store.CallWaiting || r.Outcome == store.CallRunning {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.live[r.Call.ID] = liveCall{CallRecord: r}
		return nil
	}
	if err := s.recordEnd(ctx, r); err != nil {
		return fmt.Errorf("record call %s: %w", r.Call.ID, err)
	}
	return nil
}

func (s *Store) recordEnd(ctx context.Context, r store.CallRecord) error {
	e, err := s.finished(r, s.wireOf(r.Call))
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.unrecorded(ctx, r.Call.ID); err != nil {
		return err
	}
	if err := s.finish(ctx, r, e); err != nil {
		return err
	}
	delete(s.live, r.Call.ID)
	return nil
}

// wireOf is c as the event of its decision told of it; nil when it has changed since.
func (s *Store) wireOf(c approvals.Call) jsontext.Value {
	s.mu.Lock()
	l := s.live[c.ID]
	s.mu.Unlock()
	if l.wire == nil || !reflect.DeepEqual(&c, &l.Call) {
		return nil
	}
	return l.wire
}

// finished is the event that ends r's call. wire is the call as it is told of, nil when that is not known.
func (s *Store) finished(r store.CallRecord, wire jsontext.Value) (placed, error) {
	var err error
	if wire == nil {
		if wire, err = encode(s.toWire(r.Call, s.most(argumentsFinished))); err != nil {
			return placed{}, err
		}
	}
	decision, err := encode(toWireDecision(r.Decision))
	if err != nil {
		return placed{}, err
	}
	end, err := encode(s.toWireEnd(r))
	if err != nil {
		return placed{}, err
	}
	return placed{Event: about(r.Call, store.CallFinished, join(wire, decision, end))}, nil
}

// finish writes r's end. s.mu is held.
func (s *Store) finish(ctx context.Context, r store.CallRecord, e placed) error {
	events := [...]placed{e}
	return s.commitCall(ctx, false, events[:], listed(r), nil)
}

const selectFinished = "SELECT e.body FROM mentions m JOIN events e ON e.seq = m.seq WHERE m.id = ? AND e.kind = 'call.finished'"

// unrecorded refuses a call that has its record. s.mu is held.
func (s *Store) unrecorded(ctx context.Context, id approvals.CallID) error {
	if _, live := s.live[id]; live {
		return nil
	}
	if err := s.ready(ctx); err != nil {
		return err
	}
	if err := s.catchUp(); err != nil {
		return err
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

func (s *Store) toWireEnd(r store.CallRecord) wireEnd {
	var findings []string
	for _, f := range most(r.Findings, maxChanges) {
		findings = append(findings, s.text(f))
	}
	return wireEnd{
		Outcome: r.Outcome, Error: s.text(r.Error), Duration: r.Duration.Microseconds(),
		ResultDigest: r.Result.Digest, ResultSize: r.Result.Size,
		Changes: most(r.Changes, maxChanges), Hosts: most(r.Hosts, maxChanges), Secrets: most(r.Secrets, maxChanges), Commands: most(r.Commands, maxChanges), Kept: most(r.Kept, maxChanges), Shared: most(r.Shared, maxChanges), Findings: findings,
	}
}

func (w wireFinished) record() store.CallRecord {
	return store.CallRecord{
		Call: w.Call.call(), Decision: w.Decision.decision(), Outcome: w.Outcome, Error: w.Error,
		Duration: time.Duration(w.Duration) * time.Microsecond,
		Result:   store.ResultDigest{Digest: w.ResultDigest, Size: w.ResultSize},
		Changes:  w.Changes, Hosts: w.Hosts, Secrets: w.Secrets, Commands: w.Commands, Kept: w.Kept, Shared: w.Shared, Findings: w.Findings,
	}
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
	done, err := s.finishedCall(ctx, id)
	if err != nil {
		return 0, err
	}
	start := done.Call.At.UnixMicro()
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
			calls = append(calls, r.CallRecord)
		}
	}
	return calls
}

func (s *Store) finishedCalls(ctx context.Context, before int64, limit int, server sandbox.ServerName) ([]store.CallRecord, error) {
	if err := s.index(ctx); err != nil {
		return nil, err
	}
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
		r.Call.Arguments, r.Call.Input = s.arguments(r.Call.Arguments, argumentsFinished), s.arguments(r.Call.Input, argumentsFinished)
		return r.CallRecord, nil
	}
	return s.finishedCall(ctx, id)
}

func (s *Store) finishedCall(ctx context.Context, id approvals.CallID) (store.CallRecord, error) {
	if err := s.index(ctx); err != nil {
		return store.CallRecord{}, err
	}
	r, err := scanCall(s.readers.QueryRowContext(ctx, selectFinished, string(id)))
	if errors.Is(err, sql.ErrNoRows) {
		return r, fmt.Errorf("find call %s: %w", id, errdefs.ErrNotFound)
	}
	return r, unavailable("find call "+string(id), err)
}

// CallsToday counts the calls that ended and started since local midnight.
func (s *Store) CallsToday(ctx context.Context) (int, error) {
	if err := s.index(ctx); err != nil {
		return 0, err
	}
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
	if err := s.index(ctx); err != nil {
		return p, err
	}
	err := s.readers.QueryRowContext(ctx,
		"SELECT count(*), coalesce(sum(answer = 'approved'), 0) FROM calls WHERE server = ? AND pos >= ? AND class <> 'read'",
		string(server), time.Now().Add(-lately).UnixMicro()).Scan(&p.Writes, &p.Approved)
	return p, unavailable("count calls", err)
}
