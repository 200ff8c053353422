package httpapi

import (
	"context"

	"github.com/garita-dev/garita/daemon/api"
)

type previewInput struct {
	ID   string `path:"id" maxLength:"64"`
	Body api.Permit
}

func (s *Server) preview(ctx context.Context, in *previewInput) (api.Offer, error) {
	return s.backend.Preview(ctx, in.ID, in.Body)
}

func (s *Server) approvalGroups(ctx context.Context, _ *nothing) ([]api.ApprovalGroup, error) {
	return s.backend.ApprovalGroups(ctx)
}

type groupAnswerInput struct {
	Body api.GroupAnswer
}

// answerGroup passes one reply to several questions on, as answer does.
func (s *Server) answerGroup(ctx context.Context, in *groupAnswerInput) ([]api.Approval, error) {
	a, peer := in.Body, peerOf(ctx)
	if peer.Page {
		a.TTY, a.Code = false, ""
	}
	return s.backend.AnswerGroup(ctx, peer, a)
}

func (s *Server) expired(ctx context.Context, _ *nothing) ([]api.Approval, error) {
	return s.backend.Expired(ctx)
}

type seenInput struct {
	Body api.SeenApprovals
}

func (s *Server) seeExpired(ctx context.Context, in *seenInput) error {
	return s.backend.SeeExpired(ctx, peerOf(ctx), in.Body.IDs)
}

type grantsInput struct {
	All bool `query:"all" doc:"Also those that have ended or been revoked"`
}

func (s *Server) grants(ctx context.Context, in *grantsInput) ([]api.Grant, error) {
	return s.backend.Grants(ctx, in.All)
}

func (s *Server) revokeGrant(ctx context.Context, in *idInput) error {
	return s.backend.RevokeGrant(ctx, peerOf(ctx), in.ID)
}
