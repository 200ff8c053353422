package httpapi

import (
	"context"
	"time"

	"github.com/garita-dev/garita/daemon/api"
)

type auditInput struct {
	After   int64     `query:"after" doc:"The seq to go on from; negative counts from the end"`
	Limit   int       `query:"limit" minimum:"1" maximum:"1000" default:"200"`
	Call    string    `query:"call" maxLength:"64"`
	Session string    `query:"session" maxLength:"64"`
	Since   time.Time `query:"since" doc:"None older than this"`
}

func (s *Server) audit(ctx context.Context, in *auditInput) ([]api.AuditEvent, error) {
	return s.backend.Audit(ctx, api.AuditQuery{After: in.After, Limit: in.Limit, Call: in.Call, Session: in.Session, Since: in.Since})
}

func (s *Server) verifyAudit(ctx context.Context, _ *nothing) (api.Verification, error) {
	return s.backend.VerifyAudit(ctx)
}
