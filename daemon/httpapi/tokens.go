package httpapi

import (
	"context"

	"github.com/garita-dev/garita/daemon/api"
)

func (s *Server) tokens(ctx context.Context, _ *nothing) ([]api.Token, error) {
	return s.backend.Tokens(ctx)
}

type newTokenInput struct {
	Body api.NewToken
}

func (s *Server) createToken(ctx context.Context, in *newTokenInput) (api.CreatedToken, error) {
	return s.backend.CreateToken(ctx, peerOf(ctx), in.Body)
}

func (s *Server) revokeToken(ctx context.Context, in *idInput) error {
	return s.backend.RevokeToken(ctx, peerOf(ctx), in.ID)
}
