package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/containerd/errdefs"

	"github.com/garita-dev/garita/approvals"
	"github.com/garita-dev/garita/store"
)

const (
	insertRequest = `INSERT INTO requests (id, seq, outcome, answered, by) VALUES (?, ?, ?, 0, '')`
	endRequest    = `UPDATE requests SET outcome = ?, answered = ?, by = ? WHERE id = ? AND outcome = 'pending'`
)

// RecordAsked writes down a question, durably, before anyone sees it; its call is listed as waiting
// from then on. It is part of approvals/gate's log.
func (s *Store) RecordAsked(ctx context.Context, r approvals.Request) error {
	body, err := encode(wireAsked{
		Request: r.ID, Binding: r.Binding, Asked: r.Asked.UTC(), Expires: r.Expires.UTC(),
		Why: toWireDecision(r.Why), Call: s.toWire(r.Call, argumentsFinished), Kind: r.Kind, Subject: r.Subject,
	})
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	events := [...]placed{{Event: about(r.Call, store.ApprovalAsked, body)}}
	err = s.commit(ctx, true, events[:], func(context.Context) error {
		_, err := s.w.insertRequest.exec(string(r.ID), events[0].Seq, string(approvals.Pending))
		return err
	})
	if err != nil {
		return fmt.Errorf("record request %s: %w", r.ID, err)
	}
	waiting := r.Why
	waiting.Request, waiting.Outcome = r.ID, approvals.Pending
	if r.Call.ID != "" {
		s.underWay(r.Call, waiting, nil)
	}
	return nil
}

// RecordAnswered writes down how a question ended and the decision that follows, together and
// durably. It is part of approvals/gate's log. FailedPrecondition when the question had ended.
func (s *Store) RecordAnswered(ctx context.Context, r approvals.Request, d approvals.Decision) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.answered(ctx, r, d, nil); err != nil {
		return fmt.Errorf("record answer to request %s: %w", r.ID, err)
	}
	if r.Call.ID != "" {
		s.underWay(r.Call, d, nil)
	}
	return nil
}

// answered writes r's end and, where it is about a call, d, with more events and what also does.
// s.mu is held.
func (s *Store) answered(ctx context.Context, r approvals.Request, d approvals.Decision, also func(context.Context) error, more ...placed) error {
	body, err := encode(wireAnswered{
		Request: r.ID, Binding: r.Binding, Outcome: r.Outcome, By: r.By, Waited: d.Waited.Microseconds(), Rule: r.Ruling.Rule,
	})
	if err != nil {
		return err
	}
	events := append([]placed{{Event: about(r.Call, store.ApprovalAnswered, body)}}, more...)
	if r.Call.ID != "" {
		decision, _, err := s.decided(r.Call, d)
		if err != nil {
			return err
		}
		events = append(events, decision)
	}
	return s.commit(ctx, true, events, func(ctx context.Context) error {
		if err := s.w.end(r); err != nil || also == nil {
			return err
		}
		return also(ctx)
	})
}

func (w *writer) end(r approvals.Request) error {
	n, err := w.endRequest.exec(string(r.Outcome), r.Answered.UnixMicro(), r.By, string(r.ID))
	if err != nil || n == 1 {
		return err
	}
	return fmt.Errorf("request %s does not wait: %w", r.ID, errdefs.ErrFailedPrecondition)
}

const selectRequest = "SELECT r.outcome, r.answered, r.by, e.body FROM requests r JOIN events e ON e.seq = r.seq "

// Request finds a question, with its call's arguments redacted and bounded; NotFound.
func (s *Store) Request(ctx context.Context, id approvals.RequestID) (approvals.Request, error) {
	r, err := scanRequest(s.readers.QueryRowContext(ctx, selectRequest+"WHERE r.id = ?", string(id)))
	if errors.Is(err, sql.ErrNoRows) {
		return r, fmt.Errorf("find request %s: %w", id, errdefs.ErrNotFound)
	}
	return r, unavailable("find request "+string(id), err)
}

func scanRequest(row scanner) (approvals.Request, error) {
	var outcome, by string
	var answered int64
	var body []byte
	if err := row.Scan(&outcome, &answered, &by, &body); err != nil {
		return approvals.Request{}, err
	}
	var w wireAsked
	if err := decode(body, &w); err != nil {
		return approvals.Request{}, err
	}
	r := approvals.Request{
		ID: w.Request, Binding: w.Binding, Call: w.Call.call(), Why: w.Why.decision(),
		Asked: w.Asked, Expires: w.Expires, Outcome: approvals.Outcome(outcome), By: by, Kind: w.Kind, Subject: w.Subject,
	}
	if r.Kind == "" { // of before there were other kinds
		r.Kind = r.Call.Kind()
	}
	if answered != 0 {
		r.Answered = micros(answered)
	}
	return r, nil
}
