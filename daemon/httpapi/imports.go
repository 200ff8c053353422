package httpapi

import (
	"context"

	"github.com/garita-dev/garita/daemon/api"
)

type importInput struct {
	Body api.ImportRequest
}

func (s *Server) importServers(ctx context.Context, in *importInput) (api.ImportPlan, error) {
	return s.backend.Import(ctx, peerOf(ctx), in.Body)
}

type restoreInput struct {
	Body api.RestoreRequest
}

func (s *Server) restore(ctx context.Context, in *restoreInput) ([]api.Restored, error) {
	return s.backend.Restore(ctx, peerOf(ctx), in.Body)
}
