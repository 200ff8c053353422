package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
)

// contradictions are the ways in which what is looked up often can say something else than the events
// it was made from. Each query finds the first event concerned and says what is wrong; ?1 is the
// event up to which the indexes have been brought.
var contradictions = [...]string{
	`SELECT c.seq, 'the listing of calls has it as another call, server, class or outcome than it tells of'
	 FROM calls c LEFT JOIN events e ON e.seq = c.seq
	 WHERE e.seq IS NULL OR e.kind <> 'call.finished' OR e.call <> c.id OR e.server <> c.server
	    OR e.body ->> '$.decision.class' <> c.class OR e.body ->> '$.outcome' <> c.outcome
	    OR coalesce(e.body ->> '$.decision.outcome', '') <> c.answer ORDER BY c.seq LIMIT 1`,
	`SELECT e.seq, 'the listing of calls does not have it'
	 FROM events e LEFT JOIN calls c ON c.seq = e.seq
	 WHERE e.kind = 'call.finished' AND e.seq <= ?1 AND c.seq IS NULL ORDER BY e.seq LIMIT 1`,
	`SELECT m.seq, 'the index of calls and sessions points at it and should not'
	 FROM mentions m LEFT JOIN events e ON e.seq = m.seq
	 WHERE e.seq IS NULL OR m.id NOT IN (e.call, e.session) ORDER BY m.seq LIMIT 1`,
	`SELECT e.seq, 'the index of calls and sessions does not have it'
	 FROM events e LEFT JOIN mentions m ON m.id = e.call AND m.seq = e.seq
	 WHERE e.call <> '' AND e.seq <= ?1 AND m.seq IS NULL ORDER BY e.seq LIMIT 1`,
	`SELECT e.seq, 'the index of calls and sessions does not have it'
	 FROM events e LEFT JOIN mentions m ON m.id = e.session AND m.seq = e.seq
	 WHERE e.session <> '' AND e.seq <= ?1 AND m.seq IS NULL ORDER BY e.seq LIMIT 1`,
	`SELECT e.seq, 'the list of questions has it as answered otherwise than it tells of'
	 FROM events e LEFT JOIN requests r ON r.id = e.body ->> '$.request'
	 WHERE e.kind = 'approval.answered' AND r.seq IS NOT NULL
	   AND (r.outcome <> e.body ->> '$.outcome' OR r.by <> coalesce(e.body ->> '$.by', '')) ORDER BY e.seq LIMIT 1`,
	`SELECT e.seq, 'the list of questions does not have it'
	 FROM events e LEFT JOIN requests r ON r.id = e.body ->> '$.request'
	 WHERE e.kind = 'approval.asked' AND (r.id IS NULL OR r.seq <> e.seq) ORDER BY e.seq LIMIT 1`,
	`SELECT r.seq, 'the list of questions has it as ended, and no answer is recorded'
	 FROM requests r LEFT JOIN (SELECT body ->> '$.request' AS id FROM events WHERE kind = 'approval.answered') a ON a.id = r.id
	 WHERE r.outcome <> 'pending' AND a.id IS NULL ORDER BY r.seq LIMIT 1`,
	`SELECT e.seq, 'the token that it revokes is in use again'
	 FROM events e JOIN tokens t ON t.id = e.body ->> '$.token' WHERE e.kind = 'token.revoked' AND t.revoked = 0 ORDER BY e.seq LIMIT 1`,
	`SELECT e.seq, 'the token that it made opens other servers or tools now, or for longer'
	 FROM events e JOIN tokens t ON t.id = e.body ->> '$.token' WHERE e.kind = 'token.created' AND (t.name <> e.body ->> '$.name'
	    OR json(t.servers) <> coalesce(json(e.body -> '$.servers'), '[]') OR json(t.tools) <> coalesce(json(e.body -> '$.tools'), '[]')
	    OR (t.expires = 0) <> (e.body -> '$.expires' IS NULL)) ORDER BY e.seq LIMIT 1`,
	`SELECT u.seq, 'the list of the uses of secrets points at it and should not'
	 FROM secret_uses u LEFT JOIN events e ON e.seq = u.seq
	 WHERE e.seq IS NULL OR e.kind <> 'secret.used' OR e.body ->> '$.name' <> u.secret ORDER BY u.seq LIMIT 1`,
	`SELECT e.seq, 'the list of the uses of secrets does not have it'
	 FROM events e LEFT JOIN secret_uses u ON u.secret = e.body ->> '$.name' AND u.seq = e.seq
	 WHERE e.kind = 'secret.used' AND u.seq IS NULL ORDER BY e.seq LIMIT 1`,
	`SELECT e.seq, 'the secret that it set is an older one again'
	 FROM events e LEFT JOIN secrets s ON s.name = e.body ->> '$.name'
	 WHERE e.kind = 'secret.set' AND (s.name IS NULL OR s.version < e.body ->> '$.version') ORDER BY e.seq LIMIT 1`,
	`SELECT e.seq, 'the secret that it set comes of another command now'
	 FROM events e JOIN secrets s ON s.name = e.body ->> '$.name' AND s.version = e.body ->> '$.version'
	 WHERE e.kind = 'secret.set' AND s.removed = 0 AND instr(e.body, '[redacted]') = 0
	   AND json(s.command) <> coalesce(json(e.body -> '$.command'), '[]') ORDER BY e.seq LIMIT 1`,
	`SELECT e.seq, 'the secret that it took away is there again'
	 FROM events e JOIN secrets s ON s.name = e.body ->> '$.name'
	 WHERE e.kind IN ('secret.removed', 'secret.rotated') AND s.removed = 0 AND s.version <= e.body ->> '$.version' ORDER BY e.seq LIMIT 1`,
	`SELECT e.seq, 'the permission that it revokes is in force again'
	 FROM events e JOIN grants g ON g.id = e.body ->> '$.grant' WHERE e.kind = 'grant.revoked' AND g.revoked = 0 ORDER BY e.seq LIMIT 1`,
	`SELECT e.seq, 'the permission that it gave reaches further now'
	 FROM events e JOIN grants g ON g.id = e.body ->> '$.grant' WHERE e.kind = 'grant.created' AND (
	    g.scope <> e.body ->> '$.scope' OR g.uid <> e.uid OR g.client <> e.client OR g.token <> e.token OR g.server <> e.server OR g.session <> e.session
	    OR g.spec <> e.body ->> '$.spec' OR g.tool <> coalesce(e.body ->> '$.tool', '') OR g.pin <> coalesce(e.body ->> '$.pin', '')
	    OR g.class <> coalesce(e.body ->> '$.class', '') OR g.sensitive <> coalesce(e.body ->> '$.sensitive', 0)
	    OR g.workspace <> coalesce(e.body ->> '$.workspace', '') OR (g.until = 0) <> (e.body -> '$.until' IS NULL)
	    OR abs(g.until - coalesce(unixepoch(e.body ->> '$.until'), 0) * 1000000) > 1000000
	    OR json_array_length(g.arguments) <> coalesce(json_array_length(e.body, '$.arguments'), 0)
	    OR instr(e.body, '[redacted]') = 0 AND json(g.arguments) <> coalesce(json(e.body -> '$.arguments'), '[]')) ORDER BY e.seq LIMIT 1`,
}

// unmade are the ways in which there can be something that no event made: rows of what lets somebody
// do something. What was there when the record's beginning was dropped may have been made there.
var unmade = [...]struct{ what, query string }{
	{"permission", `SELECT g.id FROM grants g WHERE NOT EXISTS (SELECT 1 FROM made WHERE made.id = g.id)`},
	{"token", `SELECT t.id FROM tokens t WHERE NOT EXISTS (SELECT 1 FROM made WHERE made.id = t.id)`},
}

const made = `WITH made (id) AS MATERIALIZED (SELECT coalesce(body ->> '$.grant', body ->> '$.token')
	FROM events WHERE kind IN ('grant.created', 'token.created')) `

// strangers checks that everything that lets somebody do something was made by an event.
func (v *verifier) strangers(ctx context.Context, tx *sql.Tx) error {
	for _, u := range unmade {
		ids, err := texts(ctx, tx, made+u.query)
		if err != nil {
			return fmt.Errorf("compare with the events: %w", err)
		}
		for _, id := range ids {
			if !slices.Contains(v.made, id) {
				v.fault(v.head.seq, "it is the newest, and no record up to it made the %s %s that is in the list.", u.what, id)
			}
		}
	}
	return nil
}

// querier is a database, a connection or a transaction.
type querier interface {
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
}

// texts are the rows of a query of one column.
func texts(ctx context.Context, q querier, query string) ([]string, error) {
	rows, err := q.QueryContext(ctx, query)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var all []string
	for rows.Next() {
		var text string
		if err := rows.Scan(&text); err != nil {
			return nil, err
		}
		all = append(all, text)
	}
	return all, rows.Err()
}

// tables checks that what is looked up often says what the events say. It asks only of events that
// are good.
func (v *verifier) tables(ctx context.Context, tx *sql.Tx) error {
	if v.problem != "" {
		return nil
	}
	var b []byte
	err := tx.QueryRowContext(ctx, "SELECT value FROM meta WHERE key = 'indexed'").Scan(&b)
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		return err
	}
	indexed := toNumber(b)
	for _, query := range contradictions {
		if err := v.contradiction(ctx, tx, query, indexed); err != nil {
			return err
		}
	}
	if err := v.strangers(ctx, tx); err != nil {
		return err
	}
	return v.demotions(ctx, tx)
}

func (v *verifier) contradiction(ctx context.Context, tx *sql.Tx, query string, indexed int64) error {
	var seq int64
	var what string
	err := tx.QueryRowContext(ctx, query, indexed).Scan(&seq, &what)
	if errors.Is(err, sql.ErrNoRows) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("compare with the events: %w", err)
	}
	v.fault(seq, "%s.", what)
	return nil
}

// demotions checks that every tool that was demoted still is.
func (v *verifier) demotions(ctx context.Context, tx *sql.Tx) error {
	rows, err := tx.QueryContext(ctx, "SELECT server, tool FROM demotions")
	if err != nil {
		return err
	}
	defer rows.Close()
	var there []wireHeld
	for rows.Next() {
		var h wireHeld
		if err := rows.Scan(&h.Server, &h.Tool); err != nil {
			return err
		}
		h.Tool = clip(h.Tool)
		there = append(there, h)
	}
	for _, h := range v.held {
		v.demoted = append(v.demoted, demotedEvent{v.dropped.Upto, h})
	}
	for _, d := range v.demoted {
		if !slices.Contains(there, d.wireHeld) {
			v.fault(d.seq, "it takes from %q the right to pass as a read, and the list of such tools does not have it.", d.Tool)
		}
	}
	return rows.Err()
}
