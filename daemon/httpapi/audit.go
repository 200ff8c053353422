package httpapi

import (
	"context"

	"github.com/garita-dev/garita/daemon/api"
)

type auditInput struct {
	After int64  `query:"after" doc:"The seq to go on from; negative counts from the end"`
	Limit int    `query:"limit" minimum:"1" maximum:"1000" default:"200"`
	Call  string `query:"call" maxLength:"64"`
}

func (s *Server) audit(ctx context.Context, in *auditInput) ([]api.AuditEvent, error) {
	return s.backend.Audit(ctx, in.After, in.Limit, in.Call)
}

func (s *Server) verifyAudit(ctx context.Context, _ *nothing) (api.Verification, error) {
	return s.backend.VerifyAudit(ctx)
}
