package httpapi

import (
	"context"

	"github.com/garita-dev/garita/daemon/api"
)

func (s *Server) workspaces(ctx context.Context, _ *nothing) ([]api.Workspace, error) {
	return s.backend.Workspaces(ctx)
}

type diffInput struct {
	Name  string `path:"name" maxLength:"128"`
	Agent string `query:"agent" doc:"Whose workspace, when there are several" maxLength:"256"`
}

func (s *Server) workspaceDiff(ctx context.Context, in *diffInput) (api.WorkspaceDiff, error) {
	return s.backend.WorkspaceDiff(ctx, in.Name, in.Agent)
}

type applyInput struct {
	Name string `path:"name" maxLength:"128"`
	Body api.ApplyRequest
}

func (s *Server) applyWorkspace(ctx context.Context, in *applyInput) (api.ApplyResult, error) {
	return s.backend.ApplyWorkspace(ctx, peerOf(ctx), in.Name, in.Body)
}

func (s *Server) discardWorkspace(ctx context.Context, in *applyInput) (api.ApplyResult, error) {
	return s.backend.DiscardWorkspace(ctx, peerOf(ctx), in.Name, in.Body)
}
