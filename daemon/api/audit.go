package api

import (
	"context"
	"time"
)

// AuditQuery says which events are wanted; the zero value means the oldest of all.
type AuditQuery struct {
	After   int64     // the Seq to go on from; negative counts from the end
	Limit   int       // at most so many; 0 leaves the number to the daemon
	Call    string    // of this call only, unless ""
	Session string    // of this session only, unless ""
	Since   time.Time // none older, unless zero
}

// DroppedRecord is what has been let go of the record's beginning, to keep it within its bounds.
type DroppedRecord struct {
	Upto int64     `json:"upto"` // the Seq of the newest event dropped
	At   time.Time `json:"at"`
	Why  string    `json:"why"`
}

// AuditOf asks for events, oldest first.
func (c *Client) AuditOf(ctx context.Context, q AuditQuery) ([]AuditEvent, error) {
	since := ""
	if !q.Since.IsZero() {
		since = q.Since.UTC().Format(time.RFC3339Nano)
	}
	return get[[]AuditEvent](ctx, c, "/api/v1/audit", values(
		"after", number(q.After), "limit", number(int64(q.Limit)), "call", q.Call, "session", q.Session, "since", since))
}
