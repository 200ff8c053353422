package httpapi

import (
	"context"

	"github.com/garita-dev/garita/daemon/api"
)

type nameInput struct {
	Name string `path:"name" maxLength:"128"`
}

func (s *Server) servers(ctx context.Context, _ *nothing) ([]api.Server, error) {
	return s.backend.Servers(ctx)
}

func (s *Server) server(ctx context.Context, in *nameInput) (api.Server, error) {
	return s.backend.Server(ctx, in.Name)
}

func (s *Server) serverLog(ctx context.Context, in *nameInput) (api.ServerLog, error) {
	return s.backend.ServerLog(ctx, in.Name)
}

func (s *Server) removeServer(ctx context.Context, in *nameInput) error {
	return s.backend.RemoveServer(ctx, peerOf(ctx), in.Name)
}

func (s *Server) stopServer(ctx context.Context, in *nameInput) error {
	return s.backend.StopServer(ctx, peerOf(ctx), in.Name)
}
