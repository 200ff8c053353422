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
