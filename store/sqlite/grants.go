package sqlite

import (
	"context"
	"fmt"
	"time"

	"github.com/containerd/errdefs"
	"github.com/go-json-experiment/json"

	"github.com/garita-dev/garita/approvals"
	"github.com/garita-dev/garita/store"
)

// wireGrant is the body of grant.created.
type wireGrant struct {
	Grant     approvals.GrantID   `json:"grant"`
	Request   approvals.RequestID `json:"request"`
	Scope     approvals.Scope     `json:"scope"`
	Spec      string              `json:"spec"`
	Tool      string              `json:"tool,omitempty"`
	Pin       string              `json:"pin,omitempty"`
	Class     approvals.Class     `json:"class,omitempty"`
	Sensitive bool                `json:"sensitive,omitempty"`
	Workspace string              `json:"workspace,omitempty"`
	Until     *time.Time          `json:"until,omitempty"`
	Arguments []wireArgument      `json:"arguments,omitempty"`
	By        string              `json:"by"`
}

// wireArgument is one argument of a grant, in the table and in events.
type wireArgument struct {
	Path    string `json:"path"`
	Equals  string `json:"equals,omitempty"`
	Prefix  string `json:"prefix,omitempty"`
	Command string `json:"command,omitempty"`
}

// wireRevoked is the body of grant.revoked.
type wireRevoked struct {
	Grant approvals.GrantID `json:"grant"`
	By    string            `json:"by"`
}

const (
	insertGrant = `INSERT INTO grants (id, scope, uid, client, token, server, spec, tool, pin, class, sensitive, session, workspace,
		until, arguments, request, by, created, revoked, used, uses)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, 0, 0, 0)`
	selectGrants = `SELECT id, scope, uid, client, token, server, spec, tool, pin, class, sensitive, session, workspace,
		until, arguments, request, by, created, revoked, used, uses FROM grants `
)

// RecordGranted is RecordAnswered for an answer that permits more, with the grant: all of it or
// nothing is written down. It is part of approvals/gate's log.
func (s *Store) RecordGranted(ctx context.Context, r approvals.Request, d approvals.Decision, g approvals.Grant) error {
	event, arguments, err := s.granted(g)
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	err = s.answered(ctx, r, d, func(ctx context.Context) error { return s.w.addGrant(ctx, g, arguments) }, event)
	if err != nil {
		return fmt.Errorf("record grant %s: %w", g.ID, err)
	}
	s.underWay(r.Call, d, nil)
	return nil
}

// granted is the event that makes g, and its arguments as the table has them. Values that look like
// secrets are not in the event.
func (s *Store) granted(g approvals.Grant) (placed, string, error) {
	body := wireGrant{
		Grant: g.ID, Request: g.Request, Scope: g.Scope, Spec: string(g.Spec), Tool: g.Tool, Pin: string(g.Pin), Class: g.Class,
		Sensitive: g.Sensitive, Workspace: string(g.Workspace), By: g.By,
	}
	if !g.Until.IsZero() {
		until := g.Until.UTC()
		body.Until = &until
	}
	kept := make([]wireArgument, 0, len(g.Arguments))
	for _, a := range g.Arguments {
		kept = append(kept, wireArgument(a))
		a.Equals = s.text(a.Equals)
		body.Arguments = append(body.Arguments, wireArgument(a))
	}
	b, err := encode(body)
	if err != nil {
		return placed{}, "", err
	}
	arguments, err := json.Marshal(kept)
	if err != nil {
		return placed{}, "", fmt.Errorf("%w: %w", errdefs.ErrInvalidArgument, err)
	}
	e := store.Event{Kind: store.GrantCreated, Principal: g.Principal, Session: g.Session, Server: g.Server, Body: b}
	return placed{Event: e}, string(arguments), nil
}

func (w *writer) addGrant(ctx context.Context, g approvals.Grant, arguments string) error {
	_, err := w.conn.ExecContext(ctx, insertGrant,
		string(g.ID), string(g.Scope), g.Principal.UID, g.Principal.Client, g.Principal.Token, string(g.Server), string(g.Spec),
		g.Tool, string(g.Pin), string(g.Class), g.Sensitive, string(g.Session), string(g.Workspace),
		unixMicro(g.Until), arguments, string(g.Request), g.By, g.Created.UnixMicro())
	return err
}

// RecordRevoked writes down, durably, that a grant is no longer in force. The first revocation
// stays. NotFound. It is part of approvals/gate's log.
func (s *Store) RecordRevoked(ctx context.Context, id approvals.GrantID, by string, at time.Time) error {
	g, err := s.Grant(ctx, id)
	if err != nil || !g.Revoked.IsZero() {
		return err
	}
	body, err := encode(wireRevoked{id, by})
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	e := store.Event{Kind: store.GrantRevoked, Principal: g.Principal, Session: g.Session, Server: g.Server, Body: body}
	events := [...]placed{{Event: e}}
	err = s.commit(ctx, true, events[:], func(ctx context.Context) error {
		_, err := s.w.conn.ExecContext(ctx, "UPDATE grants SET revoked = ? WHERE id = ? AND revoked = 0", at.UnixMicro(), string(id))
		return err
	})
	if err != nil {
		return fmt.Errorf("revoke grant %s: %w", id, err)
	}
	return nil
}

// NoteUse counts a call that grants have let through. The decision itself says so too: what is lost
// here when the machine dies can be counted there.
func (s *Store) NoteUse(ctx context.Context, ids approvals.GrantIDs, at time.Time) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.ready(ctx); err != nil {
		return err
	}
	for _, id := range ids.List() {
		if _, err := s.w.conn.ExecContext(ctx, "UPDATE grants SET uses = uses + 1, used = ? WHERE id = ?", at.UnixMicro(), string(id)); err != nil {
			return unavailable("count the use of grant "+string(id), err)
		}
	}
	return nil
}

// Grants lists every grant there was, the oldest first, the revoked and ended ones too.
func (s *Store) Grants(ctx context.Context) ([]approvals.Grant, error) {
	rows, err := s.readers.QueryContext(ctx, selectGrants+"ORDER BY created, id")
	if err != nil {
		return nil, unavailable("read grants", err)
	}
	defer rows.Close()
	var all []approvals.Grant
	for rows.Next() {
		g, err := scanGrant(rows)
		if err != nil {
			return nil, unavailable("read grants", err)
		}
		all = append(all, g)
	}
	return all, unavailable("read grants", rows.Err())
}

// Grant finds one grant; NotFound.
func (s *Store) Grant(ctx context.Context, id approvals.GrantID) (approvals.Grant, error) {
	all, err := s.Grants(ctx)
	if err != nil {
		return approvals.Grant{}, err
	}
	for _, g := range all {
		if g.ID == id {
			return g, nil
		}
	}
	return approvals.Grant{}, fmt.Errorf("find grant %s: %w", id, errdefs.ErrNotFound)
}

func scanGrant(row scanner) (approvals.Grant, error) {
	var g approvals.Grant
	var arguments string
	var until, created, revoked, used int64
	err := row.Scan(&g.ID, &g.Scope, &g.Principal.UID, &g.Principal.Client, &g.Principal.Token, &g.Server, &g.Spec, &g.Tool, &g.Pin,
		&g.Class, &g.Sensitive, &g.Session, &g.Workspace, &until, &arguments, &g.Request, &g.By, &created, &revoked, &used, &g.Uses)
	if err != nil {
		return g, err
	}
	var kept []wireArgument
	if err := json.Unmarshal([]byte(arguments), &kept, json.RejectUnknownMembers(true)); err != nil {
		return g, fmt.Errorf("read the arguments of grant %s: %w", g.ID, err) // without them it would permit more
	}
	for _, a := range kept {
		g.Arguments = append(g.Arguments, approvals.Argument(a))
	}
	g.Until, g.Created, g.Revoked, g.Used = orZero(until), micros(created), orZero(revoked), orZero(used)
	return g, nil
}

// Unseen lists the questions of the last week that expired and that nobody has seen yet, the oldest
// first, at most 100.
func (s *Store) Unseen(ctx context.Context) ([]approvals.Request, error) {
	rows, err := s.readers.QueryContext(ctx,
		selectRequest+"WHERE r.outcome = 'expired' AND r.seen = 0 AND r.answered >= ? ORDER BY r.seq LIMIT 100", time.Now().Add(-lately).UnixMicro())
	if err != nil {
		return nil, unavailable("read expired questions", err)
	}
	defer rows.Close()
	var all []approvals.Request
	for rows.Next() {
		r, err := scanRequest(rows)
		if err != nil {
			return nil, unavailable("read expired questions", err)
		}
		all = append(all, r)
	}
	return all, unavailable("read expired questions", rows.Err())
}

// See notes that a person has seen how these questions ended; none means all that have.
func (s *Store) See(ctx context.Context, ids []approvals.RequestID) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.ready(ctx); err != nil {
		return err
	}
	if len(ids) == 0 {
		_, err := s.w.conn.ExecContext(ctx, "UPDATE requests SET seen = 1 WHERE outcome = 'expired' AND seen = 0")
		return unavailable("note what was seen", err)
	}
	for _, id := range ids {
		if _, err := s.w.conn.ExecContext(ctx, "UPDATE requests SET seen = 1 WHERE id = ? AND outcome = 'expired'", string(id)); err != nil {
			return unavailable("note what was seen", err)
		}
	}
	return nil
}

// Prompts counts the calls of the last seven days, and how many of them were put to a person, for
// each agent, the busiest first. Calls that have not ended are not among them.
func (s *Store) Prompts(ctx context.Context) ([]store.Prompts, error) {
	if err := s.index(ctx); err != nil {
		return nil, err
	}
	rows, err := s.readers.QueryContext(ctx,
		`SELECT e.uid, e.client, e.token, count(*), sum(c.answer <> '') FROM calls c JOIN events e ON e.seq = c.seq
		 WHERE c.pos >= ? GROUP BY e.uid, e.client, e.token ORDER BY 4 DESC`, time.Now().Add(-lately).UnixMicro())
	if err != nil {
		return nil, unavailable("count prompts", err)
	}
	defer rows.Close()
	var all []store.Prompts
	for rows.Next() {
		var p store.Prompts
		if err := rows.Scan(&p.Principal.UID, &p.Principal.Client, &p.Principal.Token, &p.Calls, &p.Asked); err != nil {
			return nil, unavailable("count prompts", err)
		}
		all = append(all, p)
	}
	return all, unavailable("count prompts", rows.Err())
}
